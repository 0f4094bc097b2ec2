"""The gallery of refuted numbers, and what may stand in it."""

from __future__ import annotations

import hashlib
import re
import tomllib
from pathlib import Path

import pytest

from benchmarks.gallery import HERE, PAGE, audited, note, split
from dpproof import proofs
from dpproof.auditing import Outcome
from dpproof.refute.referee import Part, Peer, Question, Report, judged, libraries, write

PROOFS = sorted(PAGE.parent.glob("gallery-*.json"))


@pytest.mark.parametrize("path", PROOFS, ids=lambda path: str(path.stem))
def test_certificates_of_the_gallery_are_verified(path: Path) -> None:
    """The checker accepts each, and the page has its digest."""
    text = path.read_text(encoding="utf-8")

    assert proofs.check(proofs.Certificate.from_json(text)).ok
    assert hashlib.sha256(text.encode()).hexdigest() in PAGE.read_text(encoding="utf-8")


def test_the_gallery_has_what_is_known_alone() -> None:
    """Every finding names a thread, and every certificate that it names is there."""
    page = PAGE.read_text(encoding="utf-8")
    passages = re.split(r"^### ", page.partition("## Implementations")[0], flags=re.MULTILINE)[1:]

    assert len(passages) >= 3
    assert all("- upstream: <https://" in passage for passage in passages)
    assert set(re.findall(r"\((gallery-.*?\.json)\)", page)) == {path.name for path in PROOFS}


def test_what_is_not_known_is_kept_out(tmp_path: Path) -> None:
    """A finding without a thread goes to the other report; the page does not say there is none."""
    library = libraries()["opacus"]
    report = Report("opacus", "1", library, seed=0)
    question = Question((Part("gaussian", 1.0),), "add-remove", "epsilon", 1e-5)
    for claim in library.claims:  # of GDP there is a thread
        report.found.append((0.0, judged(claim, question, 0.1)))
    known, rest = split(report)

    assert {one.claim.name for _, one in known.found} == {"GDP"}
    assert {one.claim.name for _, one in rest.found} == {"RDP", "PRV"}
    assert "issues/384" in note(report, known.found[0][1])
    known.found.clear()
    write([known], str(tmp_path / "page.md"), note, "No finding that is known upstream")
    page = (tmp_path / "page.md").read_text()
    assert "\nNo finding that is known upstream.\n" in page
    assert "Asked: 0 questions of seed 0, without 10 that some accountant got wrong before." in page


def test_an_implementation_without_noise_is_refuted() -> None:
    """Its outputs come from a process of its own."""
    case = {"package": "click", "name": "it", "epsilon": 1.0, "pair": [0.0, 1.0], "samples": 500}
    peer = Peer()
    outcomes = [
        audited({**case, "program": f"answer = [{value}] * size"}, peer).outcome
        for value in ("data", "0.0")
    ]
    peer.close()

    assert outcomes[0] is Outcome.VIOLATION
    assert outcomes[1] is not Outcome.VIOLATION


def test_programs_of_implementations_are_python() -> None:
    """Each compiles, and its claim is a pair of numbers."""
    cases = tomllib.loads((HERE / "implementations.toml").read_text(encoding="utf-8"))["case"]
    for case in cases:
        compile(case["program"], case["name"], "exec")
        assert case["epsilon"] > 0
        assert len(case["pair"]) == 2
