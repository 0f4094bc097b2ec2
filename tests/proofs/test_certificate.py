"""The reader: what is not a certificate is refused, quickly, whatever it is."""

from __future__ import annotations

import json
import random
import time
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from dpproof.proofs import (
    Certificate,
    CertificateError,
    Rejected,
    Step,
    Verified,
    VerifiedUnder,
    check_text,
)
from dpproof.proofs.certificate import read_rational, show_rational
from dpproof.proofs.limits import MAX_CHARACTERS
from tests.proofs.support import said

GDP = dict(said("gdp", mu_squared="1"))
STEP = {"rule": "state/gdp", "premises": [], "witness": {}, "conclusion": GDP}
GOOD = {"format": "dpproof-certificate", "version": 1, "claim": GDP, "steps": [STEP]}
SECONDS = 5.0  # of processor time: rubbish takes a fraction of one
VERDICTS = (Rejected, Verified, VerifiedUnder)

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)


def refused(text: str, why: str = "") -> None:
    """Assert that a text is rejected within bounded work, as no certificate."""
    start = time.process_time()
    verdict = check_text(text)

    assert isinstance(verdict, Rejected)
    assert why in verdict.reason, verdict.reason
    assert time.process_time() - start < SECONDS
    assert len(verdict.reason) < 500
    assert verdict.reason.isprintable()


def test_round_trip() -> None:
    """Text, certificate and text again are the same, and the text verifies."""
    certificate = Certificate.from_json(json.dumps(GOOD))

    assert Certificate.from_json(certificate.to_json()) == certificate
    assert certificate.claim == GDP
    assert not isinstance(check_text(certificate.to_json()), Rejected)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not JSON"),
        ("nonsense", "not JSON"),
        ("{", "not JSON"),
        ("[]", "must be an object"),
        ("null", "must be an object"),
        ('{"a": 1, "a": 2}', "same key twice"),
        ("[1.5]", "not exact"),
        ("[1e5]", "not exact"),
        ("[NaN]", "not exact"),
        ("[-Infinity]", "not exact"),
        ("[" + "9" * 5000 + "]", "a whole number of 5000 digits"),
        ("[" * 100_000, "nested deeper"),
        ('{"a":' * 100_000, "nested deeper"),
        ("[" * 100_000 + "]" * 100_000, "nested deeper"),
        ("]" * 100_000, "not JSON"),
        ('"' + "[" * 100 + '"', "must be an object"),
        (" " * (MAX_CHARACTERS + 1), "longer than"),
        ('"\\ud800"', "must be an object"),
        ("\x00", "not JSON"),
        ("\ufffd" * 1000, "not JSON"),
        ('{"' + "k" * 1_000_000 + '": 1}', "must have the keys"),
        ('"' + '\\"' * 1_000_000, "not JSON"),
        ('"' + '\\"' * 1_000_000 + "\\", "not JSON"),
    ],
    ids=range(23),
)
def test_rubbish(text: str, why: str) -> None:
    """Malformed, huge, deeply nested and inexact texts are refused with a short reason."""
    refused(text, why)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"format": "other"}, "format"),
        ({"version": 2}, "version"),
        ({"version": "1"}, "version"),
        ({"version": True}, "version"),
        ({"steps": []}, "1 to"),
        ({"steps": {}}, "must be a list"),
        ({"steps": [5]}, "step 0 must be an object"),
        ({"steps": [STEP] * 20_001}, "1 to"),
        ({"claim": {**GDP, "mu_squared": "2"}}, "not the conclusion of the last step"),
        ({"claim": {**GDP, "steps": True}}, "not the conclusion of the last step"),
        ({"claim": None}, "not the conclusion of the last step"),
        ({"extra": 1}, "must have the keys"),
    ],
)
def test_frame(changes: dict[str, Any], why: str) -> None:
    """Format, version, claim and steps are what they have to be, and nothing is added."""
    refused(json.dumps({**GOOD, **changes}), why)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"rule": 5}, "the rule is 5"),
        ({"rule": "x\nVerified: all is well"}, "the rule is"),
        ({"rule": "x" * 100}, "the rule is"),
        ({"rule": "no/such"}, "no such rule"),
        ({"rule": "__class__"}, "no such rule"),
        ({"premises": None}, "list of whole numbers"),
        ({"premises": ["0"]}, "list of whole numbers"),
        ({"premises": [True]}, "list of whole numbers"),
        ({"premises": [1]}, "earlier step"),
        ({"premises": [2]}, "earlier step"),
        ({"premises": [-1]}, "earlier step"),
        ({"witness": []}, "must be objects"),
        ({"witness": {"x": 1}}, "unknown fields"),
        ({"conclusion": "gdp"}, "must be objects"),
        ({"conclusion": {}}, "has no notion"),
        ({"conclusion": {**GDP, "notion": "best"}}, "no notion is called"),
        ({"conclusion": {**GDP, "notion": ["gdp"]}}, "no notion is called"),
        ({"conclusion": {**GDP, "relation": "any"}}, "no relation is called"),
        ({"conclusion": {**GDP, "relation": None}}, "no relation is called"),
        ({"conclusion": {**GDP, "steps": 0}}, "steps must be a whole number"),
        ({"conclusion": {**GDP, "steps": 10**13}}, "steps must be a whole number"),
        ({"conclusion": {**GDP, "mu_squared": "-1"}}, "at or above 0"),
        ({"conclusion": {**GDP, "mu_squared": "2/4"}}, "lowest terms"),
        ({"conclusion": {**GDP, "mu_squared": "0.5"}}, "expected a rational"),
        ({"conclusion": {**GDP, "mu_squared": "1/0"}}, "expected a rational"),
        ({"conclusion": {**GDP, "mu_squared": "١"}}, "expected a rational"),
        ({"conclusion": {**GDP, "mu_squared": " 1"}}, "expected a rational"),
        ({"conclusion": {**GDP, "mu_squared": "9" * 2000}}, "expected a rational"),
        ({"conclusion": {**GDP, "mu_squared": 1}}, "expected a rational"),
        ({"conclusion": {**GDP, "more": "1"}}, "unknown fields"),
        ({"extra": 1}, "must have the keys"),
    ],
)  # fmt: skip
def test_steps(changes: dict[str, Any], why: str) -> None:
    """Every part of a step has its type and its domain; cycles cannot be written."""
    steps = [STEP, {**STEP, **changes}]
    refused(json.dumps({**GOOD, "steps": steps, "claim": steps[1]["conclusion"]}), why)


