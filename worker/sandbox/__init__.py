"""Where student code runs: a warm parent, confined children, and results collected as hostile data."""
