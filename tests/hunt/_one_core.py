"""Imported first: numpy's libraries use one thread, as their threads would wait for one another."""

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")
