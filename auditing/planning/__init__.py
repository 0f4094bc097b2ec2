"""The choice of a test, made on training samples."""
