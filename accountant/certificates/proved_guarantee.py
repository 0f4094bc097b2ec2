"""A guarantee whose numbers were raised to what a proof reaches, with that proof."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.proofs.core.certificate import Step


@final
@dataclass(frozen=True, slots=True)
class ProvedGuarantee:
    """A guarantee with the steps that prove it.

    Attributes:
        guarantee: the proved guarantee.
        premise: from what.
        steps: distance of the premise's datasets -> steps, the last of which concludes;
            premise 0 stands for the premise, k for the k-th of these steps.
        size: factor by which the conclusion's datasets are further apart.
    """

    guarantee: Guarantee[Any]
    premise: Guarantee[Any]
    steps: Callable[[int], Sequence[Step]]
    size: int = 1
