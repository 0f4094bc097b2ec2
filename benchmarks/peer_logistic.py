"""Fit diffprivlib's logistic regression: run by ``benchmarks.learners`` in another environment.

    python benchmarks/peer_logistic.py FILE.npz EPSILONS FITS

It needs diffprivlib and nothing of ours. The file has rows of norm 1, training and test parts.
"""

import json
import sys
import time
import warnings
from importlib.metadata import version

import numpy as np


def main() -> None:
    """Print accuracies and processor times for every epsilon, as JSON."""
    from diffprivlib.models import LogisticRegression  # noqa: PLC0415  # of the other environment

    warnings.simplefilter("ignore")
    with np.load(sys.argv[1]) as file:
        train_x, train_y, test_x, test_y = (
            file[name] for name in ("train_x", "train_y", "test_x", "test_y")
        )
    found = []
    for epsilon in json.loads(sys.argv[2]):
        accuracies, times = [], []
        for _ in range(int(sys.argv[3])):
            start = time.process_time()
            model = LogisticRegression(epsilon=epsilon, data_norm=1.0, max_iter=1000)
            model.fit(train_x, train_y)
            times.append(time.process_time() - start)
            accuracies.append(float(model.score(test_x, test_y)))
        found.append({"accuracy": float(np.mean(accuracies)), "seconds": min(times)})
    print(json.dumps({"version": version("diffprivlib"), "found": found}))


if __name__ == "__main__":
    main()
