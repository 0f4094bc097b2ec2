"""Statements, and how rules read them."""
