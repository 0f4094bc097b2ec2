"""The noisy means of all classes: one Gaussian release."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from fractions import Fraction
from typing import final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant import L2, Guarantee, post_process
from dpproof.accountant.guarantees.rounding import sqrt_up
from dpproof.accountant.relation import R
from dpproof.mechanisms import parameters
from dpproof.mechanisms.blocks import Blocks
from dpproof.mechanisms.learning.grid import RECORD_BITS, Vectors, row_width
from dpproof.mechanisms.learning.records import MOST_CLASSES, Matrix, class_numbers, on_grid
from dpproof.mechanisms.mechanism import Mechanism, Outputs, record
from dpproof.mechanisms.noise.gaussian import Gaussian
from dpproof.mechanisms.samplers import Rng, gaussian_rounded, repeated_values, with_noise


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class ClassMeans(Mechanism[R]):
    """Release the sum of the rows and the number of records of every class, once, with noise.

    Classify a row x by the class of largest <mean, x> - ||mean||^2 / 2, the nearest mean.

    Statement: with the counts scaled by a = sigma / count_sigma, a record contributes (x, a) to
        one class, of norm at most sqrt(norm^2 + a^2). Under replace-one a record that changes its
        class moves two of them: max(2 norm, sqrt(2) sqrt(norm^2 + a^2)).
    Source: proofs/theory/learners.md, Lemma 6.

    Args:
        classes: k, from 1; labels are the class numbers 0 to k - 1.
        sigma: standard deviation of the noise on the sums, in data units.
        count_sigma: of the noise on the counts, in records; by default sigma / norm: a = norm.
        norm, relation, features: as for ``BatchPerceptron``.
    Outputs:
        A record with fields ``means``, shape (k, features), and ``counts``, shape (k,): a noisy sum
        divided by its noisy count, taken as at least 1, and the noisy count.
    Raises:
        ParameterError: as for ``BatchPerceptron``.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> round(float(ClassMeans(classes=10, sigma=4, relation=AddRemove()).guarantee().mu), 6)
        0.353553
    """

    whole = ""

    classes: int = field(
        converter=parameters.count,
        validator=parameters.within(1, MOST_CLASSES, f"at least 1 and at most {MOST_CLASSES}"),
    )
    sigma: Fraction = field(converter=parameters.scale)
    norm: Fraction | None = field(default=Fraction(1), converter=parameters.optional_scale)
    count_sigma: Fraction = field(converter=parameters.scale)
    relation: R = field(validator=parameters.neighbours)
    features: int | None = field(default=None, converter=row_width)

    @count_sigma.default
    def _as_large(self) -> Fraction:
        return self.sigma / self._unit

    @property
    def sensitivity(self) -> L2[R]:
        """Return how far the sums and the scaled counts move together, in data units."""
        squared = self._unit**2 + (self.sigma / self.count_sigma) ** 2
        if self.relation.symmetric:
            return L2(sqrt_up(max(4 * self._unit**2, 2 * squared)), self.relation)
        return L2(sqrt_up(squared), self.relation)

    def guarantee(self) -> Guarantee[R]:
        """Return mu-GDP with mu = sensitivity / sigma."""
        noise = Gaussian(sigma=self.sigma, sensitivity=self.sensitivity)
        return post_process(noise.guarantee(), description="dividing noisy sums by noisy counts")

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Release ``count`` times on each dataset: records of shape (len(datasets), count)."""
        totals = [self.totals(data) for data in datasets]
        sums = repeated_values(np.stack([total for total, _ in totals]), count)
        counts = repeated_values(np.stack([number for _, number in totals]), count)
        means, numbers = self.released(sums, counts, rng)
        return record(2, means=means, counts=numbers)

    def released(self, sums: Vectors, counts: Vectors, rng: Rng) -> tuple[Vectors, Vectors]:
        """Return noisy means and counts from exact sums and counts, each with fresh noise."""
        means = with_noise(gaussian_rounded, sums * 2.0**-RECORD_BITS, self.sigma / self._unit, rng)
        numbers = with_noise(gaussian_rounded, counts, self.count_sigma, rng)
        return means * float(self._unit) / np.maximum(numbers, 1.0)[..., np.newaxis], numbers

    def totals(self, data: object) -> tuple[Vectors, Vectors]:
        """Return the exact sums on the grid, in units of norm 2^-24, and the exact counts."""
        blocks = data if isinstance(data, Blocks) else Blocks([data])
        _, sums, counts = blocks.sum(self._totals)
        return sums, counts

    def _totals(self, data: object) -> tuple[int, Vectors, Vectors]:
        """Return the number of records, and the exact sums and counts of every class."""
        norm = None if self.norm is None else float(self.norm)
        encode = functools.partial(class_numbers, classes=self.classes)
        records = on_grid(data, encode, norm=norm, features=self.features, compact=True)
        sums = np.zeros((self.classes, records.vectors.shape[1]))
        counts = np.zeros(self.classes)
        for vectors, classes, _ in records.pieces():
            some, number = members(vectors, classes, self.classes)
            sums += some
            counts += number
        return records.total, sums, counts

    @property
    def _unit(self) -> Fraction:
        """Return the bound of the rows' norms, in data units: 1 if rows are scaled to norm 1."""
        return Fraction(1) if self.norm is None else self.norm


def members(vectors: Matrix, classes: NDArray[np.int64], number: int) -> tuple[Vectors, Vectors]:
    """Return the exact sums and counts of so many classes, for each of the leading axes."""
    member = (classes[..., np.newaxis, :] == np.arange(number)[:, np.newaxis]).astype(np.float64)
    return member @ vectors, member.sum(axis=-1)
