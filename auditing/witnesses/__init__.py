"""Witnesses: scores whose high values tell one dataset from the other."""
