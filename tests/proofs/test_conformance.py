"""Two checkers, one written from the document alone, agree on vectors, pipelines and mutants."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from typing import Any

import pytest

from dpproof.accountant import NotCertified
from dpproof.proofs import Rejected, check_text
from dpproof.proofs.abbreviations import expanded
from dpproof.proofs.rules import RULES
from tests.accountant.certificates.pipelines import natural
from tests.proofs.second.agreement import disagreement, opened
from tests.proofs.second.chains import chain
from tests.proofs.second.checker import check
from tests.proofs.second.extensions import OTHER_RULES
from tests.proofs.second.mutate import mutant
from tests.proofs.second.outside import tries
from tests.proofs.second.rules import RULES as OWN_RULES
from tests.proofs.second.short import at_length
from tests.proofs.second.vectors import FILES, FOLDER, SEEDS, SHORT, made_here, stored

Vector = dict[str, Any]


def _of_pipelines(vector: Vector) -> bool:
    return bool(vector["name"].startswith("pipeline"))


def _first(vector: Vector) -> Vector:
    """What the first checker says, in the fields of a vector."""
    full, core = check_text(vector["text"]), check_text(vector["text"], core=True)
    said: Vector = {"accepted": full.ok, "core": core.ok}
    if core.ok:
        said["open"] = sorted(opened(core))
    if isinstance(full, Rejected):
        return {**said, "step": full.step}
    return {**said, "extensions": sorted(set(full.extensions))}


def _wanted(vector: Vector) -> Vector:
    wanted: Vector = {"accepted": vector["accepted"], "core": vector["core"]["accepted"]}
    if wanted["core"]:
        wanted["open"] = vector["core"]["open"]
    kept = "extensions" if vector["accepted"] else "step"
    return {**wanted, kept: vector[kept]}


def test_there_are_enough_vectors_in_little_space() -> None:
    """There are 200 vectors of each kind at least, in less than 500 kB."""
    assert all(len(stored(name)) >= 200 for name in FILES)
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) < 500_000


def test_vectors_that_need_no_engine_are_made_again() -> None:
    """The script makes the same texts again, each under a name of its own."""
    made = list(made_here())
    kept = [one for name in FILES for one in stored(name) if not _of_pipelines(one)]

    assert sorted((one["name"], one["text"]) for one in kept) == sorted(made)
    assert len({name for name, _ in made}) == len(made)


def test_second_checker_knows_every_name_of_a_rule() -> None:
    """Every rule is one of the second checker's own, or in its list of an extension."""
    assert sorted([*OWN_RULES, *OTHER_RULES]) == sorted(RULES)


def test_first_checker_follows_the_document_outside_the_core() -> None:
    """What was made by hand from the document is accepted where it is right, and nowhere else."""
    assert [name for name, text, right in tries() if check_text(text).ok is not right] == []


@pytest.mark.parametrize("name", FILES)
def test_first_checker_gives_the_verdict_of_every_vector(name: str) -> None:
    """The first checker says what the vectors say, alone and as its core, of every core vector."""
    wrong = [
        (vector["name"], said)
        for vector in stored(name)
        if not _of_pipelines(vector) and (said := _first(vector)) != _wanted(vector)
    ]

    assert wrong == []


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_first_checker_gives_the_verdict_of_every_pipeline(name: str) -> None:
    """The first checker says what the vectors say of the certificates of pipelines."""
    wrong = [
        (vector["name"], said)
        for vector in stored(name)
        if _of_pipelines(vector) and (said := _first(vector)) != _wanted(vector)
    ]

    assert wrong == []


@pytest.mark.parametrize("name", FILES)
def test_second_checker_gives_the_verdict_of_every_vector(name: str) -> None:
    """The second checker says what the vectors say of the core: verdict, open steps, fault."""
    wrong = []
    for vector in stored(name):
        said, wanted = check(vector["text"]), vector["core"]
        accepted = wanted["accepted"] and wanted.get("fault") is None
        same = (said.outcome == "accept") is accepted and sorted(said.open) == wanted["open"]
        if not accepted:
            same = same and (said.step, said.fault) == (wanted["step"], wanted["fault"])
        if not same:
            wrong.append((vector["name"], said))

    assert wrong == []


def test_both_readers_put_version_3_at_length() -> None:
    """The text at length, and the verdict, are those of every vector; right and wrong ones."""
    vectors = stored("short", SHORT)
    wrong = []
    for one in vectors:
        text, document = one["text"], one["length"]
        verdict, own = check_text(text), check(text)
        same = document is None or json.loads(expanded(text)) == document
        if one["accepted"]:
            same = same and at_length(json.loads(text)) == document
        if not same or verdict.ok is not one["accepted"] or own.outcome == "undecided":
            wrong.append(one["name"])
        if isinstance(verdict, Rejected) and verdict.step != one["step"]:
            wrong.append(one["name"])

    assert wrong == []
    assert len(vectors) > 50
    assert [one for one in vectors if one["accepted"]]
    assert (SHORT / "short.jsonl.gz").stat().st_size < 200_000


def test_checkers_agree_on_damaged_certificates() -> None:
    """No text among 250 random certificates of the core, most of them damaged, parts them."""
    assert _disagreements(0, 250, [chain(random.Random(seed)) for seed in range(40)]) == []  # noqa: S311


@pytest.mark.slow
def test_checkers_agree_on_ten_thousand_damaged_certificates() -> None:
    """No text among 10,000 damaged ones, of the core and of pipelines of all kinds, parts them."""
    pipelines = [one["text"] for one in stored("accepted") if _of_pipelines(one)]
    small = [text for text in pipelines if len(text) < 3_000]
    chains = [chain(random.Random(seed)) for seed in range(1_000, 1_400)]  # noqa: S311

    assert _disagreements(1, 9_000, chains) == []
    assert _disagreements(2, 1_000, small) == []


def _disagreements(seed: int, count: int, texts: list[str]) -> list[str]:
    rng = random.Random(seed)  # noqa: S311
    tried = (mutant(rng.choice(texts), rng) for _ in range(count))
    return [wrong for text in tried if (wrong := disagreement(text))]


def test_checkers_agree_on_natural_pipelines() -> None:
    """The certificates of ten natural pipelines, made now, do not part them."""
    made = _certificates((17, 71, 24, 26, 30, 34, 40, 41, 48, 64))

    assert [wrong for text in made if (wrong := disagreement(text))] == []
    assert len(made) > 8


@pytest.mark.slow
def test_checkers_agree_on_more_natural_pipelines() -> None:
    """The certificates of all pipelines that the vectors are made of do not part them either."""
    made = _certificates(SEEDS)

    assert [wrong for text in made if (wrong := disagreement(text))] == []
    assert len(made) > 60


def _certificates(seeds: tuple[int, ...]) -> list[str]:
    """Certificates of pipelines, but for those that are refused."""
    made = []
    for seed in seeds:
        guarantee, asked = natural(seed)
        with suppress(NotCertified):
            made.append(guarantee.certify(**asked).to_json())
    return made
