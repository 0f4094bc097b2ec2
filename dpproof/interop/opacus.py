"""Histories of Opacus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpproof.accountant import L2, AddRemove, Guarantee, Poisson, compose
from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.errors import InputError
from dpproof.mechanisms import Gaussian


def from_opacus_history(
    history: Sequence[Sequence[Any]] | Mapping[str, Any],
    poisson: bool = False,  # noqa: FBT001, FBT002  # a contract
) -> Guarantee[AddRemove]:
    """Return the guarantee of a training with Opacus, under add/remove of one record.

    Args:
        history: ``accountant.history``, a list of (noise_multiplier, sample_rate, num_steps), or
            ``accountant.state_dict()``.
        poisson: state that batches were drawn by Poisson sampling (``poisson_sampling=True``, no
            other sampler). A history does not say so, and what it means without is unknown.
    Raises:
        NotImplied: Poisson sampling is not stated.
        InputError: it is no history.
        ParameterError: a number outside its domain.
    Example:
        >>> from_opacus_history([(1.0, 0.01, 100)], poisson=True).epsilon(delta=1e-5).upper < 1.2
        True
    """
    if poisson is not True:
        raise NotImplied(
            "a history of Opacus does not say how batches were drawn, and its numbers are true of "
            "Poisson sampling alone; if that is what ran (poisson_sampling=True and no other "
            "sampler), say poisson=True; shuffled batches of fixed size cost more"
        )
    entries = history.get("history") if isinstance(history, Mapping) else history
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
        raise InputError("expected a list of (noise_multiplier, sample_rate, num_steps)")
    return compose(*(_entry(entry) for entry in entries))


def _entry(entry: object) -> Guarantee[AddRemove]:
    if not isinstance(entry, Sequence) or isinstance(entry, str) or len(entry) != 3:
        raise InputError(f"expected (noise_multiplier, sample_rate, num_steps), got {entry!r:.60}")
    noise, rate, steps = entry
    if not isinstance(noise, int | float) or not noise > 0:
        raise ParameterError("noise_multiplier", noise, "above 0", "there is no privacy without")
    step = Gaussian(sigma=noise, sensitivity=L2(1)).subsample(Poisson(sampling_rate=rate))
    return step.repeat(steps).guarantee()
