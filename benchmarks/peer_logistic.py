"""Fit diffprivlib's logistic regression: run by ``benchmarks.learners`` in another environment.

    python benchmarks/peer_logistic.py FILE.npz EPSILONS FITS [PENALTIES]

It needs diffprivlib and nothing of ours. The file has rows of norm 1, training and test parts.
PENALTIES is how many of the penalties are tried, the default first.
"""

import json
import sys
import warnings
from importlib.metadata import version

import numpy as np

PENALTIES = (1.0, 0.1, 0.01, 10.0)  # the default first


def main() -> None:
    """Print the accuracy of the default penalty and of the best one for every epsilon, as JSON."""
    from diffprivlib.models import LogisticRegression  # noqa: PLC0415  # of the other environment

    warnings.simplefilter("ignore")
    with np.load(sys.argv[1]) as file:
        train_x, train_y, test_x, test_y = (
            file[name] for name in ("train_x", "train_y", "test_x", "test_y")
        )
    found = []
    for epsilon in json.loads(sys.argv[2]):
        accuracies = {}
        for penalty in PENALTIES[: int((sys.argv[4:] or ["4"])[0])]:
            scores = []
            for _ in range(int(sys.argv[3])):
                model = LogisticRegression(epsilon=epsilon, C=penalty, data_norm=1.0, max_iter=1000)
                scores.append(float(model.fit(train_x, train_y).score(test_x, test_y)))
            accuracies[penalty] = float(np.mean(scores))
        found.append({"default": accuracies[1.0], "best": max(accuracies.values())})
    print(json.dumps({"version": version("diffprivlib"), "found": found}))


if __name__ == "__main__":
    main()
