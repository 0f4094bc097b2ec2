"""Counts of events, and the claims they are compared with."""
