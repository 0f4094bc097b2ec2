"""Lower confidence bounds on privacy loss: each exact at every sample size."""
