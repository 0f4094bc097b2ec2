"""Pipeline files: what they say and how they are read."""
