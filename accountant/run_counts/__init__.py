"""Laws of the number of runs, one a file."""
