"""Dominating pairs of a random sample."""