def test_premises_are_listed_in_order() -> None:
    """There is one way to cite two steps."""
    last = {"rule": "compose/gdp", "premises": [1, 0], "witness": {}, "conclusion": GDP}
    refused(json.dumps({**GOOD, "steps": [STEP, STEP, last]}), "increasing order")


def test_every_step_is_used() -> None:
    """A step that nothing rests on is refused, wherever it stands."""
    refused(json.dumps({**GOOD, "steps": [STEP, STEP]}), "no later step uses")


@settings(max_examples=50)
@given(values)
def test_any_json_is_refused(value: object) -> None:
    """JSON that is no certificate ends in a verdict."""
    refused(json.dumps(value))


@settings(max_examples=100)
@given(st.text())
def test_any_text_is_refused(text: str) -> None:
    """So does any text."""
    refused(text)


@settings(max_examples=150)
@given(st.data())
def test_any_value_anywhere_ends_in_a_verdict(data: st.DataObject) -> None:
    """A certificate with one value replaced by another is judged, never a crash."""
    document = json.loads(json.dumps(GOOD))
    places = list(_places(document))
    holder, key = data.draw(st.sampled_from(places))
    holder[key] = data.draw(values)

    verdict = check_text(json.dumps(document))

    assert isinstance(verdict, VERDICTS)


def test_damaged_bytes_end_in_a_verdict() -> None:
    """Characters deleted, doubled or replaced at random; the seed is in the name of the test."""
    random_source = random.Random(20261120)  # noqa: S311  # not for secrets
    text = json.dumps(GOOD)
    for _ in range(2_000):
        place = random_source.randrange(len(text))
        damaged = text[:place] + random_source.choice(["", "0", '"', "}", "é"]) + text[place + 1 :]
        assert isinstance(check_text(damaged), VERDICTS)


def _places(node: object) -> list[tuple[Any, Any]]:
    """Every (container, key) of a JSON document."""
    if isinstance(node, dict):
        keys: list[Any] = list(node)
    elif isinstance(node, list):
        keys = list(range(len(node)))
    else:
        return []
    own: list[tuple[Any, Any]] = [(node, key) for key in keys]
    return own + [place for key in keys for place in _places(node[key])]


@given(st.fractions())
def test_rationals_have_one_spelling(value: Fraction) -> None:
    """Writing and reading a rational gives it back."""
    assert read_rational(show_rational(value)) == value


def test_rationals_that_are_too_long_are_not_written() -> None:
    """What could not be read is not written."""
    with pytest.raises(CertificateError):
        show_rational(Fraction(1, 10**1200))


def test_a_certificate_is_small_whatever_its_count() -> None:
    """Ten million repetitions are one step."""
    step = Step(rule="r", premises=(), witness={"count": 10**7}, conclusion={})

    assert len(Certificate((step,)).to_json()) < 300


def test_a_certificate_shows_itself_in_one_line() -> None:
    """However many steps and digits it has; one without steps too."""
    step = Step(
        rule="r", conclusion={"notion": "pure-dp", "epsilon": "9" * 900}, premises=(), witness={}
    )
    shown = repr(Certificate((step,) * 50))

    assert shown.startswith("<Certificate of 50 steps, claims {")
    assert "pure-dp" in shown
    assert len(shown) < 200
    assert repr(Certificate(())) == "<Certificate of 0 steps, claims nothing>"
