"""Which keys may be published, by how many records have each, and their noisy counts."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import islice, pairwise
from math import floor
from typing import Any, Final, final

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from dpproof.accountant import DataError, DominatingPair, ParameterError
from dpproof.accountant.guarantees.derivation import Attained, Theorem
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.pairs.finite import FinitePair, smallest_pair_above
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.relation import R
from dpproof.accountant.side_conditions import FEW_CELLS
from dpproof.mechanisms import parameters
from dpproof.mechanisms.mechanism import Outputs, QueryMechanism
from dpproof.mechanisms.noise.histogram import Histogram, Noise
from dpproof.mechanisms.queries import Query, whole_values
from dpproof.mechanisms.samplers import Rng, uniform_below
from dpproof.mechanisms.samplers.enclosure import exp_minus, normal_two_tails
from dpproof.mechanisms.samplers.rng import largest

_WORD: Final = 64  # The probabilities have so many bits beyond the first of delta, or more.
_LONGEST: Final = 2_000
# Keeps the rounding in floats of epsilon and of delta below what is asked.
_BELOW: Final = 1 - Fraction(1, 2**30)

MECHANISM_PARTITION_SELECTION: Final = Theorem(
    rule="mechanism/partition-selection",
    source="proofs/theory/partition_selection.md",
    attained=Attained.POINTS,  # of one count: that of the worst size
)


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class PartitionSelection(QueryMechanism[R]):
    """Say of each partition if it may be published: with probability pi(n) if n records have it.

    pi(0) = 0, so that partitions nobody has are never published and need not be listed, and
    pi(n + 1) = min(e^E pi(n) + D, 1 - e^-E (1 - pi(n) - D), 1), rounded down to 64 bits
    beyond those of D: the most that (E, D)-DP of one partition allows. E = epsilon/K (1 - 2^-30)
    and D = delta/K (1 - 2^-30), K = contributions, or 2 contributions under replace-one.

    Statement: neighbours differ in K counts at most, each by 1, and are dominated in both orders by
        K independent copies of the smallest finite pair above all (Bernoulli(pi(n + 1)),
        Bernoulli(pi(n))) and their exchanges; hence it is (epsilon, delta)-DP.
    Assumes: few cells; one shape; random bits; output alone.
    Source: proofs/theory/partition_selection.md; Desfontaines, Voss, Gipson & Mandayam
        (arXiv:2006.03684), for the recursion.

    Args:
        epsilon: nats, above 0: of the whole.
        delta: in (0, 1), of the whole.
        contributions: the most partitions that one record has (``keys`` enforces it).
    Raises:
        ParameterError: so small a budget that counts up to 2000 are never surely published.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> chosen = PartitionSelection(epsilon=1, delta=1e-6, relation=AddRemove())
        >>> chosen.release([0, 1000]).tolist()
        [0, 1]
        >>> chosen.keys([["here"]] * 100)
        ('here',)
    """

    epsilon: Fraction = field(converter=parameters.positive)
    delta: Fraction = field(converter=parameters.open_probability)
    contributions: int = field(default=1, converter=parameters.count)
    relation: R = field(validator=parameters.neighbours)
    kept: tuple[Fraction, ...] = field(init=False, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        share = _BELOW / self.cells
        object.__setattr__(self, "kept", _kept(self.epsilon * share, self.delta * share))

    @property
    def cells(self) -> int:
        """Return the largest number of counts that move between neighbours."""
        return self.contributions * (2 if self.relation.symmetric else 1)

    def guarantee(self) -> DominatingPair[R]:
        """Return the pair of independent coins of the partitions whose counts move, both ways."""
        laws = [
            ((high, 1 - high), (low, 1 - low)) for low, high in pairwise((Fraction(0), *self.kept))
        ]
        pair = smallest_pair_above([*laws, *((q, p) for p, q in laws)])
        return self._dominated(
            MECHANISM_PARTITION_SELECTION,
            f"partitions published by coins, {self.cells} of whose counts move by 1, "
            f"{show(self.epsilon)} and {show(self.delta)} split among them ({self.relation})",
            Product((Factor(pair, self.cells),)),
            assumptions=(
                FEW_CELLS(cells=self.cells, largest=1, relation=self.relation),
                *parameters.assumptions_of_noise(),
            ),
            attained=None if self.cells == 1 else Attained.NO,
            kept=self.kept,
            cells=self.cells,
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw 1 where a partition may be published: int64, shape (datasets, count, partitions)."""
        counts = read_counts(self.query, datasets)
        return np.stack([self._coins(row, count, rng) for row in counts])

    def keys(self, records: Iterable[Iterable[str]], *, rng: Rng | None = None) -> tuple[str, ...]:
        """Publish keys, in alphabetical order, without a list of the possible ones.

        This is one ``release`` on the counts of all keys there could be. Of more than
        ``contributions`` keys of a record the first ones count.
        """
        return tuple(_published(self, records, rng))

    def _coins(self, counts: NDArray[np.int64], count: int, rng: Rng) -> NDArray[np.int64]:
        levels = np.minimum(counts, len(self.kept))
        unit = max(one.denominator for one in self.kept)
        steps = np.array([0, *(int(one * unit) for one in self.kept)], dtype=np.object_)
        uniform = np.asarray(uniform_below(unit, count * len(levels), rng), dtype=np.object_)
        return (uniform.reshape(count, len(levels)) < steps[levels]).astype(np.int64)


