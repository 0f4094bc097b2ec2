"""The mechanisms that pipeline files can name, a family a file."""
