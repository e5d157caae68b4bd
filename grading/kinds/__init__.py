"""The kinds: reading this table is knowing them all."""