def read_counts(query: Query | None, datasets: Sequence[object]) -> NDArray[np.int64]:
    """Return one row of counts for each dataset."""
    counts, allowed = whole_values(query, datasets), "a list of integers, each at least 0"
    if counts.ndim != 2:
        raise DataError("counts", counts[0], allowed)
    if (counts < 0).any():
        raise DataError("counts", counts[0], allowed, at=int(np.argwhere(counts < 0)[0, 1]))
    return counts


def counted(records: Iterable[Iterable[str]], most: int) -> tuple[list[str], list[int]]:
    """Return the keys there are in alphabetical order, and how many records have each."""
    counts = Counter(key for one in records for key in islice(dict.fromkeys(one), most))
    names = sorted(counts)
    return names, [counts[key] for key in names]


def _kept(epsilon: Fraction, delta: Fraction) -> tuple[Fraction, ...]:
    """Return pi(1), pi(2), ... up to the first that is 1, each rounded down."""
    bits = _WORD * (2 + floor(1 / delta).bit_length() // _WORD)
    falling = Fraction(exp_minus(epsilon)(2 * bits)[1], 2 ** (2 * bits))  # At or above e^-epsilon.
    chances: list[Fraction] = []
    last = Fraction(0)
    while last < 1 and len(chances) < _LONGEST:
        most = min(last / falling + delta, 1 - falling * (1 - last - delta), Fraction(1))
        if floor(most * 2**bits) <= last * 2**bits:
            break
        last = Fraction(floor(most * 2**bits), 2**bits)
        chances.append(last)
    if last < 1:
        allowed = f"larger, or delta: even {_LONGEST} records would not surely be enough"
        hint = "the budget of one partition is what was given over contributions"
        raise ParameterError("epsilon", float(epsilon), allowed, hint)
    return tuple(chances)


MECHANISM_THRESHOLDED_COUNTS: Final = Theorem(
    rule="mechanism/thresholded-counts",
    source="proofs/theory/partition_selection.md, Theorem 3",
    attained=Attained.NO,  # all counts move and are missed at once
)
_LEAST: Final = Fraction(1, 2**200)
_BITS: Final = 512


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class ThresholdedCounts(QueryMechanism[R]):
    """Publish noisy counts, or 0 below a threshold, of partitions that somebody has.

    Partitions nobody has are never published and need not be listed. ``PartitionSelection`` says
    more often yes for as much privacy; this one says how many, too.

    Statement: with K = contributions, or 2 contributions under replace-one, neighbours are
        dominated in both orders by K independent noise variables shifted by 1 and the pair of
        (0, delta)-DP together: counts above 0 on both sides are post-processing of noisy counts,
        and K partitions of a single record are published with probability at most delta.
    Assumes: few cells; one shape; random bits; output alone.
    Source: proofs/theory/partition_selection.md, Theorem 3; Korolova, Kenthapadi, Mishra & Ntoulas
        (WWW 2009), for the mechanism.

    Args:
        scale, noise: as for ``Histogram``, with "laplace" by default.
        delta: the largest probability to publish anything that a single record has, in
            [2^-200, 1/2]; the threshold is the least that the proof allows for it.
        contributions: the most partitions that one record has (``keys`` enforces it).
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> chosen = ThresholdedCounts(scale=2, delta=1e-6, relation=AddRemove())
        >>> chosen.threshold, chosen.release([0, 3, 1000])[:2].tolist()
        (28, [0, 0])
        >>> abs(chosen.keys([["here"]] * 1000 + [["there"]])["here"] - 1000) < 100
        True
    """

    scale: Fraction = field(converter=parameters.scale)
    delta: Fraction = field(
        converter=parameters.probability,
        validator=parameters.within(_LEAST, Fraction(1, 2), "at least 2^-200 and at most 1/2"),
    )
    noise: Noise = field(default="laplace", validator=parameters.one_of("gaussian", "laplace"))
    contributions: int = field(default=1, converter=parameters.count)
    relation: R = field(validator=parameters.neighbours)
    threshold: int = field(init=False, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        mass = self.delta / self._noisy().cells
        threshold = _threshold(self.scale, mass, gaussian=self.noise == "gaussian")
        object.__setattr__(self, "threshold", threshold)

    def guarantee(self) -> DominatingPair[R]:
        """Return the pair of the counts' shifts and of what is missed, the same both ways."""
        noisy = self._noisy().guarantee()
        keep = 1 - self.delta
        missed = FinitePair(p=(self.delta, keep, Fraction(0)), q=(Fraction(0), keep, self.delta))
        pair = noisy.forward.joined(Product.of(missed))
        return self._dominated(
            MECHANISM_THRESHOLDED_COUNTS,
            f"counts above 0, {self._noisy().cells} of which move by 1, with discrete "
            f"{self.noise.capitalize()} noise of scale {show(self.scale)}, published from "
            f"{self.threshold} on, which one record alone reaches with probability at most "
            f"{show(self.delta)} ({self.relation})",
            pair,
            assumptions=noisy.derivation.assumptions,
            noise=self.noise,
            scale=self.scale,
            cells=self._noisy().cells,
            delta=self.delta,
            threshold=self.threshold,
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw noisy counts, 0 if unpublished: integers of shape (datasets, count, partitions)."""
        counts = read_counts(self.query, datasets)
        noisy = self._noisy().draw(list(counts), count, rng)
        return np.where((counts[:, np.newaxis] > 0) & (noisy >= self.threshold), noisy, 0)

    def keys(self, records: Iterable[Iterable[str]], *, rng: Rng | None = None) -> dict[str, int]:
        """Publish keys with their noisy counts, as ``PartitionSelection.keys`` does keys alone."""
        return _published(self, records, rng)

    def _noisy(self) -> Histogram[R]:
        """Return the same noise on counts without a threshold."""
        return Histogram(
            scale=self.scale,
            noise=self.noise,
            contributions=self.contributions,
            relation=self.relation,
        )


def _published(
    mechanism: PartitionSelection[Any] | ThresholdedCounts[Any],
    records: Iterable[Iterable[str]],
    rng: Rng | None,
) -> dict[str, int]:
    """Return the keys that one release says something of, and what it says."""
    names, counts = counted(records, mechanism.contributions)
    if not names:
        return {}
    said = np.asarray(evolve(mechanism, query=None).release(counts, rng=rng)).tolist()
    return {key: size for key, size in zip(names, said, strict=True) if size}


def _threshold(scale: Fraction, mass: Fraction, *, gaussian: bool) -> int:
    """Return the least threshold, from 2, that a count of 1 is proved to reach so rarely."""

    def often(noise: int) -> bool:
        """Return whether the noise may be at least so large with more probability."""
        if noise < 1:
            return True
        if gaussian:  # The tail of whole numbers is below that of real ones from noise - 1 on.
            return Fraction(normal_two_tails((noise - 1) / scale)(_BITS)[1], 2 << _BITS) > mass
        unit, step = 1 << _BITS, exp_minus(1 / scale)(_BITS)[0]
        return Fraction(exp_minus(noise / scale)(_BITS)[1], unit + step) > mass

    far = -math.log(float(mass))
    guess = scale * Fraction(math.sqrt(2 * far) if gaussian else far)
    return largest(often, max(int(guess), 0)) + 2
