"""The theorems in proofs/formal, and budgets that become theorems."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from dpproof.accountant.theorems.composition import compose
from dpproof.commands import check
from dpproof.errors import InputError
from dpproof.pipeline import parse
from dpproof.pipeline.pipeline import Pipeline
from scripts.theorems import MACHINE

ROOT = Path(__file__).resolve().parents[2]
FORMAL = ROOT / "proofs" / "formal"
FILES = ("Laws", "Rules", "Sampling", "Groups", "Samples", "Selection", "Grid", "Numbers")
STATED = re.compile(r"^Theorem (\w+)", re.MULTILINE)
OF_REALS = {  # the axioms of Coq's real numbers, and of the library that makes them a field
    "ClassicalDedekindReals.sig_not_dec",
    "ClassicalDedekindReals.sig_forall_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "Classical_Prop.classic",
    "Epsilon.epsilon_statement",
}
STEPS = """
[pipeline]
delta = 1e-3
relation = "add-remove"

[[stage]]
name = "counts"
count = 20
mechanism = "laplace"
scale = 10
sensitivity = 1

[[stage]]
name = "sampled"
count = 10
mechanism = "laplace"
scale = 2
sensitivity = 1
sampling = { scheme = "poisson", rate = 0.1 }
"""
needs_coq = pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not installed")


def steps(text: str = STEPS) -> Pipeline:
    """Return the pipeline of a text."""
    return parse.parse(tomllib.loads(text), "steps.toml")


def theorems() -> dict[str, list[str]]:
    """Return the theorems by file."""
    return {name: STATED.findall((FORMAL / f"{name}.v").read_text()) for name in FILES}


def coqc(folder: Path, file: str) -> subprocess.CompletedProcess[str]:
    """Let Coq compile a file of a folder."""
    command = ["coqc", "-w", "none", "-R", str(folder), "DP", file]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the library in a folder of its own."""
    folder = tmp_path_factory.mktemp("formal")
    for name in FILES:
        shutil.copy(FORMAL / f"{name}.v", folder)
        done = coqc(folder, f"{name}.v")
        assert done.returncode == 0, f"{name}.v: {done.stderr}"
    return folder


def test_nothing_is_left_unproved() -> None:
    """No file admits a lemma or declares an axiom."""
    for name in FILES:
        text = (FORMAL / f"{name}.v").read_text()
        assert not re.search(r"\b(Admitted|admit|Axiom|Parameter|Conjecture|Abort)\b", text), name


def test_the_named_theorems_exist() -> None:
    """Every theorem that docs/THEOREMS.md calls checked by machine stands in its file."""
    stated = theorems()
    for named in MACHINE.values():
        for one in named:
            file, name = one.split(".")
            assert name in stated[file], one


@needs_coq
@pytest.mark.slow
def test_coq_accepts_every_theorem(library: Path) -> None:
    """The library compiles; the finite part uses no axiom, the rest those of the reals."""
    names = [f"{file}.{name}" for file, all_of in theorems().items() for name in all_of]
    assert len(names) >= 40
    lines = [f"From DP Require {' '.join(FILES)}."]
    lines += [f"Print Assumptions {name}." for name in names]
    (library / "Assumptions.v").write_text("\n".join(lines))
    done = coqc(library, "Assumptions.v")
    assert done.returncode == 0, done.stderr
    finite = [name for name in names if not name.startswith("Numbers")]
    assert done.stdout.count("Closed under the global context") == len(finite)
    axioms = set(re.findall(r"^(\w[\w.]*)\s*:?", done.stdout.split("Axioms:", 1)[1], re.MULTILINE))
    assert axioms - {"Axioms"} <= OF_REALS


@needs_coq
@pytest.mark.slow
def test_coq_accepts_a_budget_and_refuses_a_smaller_one(library: Path) -> None:
    """The theorem of a pipeline compiles; that of a smaller multiple of the grid does not."""
    epsilon = check.write(steps(), str(library / "Budget.v"))
    assert 1 < epsilon < 2
    done = coqc(library, "Budget.v")
    assert done.returncode == 0, done.stderr
    text = (library / "Budget.v").read_text()
    applied = re.search(r"groups (\d+) 1 1000\)", text)
    assert applied is not None
    smaller = text.replace(applied[0], f"groups {int(applied[1]) - 1} 1 1000)")
    (library / "Smaller.v").write_text(smaller)
    assert coqc(library, "Smaller.v").returncode != 0


def test_a_theorem_says_what_runs(tmp_path: Path) -> None:
    """The text lists every group of steps; its epsilon is above that of the engine."""
    pipeline = steps()
    epsilon = check.write(pipeline, str(tmp_path / "b.v"))
    text = (tmp_path / "b.v").read_text()
    assert "Group 20 " in text
    assert "Group 10 " in text
    exact = compose(*(stage.guarantee(pipeline.relation) for stage in pipeline.stages))
    assert exact.epsilon(delta=1e-3).lower <= epsilon <= 1.1 * exact.epsilon(delta=1e-3).upper


def test_steps_of_unbounded_loss_are_refused(tmp_path: Path) -> None:
    """Gaussian noise has no epsilon at delta 0, and the refusal says so."""
    text = STEPS.replace(
        'mechanism = "laplace"\nscale = 10\nsensitivity = 1',
        'mechanism = "gaussian"\nnoise_multiplier = 2',
    )
    with pytest.raises(InputError, match="no epsilon at delta 0"):
        check.write(steps(text), str(tmp_path / "b.v"))
