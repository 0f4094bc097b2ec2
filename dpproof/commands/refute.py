"""``dpproof refute``: the libraries that are asked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from dpproof import streams
from dpproof.errors import InputError
from dpproof.refute.referee import Library, Peer, Report, libraries, lines, run
from dpproof.time_limit import ended_in_time

LAST: Final = 15.0  # seconds


def refute(names: Sequence[str], python: str, seconds: float, seed: int) -> list[Report]:
    """Ask libraries for so many seconds each, and print what came of it."""
    available, wanted, reports = libraries(), dict[str, Library](), []
    for name in names or available:
        if name not in available and not name.endswith(".toml"):
            raise InputError(
                f"{name}: expected a file ending in .toml or one of {', '.join(available)}"
            )
        wanted |= {name: available[name]} if name in available else libraries(name)
    for name, library in wanted.items():
        peer = Peer(python)
        try:
            report = Report(name, peer.version(name), library, seed)
            if not report.version:
                streams.say(f"{name}: skipped, as it is not installed")
                continue
            with streams.progress(None) as step:
                ask = partial(run, report, peer, seconds=seconds, progress=step)
                ended_in_time(seconds + LAST, ask)
        finally:
            peer.close()
        reports.append(report)
        streams.say("\n".join(lines(report)))
        if (ours := report.ours()) is not None:
            raise InputError(f"{ours}: please report it, as both numbers are rigorous")
    return reports
