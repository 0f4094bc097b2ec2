"""Partition selection: which keys may be published, by how many records have each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import islice, pairwise
from math import floor
from typing import Final, final

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import DataError
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.derivation import Theorem
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.pairs.finite import smallest_pair_above
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.relation import R
from dpproof.accountant.side_conditions import FEW_CELLS
from dpproof.mechanisms import parameters
from dpproof.mechanisms.mechanism import QueryMechanism
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.queries import Query, whole_values
from dpproof.mechanisms.samplers.enclosure import exp_minus
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.samplers.uniform import uniform_below

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
@frozen(kw_only=True, repr=False, field_transformer=named)
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
        relation: the neighbouring relation.
        query: data -> how many records have each partition, integers from 0; None when the data is
            already those counts.
    Raises:
        ParameterError: a parameter outside its domain, or so small that counts up to 2000 are never
            surely published; on release, counts that are not integers from 0.
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
        derivation = applied(
            MECHANISM_PARTITION_SELECTION,
            f"partitions published by coins, {self.cells} of whose counts move by 1, "
            f"{show(self.epsilon)} and {show(self.delta)} split among them ({self.relation})",
            assumptions=(
                FEW_CELLS(cells=self.cells, largest=1, relation=self.relation),
                *parameters.assumptions_of_noise(),
            ),
            attained=None if self.cells == 1 else Attained.NO,
            kept=self.kept,
            cells=self.cells,
        )
        laws = [
            ((high, 1 - high), (low, 1 - low)) for low, high in pairwise((Fraction(0), *self.kept))
        ]
        pair = smallest_pair_above([*laws, *((q, p) for p, q in laws)])
        product = Product((Factor(pair, self.cells),))
        return DominatingPair(
            forward=product, backward=product, relation=self.relation, derivation=derivation
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw 1 where a partition may be published: int64, shape (datasets, count, partitions)."""
        counts = read_counts(self.query, datasets)
        return np.stack([self._coins(row, count, rng) for row in counts])

    def keys(self, records: Iterable[Iterable[str]], *, rng: Rng | None = None) -> tuple[str, ...]:
        """Publish keys, in alphabetical order, without a list of the possible ones.

        This is one ``release`` on the counts of all keys there could be.

        Args:
            records: the keys of each; of more than ``contributions`` the first ones count.
            rng: as for ``release``.
        """
        names, counts = counted(records, self.contributions)
        if not names:
            return ()
        plain = evolve(self, query=None)
        said = np.asarray(plain.release(counts, rng=rng))
        return tuple(key for key, said_yes in zip(names, said.tolist(), strict=True) if said_yes)

    def _coins(self, counts: NDArray[np.int64], count: int, rng: Rng) -> NDArray[np.int64]:
        """Throw the coins of all partitions."""
        levels = np.minimum(counts, len(self.kept))
        unit = max(one.denominator for one in self.kept)
        steps = np.array([0, *(int(one * unit) for one in self.kept)], dtype=np.object_)
        uniform = np.asarray(uniform_below(unit, count * len(levels), rng), dtype=np.object_)
        return (uniform.reshape(count, len(levels)) < steps[levels]).astype(np.int64)


def read_counts(query: Query | None, datasets: Sequence[object]) -> NDArray[np.int64]:
    """Return one row of counts for each dataset.

    Raises:
        DataError: not a list of integers, or one of them is negative; it says where.
    Example:
        >>> read_counts(None, [[2, 0]])
        array([[2, 0]])
    """
    counts, allowed = whole_values(query, datasets), "a list of integers, each at least 0"
    if counts.ndim != 2:
        raise DataError("counts", counts[0], allowed)
    if (counts < 0).any():
        raise DataError("counts", counts[0], allowed, at=int(np.argwhere(counts < 0)[0, 1]))
    return counts


def counted(records: Iterable[Iterable[str]], most: int) -> tuple[list[str], list[int]]:
    """Return the keys there are in alphabetical order, and how many records have each.

    Args:
        records: the keys of each.
        most: of how many different ones of a record, the first, count.
    Example:
        >>> counted([["b", "b", "a"], ["b", "a", "c"]], 2)
        (['a', 'b'], [2, 2])
    """
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
        raise ParameterError(
            "epsilon",
            float(epsilon),
            f"larger, or delta: even {_LONGEST} records would not surely be enough",
            "the budget of one partition is what was given over contributions",
        )
    return tuple(chances)
