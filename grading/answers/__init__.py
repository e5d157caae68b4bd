"""A submission's bytes, opened once as hostile data: what was found in them, by question."""
