"""The laws of the number of runs, one law a file."""
