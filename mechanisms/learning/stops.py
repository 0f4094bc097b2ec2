"""Rules that stop a perceptron before its last step, and their price beside the noisy sums.

A test looks at noisy values only, so where it stops is a function of what was released. All steps
are paid for, whether they are made or not: ending early is no refund.
"""

import functools
from abc import ABC
from collections.abc import Callable
from fractions import Fraction
from typing import final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant import L1, L2, Guarantee, L2Contribution, LInf
from dpproof.accountant.guarantees.rounding import sqrt_up
from dpproof.accountant.readable import Readable
from dpproof.accountant.relation import AddRemove, R
from dpproof.mechanisms import parameters
from dpproof.mechanisms.combinators.composed import compose
from dpproof.mechanisms.learning.records import Integers, Vectors
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.mechanisms.noise.gaussian import Gaussian
from dpproof.mechanisms.noise.laplace import Laplace
from dpproof.mechanisms.samplers import Rng, gaussian_rounded, laplace_rounded, with_noise
from dpproof.mechanisms.samplers.rounded import NoisyReals, exceeding
from dpproof.mechanisms.selection.above_threshold import AboveThreshold
from dpproof.mechanisms.selection.exponential import ExponentialMechanism

# From the noisy sums of the runs, their counts of mistakes and sigma to whether each stops.
Watch = Callable[[Vectors, Integers, float], NDArray[np.bool_]]


