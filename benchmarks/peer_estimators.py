"""Fit diffprivlib's estimators: run by ``benchmarks.estimators`` in another environment.

    python benchmarks/peer_estimators.py FILE.npz TASK EPSILONS FITS

It needs diffprivlib and nothing of ours. The file has rows ``x`` and ``test_x``, perhaps targets
``y`` and ``test_y``, and the public bounds ``low``, ``high``, ``norm`` and ``bound``.
"""

import json
import sys
import warnings
from importlib.metadata import version

import numpy as np


def main() -> None:
    """Print the mean score for every epsilon as JSON: R^2, captured variance, or inertia."""
    from diffprivlib import models  # noqa: PLC0415  # of the other environment

    warnings.simplefilter("ignore")
    with np.load(sys.argv[1]) as file:
        given = {name: file[name] for name in file.files}
    rows, task = given["x"], sys.argv[2]
    ends = float(given["low"]), float(given["high"])

    def score(epsilon: float) -> float:
        if task == "regression":
            bound = float(given["bound"])
            made = models.LinearRegression(
                epsilon=epsilon, bounds_X=ends, bounds_y=(-bound, bound)
            ).fit(rows, given["y"])
            return float(made.score(given["test_x"], given["test_y"]))
        if task == "components":
            pca = models.PCA(
                n_components=int(given["k"]),
                epsilon=epsilon,
                data_norm=float(given["norm"]),
                bounds=ends,
            ).fit(rows)
            centred = rows - rows.mean(axis=0)
            return float(((centred @ pca.components_.T) ** 2).sum() / (centred**2).sum())
        means = models.KMeans(n_clusters=int(given["k"]), epsilon=epsilon, bounds=ends).fit(rows)
        apart = ((rows[:, None] - means.cluster_centers_) ** 2).sum(axis=2)
        return float(apart.min(axis=1).sum())

    found = [
        float(np.mean([score(epsilon) for _ in range(int(sys.argv[4]))]))
        for epsilon in json.loads(sys.argv[3])
    ]
    print(json.dumps({"version": version("diffprivlib"), "found": found}))


if __name__ == "__main__":
    main()
