"""Sums that bound a hockey-stick divergence, in ball arithmetic."""
