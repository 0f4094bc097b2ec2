"""Skellam noise on whole numbers, as federated sums use it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final, final

from attrs import field, frozen

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.derivation import Theorem
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.pairs.skellam import skellam_pair
from dpproof.accountant.relation import R
from dpproof.accountant.sensitivity import L1, L2
from dpproof.mechanisms import parameters
from dpproof.mechanisms.mechanism import NoiseMechanism
from dpproof.mechanisms.noise.broadcast import add_whole, repeated_values
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.queries import whole_values
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.samplers.skellam import LARGEST_VARIANCE, LEAST_VARIANCE, skellam

MECHANISM_SKELLAM: Final = Theorem(
    rule="mechanism/skellam",
    source="docs/shift-lemma.md, Corollaries 1 and 2",
    attained=Attained.NO,  # a finite pair above the shifts
)
_MOST_UNITS: Final = 2**14


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class Skellam(NoiseMechanism[R]):
    """Add independent Skellam noise to every coordinate of an integer query.

    The noise is the difference of two independent Poisson numbers of mean variance/2, so that the
    sum of Skellam noises of several parties is Skellam noise of the sum of their variances.

    Statement: L1 sensitivity k: dominated, in any dimension, by one variable shifted by floor(k).
        L2 sensitivity Delta, m = floor(Delta^2) <= 3: by m independent shifts by 1, with equality
        when m coordinates move. What is stated is a finite pair above those, whose epsilon is
        above theirs by at most a few millionths.
    Assumes: sensitivity; one shape; random bits; output alone.
    Source: docs/shift-lemma.md, as the law is log-concave: a convolution of Poisson laws; the
        mechanism is that of Agarwal, Kairouz & Liu (arXiv:2110.04995), whose Renyi bound of large
        L2 sensitivities is not used.

    Args:
        variance: of the noise, in [2^-20, 2^20].
        sensitivity: L1, from 1 to 2^14, or L2, from 1 to below 2; whole parts are taken of k and of
            Delta^2, as for ``DiscreteGaussian``, which serves larger ones.
        query: data -> an integer or integer array; None when the data is already that value.
    Raises:
        ParameterError: a parameter outside its domain; on release, a value that is not an
            integer of size at most 2^62, which is visible and depends on the data.
        NotCertified: the guarantee of so little noise that losses exceed about 60.
    Example:
        >>> noise = Skellam(variance=100, sensitivity=L1(1))
        >>> round(noise.repeat(100).guarantee().epsilon(delta=1e-6).upper, 3)
        4.885
    """

    variance: Fraction = field(
        converter=parameters.positive,
        validator=parameters.within(
            LEAST_VARIANCE,
            LARGEST_VARIANCE,
            "at least 2^-20 and at most 2^20",
            "DiscreteGaussian has no such limit",
        ),
    )
    sensitivity: L1[R] | L2[R] = field(validator=[parameters.norms(L1, L2), parameters.moves])

    @sensitivity.validator
    def _few_units(self, _parameter: object, sensitivity: L1[R] | L2[R]) -> None:
        units = parameters.units(sensitivity)
        if isinstance(sensitivity, L2) and units > 3:
            hint = "for larger L2 sensitivities DiscreteGaussian has a guarantee"
            raise ParameterError("sensitivity", sensitivity, "L1, or L2 of at most 1.99", hint)
        if units > _MOST_UNITS:
            raise ParameterError("sensitivity", float(sensitivity.value), "at most 2^14")

    def guarantee(self) -> DominatingPair[R]:
        """Return the finite pair above the shifts, in both directions."""
        units, norm = parameters.units(self.sensitivity), type(self.sensitivity).__name__
        shift, copies = (units, 1) if norm == "L1" else (1, units)
        derivation = applied(
            MECHANISM_SKELLAM,
            f"Skellam noise of variance {show(self.variance)} on an integer query of {norm} "
            f"sensitivity {show(self.sensitivity.value)} is dominated by a finite pair above its "
            f"shift by {shift}, {copies} of them ({self.relation})",
            assumptions=parameters.assumptions(self.sensitivity),
            variance=self.variance,
            units=units,
            norm=norm,
        )
        pair = Product((Factor(skellam_pair(variance=self.variance, shift=shift), copies),))
        return DominatingPair(
            forward=pair, backward=pair, relation=self.relation, derivation=derivation
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw the value plus noise: integers of shape (datasets, count, ...)."""
        values = repeated_values(whole_values(self.query, datasets), count)
        return add_whole(values, skellam(self.variance, values.size, rng))
