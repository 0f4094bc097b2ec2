"""The measurements: what is asked, and what is to be reached."""

from __future__ import annotations

import math
import statistics
from fractions import Fraction
from typing import Any

from benchmarks import cases, report, startup
from benchmarks.accountants import Dpproof
from benchmarks.report import Goal, Progress, Section
from benchmarks.worker import Failed, Outcome, Timed, Workers

OURS = Dpproof.name
PLD = "dp-accounting PLD"
_COUNTS = [10**k for k in range(13)]
_SAMPLE = 20  # of the 1,000 different Gaussians, for accountants too slow for all of them


def _text(outcome: Outcome | None) -> str:
    match outcome:
        case None:
            return "-"
        case Failed(why=why):
            return why
        case Timed(wall=wall):
            return report.seconds(wall)


def _repeats(workers: Workers, ours: int, theirs: int) -> dict[str, int]:
    return {name: ours if name == OURS else theirs for name in workers.workers}


def accuracy(workers: Workers, repeats: int, progress: Progress) -> Section:
    """Return every epsilon at the reference's delta: its value, its distance, and its time."""
    section = Section(
        name="accuracy",
        title="Epsilon at the delta of every reference case",
        columns=("case", "epsilon", "delta", "accountant", "time", "width", "off by", "PLD / it"),
    )
    for case in cases.load():
        progress(f"{case.name} at {case.epsilon:g}")
        found = workers.ask(
            "epsilon",
            case.parts,
            case.delta,
            repeats=_repeats(workers, 2 * repeats + 1, repeats),
            seconds=60.0,
        )
        pld = found.get(PLD)
        for name, outcome in found.items():
            row: dict[str, Any] = {
                "case": case.name,
                "epsilon": case.epsilon,
                "delta": float(case.delta),
                "accountant": name,
                "subsampled_gaussian": case.is_subsampled_gaussian,
            }
            if isinstance(outcome, Failed):
                texts = (outcome.why, "-", "-", "-")
                row["failed"] = outcome.why
            else:
                width = (
                    math.nan
                    if outcome.lower is None
                    else (outcome.upper - outcome.lower) / outcome.upper
                )
                off = (outcome.upper - case.epsilon) / case.epsilon
                faster = pld.wall / outcome.wall if isinstance(pld, Timed) else math.nan
                row |= {
                    "lower": outcome.lower,
                    "upper": outcome.upper,
                    "wall": outcome.wall,
                    "cpu": outcome.cpu,
                    "width": width,
                    "off": off,
                    "faster": faster,
                    "faster_cpu": pld.cpu / outcome.cpu if isinstance(pld, Timed) else math.nan,
                    "holds": (outcome.lower or 0.0) <= case.epsilon <= outcome.upper,
                }
                texts = (
                    report.seconds(outcome.wall),
                    "-" if math.isnan(width) else f"{width:.1e}",
                    report.difference(off),
                    report.ratio(faster),
                )
            section.data.append(row)
            shown = (case.name, f"{case.epsilon:.6g}", f"{float(case.delta):.2e}")
            section.rows.append((*(shown if name == OURS else ("", "", "")), name, *texts))
    section.notes.append(
        "`off by` is the upper end's relative distance from the true epsilon (negative is below "
        "the truth), `width` the relative width of the bracket where one is claimed, `PLD / it` "
        "how many times dp-accounting's default PLD takes."
    )
    section.goals += _accuracy_goals(section.data)
    return section


def _accuracy_goals(data: list[dict[str, Any]]) -> list[Goal]:
    ours = [row for row in data if row["accountant"] == OURS and row["subsampled_gaussian"]]
    widths, faster = report.column(ours, "width"), report.column(ours, "faster")
    goals = [
        Goal(
            "bracket of epsilon, subsampled Gaussians, worst",
            "<= 1e-9 relative",
            f"{max(widths):.1e}",
            max(widths) <= 1e-9 and len(widths) == len(ours),
        )
    ]
    if faster:
        goals.append(
            Goal(
                "faster than dp-accounting's default PLD, each case",
                ">= 100x",
                f"{min(faster):.0f}x to {max(faster):.0f}x, "
                f"geometric mean {report.geometric_mean(faster):.0f}x, by processor time "
                f"{report.geometric_mean(report.column(ours, 'faster_cpu')):.0f}x; "
                f"PLD has no answer in {len(ours) - len(faster)} of {len(ours)}",
                min(faster) >= 100,
            )
        )
    return goals


