"""Verdicts and grades in the forms that leave Rooflab."""
