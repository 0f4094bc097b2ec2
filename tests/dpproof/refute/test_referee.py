"""The referee on small libraries that are wrong, or right, on purpose."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from dpproof import proofs
from dpproof.__main__ import main
from dpproof.accountant import Bound
from dpproof.errors import InputError
from dpproof.refute.referee import (
    Claim,
    Finding,
    Library,
    Part,
    Peer,
    Question,
    Report,
    Verdict,
    draw,
    judged,
    libraries,
    lines,
    run,
    write,
)

ONE = Question((Part("gaussian", 1.0),), "add-remove", "epsilon", 1e-5)
FORGETFUL = "answer = 50.0 if parts[0][3] == 1 else 0.0  # the count is not looked at"


def library(**claim: object) -> Library:
    """A library with one claim, about Gaussians under add-remove."""
    made = Claim(name="it", **claim)  # type: ignore[arg-type]
    return Library("nothing", poisson=False, kinds={"gaussian": ("add-remove",)}, claims=(made,))


def reported(seconds: float, **claim: object) -> Report:
    """A run on such a library."""
    peer = Peer()
    report = Report("it", "1", library(**claim), seed=1)
    run(report, peer, seconds=seconds)
    peer.close()
    return report


def test_a_claim_below_the_truth_is_refuted_and_shrunk(tmp_path: Path) -> None:
    """The reproducer is the roundest one; its certificate is beside the page, and verified."""
    report = reported(1.0, epsilon=FORGETFUL)
    ((_, finding),) = report.found
    assert finding.verdict is Verdict.REFUTED
    assert finding.question == Question(
        (Part("gaussian", 1.0, 1.0, 10),), "add-remove", "epsilon", 1e-5, 1.0
    )

    write([report], str(tmp_path / "page.md"), lambda *_: "known as 7")
    (file,) = tmp_path.glob("*.json")
    assert proofs.check(proofs.Certificate.from_json(file.read_text())).ok
    page = (tmp_path / "page.md").read_text()
    assert file.name in page
    assert "- known as 7" in page
    assert "REFUTED after" in "\n".join(lines(report))

    programs = page.partition("Theirs, then ours:")[2].replace("\n    ", "\n")
    printed: list[object] = []
    exec(programs, {"print": lambda *shown: printed.extend(shown)})  # noqa: S102  # of the page
    assert printed[:2] == [0.0, finding.question.bracket()]


def test_a_sound_claim_is_only_loose() -> None:
    """A number above the truth is counted with its excess, and refutes nothing."""
    report = reported(0.5, epsilon="answer = 1e9")

    assert report.found == []
    assert report.loosest["it"].excess > 1e3


def test_a_lower_bound_above_the_truth_is_refuted_by_our_upper_end() -> None:
    """The certificate of such a finding proves the upper end."""
    finding = judged(library(upper=False).claims[0], ONE, 9.0)

    assert finding.verdict is Verdict.REFUTED
    assert "lower" not in str(proofs.check(finding.certificate()))
    assert judged(library(upper=False).claims[0], ONE, 1.0).verdict is Verdict.AGREES


def test_noise_is_judged_by_what_it_costs() -> None:
    """Too little noise for the target is refuted, enough is not."""
    asked = Question(ONE.parts, "add-remove", "noise", 1e-5, 1.0)
    claim = library().claims[0]

    assert judged(claim, asked, 3.0).verdict is Verdict.REFUTED
    assert judged(claim, asked, 3.8).verdict is Verdict.LOOSE
    assert judged(claim, asked, 3.0).question.parts[0].noise == 3.0


def test_nothing_is_refuted_by_a_pair_that_nothing_attains(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lower end that no instance attains decides nothing."""
    monkeypatch.setattr(Question, "bracket", lambda _: Bound(2.0, 3.0, attained=False))

    assert judged(library().claims[0], ONE, 1.0).verdict is Verdict.OPEN


@pytest.mark.parametrize(
    ("answer", "question"),
    [
        (-0.5, ONE),
        (float("nan"), ONE),
        (1.0, Question((Part("gaussian", float("nan")),), "add-remove", "epsilon", 1e-5)),
        (1.0, Question((Part("gaussian", 1.0, 1.0, -5),), "add-remove", "epsilon", 1e-5)),
        (1.0, Question((Part("gaussian", 1.0, 1.0, 2.5),), "add-remove", "epsilon", 1e-5)),
        (1.0, Question((Part("gaussian", 1.0),), "add-remove", "epsilon", float("nan"))),
    ],
)
def test_a_number_where_there_is_none(answer: float, question: Question) -> None:
    """No epsilon is below 0, and nothing has one at numbers outside their domains."""
    assert judged(library().claims[0], question, answer).verdict is Verdict.NONSENSE


