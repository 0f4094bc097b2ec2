"""Evidence that adds up over runs."""
