"""Pairs of a random sample, in ball arithmetic."""
