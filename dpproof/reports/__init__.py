"""How answers are shown."""
