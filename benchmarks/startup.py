"""Start-up: how long a command takes in a fresh process, imports included.

    python benchmarks/startup.py [REPEATS]

Each command runs REPEATS times (5); the median wall time is printed, in seconds, beside its goal.
The modules are compiled before the first of them, as pip compiles what it installs.
"""

from __future__ import annotations

import atexit
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMANDS: dict[str, tuple[list[str], float]] = {
    "import accountant, mechanisms": (["-c", "import accountant, mechanisms"], 0.3),
    "import dpproof": (["-c", "import dpproof"], 0.3),
    "dpproof --help": (["-m", "dpproof", "--help"], 0.3),
    "dpproof budget examples/mnist-dpsgd.toml": (
        ["-m", "dpproof", "budget", "examples/mnist-dpsgd.toml"],
        1.0,
    ),
    "dpproof budget examples/training-and-analytics.toml": (
        ["-m", "dpproof", "budget", "examples/training-and-analytics.toml"],
        1.0,
    ),
}


@cache
def _compiled() -> str:
    """A folder that keeps compiled modules for this run, filled."""
    folder = tempfile.mkdtemp(prefix="dpproof-startup-")
    atexit.register(shutil.rmtree, folder)
    for arguments, _ in COMMANDS.values():
        _run(arguments, folder)
    return folder


def _run(arguments: list[str], folder: str) -> None:
    settings = {"PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
    subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ | settings,
        check=True,
        stdout=subprocess.DEVNULL,
    )


def seconds(arguments: list[str]) -> float:
    """Wall time of one fresh process."""
    folder = _compiled()
    start = time.perf_counter()
    _run(arguments, folder)
    return time.perf_counter() - start


def main() -> None:
    """Time every command and print the table."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    for name, (arguments, goal) in COMMANDS.items():
        median = statistics.median(seconds(arguments) for _ in range(repeats))
        print(f"{median:6.3f} s   goal {goal:3.1f} s   {name}")


if __name__ == "__main__":
    main()