class Stop(Readable, ABC):  # a rule overrides what it needs
    """A rule that ends a run, or picks one of its states."""

    __slots__ = ()

    def step(self, noise: Gaussian[R], *, whole: bool) -> Mechanism[R]:
        """Return one step on its sample as a mechanism: the noisy sum and what the test releases.

        The noise has a bound C of one record's contribution; ``whole`` says whether neighbouring
        data give samples of one size, which differ in one record.
        """
        return noise

    def beside(self, relation: R) -> Guarantee[R] | None:
        """Return the guarantee of what is released once, beside the steps; None if nothing is."""
        return None

    @property
    def counts_all(self) -> bool:
        """Return whether the rule counts the mistakes of all records, not only of the sample."""
        return False

    def watch(self, runs: int, rng: Rng) -> Watch:
        """Start to watch so many runs, with what a rule draws once for each."""
        return functools.partial(self.now, rng=rng)

    def now(self, sums: Vectors, counts: Integers, sigma: float, rng: Rng) -> NDArray[np.bool_]:
        """Return whether each run stops at its present state; by default never.

        A rule adds noise to counts of mistakes before it looks; sigma is that of the noisy sums.
        """
        return np.zeros(len(counts), dtype=np.bool_)


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class LaplaceStop(Stop):
    """Stop when the number of sampled mistakes, with Laplace noise, is below a constant.

    Statement: the sum moves by at most C in L2 norm and the count by 1 in L1 norm, on one sample.
    Source: Ghazi, Kumar, Manurangsi & Nguyen, arXiv:2011.14580, Algorithm 1, with a constant in
        place of a threshold proportional to the number of records, which under add-remove would
        make records count that are not in the sample.

    Args:
        scale: of the Laplace noise, in records.
        below: the constant, in records; never computed from the number of records.
    Example:
        >>> LaplaceStop(scale=5, below=20).below
        Fraction(20, 1)
    """

    scale: Fraction = field(converter=parameters.scale)
    below: Fraction = field(converter=parameters.real)

    def step(self, noise: Gaussian[R], *, whole: bool) -> Mechanism[R]:
        """Return the sum and the count on one sample, as one mechanism."""
        return compose(noise, Laplace(scale=self.scale, sensitivity=L1(1, noise.relation)))

    def now(self, sums: Vectors, counts: Integers, sigma: float, rng: Rng) -> NDArray[np.bool_]:
        """Compare the noisy counts with the constant."""
        return with_noise(laplace_rounded, counts, self.scale, rng) < float(self.below)


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class GaussianStop(Stop):
    """Stop when the number of sampled mistakes, with Gaussian noise, is below a constant.

    Statement: a mistake contributes to the sum and to the count at once; with the count scaled by
        a = sigma / sigma_c, one record contributes a vector of norm at most sqrt(C^2 + a^2) to one
        Gaussian release. If a record is replaced and all records are sampled, the scaled vector
        moves by at most max(2 C, sqrt(C^2 + a^2)): if both records are mistakes, the count stays.
    Source: proofs/theory/learners.md, Lemma 4.

    Args:
        sigma: standard deviation of the noise on the count, in records.
        below: the constant, in records; never computed from the number of records.
    Example:
        >>> GaussianStop(sigma=5, below=20).sigma
        Fraction(5, 1)
    """

    sigma: Fraction = field(converter=parameters.scale)
    below: Fraction = field(converter=parameters.real)

    def step(self, noise: Gaussian[R], *, whole: bool) -> Mechanism[R]:
        """Return the sum and the scaled count, as one Gaussian release."""
        moved = noise.sensitivity
        one = moved.bound if isinstance(moved, L2Contribution) else moved.value
        joint = sqrt_up(one**2 + (noise.sigma / self.sigma) ** 2)
        bound: L2[R] | L2Contribution[R] = L2Contribution(joint, noise.relation)
        if noise.relation.symmetric and whole:
            bound = L2(max(noise.moved, joint), noise.relation)
        return Gaussian(sigma=noise.sigma, sensitivity=bound)

    def now(self, sums: Vectors, counts: Integers, sigma: float, rng: Rng) -> NDArray[np.bool_]:
        """Compare the noisy counts with the constant."""
        return with_noise(gaussian_rounded, counts, self.sigma, rng) < float(self.below)


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class NormStop(Stop):
    """Stop when the noisy sum is short: its squared norm, less that of the noise, is below below^2.

    It costs nothing, as it looks at the noisy sum alone. If all records have margin gamma, the sum
    of m mistakes has norm at least gamma m. Heuristic: the noise hides sums shorter than
    approximately sigma d^(1/4).

    Args:
        below: a length in data units.
    Example:
        >>> NormStop(below=30).below
        Fraction(30, 1)
    """

    below: Fraction = field(converter=parameters.positive)

    def now(self, sums: Vectors, counts: Integers, sigma: float, rng: Rng) -> NDArray[np.bool_]:
        """Compare the squared norms with their mean if there were no mistakes."""
        flat = sums.reshape(len(sums), -1)
        excess = np.square(flat).sum(axis=1) - flat.shape[1] * sigma**2
        return np.asarray(excess < float(self.below) ** 2)


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class ChooseIterate(Stop):
    """Make all steps, then pick the state with few mistakes on all records.

    Statement: given the states, which are paid for, the counts of mistakes move by at most 1, under
        add-remove and zero-out all in the same direction; the exponential mechanism on them is
        epsilon-bounded-range. Candidates are the states after each step and, if averages are asked
        for, the mean of the states up to each step.
    Source: proofs/theory/learners.md, Lemma 5.

    Args:
        epsilon: of the choice, in nats; the pick has at most log(2 T / beta) / epsilon mistakes
            more than the best candidate, except with probability beta (twice that under
            replace-one).
    Example:
        >>> ChooseIterate(epsilon=0.1).epsilon == 0.1
        True
    """

    epsilon: Fraction = field(converter=parameters.positive)

    def beside(self, relation: R) -> Guarantee[R]:
        """Return the guarantee of the choice, made once."""
        return self._mechanism(relation).guarantee()

    def choose(self, counts: Integers, relation: R, rng: Rng) -> Integers:
        """Pick a candidate for every run, by counts of shape (runs, candidates)."""
        picked = self._mechanism(relation).draw(list(-counts), 1, rng)
        return np.asarray(picked[:, 0], dtype=np.int64)

    def _mechanism(self, relation: R) -> ExponentialMechanism[R]:
        return ExponentialMechanism(
            epsilon=self.epsilon, sensitivity=LInf(1, relation), monotone=not relation.symmetric
        )


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class SparseVectorStop(Stop):
    """Stop at the first state whose noisy number of mistakes is below a noisy constant.

    Before every step the mistakes of the present state are counted among all records, also if the
    step sees a sample. The constant gets Laplace noise once, every count noise of its own.

    Statement: imagine all T noisy sums released first; they do not look at the tests. Given them
        the states are fixed, their counts move by at most 1 between neighbours, under add-remove
        and zero-out all in the same direction, and the tests are ``AboveThreshold`` of the
        negative counts. What a run releases is a function of both, whatever T is.
    Source: Lemma 10 of proofs/theory/learners.md; proofs/theory/above_threshold.md.

    Args:
        threshold_scale: of the Laplace noise on the constant, in records.
        query_scale: of the Laplace noise on every count, in records.
        below: the constant, in records, exactly a binary64 number; never computed from the number
            of records.
    Example:
        >>> SparseVectorStop(threshold_scale=20, query_scale=40, below=100).below
        Fraction(100, 1)
    """

    counts_all = True

    threshold_scale: Fraction = field(converter=parameters.scale)
    query_scale: Fraction = field(converter=parameters.scale)
    below: Fraction = field(converter=parameters.real)

    def __attrs_post_init__(self) -> None:
        self._tests(AddRemove())  # refuses a constant that floats do not hold

    def beside(self, relation: R) -> Guarantee[R]:
        """Return the guarantee of all tests together, made once."""
        return self._tests(relation).guarantee()

    def _tests(self, relation: R) -> AboveThreshold[R]:
        return AboveThreshold(
            threshold_scale=self.threshold_scale,
            query_scale=self.query_scale,
            monotone=not relation.symmetric,
            threshold=-self.below,
            sensitivity=LInf(1, relation),
        )

    def watch(self, runs: int, rng: Rng) -> Watch:
        """Draw the noisy constant of every run; compare real numbers, of which none is rounded."""
        level = np.full(runs, -float(self.below))
        bar = NoisyReals(level, self.threshold_scale, rng, signed=True)

        def now(_: Vectors, counts: Integers, __: float) -> NDArray[np.bool_]:
            values = NoisyReals(-counts.astype(np.float64), self.query_scale, rng, signed=True)
            return exceeding(values, bar, 1)[:, 0]

        return now
