"""Conversions between notions, one a file."""
