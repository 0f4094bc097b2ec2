"""Recorded runs: what an implementation asks of its primitives, and replays on other data."""
