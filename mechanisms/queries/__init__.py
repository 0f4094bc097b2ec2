"""Queries whose sensitivity is exact."""
