"""Witnesses that bound a hockey-stick divergence."""
