# syntax=docker/dockerfile:1
# The working side: grades in a sandbox. Build with `--build-arg TORCH=gpu` for machines with NVIDIA GPUs.
FROM python:3.12-slim-bookworm

# bubblewrap and libseccomp make the sandbox; the compiler is for torch.compile.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends bubblewrap libseccomp2 g++ \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /app
# First what the set-up reads, and the packages in name only, so that a change of Rooflab's own files repeats no set-up.
COPY rooflab pyproject.toml ./
COPY .lock .lock
ARG TORCH=cpu
RUN --mount=type=cache,target=/root/.cache \
    for package in api grading labcore worker; do mkdir $package && touch $package/__init__.py; done \
    && touch README.md \
    && ./rooflab --${TORCH} setup \
    && useradd --system --uid 10001 --home-dir /data --no-create-home rooflab \
    && install -d -o rooflab -g rooflab -m 0700 /data
COPY . .

USER rooflab
ENV ROOFLAB_DATA=/data PYTHONDONTWRITEBYTECODE=1
VOLUME /data
ENTRYPOINT ["/app/.venv/bin/rooflab"]
CMD ["worker", "run", "--queue", "cpu"]
