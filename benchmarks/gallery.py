"""The gallery of refuted numbers: ``python -m benchmarks.gallery --unreported FILE``.

Every night: asks each library of ``dpproof refute`` and audits the implementations of
``implementations.toml``. What ``known.toml`` knows goes to docs/evidence/gallery.md; the rest goes
to the other file, which has to lie outside of the repository until its authors were told.
"""

from __future__ import annotations

import json
import time
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from dpproof import auditing
from dpproof.refute.referee import SMALL, Finding, Peer, Report, libraries, refute, write
from dpproof.time_limit import shares

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "evidence" / "gallery.md"
_ASKED, _AUDITED = 0.6, 0.25  # shares of the time; the rest is for certificates
_ONE = 15.0  # seconds for the outputs of one task, at most
_HEAD = "\n## Implementations, audited\n\nOutputs on a pair of datasets; error probability 1e-6.\n"


def note(report: Report, finding: Finding) -> str:
    """Where a finding is known from; empty if it is not."""
    known = tomllib.loads((HERE / "known.toml").read_text(encoding="utf-8"))
    told = {
        "claim": finding.claim.name,
        "asked": finding.question.asked,
        "relation": finding.question.relation,
        "verdict": finding.verdict.name,
        "small": finding.question.asked != "delta" and finding.question.at < SMALL,
    }
    for entry in known.get(report.package, ()):
        if all(entry.get(name, value) == value for name, value in told.items()):
            threads = " ".join(f"<{one}>" for one in entry["threads"])
            place = entry.get("recorded")
            here = f"[recorded](../DIVERGENCES.md#{place})" if place else ""
            return ", ".join(one for one in (f"upstream: {threads}", here) if one)
    return ""


def split(report: Report) -> tuple[Report, Report]:
    """The findings that are known, and the others."""
    sides = [
        replace(report, found=[one for one in report.found if bool(note(report, one[1])) is side])
        for side in (True, False)
    ]
    return sides[0], sides[1]


def audited(case: dict[str, Any], peer: Peer, seconds: float | None = None) -> auditing.Report:
    """An audit of one implementation, whose outputs a process of its own draws."""

    def sampler(data: object, size: int, rng: np.random.Generator) -> Any:  # noqa: ANN401
        given = f"data, size, seed = {data!r}, {size}, {int(rng.integers(2**31))}\n"
        answer = peer.ask(f"{given}{case['program']}\nimport json\nanswer = json.dumps(answer)")
        if not isinstance(answer, str):
            raise auditing.SamplerFailed(f"{case['package']}, {case['name']}: {answer}")
        return np.array(json.loads(answer), dtype=float)

    claim = case["epsilon"], case.get("delta", 0.0)
    return auditing.audit(
        sampler,
        tuple(case["pair"]),
        claim,
        samples=case["samples"],
        significance=1e-6,
        seed=1,
        seconds=seconds,
    )


def implementations(
    pythons: dict[str, str], packages: Sequence[str], seconds: float
) -> list[tuple[str, bool]]:
    """Passages on the audits of packages that are installed, and whether each is known."""
    cases = tomllib.loads((HERE / "implementations.toml").read_text(encoding="utf-8"))["case"]
    passages = []
    for case, share in zip(cases, shares(seconds, len(cases)), strict=True):
        name = case["package"]
        peer = Peer(pythons.get(name, pythons[""]), seconds=min(_ONE, (share or seconds) / 3))
        version = peer.version(name) if name in packages else ""
        if version:
            try:
                report = audited(case, peer, share)
                wrong = report.outcome is auditing.Outcome.VIOLATION
                outcome = str(report).splitlines()[0]
            except auditing.SamplerFailed as error:
                wrong, outcome = False, f"not reached: {error}"
            thread, delta = case.get("thread", ""), case.get("delta", 0.0)
            lines = [
                f"### {case['name']} of {name} {version}\n",
                f"- claims: ({case['epsilon']}, {delta:g})-DP, {case['relation']}",
                f"- {outcome}",
                *([f"- upstream: <{thread}>"] if wrong and thread else []),
            ]
            passages.append(("\n".join(lines) + "\n", bool(thread) or not wrong))
            click.echo(passages[-1][0])
        peer.close()
    return passages


@click.command()
@click.option("--unreported", required=True, help="Where what is not known upstream goes.")
@click.option("--library", "names", multiple=True, help="All that are known by default.")
@click.option("--python", "given", multiple=True, metavar="[NAME=]PATH", help="Interpreters.")
@click.option("--seconds", default=1200.0, show_default=True, help="For all of it.")
@click.option("--seed", default=0, show_default=True)
def main(
    *, unreported: str, names: tuple[str, ...], given: tuple[str, ...], seconds: float, seed: int
) -> None:
    """Generate the gallery."""
    import sys  # noqa: PLC0415  # its default interpreter

    if Path(unreported).resolve().is_relative_to(HERE.parent.resolve()):
        raise click.UsageError("--unreported has to lie outside of the repository")
    pythons = {"": sys.executable}
    for name, _, path in (text.rpartition("=") for text in given):
        if Path(path).exists():
            pythons[name] = path
        else:
            click.echo(f"{path} is not there: {name or 'all libraries'} as installed here")
    wanted, began = names or tuple(libraries()), time.monotonic()
    reports = [
        report
        for name, share in zip(wanted, shares(seconds * _ASKED, len(wanted)), strict=True)
        for report in refute([name], pythons.get(name, pythons[""]), share or seconds, seed)
    ]
    if not reports:
        raise click.ClickException(f"{PAGE.name} is as it was: no library was asked")
    sides = [split(report) for report in reports]
    audits = implementations(
        pythons, wanted, max(1.0, began + seconds * (_ASKED + _AUDITED) - time.monotonic())
    )
    for out, reported, side in (
        (str(PAGE), [known for known, _ in sides], True),
        (unreported, [rest for _, rest in sides if rest.found], False),
    ):
        write(reported, out, note, "No finding that is known upstream" if side else "")
        passages = [passage for passage, known in audits if known is side]
        with Path(out).open("a", encoding="utf-8") as page:
            page.write("\n".join([_HEAD, *passages]) if passages else "")


if __name__ == "__main__":
    main()
