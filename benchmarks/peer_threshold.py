"""What autodp's Renyi bound says of the sparse vector technique, beside ``benchmarks.choices``.

    python benchmarks/peer_threshold.py

It needs autodp and nothing of ours. Its parameter b is the scale of the threshold's noise; that of
a query's noise is 2b where queries move in any direction.
"""

import json
import math
import warnings
from importlib.metadata import version


def main() -> None:
    """Print epsilon at delta = 1e-6 of 1, 10 and 100 uses, of 1-DP and of 0.1-DP each, as JSON."""
    from autodp.mechanism_zoo import LaplaceSVT_Mechanism  # noqa: PLC0415  # of another environment
    from autodp.transformer_zoo import Composition  # noqa: PLC0415

    warnings.simplefilter("ignore")
    found = {}
    for epsilon in (1.0, 0.1):
        once = LaplaceSVT_Mechanism({"b": 2 / epsilon, "k": math.inf, "c": 1}, name="threshold")
        uses = [Composition()([once], [count]).get_approxDP(1e-6) for count in (1, 10, 100)]
        found[epsilon] = [round(float(one), 3) for one in uses]
    print(json.dumps({"version": version("autodp"), "found": found}))


if __name__ == "__main__":
    main()
