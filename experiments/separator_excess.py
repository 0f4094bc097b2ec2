"""How many losses a choice by noisy separators costs: Neel, Roth, Vietri & Wu 2019, section 3.

Theorems 5 and 6 of the paper are about Gaussian noise that has not the privacy it implies. This is
the same argument for the noise of ``SeparatorPerturbation``, with constants.
"""

from __future__ import annotations

from typing import Any

from dpproof.mechanisms import SeparatorPerturbation
from dpproof.mechanisms.learning.separators.separator_perturbation import LAWS


def mean_excess(learner: SeparatorPerturbation[Any]) -> float:
    """Return a bound of the mean number of losses above that of the best candidate.

    Statement: with noise eta on m places the losses of the choice are above the least by at most
        sum_j eta_j (e_j(best) - e_j(choice)) <= ||eta||_1, surely. Of mass e^(-max |k|/s) that has
        the mean m (m + 1) s/2 in the limit of fine noise, of independent Laplace noise m s, and of
        density e^(-||x||/s) at most m^(3/2) s.

    Example:
        >>> from dpproof.accountant import AddRemove
        >>> from dpproof.mechanisms import Cube
        >>> pick = SeparatorPerturbation(epsilon=1, space=Cube(4), relation=AddRemove())
        >>> round(mean_excess(pick), 2)
        10.0
    """
    shape = learner.shape
    places: int = shape.places
    scale = float(LAWS[learner.noise].scale(shape) / learner.unit)
    factors: dict[str, float] = {"linf": (places + 1) / 2, "laplace": 1.0, "sphere": places**0.5}
    return places * scale * factors[learner.noise]
