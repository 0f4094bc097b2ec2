"""``dpproof import`` and ``dpproof compare``."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest

from dpproof.interop.event import Event
from dpproof.interop.peers import compared, scaled
from tests.dpproof.command import Command
from tests.dpproof.files import GAUSSIAN, PIPELINE

EVENT = {
    "class_name": "PoissonSampledDpEvent",
    "sampling_probability": 0.1,
    "event": {"class_name": "GaussianDpEvent", "noise_multiplier": 2.0},
}


def _file(folder: Path, content: object) -> str:
    path = folder / "file.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (EVENT, ("--relation", "add-remove")),
        ({"history": [[1.0, 0.1, 5]], "mechanism": "rdp"}, ("--poisson",)),
        ({"spent_budget": [[1.0, 0.0]]}, ("--relation", "replace-one")),
        (
            {"mechanism_specs": [{"mechanism_type": "LAPLACE", "noise_standard_deviation": 2}]},
            ("--relation", "add-remove"),
        ),
    ],
)
def test_import(
    content: object, options: tuple[str, ...], tmp_path: Path, command: Command
) -> None:
    """Every form is recognised and answered; without what it does not say it is refused with 2."""
    file = _file(tmp_path, content)

    found = command.run("import", file, *options, "--json")
    assert (found.status, found.json["epsilon"]["lower"] > 0) == (0, True)
    assert "epsilon lies in" in command.run("import", file, *options).out
    silent = command.run("import", file)
    if "--poisson" in options:  # otherwise it was shuffled
        assert "shuffled batches" in silent.out
        return
    assert (silent.status, silent.err.count("\n")) == (2, 1)
    assert "say it with --relation" in silent.err


HISTORY = {"history": [[1.0, 1 / 469, 4690]], "mechanism": "prv"}
NUMBERS = {"n": 60_000, "batch_size": 128, "epochs": 10, "noise_multiplier": 1.0}
FILE = """
[pipeline]
relation = "zero-out"
delta = 1e-6
[[stage]]
name = "training"
mechanism = "gaussian"
noise_multiplier = 1.0
sampling = { scheme = "shuffled", batches = 469, epochs = 10 }
"""


@pytest.mark.parametrize("content", [HISTORY, NUMBERS], ids=["opacus", "keras"])
def test_shuffled_batches_are_answered_by_both_ends(
    content: object, tmp_path: Path, command: Command
) -> None:
    """In place of a refusal: the bracket, and a sentence with what tools print."""
    file = _file(tmp_path, content)
    found = command.run("import", file, "--json").json

    assert found["relation"] == "zero-out"
    assert found["epsilon"]["attained"]
    assert 6.902 < found["epsilon"]["lower"] < 6.903
    assert found["meaning"] == (
        "Poisson accounting would print 0.85; the truth lies between 6.90 and 19.43"
    )
    assert f"\n{found['meaning']}\n" in command.run("import", file).out
    refused = command.run("import", file, "--relation", "add-remove")
    assert (refused.status, refused.err.count("\n")) == (2, 1)


@pytest.mark.parametrize("content", [HISTORY, NUMBERS, FILE], ids=["opacus", "keras", "file"])
def test_poisson_numbers_are_refuted_for_shuffled_batches(
    content: object, tmp_path: Path, command: Command
) -> None:
    """The number of Poisson samples is below the lower end, and marked; so are others."""
    file = command.file(content) if isinstance(content, str) else _file(tmp_path, content)
    found = command.run("compare", file, "--json").json
    printed = {peer["name"]: peer for peer in found["peers"]}

    assert 0.853 < printed["Poisson"]["epsilon"] < 0.854
    assert printed["Poisson"]["refuted"]
    assert all(peer["refuted"] for peer in found["peers"] if peer["epsilon"] is not None)
    assert "refuted for this loader" in command.run("compare", file).out


def test_an_import_says_what_it_is(tmp_path: Path, command: Command) -> None:
    """The first line is the mechanism in words; no class of ours is in it."""
    printed = command.run("import", _file(tmp_path, EVENT), "--relation", "add-remove").out

    mechanism = "Gaussian noise of standard deviation 2 on a query of L2 sensitivity 1"
    assert printed.startswith(f"{mechanism}, Poisson sample of rate 0.1, add-remove neighbours\n")


def test_deltas_that_add_up_to_the_one_asked_are_no_bound(tmp_path: Path, command: Command) -> None:
    """An end without a bound is shown as such, in words, and in JSON as by every command."""
    file = _file(tmp_path, {"spent_budget": [[0.5, 0.0], [0.5, 2e-6]]})

    assert command.run("import", file, "--relation", "add-remove").out.count("lies in [∞, ∞] at")
    found = command.run("import", file, "--relation", "add-remove", "--json").json
    assert (found["epsilon"]["lower"], found["epsilon"]["upper"]) == ("inf", "inf")


def test_a_pipeline_is_compared_by_its_own_bracket(command: Command) -> None:
    """What no event says, such as how many counts move, is not lost in our number."""
    text = (
        PIPELINE.replace("add-remove", "replace-one")
        + '[[stage]]\nname = "counts"\nmechanism = "histogram"\nscale = 4\n'
    )
    ours = command.budget(text, "--json").json["epsilon"]
    found = command.run("compare", command.file(text), "--json").json["epsilon"]

    assert found == ours


@pytest.mark.parametrize("content", [[], {}, {"class_name": "Other"}, "text"])
def test_import_refuses_other_files(content: object, tmp_path: Path, command: Command) -> None:
    """Other JSON, no JSON and no file are one line and 2."""
    for file in (_file(tmp_path, content), str(tmp_path / "nothing")):
        found = command.run("import", file, "--relation", "add-remove")
        assert (found.status, found.err.count("\n")) == (2, 1)


def test_compare(tmp_path: Path, command: Command) -> None:
    """The bracket stands beside the others, which lie above it and save noise by it."""
    file = _file(tmp_path, EVENT)
    found = command.run("compare", file, "--relation", "add-remove", "--json").json
    rdp, pld, prv = found["peers"]

    assert rdp["epsilon"] > found["epsilon"]["upper"]
    assert 0.01 < rdp["noise_saved"] < 0.5
    assert pld["epsilon"] == pytest.approx(found["epsilon"]["upper"], abs=1e-3)
    assert prv["name"] == "PRV"
    assert "RDP" in command.run("compare", command.file(PIPELINE + GAUSSIAN)).out


def test_an_event_that_the_newest_library_lacks_is_named(command: Command) -> None:
    """No version is advised that there is not, and an event is named without what it holds."""
    missing = command.file(PIPELINE + '[[stage]]\nname = "h"\nmechanism = "histogram"\nsigma = 4\n')
    chosen = PIPELINE + GAUSSIAN.replace(
        "[[stage]]", '[[stage]]\nselect = {runs = "geometric", mean = 3}'
    )

    told = command.run("compare", missing).out
    assert "has no DiscreteGaussianDpEvent\n" in told
    assert "install" not in told.partition("PRV")[0]
    told = command.run("compare", command.file(chosen)).out
    assert "no answer: Unsupported event: RepeatAndSelectDpEvent\n" in told


def test_compare_refutes(tmp_path: Path, command: Command) -> None:
    """A number below our lower end is said to be too small."""
    file = _file(tmp_path, EVENT["event"])
    found = command.run("compare", file, "--relation", "replace-one", "--json").json

    assert found["peers"][0]["refuted"]
    assert "contradicts" in found["peers"][0]["why"]


def test_scaling_reaches_every_noise() -> None:
    """All noise is multiplied, and rates and counts are not."""
    laplace = Event("DiscreteLaplaceDpEvent", {"noise_parameter": 2.0, "sensitivity": 3})
    parts = (laplace, Event("ZCDpEvent", {"rho": 1.0, "xi": 0.0}))
    whole = Event(
        "SelfComposedDpEvent", {"event": Event("ComposedDpEvent", {"events": parts}), "count": 2}
    )

    changed = scaled(whole, 0.5)

    assert changed.fields["event"].fields["events"][0].fields == {
        "noise_parameter": 4.0,
        "sensitivity": 3,
    }
    assert changed.fields["event"].fields["events"][1] == parts[1]


def test_an_accountant_that_fails_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever another library raises, the others are still answered; RDP by our own curve."""
    from dpproof.accountant import AddRemove

    def _fails(*_: object) -> float:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("dpproof.interop.peers._PEERS", {"RDP": (_fails, ""), "PLD": (_fails, "")})
    event = Event("GaussianDpEvent", {"noise_multiplier": 2.0})
    ours, (ours_by_orders, peer), _ = compared(event, AddRemove(), 1e-6)

    assert (peer.epsilon, peer.why) == (None, "no answer: by zero")
    assert ours_by_orders.epsilon is not None
    assert ours.upper < ours_by_orders.epsilon < 1.1 * ours.upper
    assert ours_by_orders.why == "our own divergences at a few orders; by zero"


