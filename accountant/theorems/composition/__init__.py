"""Composition theorems, one a file."""
