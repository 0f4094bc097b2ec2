"""Noisy counts of partitions, published if they reach a threshold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Final, final

import numpy as np
from attrs import evolve, field, frozen

from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.derivation import Theorem
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import R
from dpproof.mechanisms import parameters
from dpproof.mechanisms.mechanism import QueryMechanism
from dpproof.mechanisms.noise.histogram import Histogram, Noise
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.samplers.enclosure import exp_minus, normal_two_tails
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.samplers.uniform import largest
from dpproof.mechanisms.selection.partition_selection import counted, read_counts

MECHANISM_THRESHOLDED_COUNTS: Final = Theorem(
    rule="mechanism/thresholded-counts",
    source="proofs/theory/partition_selection.md, Theorem 3",
    attained=Attained.NO,  # all counts move and are missed at once
)
_LEAST: Final = Fraction(1, 2**200)
_BITS: Final = 512


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class ThresholdedCounts(QueryMechanism[R]):
    """Publish the noisy counts, at or above a threshold, of partitions that somebody has.

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
        scale: of the noise, in counts: sigma of discrete Gaussian noise, or the scale of discrete
            Laplace noise.
        delta: the largest probability to publish anything that a single record has, in
            [2^-200, 1/2]; the threshold is the least that the proof allows for it.
        noise: "laplace" or "gaussian", both on the whole numbers.
        contributions: the most partitions that one record has (``keys`` enforces it).
        relation: the neighbouring relation.
        query: data -> how many records have each partition, integers from 0; None when the data is
            already those counts.
    Outputs:
        A noisy count for each partition, 0 where it is not published.
    Raises:
        ParameterError: a parameter outside its domain; on release, counts that are not integers
            from 0.
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
        derivation = applied(
            MECHANISM_THRESHOLDED_COUNTS,
            f"counts above 0, {self._noisy().cells} of which move by 1, with discrete "
            f"{self.noise.capitalize()} noise of scale {show(self.scale)}, published from "
            f"{self.threshold} on, which one record alone reaches with probability at most "
            f"{show(self.delta)} ({self.relation})",
            assumptions=noisy.derivation.assumptions,
            noise=self.noise,
            scale=self.scale,
            cells=self._noisy().cells,
            delta=self.delta,
            threshold=self.threshold,
        )
        return DominatingPair(
            forward=pair, backward=pair, relation=self.relation, derivation=derivation
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw noisy counts, 0 if unpublished: integers of shape (datasets, count, partitions)."""
        counts = read_counts(self.query, datasets)
        noisy = self._noisy().draw(list(counts), count, rng)
        return np.where((counts[:, np.newaxis] > 0) & (noisy >= self.threshold), noisy, 0)

    def keys(self, records: Iterable[Iterable[str]], *, rng: Rng | None = None) -> dict[str, int]:
        """Publish keys with their noisy counts, without a list of the possible ones.

        This is one ``release`` on the counts of all keys there could be.

        Args:
            records: the keys of each; of more than ``contributions`` the first ones count.
            rng: as for ``release``.
        """
        names, counts = counted(records, self.contributions)
        if not names:
            return {}
        plain = evolve(self, query=None)
        said = np.asarray(plain.release(counts, rng=rng)).tolist()
        return {key: size for key, size in zip(names, said, strict=True) if size}

    def _noisy(self) -> Histogram[R]:
        """Return the same noise on counts without a threshold."""
        return Histogram(
            scale=self.scale,
            noise=self.noise,
            contributions=self.contributions,
            relation=self.relation,
        )


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
