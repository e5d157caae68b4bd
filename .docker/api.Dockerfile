# syntax=docker/dockerfile:1
# The web door: API and pages. It runs nobody's code and needs no torch.
FROM python:3.12-slim-bookworm

WORKDIR /app
# First what the set-up reads, and the packages in name only, so that a change of Rooflab's own files repeats no set-up.
COPY rooflab pyproject.toml ./
COPY .lock .lock
RUN --mount=type=cache,target=/root/.cache \
    for package in api grading labcore worker; do mkdir $package && touch $package/__init__.py; done \
    && touch README.md \
    && ./rooflab --no-torch setup \
    && useradd --system --uid 10001 --home-dir /data --no-create-home rooflab \
    && install -d -o rooflab -g rooflab -m 0700 /data
COPY . .

USER rooflab
ENV ROOFLAB_DATA=/data PYTHONDONTWRITEBYTECODE=1
VOLUME /data
EXPOSE 8000
ENTRYPOINT ["/app/.venv/bin/rooflab"]
CMD ["serve", "--no-worker", "--host", "0.0.0.0", "--port", "8000"]