@pytest.mark.peer
def test_compare_has_rdp_where_the_peer_has_no_event(tmp_path: Path, command: Command) -> None:
    """Of discrete Gaussian noise under replace-one it was a dash."""
    pytest.importorskip("dp_accounting")
    file = tmp_path / "discrete.toml"
    file.write_text(
        '[pipeline]\nrelation = "replace-one"\ndelta = 1e-6\n\n[[stage]]\nname = "noise"\n'
        'mechanism = "discrete-gaussian"\nsigma = 5\nsensitivity = 1\ncount = 10\n',
        encoding="utf-8",
    )
    found = command.run("compare", str(file), "--json").json
    by_orders = min(  # of 10 releases, by the closed form of Canonne, Kamath & Steinke
        order * 10 / (2 * 5**2)
        + math.log1p(-1 / order)
        - (math.log(1e-6) + math.log(order)) / (order - 1)
        for order in (2, 3, 4, 6, 8, 12, 16, 24, 32, 64)
    )

    assert found["peers"][0]["epsilon"] == pytest.approx(by_orders, rel=1e-6)


@pytest.mark.parametrize("refuted", [True, False])
def test_a_pair_that_nothing_attains_refutes_nobody(
    monkeypatch: pytest.MonkeyPatch, *, refuted: bool
) -> None:
    """Half of the lower end is wrong of Gaussians, and may be right of exponential mechanisms."""
    from dpproof.accountant import GDP, AddRemove, BoundedRange, compose

    known = None if refuted else compose(BoundedRange(epsilon=1), GDP(mu=4))
    monkeypatch.setattr("dpproof.interop.peers._PEERS", {"RDP": (lambda *_: 0.5, "")})
    event = Event("GaussianDpEvent", {"noise_multiplier": 2.0})
    ours, (peer,), _ = compared(event, AddRemove(), 1e-6, known)

    assert ours.lower > 1
    assert (peer.refuted, "attains" in peer.why) == (refuted, not refuted)


