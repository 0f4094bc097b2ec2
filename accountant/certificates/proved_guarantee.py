"""A guarantee whose numbers were raised to what a proof reaches, with that proof."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.proofs.certificate import Step


@final
@dataclass(frozen=True, slots=True)
class ProvedGuarantee:
    """A guarantee with the steps that prove it.

    Attributes:
        guarantee: what is proved.
        premise: from what.
        steps: how far apart the premise's datasets are -> steps, the last of which concludes;
            premise 0 stands for the premise, k for the k-th of these steps.
        size: how many times further apart the conclusion's datasets are.
    """

    guarantee: Guarantee[Any]
    premise: Guarantee[Any]
    steps: Callable[[int], Sequence[Step]]
    size: int = 1
