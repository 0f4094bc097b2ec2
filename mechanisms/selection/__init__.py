"""Private selection among candidates."""
