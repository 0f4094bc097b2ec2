"""Draw docs/both-ends.svg: what tools print beside what is proved, with numbers computed now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dp_accounting as peer
import matplotlib as mpl
from matplotlib import pyplot as plt

import dpproof as dp
from dpproof.interop import from_shuffled_training, to_dp_event
from dpproof.rounding import above, below

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "both-ends.svg"
PROVED, PRINTED, REFUTED = "#1f5fa8", "#8a8a8a", "#c0392b"


def rows() -> list[tuple[str, str, float, dp.Guarantee[Any], float]]:
    """Return for each row its title, who prints, what they print, our guarantee, and delta."""
    levels = (3.9238, 1.0545, 1.8927, 1.5267, 1.1291, 3.1152)
    census = dp.compose(*(dp.Histogram(scale=s, relation=dp.ReplaceOne()) for s in levels))
    step = dp.Gaussian(sigma=1.1, sensitivity=dp.L2(1))
    sampled = step.subsample(dp.Poisson(sampling_rate=256 / 60000)).repeat(14062)
    shuffled = from_shuffled_training(records=60_000, batch_size=128, epochs=10, noise_multiplier=1)
    accountant = peer.rdp.RdpAccountant()
    accountant.compose(to_dp_event(sampled.guarantee()))
    renyi = accountant.get_epsilon(1e-5)
    poisson = dp.Gaussian(sigma=1, sensitivity=dp.L2(1)).subsample(
        dp.Poisson(sampling_rate=1 / 469)
    )
    printed = poisson.repeat(4690).guarantee().epsilon(delta=1e-6).upper
    choice = dp.ExponentialMechanism(epsilon=1, sensitivity=dp.LInf(1)).repeat(100)
    composed = dp.self_compose(dp.PureDP(epsilon=1), count=100).epsilon(delta=1e-6).upper
    return [
        ("US census 2020, all tables", "published", 17.14, census.guarantee(), 1e-10),
        ("100 exponential mechanisms", "by ε-DP", composed, choice.guarantee(), 1e-6),
        ("DP-SGD on MNIST, Poisson batches", "Rényi DP", renyi, sampled.guarantee(), 1e-5),
        ("DP-SGD on MNIST, shuffled batches", "Poisson accounting", printed, shuffled, 1e-6),
    ]


def draw() -> None:
    """Draw one line a row: our bracket in blue, what others print in grey, or red if refuted."""
    mpl.rcParams |= {
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "svg.hashsalt": "dpproof",
        "font.size": 11,
    }
    figure, axes = plt.subplots(figsize=(8, 3.3), layout="constrained")
    lines = rows()
    for height, (_, who, printed, guarantee, delta) in enumerate(reversed(lines)):
        bound = guarantee.epsilon(delta=delta)
        axes.plot([bound.lower, bound.upper], [height] * 2, color=PROVED, lw=6, marker="o", ms=8)
        narrow = bound.upper - bound.lower < 0.01
        said = (
            above(bound.upper, 4)
            if narrow
            else f"{below(bound.lower, 3)} to {above(bound.upper, 4)}"
        )
        middle = (bound.lower * bound.upper) ** 0.5
        axes.annotate(said, (middle, height + 0.2), color=PROVED, ha="center", weight="bold")
        colour = REFUTED if printed < bound.lower else PRINTED
        axes.plot(printed, height, color=colour, marker="x", ms=10, mew=3)
        note = f"{who}: {printed:.2f}" + (", refuted" if colour == REFUTED else "")
        axes.annotate(note, (printed, height - 0.36), color=colour, ha="center")
    axes.set_yticks(range(len(lines)), [row[0] for row in reversed(lines)])
    axes.set_ylim(-0.6, len(lines) - 0.4)
    axes.set_xscale("log")
    axes.set_xticks([1, 3, 10, 30, 100], ["1", "3", "10", "30", "100"])
    axes.minorticks_off()
    axes.set_xlim(0.5, 160)
    axes.set_xlabel("ε. Blue: proved at both ends. Cross: what others print.")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", alpha=0.3)
    figure.savefig(PICTURE, metadata={"Date": None})


if __name__ == "__main__":
    draw()
