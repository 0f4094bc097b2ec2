"""Which test is made: chosen on training samples."""