def deltas(workers: Workers, repeats: int, progress: Progress) -> Section:
    """Return delta at the reference's epsilon, where the reference has 18 digits: ours only."""
    section = Section(
        name="deltas",
        title="Delta at the epsilon of every reference case",
        columns=("case", "epsilon", "delta", "accountant", "time", "width", "off by"),
    )
    for case in cases.load():
        progress(f"{case.name} at {case.epsilon:g}")
        found = workers.ask(
            "delta", case.parts, case.epsilon, repeats={OURS: 2 * repeats + 1}, seconds=60.0
        )
        for name, outcome in found.items():
            if isinstance(outcome, Failed):
                if outcome.why != "Unsupported":
                    section.rows.append(("", "", "", name, outcome.why, "-", "-"))
                continue
            off = float((Fraction(outcome.upper) - case.delta) / case.delta)
            lower = outcome.lower
            width = math.nan if lower is None else (outcome.upper - lower) / outcome.upper
            holds = Fraction(lower or 0.0) <= case.delta <= Fraction(outcome.upper)
            section.data.append(
                {
                    "case": case.name,
                    "epsilon": case.epsilon,
                    "accountant": name,
                    "subsampled_gaussian": case.is_subsampled_gaussian,
                    "lower": lower,
                    "upper": outcome.upper,
                    "wall": outcome.wall,
                    "width": width,
                    "off": off,
                    "holds": holds,
                }
            )
            shown = (case.name, f"{case.epsilon:.6g}", f"{float(case.delta):.6e}")
            section.rows.append(
                (
                    *(shown if name == OURS else ("", "", "")),
                    name,
                    report.seconds(outcome.wall),
                    "-" if math.isnan(width) else f"{width:.1e}",
                    report.difference(off),
                )
            )
    ours = [row for row in section.data if row["accountant"] == OURS]
    widths = report.column([row for row in ours if row["subsampled_gaussian"]], "width")
    section.goals += [
        Goal(
            "bracket of delta, subsampled Gaussians, worst",
            "<= 1e-9 relative",
            f"{max(widths):.1e}",
            max(widths) <= 1e-9,
        ),
        Goal(
            "the 18-digit delta inside the bracket",
            "every case",
            f"{sum(row['holds'] for row in ours)} of {len(ours)}",
            all(row["holds"] for row in ours),
        ),
    ]
    return section


def growth(workers: Workers, repeats: int, progress: Progress) -> Section:
    """Return the time against the number of steps, sigma 1, rate 0.01, delta 1e-6."""
    names = list(workers.workers)
    section = Section(
        name="growth",
        title="Time against the number of steps (sigma 1, rate 0.01, delta 1e-6)",
        columns=("steps", "epsilon", "width", *names),
    )
    alive = set(names)
    for count in _COUNTS:
        progress(f"{count:,} steps")
        parts = cases.sampled_gaussian(sigma=1.0, rate=0.01, count=count)
        found = workers.ask(
            "epsilon",
            parts,
            Fraction(1e-6),
            repeats={
                name: (2 * repeats + 1 if name == OURS else 1) if name in alive else 0
                for name in names
            },
            seconds=30.0,
        )
        alive -= {name for name, outcome in found.items() if isinstance(outcome, Failed)}
        ours = found[OURS]
        row: dict[str, Any] = {"steps": count}
        row |= {
            name: outcome.wall if isinstance(outcome, Timed) else outcome.why
            for name, outcome in found.items()
        }
        shown = ("-", "-")
        if isinstance(ours, Timed):
            width = (ours.upper - (ours.lower or 0.0)) / ours.upper
            row |= {"epsilon": ours.upper, "width": width, "cpu": ours.cpu}
            shown = (f"{ours.upper:.8g}", f"{width:.1e}")
        section.data.append(row)
        texts = [_text(found.get(name)) for name in names]
        section.rows.append((f"{count:,}", *shown, *texts))
    section.notes.append(
        "An accountant that gave no answer (limit 30 s, 8 GiB) is not asked about more steps."
    )
    times, widths = report.column(section.data, OURS), report.column(section.data, "width")
    middle = statistics.median(times)
    worst = max(section.data, key=lambda row: row[OURS])
    section.goals += [
        Goal(
            "cost flat from 1 to 1e12 steps",
            "largest <= 3x the median",
            f"{max(times) / middle:.1f}x, at {worst['steps']:,} steps "
            f"({report.seconds(max(times))}; median {report.seconds(middle)})",
            max(times) <= 3 * middle and len(times) == len(_COUNTS),
        ),
        Goal(
            "bracket of epsilon, 1 to 1e12 steps, worst",
            "<= 1e-9 relative",
            f"{max(widths):.1e}",
            max(widths) <= 1e-9,
        ),
    ]
    return section


