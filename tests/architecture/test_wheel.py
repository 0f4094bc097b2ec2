"""What is shipped: the five packages and the pytest plugin, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.architecture.tree import INNER, PACKAGES, ROOT

ROOTS = Path("~/.pyenv/versions").expanduser()


def test_configuration_names_the_five_packages() -> None:
    """The build is told to take the five packages."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]

    assert sorted(wheel["only-include"]) == sorted(PACKAGES)
    assert wheel["sources"] == {name: f"dpproof/{name}" for name in INNER}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the built wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "-q", "-w", str(folder)]
    subprocess.run([*command, str(ROOT)], check=True)
    return next(folder.glob("dpproof-*.whl"))


@pytest.mark.slow
def test_wheel_contains_the_five_packages_and_nothing_else(wheel: Path) -> None:
    """A built wheel has our packages with their type markers, the plugin, and its metadata."""
    names = zipfile.ZipFile(wheel).namelist()

    tops = {name.split("/")[0] for name in names}
    metadata = next(top for top in tops if top.endswith(".dist-info"))
    assert tops == {"dpproof", metadata}
    assert {f"dpproof/{part}/py.typed" for part in INNER} | {"dpproof/py.typed"} <= set(names)
    assert len(names) == len(set(names))
    assert f"{metadata}/licenses/LICENSE" in names
    needed = {"page.html.jinja", "ledger.html.jinja", "registry_schema.json"}
    assert {f"dpproof/reports/{name}" for name in needed} <= set(names)
    others = [name for name in names if "/tests/" in name or name.endswith((".pyc", ".toml"))]
    assert others == ["dpproof/refute/libraries.toml"]


def _interpreter(version: str) -> str | None:
    """Return an interpreter of a version that runs, if there is one."""
    found = [shutil.which(f"python{version}"), *ROOTS.glob(f"{version}.*/bin/python")]
    for path in filter(None, found):
        asked = [str(path), "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        if done.stdout.strip() == version:
            return str(path)
    return None


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_every_supported_version_computes_a_budget(
    version: str, wheel: Path, tmp_path: Path
) -> None:
    """Installed alone in a new environment, the base prices and proves an example."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"Programming Language :: Python :: {version}" in project["classifiers"]
    found = _interpreter(version)
    if found is None:
        pytest.skip(f"no Python {version} is installed")
    here = tmp_path / "environment"
    subprocess.run([found, "-m", "venv", str(here)], check=True)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    installed = subprocess.run(
        [here / "bin/python", "-m", "pip", "install", "-q", str(wheel)],
        capture_output=True,
        text=True,
        check=False,
        env=clean,
    )
    if installed.returncode and "No matching distribution" in installed.stderr:
        pytest.skip(f"Python {version}: a dependency has no wheel here")
    assert installed.returncode == 0, installed.stderr
    done = subprocess.run(
        [here / "bin/dpproof", "budget", ROOT / "examples/mnist-dpsgd.toml", "--certify", "c.json"],
        capture_output=True,
        text=True,
        check=False,
        env=clean,
        cwd=tmp_path,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "Within the budget" in done.stdout
    assert (tmp_path / "c.json").exists()
