"""Words for reports that each person makes of one category."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from dpproof.accountant.relation import Relation
from dpproof.mechanisms import (
    LocalHashing,
    RandomizedResponse,
    Rappor,
    SubsetSelection,
    UnaryEncoding,
)
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.pipeline.kinds.kind import Kind, ReleaseParameters


def _randomized_response(given: ReleaseParameters) -> Mechanism[Relation]:
    categories = int(given.values["categories"])
    return RandomizedResponse(
        epsilon=given.values["epsilon"], categories=categories, relation=given.relation
    )


def _local(build: Callable[..., Mechanism[Relation]]) -> Callable[..., Mechanism[Relation]]:
    """Return what builds a local report of one category."""

    def report(given: ReleaseParameters) -> Mechanism[Relation]:
        categories = int(given.values["categories"])
        return build(
            epsilon=given.values["epsilon"], categories=categories, relation=given.relation
        )

    return report


def _rappor(given: ReleaseParameters) -> Mechanism[Relation]:
    values = given.values
    return Rappor(
        f=values["f"],
        one=values["one"],
        zero=values["zero"],
        categories=int(values["categories"]),
        relation=given.relation,
    )


KINDS: Mapping[str, Kind] = {
    "randomized-response": Kind(
        words="randomized response",
        forms=(("epsilon",),),
        defaults={"categories": Fraction(2)},
        build=_randomized_response,
    ),
    "unary-encoding": Kind(
        words="unary encoding", forms=(("epsilon", "categories"),), build=_local(UnaryEncoding)
    ),
    "rappor": Kind(words="RAPPOR", forms=(("f", "one", "zero", "categories"),), build=_rappor),
    "local-hashing": Kind(
        words="local hashing", forms=(("epsilon", "categories"),), build=_local(LocalHashing)
    ),
    "subset-selection": Kind(
        words="subset selection", forms=(("epsilon", "categories"),), build=_local(SubsetSelection)
    ),
}
