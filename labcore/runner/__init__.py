"""The part that stands beside student code: standard library and torch alone, and no reference answer."""
