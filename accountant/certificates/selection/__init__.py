"""Witnesses of pairs above a selection."""
