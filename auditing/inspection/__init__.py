"""Inspection without statistics: recorded calls, and queries on neighbours."""
