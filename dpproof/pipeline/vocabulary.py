"""The words of pipeline files: mechanisms, their parameters, and what each builds.

Adding a mechanism to pipeline files is adding one entry to ``KINDS`` of its family in ``kinds/``.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import final

from dpproof.accountant import GDP, RDP, ZCDP, ApproxDP, PureDP, Relation
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.pipeline.kinds.kind import Kind, ReleaseParameters
from dpproof.pipeline.stated import Stated


def _stated(release: ReleaseParameters) -> Mechanism[Relation]:
    values, relation = release.values, release.relation
    if "points" in release.rows:
        points = tuple((order, value) for order, value in release.rows["points"])
        return Stated(RDP(points=points, relation=relation))
    if "rho" in values:
        return Stated(ZCDP(rho=values["rho"], relation=relation))
    if "mu" in values:
        return Stated(GDP(mu=values["mu"], relation=relation))
    if "delta" in values:
        claim = ApproxDP(epsilon=values["epsilon"], delta=values["delta"], relation=relation)
        return Stated(claim)
    return Stated(PureDP(epsilon=values["epsilon"], relation=relation))


_STATED: Mapping[str, Kind] = {
    "stated": Kind(
        words="stated by others",
        forms=(("epsilon",), ("epsilon", "delta"), ("rho",), ("mu",), ("points",)),
        build=_stated,
    )
}


def _families() -> Iterator[Mapping[str, Kind]]:
    """Yield the words family by family, each imported when it is reached, as learners are many."""
    for name in ("noise", "correlated", "choices", "learning"):
        yield importlib.import_module(f"dpproof.pipeline.kinds.{name}").KINDS
        if name == "noise":
            yield _STATED


@final
class _Words(Mapping[str, Kind]):
    """All words of pipeline files."""

    __slots__ = ()

    def __getitem__(self, word: str) -> Kind:
        """Return what a word means."""
        for family in _families():
            if word in family:
                return family[word]
        raise KeyError(word)

    def __iter__(self) -> Iterator[str]:
        """Yield every word."""
        for family in _families():
            yield from family

    def __len__(self) -> int:
        """Return how many words there are."""
        return sum(len(family) for family in _families())


KINDS: Mapping[str, Kind] = _Words()
