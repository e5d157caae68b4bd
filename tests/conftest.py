"""Fixtures that every test file may use."""

pytest_plugins = ["plugin_parts"]
