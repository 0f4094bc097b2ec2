"""Stock of pipeline files: every word builds and is documented, and no mechanism lacks one."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpproof.accountant.relation import Relation
from dpproof.mechanisms import Clamped, Mechanism
from dpproof.pipeline.parse import parse
from dpproof.pipeline.pipeline import Pipeline
from dpproof.pipeline.section import PARAMETERS, ROWS
from dpproof.pipeline.vocabulary import KINDS
from tests.mechanisms.every_mechanism import final_mechanisms

DOCS = Path(__file__).resolve().parents[3] / "docs"
LARGE = ("queries", "variance", "regulariser", "population_size", "records")
TABLES = {
    "points": "[[2, 0.1], [8, 0.5]]",
    "table": '[["2/3", "1/3"], [0.5, 0.5]]',
    "neighbours": "[[0, 1]]",
    "covariance": "[[4, 3], [3, 4]]",
    "differences": "[[1, 1], [1, -1]]",
    "coefficients": "[[1, 0.5]]",
    "buffers": "[[0.35, 0.95], [0.15, 0.5]]",
    "factor": "[[1, 0], [0.5, 1]]",
}
VALUES = {
    **TABLES,
    "delta": "1e-9",
    "lower": "-1",
    "f": "0.5",
    "one": "0.75",
    "zero": "0.25",
    "batch_rate": "0.5",
    "stop_scale": "20",
    "stop_sigma": "20",
    "threshold_sigma": "20",
    "query_sigma": "20",
    "epsilon": "1",
    "sensitivity": "1",
}
ELSEWHERE = {  # what is named by the word of another class, as that is what it costs
    "GeneralisedExponential": "generalised-exponential",
    "Quantile": "quantile",
    "TopK": "exponential",
}


def value(name: str) -> str:
    """A value for a parameter, as a file has it."""
    if name in VALUES:
        return VALUES[name]
    if PARAMETERS[name].rule.expected == "true or false":
        return "true"
    return "500" if name in LARGE else "2"


def forms(word: str) -> Iterator[tuple[str, ...]]:
    """Every form of a word; the first also with each thing that may be added."""
    kind = KINDS[word]
    yield from kind.forms
    yield from ((*kind.forms[0], name) for name in kind.defaults)
    yield from ((*kind.forms[0], *group) for either in kind.additions for group in either)


def described(word: str, names: tuple[str, ...]) -> Pipeline:
    """Return a pipeline of one stage with these parameters."""
    positions = word.startswith("phased-hinge") or "batch_size" in names
    relation = "replace-one" if positions else "add-remove"
    given = "".join(f"{name} = {value(name)}\n" for name in names)
    text = f'[pipeline]\nrelation = "{relation}"\ndelta = 1e-6\n[[stage]]\nname = "one"\n'
    return parse(tomllib.loads(f'{text}mechanism = "{word}"\n{given}'), "file")


def built(word: str, names: tuple[str, ...]) -> Mechanism[Relation]:
    """Return what a stage of these parameters builds."""
    pipeline = described(word, names)
    return pipeline.stages[0].build(pipeline.relation)


@pytest.mark.parametrize("word", KINDS)
def test_every_form_builds_and_is_documented(word: str) -> None:
    """Each set of parameters makes a mechanism, and the page names word and parameters."""
    page = (DOCS / "PIPELINES.md").read_text()

    assert f"`{word}`" in page
    for names in forms(word):
        assert isinstance(built(word, names), Mechanism)
        assert all(f"`{name}`" in page for name in names), names


def test_every_parameter_is_used() -> None:
    """No parameter is left of a word that is gone."""
    used = {name for kind in KINDS.values() for name in kind.parameters}
    sampling = {"rate", "sample_size", "population_size", "batches", "epochs", "count"}
    sampling |= {"largest", "contributions", "cycle", "gamma"}

    assert {*PARAMETERS, *ROWS} == used | sampling


def test_every_mechanism_has_a_word_and_a_line() -> None:
    """Noise, choices, reports and statistics can be named in files, and MECHANISMS.md has them."""
    page = (DOCS / "MECHANISMS.md").read_text() + (DOCS / "LEARNERS.md").read_text()
    named = {type(built(word, next(forms(word)))).__name__ for word in KINDS} | {Clamped.__name__}
    families = ("noise", "correlated", "selection", "local", "statistics")
    classes = {
        one.__name__ for one in final_mechanisms() if one.__module__.split(".")[2] in families
    }

    assert set(ELSEWHERE) <= classes
    assert set(ELSEWHERE.values()) <= set(KINDS)
    assert classes <= named | set(ELSEWHERE)
    assert [name for name in classes if name not in page] == []
