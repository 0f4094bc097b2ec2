"""Additive noise, one distribution a file."""
