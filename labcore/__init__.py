"""The instrument: what a GPU-performance lab counts and measures."""
