"""Version 3 leaves out what follows, and stands for the same text of version 1."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from dpproof.proofs import Certificate, Rejected, Step, abbreviations, check_text
from dpproof.proofs.abbreviations import expanded
from dpproof.proofs.core.errors import CertificateError
from tests.proofs.corpus import FOLDER
from tests.proofs.second.agreement import disagreement
from tests.proofs.second.chains import chain
from tests.proofs.second.mutate import mutant
from tests.proofs.second.short import at_length
from tests.proofs.support import Object, fact, factor, gaussian, pairs, said, stated

NOISE: Object = {"sigma": "2", "sensitivity": "1"}
HALF: Object = {"mu_squared": "1/4", "sampling_rate": "1/2"}
THIRD = gaussian("1/9")


def _sample(*, removal: bool, count: int = 1) -> Object:
    return factor("subsampled-gaussian", count, **HALF, removal=removal)


def _step(
    rule: str, conclusion: Object, premises: tuple[int, ...], witness: Object | None = None
) -> Step:
    return Step(rule=rule, conclusion=conclusion, premises=premises, witness=witness or {})


def _run() -> list[Step]:
    """A sample of noise, ten times, beside other noise, and a bound."""
    forward = [_sample(removal=True, count=10), THIRD]
    backward = [_sample(removal=False, count=10), THIRD]
    claim = said("approx-dp", epsilon="1000", delta="1/2")
    facts = [
        _step("hockey-stick/closed", fact(way, "1000", "1/2"), ()) for way in (forward, backward)
    ]
    return [
        _step("mechanism/gaussian", said("gdp", mu_squared="1/4"), (), NOISE),
        _step("dominate/gdp", pairs([gaussian("1/4")]), (0,)),
        _step(
            "subsample/poisson",
            pairs([_sample(removal=True)], [_sample(removal=False)]),
            (1,),
            {"sampling_rate": "1/2"},
        ),
        _step(
            "compose/pair",
            pairs([_sample(removal=True, count=10)], [_sample(removal=False, count=10)]),
            (2,),
            {"count": 10},
        ),
        _step("mechanism/gaussian", said("gdp", mu_squared="1/9"), (), {**NOISE, "sigma": "3"}),
        _step("dominate/gdp", pairs([THIRD]), (4,)),
        _step("compose/pair", pairs(forward, backward), (3, 5)),
        _step("post-process", pairs(forward, backward), (6,), {"description": "rounding"}),
        *facts,
        _step("convert/pair-approx", claim, (7, 8, 9)),
    ]


def _short() -> Any:  # noqa: ANN401  # JSON
    return json.loads(Certificate(tuple(_run())).to_json())


def test_what_follows_is_left_out() -> None:
    """Eight conclusions, premises that are the step before, and products that were said."""
    document = _short()
    steps = document["steps"]

    assert document["version"] == 3
    assert [place for place, one in enumerate(steps) if "conclusion" in one] == [8, 9, 10]
    assert [place for place, one in enumerate(steps) if "premises" in one] == [0, 4, 6, 8, 9, 10]
    assert [one["conclusion"]["product"] for one in steps[8:10]] == [
        {"step": 6, "way": "forward"},
        {"step": 6, "way": "backward"},
    ]


def test_the_text_at_length_is_that_of_version_1() -> None:
    """Reading gives the same steps, and what is written at length the same values."""
    certificate = Certificate(tuple(_run()))
    short, full = certificate.to_json(), certificate.to_json(full=True)

    assert Certificate.from_json(short) == Certificate.from_json(full) == certificate
    assert json.loads(expanded(short)) == json.loads(full) == at_length(json.loads(short))
    assert expanded(full) == full
    assert len(short) < 0.4 * len(full)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_earlier_certificates_have_the_same_verdict(path: Any) -> None:  # noqa: ANN401
    """Version 1 and version 3 of a certificate have the same steps, and the core says the same."""
    text = path.read_text(encoding="utf-8")
    short = Certificate.from_json(text).to_json()

    assert Certificate.from_json(short) == Certificate.from_json(text)
    assert check_text(short, core=True) == check_text(text, core=True)


@pytest.mark.parametrize("place", range(8))
def test_a_wrong_conclusion_is_not_left_out(place: int) -> None:
    """A step that states something else is written as it is, and rejected."""
    steps = _run()
    wrong = {**steps[place].conclusion, "steps": 2}
    steps[place] = _step(steps[place].rule, wrong, steps[place].premises, steps[place].witness)
    verdict = check_text(Certificate(tuple(steps)).to_json())

    assert isinstance(verdict, Rejected)
    assert verdict.step in {place, place + 1}
    assert verdict == check_text(Certificate(tuple(steps)).to_json(full=True))


def test_nothing_dominates_by_nothing() -> None:
    """Of mu = 0 the empty product follows."""
    steps = (stated(said("gdp", mu_squared="0")), _step("dominate/gdp", pairs([]), (0,)))

    assert [*json.loads(Certificate(steps).to_json())["steps"][1]] == ["rule"]
    assert check_text(Certificate(steps).to_json()).ok


def test_equal_products_are_written_once() -> None:
    """A pair that is the same in both directions leaves one out, of any rule."""
    both, one_way = stated(pairs([THIRD])), stated(pairs([THIRD], [gaussian("1/4")]))

    assert '"backward"' not in Certificate((both,)).to_json().split('"steps":[')[1]
    assert '"backward"' in Certificate((one_way,)).to_json().split('"steps":[')[1]
    for step in (both, one_way):
        text = Certificate((step,)).to_json()
        assert Certificate.from_json(text) == Certificate((step,))
        assert check_text(text).ok
        assert disagreement(text) is None


def test_true_is_no_count() -> None:
    """What is equal in Python alone is written as it is."""
    steps = _run()
    steps[1] = _step("dominate/gdp", pairs([{**gaussian("1/4"), "count": True}]), (0,))

    assert '"count":true' in Certificate(tuple(steps)).to_json()


@pytest.mark.parametrize(
    ("place", "change", "why"),
    [
        (0, {"witness": {"sigma": "0", "sensitivity": "1"}}, "step 0 must have the keys"),
        (0, {"witness": []}, "step 0 must have the keys"),
        (0, {"witness": {"sigma": "2/4", "sensitivity": "1"}}, "step 0 must have the keys"),
        (0, {"rule": "mechanism/laplace"}, "step 0 must have the keys"),
        (1, {"premises": [0, 0]}, "step 1 must have the keys"),
        (1, {"premises": [7]}, "step 1 must have the keys"),
        (2, {"premises": [0]}, "step 2 must have the keys"),
        (2, {"premises": [-1]}, "a premise must be an earlier step"),
        (2, {"witness": {}}, "step 2 must have the keys"),
        (3, {"witness": {"count": "2"}}, "step 3 must have the keys"),
        (6, {"premises": []}, "step 6 must have the keys"),
        (7, {"premises": [5, 6]}, "step 7 must have the keys"),
        (8, {"conclusion": {"product": {"step": 8, "way": "forward"}}}, "must be a list"),
        (8, {"conclusion": {"product": {"step": -2, "way": "forward"}}}, "must be a list"),
        (8, {"conclusion": {"product": {"step": 0, "way": "forward"}}}, "must be a list"),
        (8, {"conclusion": {"product": {"step": 6, "way": "notion"}}}, "must be a list"),
        (8, {"conclusion": {"product": {"step": True, "way": "forward"}}}, "must be a list"),
        (8, {"conclusion": {"product": {"step": 6, "way": "forward", "n": 1}}}, "must be a list"),
    ],
)
def test_what_does_not_follow_is_refused(place: int, change: Object, why: str) -> None:
    """Nothing is guessed: a conclusion that is missing, or a product that is none, is refused."""
    document = _short()
    product = change.get("conclusion")
    if product:
        change = {"conclusion": {**document["steps"][place]["conclusion"], **product}}
    document["steps"][place] |= change
    text = json.dumps(document)
    verdict = check_text(text)

    assert isinstance(verdict, Rejected)
    assert why in verdict.reason
    assert disagreement(text) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"version": 3}',
        '{"version": true, "steps": []}',
        '{"version": 3, "steps": 1}',
        '{"version": 3, "version": 3, "steps": []}',
        "[2]",
        "{",
        "[" * 100_000,
        "1" * 5_000,
    ],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    """The reader of version 1 says what is wrong with them."""
    assert expanded(text) == text
    assert not check_text(text).ok


def test_a_text_that_is_too_long_at_length_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is short may stand for what is too long, and is not written out."""
    text = Certificate(tuple(_run())).to_json()
    monkeypatch.setattr(abbreviations, "MAX_CHARACTERS", len(text) + 100)

    with pytest.raises(CertificateError, match="at length"):
        expanded(text)
    verdict = check_text(text)
    assert isinstance(verdict, Rejected)
    assert (verdict.step, verdict.rule) == (None, "format")


def test_few_factors_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compositions of one product with itself, cited again and again, end."""
    monkeypatch.setattr(abbreviations, "_FACTORS", 100)
    first = _step("state/dominating-pair", pairs([THIRD, gaussian("1/4")]), ())
    twice = pairs([{**THIRD, "count": 2}, {**gaussian("1/4"), "count": 2}])
    steps = [first, *(_step("compose/pair", twice, (0, 0)) for _ in range(20))]
    document = json.loads(Certificate(tuple(steps)).to_json())

    assert sum("conclusion" not in one for one in document["steps"]) == 12


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 9))]
)
def test_checkers_agree_on_damaged_texts_of_version_3(seed: int) -> None:
    """No text among short ones, most of them damaged, parts the two checkers."""
    rng = random.Random(seed)  # noqa: S311
    chains = [chain(random.Random(rng.random())) for _ in range(6)]  # noqa: S311
    texts = [json.dumps(_short()), *(Certificate.from_json(one).to_json() for one in chains)]
    tried = [mutant(rng.choice(texts), rng) for _ in range(40)]

    assert [wrong for text in texts + tried if (wrong := disagreement(text))] == []