def test_files_of_other_tools_are_certified_and_paid_for(tmp_path: Path, command: Command) -> None:
    """The certificate is of the imported epsilon, speaks of its file alone, and is spent."""
    file, out = _file(tmp_path, HISTORY), str(tmp_path / "c.json")
    upper = command.run("import", file, "--poisson", "--json", "--delta", "1e-5").json["epsilon"]
    made = command.run("certify", file, "--poisson", "--delta", "1e-5", "-o", out)
    claim = json.loads(Path(out).read_text(encoding="utf-8"))["claim"]

    assert made.status == 0
    assert 0 <= float(Fraction(claim["epsilon"])) / upper["upper"] - 1 < 1e-6
    assert float(Fraction(claim["delta"])) == 1e-5
    assert ", 1e-05)-DP" in made.out
    against = ("check", out, "--against", file)
    assert "\nSpeaks of" in command.run(*against, "--poisson").out
    assert command.run(*against, "--poisson").status == 0
    assert command.run(*against).status == 1  # of shuffled batches it is another claim

    place = str(tmp_path / "ledger")
    budget = ("--relation", "add-remove", "--epsilon", "8", "--delta", "1e-6")
    made = command.run("ledger", "init", place, *budget)
    paid = command.run("ledger", "spend", place, file, "--poisson", "--key", "run")
    assert (made.status, paid.status) == (0, 0)
    assert "spent for 'run'" in paid.out
    own = command.run("certify", command.file(PIPELINE), "--poisson", "-o", out)
    assert own.err.endswith("a pipeline file; leave out --relation and --poisson\n")
    assert "dpproof import" in command.run("budget", file).err
