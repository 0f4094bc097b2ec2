"""Other libraries' answers on choices and noise, beside ``benchmarks.choices``.

    python benchmarks/peer_threshold.py

It needs autodp and diffprivlib and nothing of ours. Of autodp it asks its Renyi bound of the sparse
vector technique: b is the scale of the threshold's noise; that of
a query's noise is 2b where queries move in any direction. Normal noise, for at most 100 queries,
has standard deviations 10 and 17.3. Of diffprivlib it asks the scale of Laplace noise that is
renormalised to [0, 10], for 1-DP and 0.1-DP at sensitivity 1; clamped noise has scale 1 and 10.
"""

import json
import math
import warnings
from importlib.metadata import version


def main() -> None:
    """Print epsilons at delta = 1e-6 of 1, 10 and 100 uses, and scales of noise, as JSON."""
    from autodp.mechanism_zoo import GaussianSVT_Mechanism, LaplaceSVT_Mechanism  # noqa: PLC0415  # of another environment
    from autodp.transformer_zoo import Composition  # noqa: PLC0415
    from diffprivlib.mechanisms import LaplaceBoundedDomain  # noqa: PLC0415

    warnings.simplefilter("ignore")
    found: dict[str, list[float]] = {}
    normal = {"sigma": 10, "sigma_nu": 17.3, "k": 100, "c": 1, "Delta": 1.0, "margin": 0}
    cases = {str(e): LaplaceSVT_Mechanism({"b": 2 / e, "k": math.inf, "c": 1}) for e in (1.0, 0.1)}
    cases["normal"] = GaussianSVT_Mechanism(normal)
    for name, once in cases.items():
        uses = [Composition()([once], [count]).get_approxDP(1e-6) for count in (1, 10, 100)]
        found[name] = [round(float(one), 3) for one in uses]
    for e in (1.0, 0.1):
        bounded = LaplaceBoundedDomain(epsilon=e, delta=0, sensitivity=1, lower=0, upper=10)
        found[f"renormalised {e}"] = [round(float(bounded._find_scale()), 3)]  # noqa: SLF001
    versions = {name: version(name) for name in ("autodp", "diffprivlib")}
    print(json.dumps({"versions": versions, "found": found}))


if __name__ == "__main__":
    main()
