"""A mechanism on a random sample of the records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import R
from dpproof.accountant.sampling.poisson import Poisson
from dpproof.accountant.sampling.scheme import SamplingScheme
from dpproof.accountant.sampling.without_replacement import WithoutReplacement
from dpproof.accountant.theorems.subsampling.poisson import subsample_poisson
from dpproof.accountant.theorems.subsampling.without_replacement import (
    subsample_without_replacement,
)
from dpproof.mechanisms.combinators.draw_samples import draw_samples
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.mechanisms.noise.gaussian import Gaussian
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.samplers.rng import Rng


@final
@dataclass(frozen=True, slots=True)
class Subsampled(Mechanism[R]):
    """The base mechanism on a fresh random sample for every output; built by ``.subsample``.

    A base that releases several outputs (a composition, a repetition) sees one sample for all of
    them. The sample itself, its size included, is not released.

    Attributes:
        base: a mechanism on records: to run, its noise needs ``query=``, defined on every sample
            (a Poisson sample can be empty).
        scheme: how the records are drawn.
    Laws: at rate 1, or at full sample size, this is the base.
    Example:
        >>> from dpproof.accountant.sensitivity import L1
        >>> from dpproof.mechanisms import Count, DiscreteLaplace
        >>> count = DiscreteLaplace(scale=2, sensitivity=L1(1), query=Count())
        >>> step = count.subsample(Poisson(sampling_rate=0.5))
        >>> isinstance(step.release(["ann", "bob", "eve"]), int)
        True
    """

    base: Mechanism[R]
    scheme: SamplingScheme

    def __post_init__(self) -> None:
        """Refuse anything that is not a mechanism and a scheme."""
        if not isinstance(self.base, Mechanism):
            raise ParameterError("base", self.base, "a mechanism")
        if not isinstance(self.scheme, Poisson | WithoutReplacement):
            raise ParameterError(
                "scheme",
                self.scheme,
                "Poisson(...) or WithoutReplacement(...)",
                "a bare rate does not say how the records are drawn",
            )

    @property
    def relation(self) -> R:
        """The neighbouring relation of the base mechanism."""
        return self.base.relation

    def guarantee(self) -> Guarantee[R]:
        """The base's guarantee, amplified by the theorem for this scheme and relation.

        Raises:
            NotImplied: no theorem covers the scheme under this relation.
        """
        match self.scheme:
            case Poisson():
                if isinstance(self.base, Gaussian):
                    return self.base.on_poisson_sample(self.scheme)
                return subsample_poisson(self.base.guarantee(), self.scheme)
            case WithoutReplacement():
                return subsample_without_replacement(self.base.guarantee(), self.scheme)

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """One sample for every output, and the base once on each sample.

        Raises:
            ParameterError: the base acts on a value, or the data is not records.
        """
        if not self.base.acts_on_records:
            raise ParameterError(
                "base",
                self.base,
                "a mechanism on records, in order to run on a sample",
                "give its noise query=, a function from records to a value",
            )
        per_dataset = []
        for data in datasets:
            batches = [
                self.base.draw(samples, 1, rng)[:, 0]
                for samples in draw_samples(data, self.scheme, count, rng)
            ]
            if any(batch.shape[1:] != batches[0].shape[1:] for batch in batches):
                raise ParameterError(
                    "query", [batch.shape[1:] for batch in batches], "of one shape on every sample"
                )
            per_dataset.append(np.concatenate(batches))
        return np.stack(per_dataset)
