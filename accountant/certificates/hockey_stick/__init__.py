"""Make witnesses that bound a hockey-stick divergence."""
