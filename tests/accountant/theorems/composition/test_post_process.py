"""Post-processing."""

from __future__ import annotations

from typing import Any

import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.gdp import GDP
from dpproof.accountant.relation import AddRemove
from dpproof.accountant.side_conditions import OUTPUTS_ALONE
from dpproof.accountant.theorems.composition.post_process import post_process


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
