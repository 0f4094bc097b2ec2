"""Known defects of dp-accounting, and none of OpenDP, by the programs of the referee."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dpproof.refute.referee import Part, Peer, Question, Verdict, judged, libraries

pytestmark = pytest.mark.peer
LIBRARIES = libraries()


@pytest.fixture(scope="module")
def peer() -> Iterator[Peer]:
    """A process with the libraries of this environment."""
    made = Peer(seconds=60.0)
    yield made
    made.close()


def verdict(peer: Peer, name: str, claim: str, question: Question) -> Verdict:
    """The verdict on one answer of one claim."""
    library = LIBRARIES[name]
    (found,) = (one for one in library.claims if one.name == claim)
    return judged(found, question, peer.ask(library.program(found, question))).verdict


REFUTED = [
    ("PLD", Question((Part("response", 0.8, 1.0, 100),), "replace-one", "epsilon", 1e-6)),
    ("RDP", Question((Part("gaussian", 1.0),), "replace-one", "epsilon", 1e-6)),
    ("RDP", Question((Part("gaussian", 1.0),), "replace-one", "noise", 1e-6)),
    ("RDP", Question((Part("laplace", 1.0),), "replace-one", "epsilon", 1e-9)),
    ("RDP", Question((Part("fixed", 1.0, 0.1, 10),), "replace-one", "epsilon", 1e-5)),
    ("RDP", Question((Part("gaussian", 1e3, 1e-8, 10**12),), "add-remove", "delta", 0.0)),
    *(
        pytest.param(
            claim,
            Question((Part("gaussian", 1.0, 0.01, 10_000),), "add-remove", "epsilon", delta),
            marks=pytest.mark.slow,
        )
        for claim, delta in (("PLD", 1e-12), ("PLD, optimistic", 1e-16))
    ),
]


@pytest.mark.parametrize(("claim", "question"), REFUTED, ids=str)
def test_known_defects_are_refuted(peer: Peer, claim: str, question: Question) -> None:
    """Each is asked for by a question that the referee asks first."""
    pytest.importorskip("dp_accounting")
    assert verdict(peer, "dp-accounting", claim, question) is Verdict.REFUTED


def test_sound_numbers_stand(peer: Peer) -> None:
    """Poisson samples under add-remove, and an optimistic number at a usual delta."""
    pytest.importorskip("dp_accounting")
    question = Question((Part("gaussian", 1.0, 0.1, 10),), "add-remove", "epsilon", 1e-6)
    assert verdict(peer, "dp-accounting", "PLD", question) in (Verdict.AGREES, Verdict.LOOSE)
    assert verdict(peer, "dp-accounting", "RDP", question) is Verdict.LOOSE
    assert verdict(peer, "dp-accounting", "PLD, optimistic", question) is Verdict.AGREES


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
@pytest.mark.parametrize("asked", ["epsilon", pytest.param("noise", marks=pytest.mark.slow)])
def test_opendp_stands(peer: Peer, kind: str, asked: str) -> None:
    """Rigorous maps are never below what an instance attains."""
    pytest.importorskip("opendp")
    question = Question((Part(kind, 1.0, 1.0, 3),), "add-remove", asked, 1e-6)
    assert verdict(peer, "opendp", "maps", question) in (Verdict.LOOSE, Verdict.AGREES)
