"""Private selection, one theorem a file."""
