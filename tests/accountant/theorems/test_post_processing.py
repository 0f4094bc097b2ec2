"""Post-processing."""

from __future__ import annotations

from typing import Any

import pytest

from dpproof import proofs
from dpproof.accountant import group, map_records
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.dominating_pair import GDP
from dpproof.accountant.relation import AddRemove
from dpproof.accountant.side_conditions import MAPPED_ALONE, OUTPUTS_ALONE
from dpproof.accountant.theorems.composition import post_process


def test_is_the_identity_and_is_recorded() -> None:
    """The same notion and numbers, one more node with its assumption."""
    before = GDP(mu=1)
    after: GDP[AddRemove] = post_process(before, description="argmax")

    assert after == before
    assert after.derivation.statement == "1-GDP after argmax"
    assert OUTPUTS_ALONE(description="argmax") in after.derivation.all_assumptions()


@pytest.mark.parametrize("bad", ["", "  ", None, 3])
def test_wants_a_description(bad: Any) -> None:  # noqa: ANN401
    """What is computed has to be said."""
    with pytest.raises(ParameterError, match="description"):
        post_process(GDP(mu=1), description=bad)


def test_wants_a_guarantee() -> None:
    """A mechanism is not one."""
    with pytest.raises(ParameterError, match="guarantee"):
        post_process(3, description="x")  # type: ignore[type-var]


def test_map_records_is_the_identity_and_is_recorded() -> None:
    """The same notion and numbers, one more node with its assumption, in the verdict as well."""
    before = GDP(mu=1)
    after: GDP[AddRemove] = map_records(before, description=" clipping ")
    verdict = str(proofs.check(group(after, size=2).certify(delta=1e-5)))

    assert after == before
    assert after.derivation.statement == "1-GDP on records mapped by clipping"
    assert MAPPED_ALONE(description="clipping") in after.derivation.all_assumptions()
    assert "depends on that record alone" in verdict
    assert "clipping" in verdict


@pytest.mark.parametrize("bad", ["", "  ", None, 3])
def test_map_records_wants_a_description(bad: Any) -> None:  # noqa: ANN401
    """What the map is has to be said."""
    with pytest.raises(ParameterError, match="description"):
        map_records(GDP(mu=1), description=bad)


def test_map_records_wants_a_guarantee() -> None:
    """A mechanism is not one."""
    with pytest.raises(ParameterError, match="guarantee"):
        map_records(3, description="x")  # type: ignore[type-var]
