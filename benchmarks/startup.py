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
STAGES = "200-stages.toml"  # in the folder of compiled modules
EXAMPLES = (
    *("census-tables", "mnist-dpsgd", "private-digits", "training-and-analytics"),
    *("tuned-training", "us-census-2020"),
)
COMMANDS: dict[str, tuple[list[str], float]] = {
    "import dpproof.mechanisms": (["-c", "import dpproof.accountant, dpproof.mechanisms"], 0.3),
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
    "dpproof budget of 200 different stages": (["-m", "dpproof", "budget", STAGES], 2.0),
    **{
        f"dpproof report examples/{name}.toml": (
            ["-m", "dpproof", "report", f"examples/{name}.toml", "-o", os.devnull],
            3.0,
        )
        for name in EXAMPLES
    },
}
_STAGE = """
[[stage]]
name = "stage {i}"
mechanism = "{mechanism}"
{noise}
"""


@cache
def _compiled() -> str:
    """Return a folder that keeps compiled modules for this run, filled."""
    folder = tempfile.mkdtemp(prefix="dpproof-startup-")
    atexit.register(shutil.rmtree, folder)
    Path(folder, STAGES).write_text(_stages(200), encoding="utf-8")
    for arguments, _ in COMMANDS.values():
        _run(arguments, folder)
    return folder


def _stages(count: int) -> str:
    """Return a pipeline of Gaussian, Laplace, discrete and sampled Gaussian noise, all distinct."""
    kinds = (
        ("gaussian", "noise_multiplier = {}\ncount = 3"),
        ("laplace", "scale = {}\nsensitivity = 1"),
        ("discrete-gaussian", "sigma = {}\nsensitivity = 1"),
        ("gaussian", 'noise_multiplier = {}\nsampling = {{ scheme = "poisson", rate = 0.01 }}'),
    )
    stages = []
    for i in range(count):
        mechanism, noise = kinds[i % len(kinds)]
        size = round(1.0 + 0.01 * i if "rate" in noise else 50.0 + i, 2)
        stages.append(_STAGE.format(i=i, mechanism=mechanism, noise=noise.format(size)))
    return '[pipeline]\nrelation = "add-remove"\ndelta = 1e-6\n' + "".join(stages)


def _run(arguments: list[str], folder: str) -> None:
    settings = {"PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
    subprocess.run(
        [sys.executable, *(str(Path(folder, one)) if one == STAGES else one for one in arguments)],
        cwd=ROOT,
        env=os.environ | settings,
        check=True,
        stdout=subprocess.DEVNULL,
    )


def seconds(arguments: list[str]) -> float:
    """Return the wall time of one fresh process."""
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
