"""Theorems from guarantees to a guarantee, each with its source and its rounding."""
