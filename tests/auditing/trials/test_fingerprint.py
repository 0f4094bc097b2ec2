"""Digests change with what they are of, and with nothing else."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpproof.accountant import GDP, L2, Poisson
from dpproof.auditing import Unidentified, identity
from dpproof.auditing.trials import encoding
from dpproof.auditing.trials.encoding import digest_of_sources
from dpproof.mechanisms import Gaussian
from tests.auditing.samplers import laplace


def scaled(scale: float, *, offset: float = 0.0) -> Callable[[float], float]:
    """A closure."""
    return lambda value: scale * value + offset


class Model:
    """Something with a state."""

    def __init__(self, weights: object) -> None:
        self.weights = weights

    def release(self, value: float) -> float:
        """A bound method."""
        return value


def cyclic(value: int) -> list[Any]:
    """A list that has itself."""
    made: list[Any] = [value]
    made.append(made)
    return made


DIFFERENT: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "numbers": (lambda: 1, lambda: 2),
    "types": (lambda: 1, lambda: 1.0),
    "bits of a float": (lambda: 0.1 + 0.2, lambda: 0.3),
    "signs of zero": (lambda: 0.0, lambda: -0.0),
    "text": (lambda: "a", lambda: b"a"),
    "order": (lambda: [1, 2], lambda: [2, 1]),
    "brackets": (lambda: [[1], 2], lambda: [[1, 2]]),
    "keys": (lambda: {"a": 1}, lambda: {"b": 1}),
    "sets": (lambda: {"a", "b"}, lambda: {"a", "c"}),
    "cycles": (lambda: cyclic(1), lambda: cyclic(2)),
    "arrays": (lambda: np.arange(3.0), lambda: np.arange(3.0) + 1),
    "types of arrays": (lambda: np.zeros(2), lambda: np.zeros(2, dtype=np.int64)),
    "shapes": (lambda: np.zeros((2, 3)), lambda: np.zeros((3, 2))),
    "objects in arrays": (
        lambda: np.array(["a", None], dtype=object),
        lambda: np.array(["b", None], dtype=object),
    ),
    "closures": (lambda: scaled(1.0), lambda: scaled(2.0)),
    "defaults": (lambda: scaled(1.0, offset=1.0), lambda: scaled(1.0)),
    "partials": (lambda: functools.partial(scaled, 1.0), lambda: functools.partial(scaled, 2.0)),
    "functions": (lambda: len, lambda: sum),
    "ufuncs": (lambda: np.abs, lambda: np.exp),
    "methods": (lambda: Model([1]).release, lambda: Model([2]).release),
    "states": (lambda: Model([1]), lambda: Model([2])),
    "classes": (lambda: Model, lambda: Path),
    "generators": (lambda: np.random.default_rng(1), lambda: np.random.default_rng(2)),
    "samplers": (lambda: laplace(1.0), lambda: laplace(1.5)),
    "claims": (lambda: GDP(mu=1), lambda: GDP(mu=2)),
    "mechanisms": (
        lambda: Gaussian(sigma=1, sensitivity=L2(1)).subsample(Poisson(sampling_rate=0.1)),
        lambda: Gaussian(sigma=1, sensitivity=L2(1)).subsample(Poisson(sampling_rate=0.2)),
    ),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_different_values_have_different_digests(name: str) -> None:
    """Each pair differs, and each value made again is the same."""
    first, second = DIFFERENT[name]

    assert identity(first(), code=False) == identity(first(), code=False)
    assert identity(second(), code=False) == identity(second(), code=False)
    assert identity(first(), code=False) != identity(second(), code=False)


def test_sharing_makes_no_difference() -> None:
    """Equal structure has an equal digest, whether parts are the same object or equal ones."""
    part = [1, 2]

    assert identity([part, part], code=False) == identity([[1, 2], [1, 2]], code=False)


def test_a_claim_that_was_asked_is_the_same_claim() -> None:
    """What a guarantee remembers of its answers is no part of it."""
    claim = Gaussian(sigma=1, sensitivity=L2(1)).repeat(10).guarantee()
    before = identity(claim, code=False)
    claim.epsilon(delta=1e-6)

    assert identity(claim, code=False) == before


@pytest.mark.parametrize("value", [(_ for _ in [1]), open(os.devnull, "rb")])  # noqa: PTH123, SIM115
def test_refuses_what_has_no_state(value: object) -> None:
    """A generator and an open file cannot be told from others."""
    with pytest.raises(Unidentified, match="give a version"):
        identity(value, code=False)


def test_refuses_code_without_a_source() -> None:
    """A module that no file is known of."""
    made: dict[str, Any] = {"__name__": "made_of_nothing"}
    exec("def sampler(value, size, rng):\n    return value", made)  # noqa: S102
    with pytest.raises(Unidentified, match="made_of_nothing"):
        identity(made["sampler"])

    assert identity(made["sampler"], code=False)


PROJECT = {
    "release/__init__.py": "",
    "release/main.py": "from .noise import scale\ndef sampler(d, n, r):\n    return scale()\n",
    "release/noise.py": "class A:\n    def scale(self):\n        from release.late import one\n",
    "release/late.py": "try:\n    import numpy, nowhere_at_all\nexcept ImportError:\n    pass\n",
    "release/inner/__init__.py": "from ..noise import A\n",
    "release/unused.py": "two = 2\n",
}
CHANGED = "# changed\n"


@pytest.fixture
def digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    """The digest of release.main in a project with some files changed."""

    def made(**changes: str) -> bytes:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        for name, text in {**PROJECT, **changes}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        with monkeypatch.context() as patch:
            patch.syspath_prepend(folder)
            return digest_of_sources.__wrapped__(frozenset({"release.main"}))

    return made


@pytest.mark.parametrize(
    "name",
    [
        "release/__init__.py",
        "release/main.py",
        "release/noise.py",
        "release/late.py",
        "nowhere_at_all.py",
    ],
)
def test_what_is_imported_counts(name: str, digest: object) -> None:
    """The module, its packages, relative and late imports, and what was missing and comes."""
    assert callable(digest)
    assert digest() != digest(**{name: PROJECT.get(name, "") + CHANGED})


@pytest.mark.parametrize("name", ["release/unused.py", "release/inner/__init__.py", "other.py"])
def test_what_is_not_imported_does_not_count(name: str, digest: object) -> None:
    """Other files of the project change nothing."""
    assert callable(digest)
    assert digest() == digest(**{name: PROJECT.get(name, "") + CHANGED})


def test_subpackages_import_relatively(digest: object) -> None:
    """Two dots are the package above."""
    assert callable(digest)
    importing = {"release/main.py": "import release.inner\n"}

    assert digest(**importing) != digest(
        **importing, **{"release/noise.py": PROJECT["release/noise.py"] + CHANGED}
    )


@dataclass(frozen=True)
class Rebuilt:
    """A distribution with other files than the one that is installed."""

    name: str

    def read_text(self, file: str) -> str:
        """The RECORD."""
        return f"{self.name}/{file}/code.py,sha256=another,100\n"


def test_distributions_count_by_their_files(
    digest: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another build of an installed distribution is other code."""
    assert callable(digest)
    before = digest()
    monkeypatch.setattr(importlib.metadata, "distribution", Rebuilt)
    encoding._distribution.cache_clear()
    after = digest()
    encoding._distribution.cache_clear()

    assert before != after


@pytest.mark.parametrize(("top", "found"), [("numpy", True), ("flint", True), ("nowhere", False)])
def test_distributions_are_found_by_what_they_have(top: str, found: bool) -> None:  # noqa: FBT001
    """Under the package's own name, or another one (python-flint)."""
    assert (encoding._distribution(top) is not None) == found


def test_python_counts(digest: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another Python is other code."""
    assert callable(digest)
    before = digest()
    monkeypatch.setattr(sys, "version", "3.99")

    assert digest() != before


@pytest.mark.parametrize("name", ["nowhere_at_all", "nowhere.at.all", "json.nowhere_at_all.x"])
def test_refuses_modules_without_files(name: str) -> None:
    """What cannot be read cannot be told; the standard library is told by the version."""
    if name.startswith("json"):
        assert digest_of_sources(frozenset({name})) == digest_of_sources(frozenset({"json"}))
        return
    with pytest.raises(Unidentified, match="no source file"):
        digest_of_sources(frozenset({name}))
