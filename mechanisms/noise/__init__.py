"""Additive noise, one family of distributions a file."""
