"""Propose a bound, test that the data is far from where it fails, and release."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import DataError
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.derivation import Theorem
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.laplace import LaplacePair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import R
from dpproof.accountant.sensitivity import L1, L2, JointSensitivity
from dpproof.accountant.side_conditions import ONE_SHAPE, OUTPUT_ALONE, PROPOSED_BOUND, RANDOM_BITS
from dpproof.mechanisms import parameters
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.mechanisms.noise.gaussian import Gaussian
from dpproof.mechanisms.noise.laplace import Laplace
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.queries import whole_values
from dpproof.mechanisms.samplers.coins import bernoulli, bernoulli_exp
from dpproof.mechanisms.samplers.enclosure import exp_minus
from dpproof.mechanisms.samplers.rng import Rng

MECHANISM_PROPOSE_TEST_RELEASE: Final = Theorem(
    rule="mechanism/propose-test-release",
    source="proofs/theory/propose_test_release.md",
    attained=Attained.NO,  # both costs at once
)
_LEAST: Final = Fraction(1, 2**200)
_GUARD: Final = 256
_ROOM: Final = Fraction(1, 2**40)  # Above the rounding of a log in floats; the sum is checked.


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class ProposeTestRelease(Mechanism[R]):
    """Release a noisy value if a noisy distance says that the data is stable; else say that not.

    ``release`` proposes by its sensitivity how far its query moves from this data. ``distance`` is
    a whole number, 0 where that is wrong and moving by at most 1 between neighbours: the fewest
    changes after which it is wrong is the largest such one. The test passes if distance + Laplace
    noise of scale 1/epsilon is above margin/epsilon.

    Statement: both orders are dominated by the pair of ``release``, the Laplace pair at epsilon and
        the pair of (0, delta)-DP together: the value's cost where it is stable on either side of
        two neighbours, and where on neither, the test passes with probability at most delta.
    Assumes: proposed bound; one shape; random bits; output alone.
    Source: proofs/theory/propose_test_release.md; Dwork & Lei (STOC 2009), for the mechanism.

    Args:
        release: Gaussian or Laplace noise, with its query, on one norm's sensitivity.
        distance: data -> a whole number from 0.
        epsilon: of the test, nats.
        delta: the largest probability to pass where the bound is wrong, in [2^-200, 1/2].
    Raises:
        ParameterError: a parameter outside its domain; on release, a distance that is no whole
            number from 0, or a value that ``release`` refuses.
    Example:
        >>> from dpproof.accountant import L2
        >>> from dpproof.mechanisms import Gaussian
        >>> total = Gaussian(sigma=4, sensitivity=L2(1), query=sum)
        >>> careful = ProposeTestRelease(release=total, distance=len, epsilon=1, delta=1e-9)
        >>> careful.release([0.5] * 100)[0], careful.release([0.5]).tolist()
        (np.float64(1.0), [0.0, 0.0])
    """

    proposed: Gaussian[R] | Laplace[R] = field(alias="release")
    distance: Callable[[Any], int] = field(validator=parameters.function_of_data)
    epsilon: Fraction = field(converter=parameters.positive)
    delta: Fraction = field(
        converter=parameters.half,
        validator=parameters.within(_LEAST, 1, "at least 2^-200 and at most 1/2"),
    )

    @proposed.validator
    def _has_query_and_norm(self, _parameter: object, release: object) -> None:
        if (
            not isinstance(release, Gaussian | Laplace)
            or isinstance(release.sensitivity, JointSensitivity)
            or release.query is None
        ):
            allowed = "Gaussian or Laplace noise with a query and an L1 or L2 sensitivity"
            raise ParameterError("release", release, allowed)

    @property
    def relation(self) -> R:
        """Return the relation of the release."""
        return self.proposed.relation

    @property
    def _moves(self) -> L1[R] | L2[R]:
        """Return the proposed sensitivity."""
        if isinstance(self.proposed, Gaussian):
            return self.proposed.sensitivity.as_l2()
        return self.proposed.sensitivity.as_l1()

    @property
    def margin(self) -> Fraction:
        """Return the margin of the test, in scales of its noise above 0: log(1/(2 delta))."""
        near = Fraction(math.log(1 / (2 * float(self.delta)))) * (1 + _ROOM) + _ROOM
        if Fraction(exp_minus(near)(_GUARD)[1], 2 ** (_GUARD + 1)) > self.delta:
            raise ParameterError("delta", float(self.delta), "at least what a margin is found for")
        return near

    def guarantee(self) -> DominatingPair[R]:
        """Return the product of the release's pair, the test's, and the misses, both ways."""
        base = self.proposed.guarantee().to_pair()
        keep = 1 - self.delta
        missed = FinitePair(p=(self.delta, keep, Fraction(0)), q=(Fraction(0), keep, self.delta))
        pair = base.forward.joined(Product.of(LaplacePair(epsilon=self.epsilon), missed))
        gaussian = isinstance(self.proposed, Gaussian)
        scale = self.proposed.sigma if isinstance(self.proposed, Gaussian) else self.proposed.scale
        moves = self._moves
        derivation = applied(
            MECHANISM_PROPOSE_TEST_RELEASE,
            f"{'Gaussian' if gaussian else 'Laplace'} noise of scale {show(scale)} for a proposed "
            f"sensitivity {show(moves.value)}, after a test with epsilon {show(self.epsilon)} that "
            f"misses with probability {show(self.delta)} ({self.relation})",
            assumptions=(
                PROPOSED_BOUND(
                    value=show(moves.value), norm=type(moves).__name__, relation=self.relation
                ),
                ONE_SHAPE(),
                RANDOM_BITS(),
                OUTPUT_ALONE(),
            ),
            noise="gaussian" if gaussian else "laplace",
            scale=scale,
            sensitivity=moves.value,
            epsilon=self.epsilon,
            delta=self.delta,
            margin=self.margin,
        )
        return DominatingPair(
            forward=pair, backward=pair, relation=self.relation, derivation=derivation
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw 1 and the noisy values, or zeros: float64 of shape (datasets, count, 1 + values)."""
        far = whole_values(self.distance, datasets)
        if far.ndim != 1 or far.min() < 0:
            raise DataError("distance", far, "one whole number from 0")
        values = np.asarray(self.proposed.draw(datasets, count, rng), dtype=np.float64)
        passed = np.stack([self._passes(int(one), count, rng) for one in far])
        flat = values.reshape(len(datasets), count, -1)
        shown = np.where(passed[..., np.newaxis], flat, 0.0)
        return np.concatenate([passed[..., np.newaxis].astype(np.float64), shown], axis=2)

    def _passes(self, distance: int, count: int, rng: Rng) -> NDArray[np.bool_]:
        """Toss coins that are True exactly as often as distance + noise exceeds margin/epsilon."""
        missing = self.margin - self.epsilon * distance
        tail = bernoulli_exp(abs(missing), count, rng) & bernoulli(Fraction(1, 2), count, rng)
        return tail if missing >= 0 else ~tail
