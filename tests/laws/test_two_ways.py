"""Two ways to one number never contradict each other, of any mechanism that the hunt draws."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpproof.accountant import Bound, BoundedRange, answers, self_compose
from dpproof.accountant.guarantees.dominating_pair import PairGuarantee
from tests.hunt.draw import Draw
from tests.hunt.families import two_ways
from tests.hunt.names import NAMES
from tests.hunt.ways import WAYS, by_ways, contradiction

_PLAIN = [way(Draw(replay=[7, 7])) for way in two_ways.MECHANISMS]
_ASKED = (("delta", Fraction(1, 10**6)), ("delta", Fraction(1, 100)), ("epsilon", Fraction(1, 2)))


@pytest.mark.some(20)
@pytest.mark.parametrize("uses", [1, 10, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("source", _PLAIN)
def test_no_way_contradicts_another(source: str, uses: int) -> None:
    """Directly, or converted first, last or in between: all ways at once, certificates too."""
    given = eval(source, dict(NAMES))  # noqa: S307  # our own text
    for name, at in _ASKED if uses == 1 else _ASKED[:1]:
        certified = "direct" if (name, uses) == ("epsilon", 1) else ""
        found = by_ways(given, uses, WAYS, (name, at), certified)
        assert len(found) > 2
        assert not contradiction(found), (name, at)


@pytest.mark.slow
def test_a_composed_range_excludes_no_better_way() -> None:
    """The product of logistic pairs lies above what zCDP says of 100 uses, and refutes nothing."""
    asked = ("delta", Fraction(1, 10**6))
    found = by_ways(BoundedRange(epsilon=1), 100, ("direct", "first zcdp"), asked)
    assert not contradiction(found)
    attained = {way: Bound(one.lower, one.upper) for way, one in found.items()}
    if attained["direct"].lower > attained["first zcdp"].upper:
        assert "direct attains" in contradiction(attained)


def test_a_contradiction_is_found() -> None:
    """A lower end that is attained above another way's upper end is named."""
    low, high = Bound(0.0, 1.0), Bound(2.0, 3.0)
    assert contradiction({"a": low, "b": high}) == "b attains 2.0, and a allows 1.0 at most"
    assert not contradiction({"a": low, "b": Bound(2.0, 3.0, attained=False)})
    assert self_compose(BoundedRange(epsilon=1), 1).epsilon(delta=0.1).attained


@pytest.mark.parametrize("source", _PLAIN)
def test_attained_directions_are_swaps(source: str) -> None:
    """Where each order attains its pair, the pairs have each other's profile, below 0 too."""
    given = eval(source, dict(NAMES))  # noqa: S307  # our own text
    if not (isinstance(given, PairGuarantee) and given.attained):
        return
    pair = given.to_pair()
    for epsilon in (-1.0, 0.0, 0.5):
        one = answers.delta(pair.backward, epsilon)
        other = answers.delta(pair.forward.swapped(), epsilon)
        assert one.lower <= other.upper
        assert other.lower <= one.upper
