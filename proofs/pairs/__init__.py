"""Dominating pairs as the checker knows them, one a file."""
