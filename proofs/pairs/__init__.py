"""Dominating pairs as the checker knows them."""