def test_an_error_is_no_answer() -> None:
    """What a library refuses is not held against it, and neither is what we refuse."""
    unknown = Question((Part("response", 0.8),), "add-remove", "epsilon", 1e-5)

    assert judged(library().claims[0], ONE, ["ValueError: no"]).verdict is Verdict.SILENT
    assert judged(library().claims[0], unknown, 1e-3).verdict is Verdict.SILENT


def test_two_rigorous_numbers_that_contradict_stop_the_run() -> None:
    """Our bug or theirs: nobody asks further."""
    report = reported(60.0, epsilon="answer = 0.0", rigorous_from=0.0)

    assert isinstance(report.ours(), Finding)


def test_the_lower_end_of_a_fixed_size_is_that_of_an_instance() -> None:
    """100 of 1,000 records, ten rounds: at least 12.26, as the records -1 and one of 1 show."""
    bound = Question((Part("fixed", 1.0, 0.1, 10),), "replace-one", "epsilon", 1e-5).bracket()

    assert 12.26 < bound.lower < 12.27 < bound.upper < 12.49
    assert bound.attained


@pytest.mark.slow
def test_a_hang_ends_in_time_and_the_next_program_runs() -> None:
    """A lost process is started again, and prints of a library are no replies."""
    peer = Peer(seconds=2.0)
    assert peer.ask("print('noise'); answer = 2") == 2.0
    assert isinstance(peer.ask("while True: pass"), list)
    assert peer.ask("answer = 3") == 3.0
    assert isinstance(peer.ask("import os; os._exit(1)"), list)
    assert peer.ask("answer = undefined")[0].startswith("NameError")  # type: ignore[index]
    assert peer.version("click")
    assert not peer.version("no-such-distribution")
    peer.close()


def test_every_program_of_every_library_is_python() -> None:
    """Programs compile, with each question that may be drawn for them before them."""
    source = random.Random(1)  # noqa: S311  # not secret
    for one in libraries().values():
        for claim in one.claims:
            for asked in ("epsilon", "delta", "power", "noise"):
                question = draw(source, one.kinds, asked, poisson=one.poisson)
                compile(one.program(claim, question) or "pass", "libraries.toml", "exec")
                assert {part.kind for part in question.parts} <= set(one.kinds)
                assert all(question.relation in one.kinds[part.kind] for part in question.parts)


def test_the_command_asks_libraries_of_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit status 1 for a refutation, 2 for a contradiction; what is missing is skipped."""

    def status(epsilon: str, rest: str = "") -> int:
        file = tmp_path / "own.toml"
        file.write_text(
            "[click]\nstates = 'nothing'\npoisson = false\nkinds.gaussian = ['add-remove']\n"
            f"[[click.claims]]\nname = 'it'\nepsilon = 'answer = {epsilon}'\n{rest}"
            "[no-such]\nstates = ''\npoisson = false\nkinds.gaussian = ['add-remove']\nclaims = []"
        )
        page = str(tmp_path / "page.md")
        return main(["refute", "--library", str(file), "--seconds", "0.2", "-o", page])

    assert status("1e9") == 0
    assert "no-such: skipped, as it is not installed" in capsys.readouterr().out
    assert "Nothing was found" in (tmp_path / "page.md").read_text()
    assert status("0.0") == 1
    assert status("0.0", "rigorous_from = 0.0\n") == 2
    assert "both numbers are rigorous" in capsys.readouterr().err
    assert main(["refute", "--library", "no-such"]) == 2
    assert main(["refute", "--python", str(tmp_path / "none")]) == 2
    assert "none: cannot be run" in capsys.readouterr().err


def test_a_file_that_describes_no_library_is_refused(tmp_path: Path) -> None:
    """The refusal names the file."""
    file = tmp_path / "own.toml"
    file.write_text("[one]\nstates = 1\n")

    with pytest.raises(InputError, match=r"own\.toml: expected libraries to ask"):
        libraries(str(file))
