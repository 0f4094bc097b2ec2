"""Ball arithmetic."""
