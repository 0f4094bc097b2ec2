"""Sums of rounds whose noise is correlated, by a factor of a matrix."""
