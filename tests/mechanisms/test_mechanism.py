"""The protocol of mechanisms: every final class is tested, and the import is fast."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from dpproof import mechanisms
from dpproof.mechanisms import Mechanism
from tests.mechanisms.every_mechanism import final_mechanisms

HERE = Path(__file__).parent


def test_every_mechanism_has_a_contract_test() -> None:
    """A final Mechanism without a contract test fails here."""
    tests = "".join(path.read_text() for path in HERE.rglob("test_*.py"))
    classes = final_mechanisms()

    assert len(classes) >= 9
    for mechanism in classes:
        assert f"class Test{mechanism.__name__}(" in tests, mechanism


def test_every_mechanism_is_final_and_frozen() -> None:
    """Final classes have slots, are marked final, and override nothing final."""
    closed = {name for name, value in vars(Mechanism).items() if getattr(value, "__final__", False)}
    assert {"release", "subsample", "select"} <= closed
    for mechanism in final_mechanisms():
        assert getattr(mechanism, "__final__", False), mechanism
        assert "__slots__" in vars(mechanism), mechanism
        assert not closed & set(vars(mechanism)), mechanism


def test_public_names_are_listed() -> None:
    """Every final mechanism has a public name."""
    named = {mechanism.__name__ for mechanism in final_mechanisms()}
    assert named <= {*vars(mechanisms)["__all__"]}


def test_import_is_fast() -> None:
    """Importing the package leaves plotting and statistics libraries alone."""
    code = "import dpproof.mechanisms, sys; print({'matplotlib', 'scipy.stats'} & set(sys.modules))"
    command = [sys.executable, "-c", code]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True)

    assert loaded.stdout.strip() == "set()"
