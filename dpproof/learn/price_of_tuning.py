"""Whether a private search is worth its price: what is known before there is data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final, cast, final

from dpproof.accountant import GDP, arguments as check, calibrate
from dpproof.accountant.arguments import Number
from dpproof.learn.linear_classifier import public_classes
from dpproof.learn.tuned_classifier import TunedClassifier

# That the scores of all other runs together do not hide a better one.
_FAILURE: Final = 0.05


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TuningPrice:
    """What a search costs, beside one fit at the whole budget.

    Attributes:
        noise: the noise of one training in the search, divided by that of a fit without a search.
        epsilon: a fit without a search has as much noise as the search at this epsilon.
        resolution: with probability .95 a candidate wins whose accuracy on the rows of the fit is
            so much above that of all others, in a search with the average number of runs.
        may_pay: False if the resolution is above what the best candidate can gain on guessing: the
            search then draws a candidate almost at random.
    """

    noise: float
    epsilon: float
    resolution: float
    may_pay: bool

    def __str__(self) -> str:
        """Return the price and the question that is left, as a sentence each."""
        words = (
            f"A training in the search has {self.noise:.2f} times the noise: that of a fit without "
            f"a search at epsilon {self.epsilon:.3g}. Scores tell accuracies apart that differ by "
            f"{self.resolution:.2g}. "
        )
        if not self.may_pay:
            return words + "The search does not pay: its choice is nearly random."
        return words + (
            f"It pays only if the best candidate at epsilon {self.epsilon:.3g} is better than the "
            "defaults at the whole budget."
        )


def tuning_price(search: TunedClassifier, *, records: int) -> TuningPrice:
    """Return what a search costs beside one fit without it; no data are needed.

    Heuristic: noise is compared as that of mu-GDP, which samples have in the limit of many steps.
    What the candidates gain is no number that is known before: compare on public rows like yours,
    the defaults at the whole budget and the grid at ``epsilon``.

    Args:
        search: made by ``tune``.
        records: about how many rows there will be, a public number.
    Raises:
        ParameterError: as for ``search.plan``, or no number of rows.
        CalibrationError: no noise meets the budget.
    Example:
        >>> from dpproof.learn import PerceptronClassifier, tune
        >>> model = PerceptronClassifier(epsilon=1, delta=1e-5, classes=range(10))
        >>> price = tuning_price(tune(model, {"margin": [0.03, 0.1, 0.3]}), records=1_500)
        >>> price.may_pay, price.epsilon < 0.7
        (True, True)
    """
    size, model = check.count(records=records), search.estimator
    option, delta = search.affordable(), cast("Number", model.delta)
    training = option.noise / math.sqrt(1 - float(search.score_share) - float(search.report_share))
    alone = calibrate(
        lambda noise: GDP(mu=1 / noise), epsilon=model.epsilon, delta=delta, increasing=False
    ).value
    one_sided = 1 - _FAILURE / (2 * max(option.runs.mean, 1))
    sigma = option.noise / math.sqrt(float(search.score_share))
    resolution = 2 * NormalDist().inv_cdf(one_sided) * sigma / size
    return TuningPrice(
        noise=training / float(alone),
        epsilon=GDP(mu=1 / training).epsilon(delta=delta).upper,
        resolution=resolution,
        may_pay=resolution < 1 - 1 / len(public_classes(model.classes)),
    )
