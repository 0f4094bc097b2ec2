"""The work of the commands."""
