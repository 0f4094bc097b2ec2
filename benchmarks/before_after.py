"""Compare the last commit with an earlier one in one run, as ``benchmarks.before_after REV``.

Each question is answered by fresh processes of both in turn, after a similar one that loads what is
needed. Times are of the processor, so that other work on the machine matters little; the ratio is
that of the medians. Both are checked out in a temporary folder.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[1]

# The setup, the question that loads the code, and the question that is timed.
QUESTIONS = {
    "one Gaussian, epsilon": ("m = lambda s: gaussian(s)", "epsilon(delta=1e-6)"),
    "1,000 steps of DP-SGD, epsilon": (
        "m = lambda s: gaussian(s).subsample(dp.Poisson(sampling_rate=0.01)).repeat(1000)",
        "epsilon(delta=1e-6)",
    ),
    "10^6 steps of DP-SGD, epsilon": (
        "m = lambda s: gaussian(s).subsample(dp.Poisson(sampling_rate=0.001)).repeat(10**6)",
        "epsilon(delta=1e-6)",
    ),
    "10^12 steps of DP-SGD, epsilon": (
        "m = lambda s: gaussian(s).subsample(dp.Poisson(sampling_rate=1e-6)).repeat(10**12)",
        "epsilon(delta=1e-6)",
    ),
    "1,000 steps of DP-SGD, delta": (
        "m = lambda s: gaussian(s).subsample(dp.Poisson(sampling_rate=0.01)).repeat(1000)",
        "delta(epsilon=2)",
    ),
    "subsets of a fixed size, 100 steps": (
        (
            "f = dp.WithoutReplacement(sample_size=10, population_size=1000)\n"
            "g = lambda s: dp.Gaussian(sigma=s, sensitivity=dp.L2(1, dp.ReplaceOne()))\n"
            "m = lambda s: g(s).subsample(f).repeat(100)"
        ),
        "epsilon(delta=1e-6)",
    ),
    "100 discrete Gaussians": (
        "m = lambda s: dp.DiscreteGaussian(sigma=10 * s, sensitivity=dp.L1(1)).repeat(100)",
        "epsilon(delta=1e-6)",
    ),
    "30 Laplace and 10 Gaussians": (
        (
            "l = lambda s: dp.Laplace(scale=10 * s, sensitivity=dp.L1(1))\n"
            "m = lambda s: dp.compose(l(s).repeat(30), gaussian(5 * s).repeat(10))"
        ),
        "epsilon(delta=1e-6)",
    ),
    "20 different stages": (
        (
            "p = lambda s, i: dp.Poisson(sampling_rate=0.01 + i / 1000)\n"
            "g = lambda s, i: gaussian(s + i / 10).subsample(p(s, i)).repeat(50)\n"
            "m = lambda s: dp.compose(*(g(s, i) for i in range(20)))"
        ),
        "epsilon(delta=1e-6)",
    ),
    "best of Poisson many runs": (
        "m = lambda s: gaussian(s).select(dp.PoissonRuns(rate=10))",
        "epsilon(delta=1e-6)",
    ),
    "mu of 1,000 steps of DP-SGD": (
        "m = lambda s: gaussian(s).subsample(dp.Poisson(sampling_rate=0.01)).repeat(1000)",
        "gdp()",
    ),
    "true-positive rate at 1 %": (
        "m = lambda s: gaussian(s).subsample(dp.Poisson(sampling_rate=0.01)).repeat(1000)",
        "true_positive_rate(false_positive_rate=0.01)",
    ),
    "Renyi divergence of order 8": (
        "m = lambda s: gaussian(s).subsample(dp.Poisson(sampling_rate=0.01)).repeat(1000)",
        "rdp(order=8)",
    ),
}

_CODE = """
import json, time
import dpproof as dp
gaussian = lambda s: dp.Gaussian(sigma=s, sensitivity=dp.L2(1))
{setup}
ask = lambda s: m(s).guarantee().{question}
ask(1.5)
start = time.process_time()
found = ask(1.25)
print(json.dumps([time.process_time() - start, found.lower, found.upper]))
"""


def asked(tree: Path, setup: str, question: str) -> list[float]:
    """Return seconds of the processor and the bracket, from a fresh process in a checkout."""
    done = subprocess.run(
        [sys.executable, "-c", _CODE.format(setup=setup, question=question)],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[float] = json.loads(done.stdout)
    return found


def row(trees: list[Path], name: str, rounds: int) -> str:
    """Return one line of the table."""
    found = [[asked(tree, *QUESTIONS[name]) for tree in trees] for _ in range(rounds)]
    old, new = (statistics.median(both[side][0] for both in found) for side in (0, 1))
    widths = [f"{(high - low) / (high or 1):.1e}" for _, low, high in found[0]]
    low, high = max(one[1] for one in found[0]), min(one[2] for one in found[0])
    agree = "yes" if low <= high else "NO"
    times = f"{1e3 * old:.1f} | {1e3 * new:.1f} | {new / old:.2f}"
    return f"| {name} | {times} | {widths[0]} | {widths[1]} | {agree} |"


@click.command()
@click.argument("revision")
@click.option("--rounds", default=5, show_default=True, help="Answers of each.")
@click.option("--markdown", type=click.Path(path_type=Path), help="Write the table as Markdown.")
def main(revision: str, rounds: int, markdown: Path | None) -> None:
    """Compare the last commit with REVISION."""
    git = ["git", "-C", str(ROOT), "worktree"]
    with tempfile.TemporaryDirectory() as folder:
        trees = [Path(folder) / "before", Path(folder) / "after"]
        try:
            for tree, commit in zip(trees, (revision, "HEAD"), strict=True):
                subprocess.run([*git, "add", "-q", "--detach", tree, commit], check=True)
            rows = [row(trees, name, rounds) for name in QUESTIONS]
        finally:
            for tree in trees:
                subprocess.run([*git, "remove", "--force", tree], check=False)
    lines = [
        "# Before and after",
        "",
        f"Written by `python -m benchmarks.before_after {revision} --markdown docs/SPEED.md`; do",
        f"not edit. Milliseconds of the processor, medians of {rounds} fresh processes each, in",
        "turn; widths are relative to the upper end; the brackets of both agree if they meet.",
        "",
        f"| question | {revision} | now | ratio | width before | width now | agree |",
        "|---|---:|---:|---:|---:|---:|:---:|",
        *rows,
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    if markdown is not None:
        markdown.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
