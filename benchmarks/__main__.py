"""Compare dpproof with other accountants in one run: ``python -m benchmarks``.

Every accountant that is installed is asked the same questions in turn; a table is printed, and
``--json`` and ``--markdown`` write it to files.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path

import click
from rich.console import Console

from benchmarks import (
    ablation,
    accountants,
    allocation,
    ledger,
    measure,
    mechanisms,
    named,
    natural,
    report,
    sweeps,
)
from benchmarks.auditors import run as auditors
from benchmarks.report import Progress, Section
from benchmarks.worker import Workers

_SECTIONS: dict[str, Callable[[Workers, int, Progress], Section]] = {
    "accuracy": measure.accuracy,
    "deltas": measure.deltas,
    "growth": measure.growth,
    "mixed": measure.mixed,
    "calibration": measure.calibration,
    "startup": measure.starting,
    "natural": natural.natural,
    "rare": natural.rare,
    "named": named.named,
    "ablation": ablation.ablation,
    "mechanisms": mechanisms.mechanisms,
    "ledger": ledger.spends,
    "waits": ledger.waits,
    "sweeps": sweeps.sweeps,
    "allocation": allocation.allocation,
    "auditors": auditors.auditors,
}


@click.command()
@click.argument("sections", nargs=-1, type=click.Choice([*_SECTIONS]))
@click.option("--repeats", default=3, show_default=True, help="Rounds of each question.")
@click.option("--only", multiple=True, help="Name of an accountant; may be repeated.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write JSON; - prints.")
@click.option("--markdown", type=click.Path(path_type=Path), help="Write the tables as Markdown.")
def main(
    sections: tuple[str, ...],
    repeats: int,
    only: tuple[str, ...],
    json_path: Path | None,
    markdown: Path | None,
) -> None:
    """Measure SECTIONS, or everything."""
    console = Console(stderr=str(json_path) == "-", width=None if sys.stdout.isatty() else 140)
    kinds = [kind for kind in accountants.installed() if not only or kind.name in only]
    if not kinds or kinds[0].name != measure.OURS:
        kinds.insert(0, accountants.Dpproof)
    workers = Workers(kinds)
    done = []
    load = os.getloadavg()
    try:
        for name in sections or [*_SECTIONS]:
            with console.status(name) as status:
                done.append(
                    _SECTIONS[name](
                        workers,
                        repeats,
                        lambda what, name=name, status=status: status.update(f"{name}: {what}"),  # type: ignore[misc]
                    )
                )
            report.show(console, done[-1])
    finally:
        workers.stop()
    done.insert(0, report.goals(done))
    report.show(console, done[0])
    facts = _facts(kinds, load, repeats)
    if markdown is not None:
        markdown.write_text(report.markdown(done, "Benchmarks", facts))
    if json_path is not None:
        text = json.dumps(
            {"facts": facts, "sections": {section.name: section.data for section in done}}, indent=2
        )
        if str(json_path) == "-":
            click.echo(text)
        else:
            json_path.write_text(text + "\n")


def _facts(
    kinds: list[type[accountants.Accountant]], load: tuple[float, ...], repeats: int
) -> list[str]:
    """Return the date, versions, machine and load of a run, one sentence each."""
    versions = ", ".join(
        f"{package} {version}"
        for package, version in {kind.package: kind.version() for kind in kinds}.items()
    )
    import numpy  # noqa: ICN001, PLC0415
    import scipy  # noqa: PLC0415

    today = dt.datetime.now(tz=dt.UTC).date().isoformat()
    cores = os.cpu_count() or 1
    measured = (
        f"Measured {today} with Python {platform.python_version()}, numpy {numpy.__version__}, "
        f"scipy {scipy.__version__}, {versions}; {sys.platform}, {cores} cores, load average "
        f"{load[0]:.1f} at the start (above {cores}, the machine was busy with other work and "
        "times are too long; ratios are less affected). Accountants are asked in turn, rounds: "
        f"{repeats} ({2 * repeats + 1} of ours; medians), caches emptied before every answer."
    )
    written = "Written by `python -m benchmarks --markdown docs/BENCHMARKS.md`; do not edit."
    return [written, "", measured]


if __name__ == "__main__":
    main()
