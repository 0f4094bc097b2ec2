"""What the public functions of the checker are given in place of a certificate."""

from __future__ import annotations

import json
from typing import Any

import pytest

import dpproof as dp
from dpproof import proofs
from dpproof.proofs import Certificate
from tests.proofs.corpus import FOLDER

GOOD = (FOLDER / "concentrated.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("given", [None, GOOD.encode(), 1, Certificate.from_json(GOOD)])
@pytest.mark.parametrize("read", [proofs.check_text, Certificate.from_json])
def test_what_is_no_text(read: Any, given: Any) -> None:  # noqa: ANN401
    """It is refused by its type, and the error says what to do."""
    with pytest.raises(
        TypeError, match=r"text must be of the type str, got \w+; decode bytes as UTF-8 first"
    ):
        read(given)


@pytest.mark.parametrize("given", ["text", None, GOOD.encode(), {"steps": []}])
@pytest.mark.parametrize("check", [proofs.check, dp.check])
def test_what_is_no_certificate(check: Any, given: Any) -> None:  # noqa: ANN401
    """It is refused by its type, and the error names the function for texts."""
    with pytest.raises(
        TypeError, match=r"must be of the type Certificate, got \w+; check_text takes its text"
    ):
        check(given)


def test_the_keys_of_a_claim_in_any_order() -> None:
    """The claim is the same with its keys the other way round, and another with true for 1."""
    document = json.loads(GOOD)
    turned = dict(reversed(document["claim"].items()))
    assert list(turned) != list(document["claim"])

    assert proofs.check_text(json.dumps({**document, "claim": turned})).ok
    verdict = proofs.check_text(json.dumps({**document, "claim": {**turned, "steps": True}}))
    assert verdict == proofs.Rejected(
        None, "format", "the claim is not the conclusion of the last step"
    )