def mixed(workers: Workers, repeats: int, progress: Progress) -> Section:
    """Return the section on 1,000 different subsampled Gaussians and 100 Laplace releases."""
    section = Section(
        name="mixed",
        title="1,000 different subsampled Gaussians and 100 Laplace releases (delta 1e-6)",
        columns=("accountant", "parts", "epsilon", "time", "process memory", "allocated"),
    )
    for name, worker in workers.workers.items():
        worker.stop()  # a fresh process: its peak memory is this pipeline's
        progress(name)
        sampled = name not in {OURS, "dp-accounting RDP"}
        parts = cases.mixed(_SAMPLE, 2) if sampled else cases.mixed()
        times = [
            worker.ask("epsilon", parts, Fraction(1e-6), seconds=300.0)
            for _ in range(repeats if name == OURS else 1)
        ]
        outcome = min(times, key=lambda one: one.wall if isinstance(one, Timed) else math.inf)
        traced = (
            worker.ask("epsilon", parts, Fraction(1e-6), seconds=300.0, traced=True)
            if name == OURS
            else None
        )
        row: dict[str, Any] = {"accountant": name, "parts": len(parts)}
        if isinstance(outcome, Failed):
            section.rows.append((name, f"{len(parts):,}", "-", outcome.why, "-", "-"))
            section.data.append(row | {"failed": outcome.why})
            continue
        allocated = traced.allocated if isinstance(traced, Timed) else 0
        row |= {
            "lower": outcome.lower,
            "upper": outcome.upper,
            "wall": outcome.wall,
            "cpu": outcome.cpu,
            "peak": outcome.peak,
            "allocated": allocated,
        }
        section.data.append(row)
        section.rows.append(
            (
                name,
                f"{len(parts):,}",
                f"{outcome.upper:.10g}",
                report.seconds(outcome.wall),
                report.megabytes(outcome.peak),
                report.megabytes(allocated) if allocated else "-",
            )
        )
        if name == OURS:
            section.goals += [
                Goal(
                    "1,000 subsampled Gaussians and 100 Laplace",
                    "< 3 s",
                    f"{report.seconds(outcome.wall)} (processor {report.seconds(outcome.cpu)})",
                    outcome.wall < 3,
                ),
                Goal(
                    "memory of the process for them",
                    "< 300 MB",
                    report.megabytes(outcome.peak),
                    outcome.peak < 300e6,
                ),
            ]
    section.notes.append(
        f"Accountants that need a second or more for each different step are given {_SAMPLE} "
        "Gaussians and 2 Laplace releases only. The remove direction's true epsilon is 2.54495."
    )
    return section


def calibration(workers: Workers, repeats: int, progress: Progress) -> Section:
    """Return the section on the sigma of 10,000 subsampled steps at (1, 1e-6)."""
    progress("sigma")
    section = Section(
        name="calibration",
        title="Sigma for epsilon 1 at delta 1e-6 (rate 0.01, 10,000 steps; truth 4.302106)",
        columns=("accountant", "sigma", "time"),
    )
    found = workers.ask(
        "calibrate", 0.01, 10_000, 1.0, 1e-6, repeats=_repeats(workers, 2 * repeats + 1, 1)
    )
    for name, outcome in found.items():
        if isinstance(outcome, Failed):
            if outcome.why != "Unsupported":
                section.rows.append((name, "-", outcome.why))
            continue
        section.rows.append((name, f"{outcome.upper:.9g}", report.seconds(outcome.wall)))
        section.data.append(
            {"accountant": name, "sigma": outcome.upper, "wall": outcome.wall, "cpu": outcome.cpu}
        )
        if name == OURS:
            section.goals.append(
                Goal(
                    "calibration of sigma",
                    "< 50 ms",
                    f"{report.seconds(outcome.wall)} (processor {report.seconds(outcome.cpu)})",
                    outcome.wall < 0.05,
                )
            )
    return section


def starting(workers: Workers, repeats: int, progress: Progress) -> Section:
    """Return the times of fresh processes, imports included."""
    workers.stop()
    section = Section(
        name="startup",
        title="Start-up, in a fresh process",
        columns=("command", "time", "of importing numpy", "goal"),
    )
    numpy = statistics.median(
        startup.seconds(["-c", "import numpy"]) for _ in range(2 * repeats + 1)
    )
    for name, (arguments, goal) in startup.COMMANDS.items():
        progress(name)
        times = [startup.seconds(arguments) for _ in range(2 * repeats + 1)]
        median = statistics.median(times)
        times_numpy = report.ratio(median / numpy)
        section.rows.append((f"`{name}`", report.seconds(median), times_numpy, f"< {goal:g} s"))
        section.data.append({"command": name, "wall": median, "best": min(times), "goal": goal})
        section.goals.append(
            Goal(
                f"`{name}`",
                f"< {goal:g} s",
                f"{report.seconds(median)} (best {report.seconds(min(times))})",
                median < goal,
            )
        )
    return section
