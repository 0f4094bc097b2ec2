"""The noisy number of records that a released model gets wrong: the score of a learner."""

from __future__ import annotations

from fractions import Fraction
from typing import Final, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant import AddRemove
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.dominating_pair import GDP
from dpproof.accountant.relation import R
from dpproof.accountant.sensitivity import L2
from dpproof.accountant.theorems.composition import compose_gdp
from dpproof.mechanisms import parameters
from dpproof.mechanisms.combinators.composed import FollowUp
from dpproof.mechanisms.learning.batch_perceptron import BatchPerceptron
from dpproof.mechanisms.learning.kesler_perceptron import KeslerPerceptron
from dpproof.mechanisms.learning.maps.feature_map import FeatureMap, map_or_none
from dpproof.mechanisms.noise.gaussian import Gaussian
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.samplers.rng import Rng

# Bounds the memory of many models on many records: entries of the largest temporary array.
_ENTRIES: Final = 2**22


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class NoisyMistakes(FollowUp[R]):
    """Count the records that released weights get wrong, and add Gaussian noise.

    A record (x, y) is a mistake of one weight vector if y <w, x> <= 0, labels +1 and -1, and of k
    weight vectors if another class scores at least as much as class y, labels 0 to k - 1. It does
    not depend on the length of the row, so every row is scaled to norm 1.

    Statement: for fixed weights the number of mistakes moves by at most 1 between neighbours, under
        every relation, so it is (1 / sigma)-GDP; with ``report_sigma`` r two noises are added
        to it, and both sums together are sqrt(1 / sigma^2 + 1 / r^2)-GDP. The count is
        exact: see Lemma 3 of proofs/theory/learners.md.
    Source: proofs/theory/learners.md, Lemma 7; proofs/theory/margins.md, Theorem 8.

    Args:
        sigma: standard deviation of the noise, in records.
        report_sigma: of an independent noise for a second count, which is right on average also
            for a model that was selected by the first one; None makes no second count.
        margin: count records within it as well, y <w, x> <= margin ||w||, rows scaled to norm 1:
            what ``relative_margin_risk`` takes, at weight_norm 1, norm 1 and this margin, and
            an upper end of the sum of ramps that ``margin_risk`` takes. Of several classes two
            scores are as near as for ``KeslerPerceptron``.
        map: the public map whose features the weights are for; None takes the rows as they are.
        relation: the neighbouring relation.
    Outputs:
        A noisy number of mistakes for each output of a learner; with ``report_sigma`` two.
    Raises:
        ParameterError: a parameter outside its domain; on release, outputs without ``weights``, or
            data that is not labelled rows as wide as they are. A record that is not finite, or of
            an unknown label, is no mistake, nor is a row of zeros.
    Example:
        >>> NoisyMistakes(sigma=20, relation=AddRemove()).guarantee().mu
        Fraction(1, 20)
        >>> NoisyMistakes(sigma=4, report_sigma=3, relation=AddRemove()).guarantee().mu
        Fraction(5, 12)
    """

    sigma: Fraction = field(converter=parameters.scale)
    report_sigma: Fraction | None = field(default=None, converter=parameters.optional_scale)
    margin: Fraction = field(default=Fraction(0), converter=parameters.non_negative)
    map: FeatureMap | None = field(default=None, validator=map_or_none)
    relation: R = field(validator=parameters.neighbours)

    def guarantee(self) -> GDP[R]:
        """Return mu-GDP of the count or of both counts, whatever the weights are."""
        noises = [noise.guarantee() for noise in self._noises()]
        return noises[0] if len(noises) == 1 else compose_gdp(noises)

    def draw(self, data: object, outputs: Outputs, rng: Rng) -> Outputs:
        """Draw noisy counts for each of the released weights: float64, (count,) or (count, 2)."""
        names = outputs.dtype.names or ()
        if "weights" not in names:
            raise ParameterError("outputs", names, "a learner's, with a field weights")
        records = data if self.map is None else self.map.records(data)
        counts = mistakes(np.asarray(outputs["weights"]), records, margin=self.margin)
        noisy = [noise.draw(list(counts), 1, rng) for noise in self._noises()]
        return noisy[0][:, 0] if len(noisy) == 1 else np.concatenate(noisy, axis=1)

    def _noises(self) -> list[Gaussian[R]]:
        """Return what adds noise to the count that chooses, and to the one that is reported."""
        sigmas = [sigma for sigma in (self.sigma, self.report_sigma) if sigma is not None]
        return [Gaussian(sigma=one, sensitivity=L2(1, self.relation)) for one in sigmas]


def mistakes(
    weights: NDArray[np.float64], data: object, *, margin: Number = 0
) -> NDArray[np.int64]:
    """Count the records that each of some models gets wrong, exactly; it is private.

    Args:
        weights: shape (models, features) for labels +1 and -1, or (models, classes, features).
        data: labelled rows, in any form that learners take.
        margin: records within it are counted, too.
    Raises:
        ParameterError: the data is not labelled rows as wide as the weights.
    Laws: removing a record lowers a count by 1 if the model gets it wrong, else by 0.
    Example:
        >>> mistakes(np.array([[1.0, 0.0]]), [([0.5, 0.5], 1), ([0.5, 0.0], -1)]).tolist()
        [1]
    """
    features = weights.shape[-1]
    if weights.ndim == 2:
        contributions = BatchPerceptron(
            margin=margin, steps=1, sigma=1, norm=None, features=features, relation=AddRemove()
        ).contributions(data)
    else:
        contributions = KeslerPerceptron(
            classes=weights.shape[1],
            margin=margin,
            steps=1,
            sigma=1,
            norm=None,
            features=features,
            relation=AddRemove(),
        ).contributions(data)
    size = max(1, contributions.records * int(np.prod(weights.shape[1:-1])))
    batch = max(1, _ENTRIES // size)
    parts = [
        contributions.totals(weights[start : start + batch], None).counts
        for start in range(0, len(weights), batch)
    ]
    return np.concatenate(parts)
