"""Settings that every test shares."""

from __future__ import annotations

import os

from hypothesis import settings

# Workers have a core each: threads of numpy's libraries would only wait for one another. Set before
# numpy is imported, and inherited by the workers.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")

settings.register_profile("default", deadline=None, print_blob=True)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")
