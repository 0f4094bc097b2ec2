"""``python -m tests.hunt``: look for a wrong answer for as long as you like."""

from __future__ import annotations

import secrets
import signal
import sys
import time
from contextlib import suppress

import click
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.hunt import _one_core  # noqa: F401  # first
from tests.hunt.case import Outcome, run
from tests.hunt.findings import findings
from tests.hunt.hunter import Tally, Violation, drawn, pursue, seeds
from tests.hunt.registry import FAMILIES

HEADER = "from tests.hunt.names import NAMES"


@click.command()
@click.option("--minutes", type=float, default=1.0, show_default=True, help="How long to look.")
@click.option("--cases", type=int, help="Stop after so many cases, however long they take.")
@click.option("--first", type=int, help="Number of the first case; random if not given.")
@click.option("--family", "chosen", multiple=True, type=click.Choice(list(FAMILIES)))
@click.option("--seed", help="Run one case, as printed with a violation, and show it.")
def main(
    minutes: float, cases: int | None, first: int | None, chosen: tuple[str, ...], seed: str | None
) -> None:
    """Ask dpproof random questions whose answers are known otherwise."""
    console = Console(soft_wrap=True)
    if seed is not None:
        sys.exit(_show(console, seed))
    number = secrets.randbelow(10**9) if first is None else first
    console.print(f"first case {number}; past findings first")
    violations = list(_replay())
    tallies: dict[str, Tally] = {}
    start = time.monotonic()
    for stop in (signal.SIGINT, signal.SIGTERM):  # either ends it with the table
        signal.signal(stop, signal.default_int_handler)
    with (
        suppress(KeyboardInterrupt),
        Progress(
            SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=console
        ) as progress,
    ):
        task = progress.add_task("")
        for done, name in enumerate(seeds(number, chosen or tuple(FAMILIES))):
            late = time.monotonic() - start > 60 * minutes
            if done >= cases if cases is not None else late:
                break
            found = pursue(name, tallies)
            violations += [found] if found else []
            if done % 20 == 0:
                progress.update(
                    task, description=f"{done} cases, {len(violations)} violations, {name}"
                )
    console.print(_table(tallies, time.monotonic() - start))
    for violation in violations:
        _print(console, violation)
    console.print(f"{len(violations)} violations")
    sys.exit(1 if violations else 0)


def _replay() -> list[Violation]:
    """Past findings that are wrong again."""
    found = []
    for wrong, case in findings():
        result = run(case, 60.0)
        if result.outcome in (Outcome.VIOLATED, Outcome.SLOW):
            found.append(Violation(f"past finding: {wrong}", case, result.reason))
    return found


def _show(console: Console, seed: str) -> int:
    """One case again, as it was drawn, and made smaller if it fails."""
    case, _ = drawn(seed)
    console.print(case.source, markup=False, highlight=False)
    violation = pursue(seed, {})
    if violation:
        _print(console, violation)
    console.print("violated" if violation else "holds")
    return 1 if violation else 0


def _print(console: Console, violation: Violation) -> None:
    for line in (
        f"\nVIOLATION ({violation.seed}): {violation.reason}",
        f"  {HEADER}",
        f"  print(eval({violation.case.source!r}, dict(NAMES)))",
    ):
        console.print(line, markup=False, highlight=False)


def _table(tallies: dict[str, Tally], seconds: float) -> Table:
    names = [outcome.value for outcome in Outcome]
    table = Table("family", *names, "cases/s", "slowest, s", "number", box=None)
    total = Tally()
    for name, tally in sorted(tallies.items()):
        _row(table, name, tally)
        total.outcomes += tally.outcomes
        total.seconds += tally.seconds
    _row(table, "all", total)
    table.caption = f"cases/s of the processor's time; {seconds:,.0f} s passed"
    return table


def _row(table: Table, name: str, tally: Tally) -> None:
    longest, seed = tally.slowest
    table.add_row(
        name,
        *(f"{tally.outcomes[outcome]:,}" for outcome in Outcome),
        f"{tally.cases / tally.seconds:,.0f}" if tally.seconds else "",
        f"{longest:.2f}" if seed else "",
        seed.rpartition(":")[2],
    )


if __name__ == "__main__":
    main()
