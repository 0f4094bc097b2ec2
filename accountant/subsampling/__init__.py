"""Dominating pairs of mechanisms on a random sample."""
