"""The web door: HTTP API, pages, and the command line."""
