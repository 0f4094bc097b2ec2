"""The one list of a package's public names."""

from __future__ import annotations

import pytest

from dpproof import accountant
from dpproof.accountant import public_names


def test_the_list_is_that_of_the_static_imports() -> None:
    """Every name imported from the package's own modules counts, from where it is imported."""
    homes = public_names.homes_of("dpproof.accountant")

    assert homes["L2"] == "dpproof.accountant.sensitivity"
    assert "TYPE_CHECKING" not in homes


def test_fetched_names_stay() -> None:
    """A fetched name is an attribute of the package from then on."""
    value = public_names.fetch(
        "dpproof.accountant", {"show": "dpproof.accountant.guarantees.rounding"}, "show"
    )

    assert vars(accountant).pop("show") is value


def test_other_names_are_refused() -> None:
    """A name that is not public raises the error of an attribute that is missing."""
    with pytest.raises(AttributeError, match=r"'dpproof\.accountant' has no attribute 'nothing'"):
        public_names.fetch("dpproof.accountant", {}, "nothing")
