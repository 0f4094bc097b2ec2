"""Group privacy, one notion a file."""
