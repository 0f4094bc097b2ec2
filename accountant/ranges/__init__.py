"""Composed bounded range: the exact value of adaptively chosen two-point losses."""
