"""The digest of sources has what is imported, and nothing else."""

from __future__ import annotations

import importlib.metadata
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from dpproof.auditing import Unidentified
from dpproof.auditing.trials import source_digest
from dpproof.auditing.trials.source_digest import digest_of_sources

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
    source_digest._distribution.cache_clear()
    after = digest()
    source_digest._distribution.cache_clear()

    assert before != after


@pytest.mark.parametrize(("top", "found"), [("numpy", True), ("flint", True), ("nowhere", False)])
def test_distributions_are_found_by_what_they_have(top: str, found: bool) -> None:  # noqa: FBT001
    """Under the package's own name, or another one (python-flint)."""
    assert (source_digest._distribution(top) is not None) == found


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
