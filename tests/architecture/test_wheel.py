"""What is shipped: the five packages and the pytest plugin, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.architecture.tree import INNER, PACKAGES, ROOT


def test_configuration_names_the_five_packages() -> None:
    """The build is told to take the five packages."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]

    assert sorted(wheel["only-include"]) == sorted(PACKAGES)
    assert wheel["sources"] == {name: f"dpproof/{name}" for name in INNER}


@pytest.mark.slow
def test_wheel_contains_the_five_packages_and_nothing_else(tmp_path: Path) -> None:
    """A built wheel has our packages with their type markers, the plugin, and its metadata."""
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "-q", "-w", str(tmp_path)]
    subprocess.run([*command, str(ROOT)], check=True)
    (wheel,) = tmp_path.glob("dpproof-*.whl")
    names = zipfile.ZipFile(wheel).namelist()

    tops = {name.split("/")[0] for name in names}
    metadata = next(top for top in tops if top.endswith(".dist-info"))
    assert tops == {"dpproof", metadata}
    assert {f"dpproof/{part}/py.typed" for part in INNER} | {"dpproof/py.typed"} <= set(names)
    assert len(names) == len(set(names))
    assert f"{metadata}/licenses/LICENSE" in names
