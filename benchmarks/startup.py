"""Start-up: how long a command takes in a fresh process, imports included.

    python benchmarks/startup.py [REPEATS]

Each command runs REPEATS times (5); the median wall time is printed, in seconds, beside its goal.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
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


def seconds(arguments: list[str]) -> float:
    """Wall time of one fresh process."""
    start = time.perf_counter()
    command = [sys.executable, *arguments]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    """Time every command and print the table."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    for name, (arguments, goal) in COMMANDS.items():
        median = statistics.median(seconds(arguments) for _ in range(repeats))
        print(f"{median:6.3f} s   goal {goal:3.1f} s   {name}")


if __name__ == "__main__":
    main()
