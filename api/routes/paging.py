"""The address of a next page."""

from fastapi import Request


def beside(request: Request, **parameters: object) -> str:
    """This request's address with other query parameters.

    Without scheme and host: behind a proxy ours may be wrong, and whoever follows it sends a token along.
    """
    changed = request.url.include_query_params(**parameters)
    return f"{changed.path}?{changed.query}"
