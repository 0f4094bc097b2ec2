"""Lower confidence bounds on privacy loss: one theorem a file, each exact at every sample size."""
