"""Training runs by their numbers alone: records, batch size, epochs and noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from dpproof.accountant import (
    Guarantee,
    L2Contribution,
    Poisson,
    ShuffledBatches,
    ZeroOut,
    arguments,
)
from dpproof.accountant.relation import AddRemove, Relation
from dpproof.accountant.theorems.composition import post_process
from dpproof.errors import InputError
from dpproof.mechanisms import Gaussian

NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "records": ("n", "number_of_examples"),
    "batch_size": ("batch_size",),
    "epochs": ("epochs", "num_epochs"),
    "noise_multiplier": ("noise_multiplier",),
}
"""The names of each number in documents, the older ones of TensorFlow Privacy first."""


def from_shuffled_training(
    *,
    records: int,
    batch_size: int,
    epochs: int,
    noise_multiplier: arguments.Number,
    relation: Relation | None = None,
) -> Guarantee[Relation]:
    """Return what DP-SGD satisfies that shuffles all records before every epoch.

    So do ``fit(shuffle=True)`` of Keras on arrays and ``DataLoader(shuffle=True)`` of PyTorch, the
    last batch perhaps smaller. Accountants of Poisson samples are about something else.

    Args:
        records: their number, public.
        batch_size: of every batch but perhaps the last one of an epoch.
        epochs: each in an order of its own.
        noise_multiplier: standard deviation of the noise over the norm to which the gradient of a
            record is clipped; the noise is added to the sum of a batch.
        relation: ZeroOut(), by default, or ReplaceOne().
    Raises:
        ParameterError: a number outside its domain.
        NotImplied: another relation.
    Example:
        >>> cost = from_shuffled_training(
        ...     records=60_000, batch_size=128, epochs=10, noise_multiplier=1.0
        ... ).epsilon(delta=1e-6)
        >>> round(cost.lower, 1), round(cost.upper, 1)
        (6.9, 19.4)
    """
    size, total = arguments.count(batch_size=batch_size), arguments.count(records=records)
    batches = -(-total // size)
    return shuffled(batches, arguments.count(epochs=epochs) * batches, noise_multiplier, relation)


def shuffled(
    batches: int, steps: int, noise_multiplier: object, relation: Relation | None
) -> Guarantee[Relation]:
    """Return the guarantee of so many noisy sums of shuffled batches, each epoch in a new order.

    Of an epoch that is not finished the whole is accounted for, and forgotten in part.
    """
    noise: Any = noise_multiplier
    base = Gaussian(sigma=noise, sensitivity=L2Contribution(1, relation or ZeroOut()))
    epochs = math.ceil(steps / batches)
    whole = base.allocate(ShuffledBatches(batches=batches)).repeat(epochs).guarantee()
    if steps == epochs * batches:
        return whole
    return post_process(whole, description=f"the first {steps} of {epochs * batches} sums")


def from_training(
    document: Mapping[str, Any], relation: Relation | None, *, poisson: bool
) -> Guarantee[Relation]:
    """Return the guarantee of a document with the numbers of a training run.

    Args:
        document: by ``NAMES``.
        relation: which datasets are neighbours, by default zero-out, and add-remove of samples.
        poisson: whether batches were Poisson samples, not shuffled.
    Raises:
        InputError: a number is missing or has two names, or is none.
    """
    numbers: dict[str, Any] = {}
    for name, names in NAMES.items():
        values = [document[one] for one in names if one in document]
        if len(values) != 1:
            raise InputError(f"expected a training run with one {' or '.join(names)}")
        numbers[name] = values[0]
    if not poisson:
        return from_shuffled_training(**numbers, relation=relation)
    size = arguments.count(batch_size=numbers["batch_size"])
    total, epochs = (arguments.count(**{one: numbers[one]}) for one in ("records", "epochs"))
    base = Gaussian(
        sigma=numbers["noise_multiplier"], sensitivity=L2Contribution(1, relation or AddRemove())
    )
    rate = Poisson(sampling_rate=arguments.real(rate=size) / total)
    return base.subsample(rate).repeat(math.ceil(epochs * total / size)).guarantee()
