"""Canaries: records that a run includes or not, each by its own coin."""
