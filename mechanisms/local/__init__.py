"""Local randomisers."""
