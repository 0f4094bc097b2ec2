"""Count what becomes of random certificates: ``python -m tests.accountant.certificates 1000``.

Every pipeline and question has a number of its own, so that a line printed here can be run again.
"""

from __future__ import annotations

import resource
import signal
import time
from collections import Counter
from multiprocessing import get_context
from typing import Any

import click

from dpproof import proofs
from dpproof.accountant import NotCertified
from dpproof.accountant.errors import PrivacyError
from tests.accountant.certificates.pipelines import natural


@click.command()
@click.argument("count", type=int)
@click.option("--first", default=0, show_default=True, help="Number of the first pipeline.")
@click.option("--seconds", default=25, show_default=True, help="Processor time of one at most.")
def main(count: int, first: int, seconds: int) -> None:
    """Ask for COUNT certificates, each in a process of its own, and check each from its text."""
    outcomes: Counter[str] = Counter()
    certificate(first)  # loads what all of them need, before processes part
    for seed in range(first, first + count):
        outcome, reason, took = apart(seed, seconds)
        outcomes[outcome] += 1
        if outcome != "verified" or took > 5:  # slow ones are named
            click.echo(f"{seed} {outcome} {took:.1f} s {reason}")
    click.echo(", ".join(f"{number} {outcome}" for outcome, number in outcomes.most_common()))
    if outcomes["rejected"] or outcomes["failed"]:
        raise SystemExit(1)


def apart(seed: int, seconds: int) -> tuple[str, str, float]:
    """Return the outcome of one certificate, its reason and its seconds of processor time."""
    context = get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_limited, args=(seed, seconds, there))
    child.start()
    there.close()
    try:
        found: tuple[str, str, float] = here.recv()
    except EOFError:
        child.join()
        late = child.exitcode == -signal.SIGXCPU
        found = "stopped" if late else "failed", f"status {child.exitcode}", float(seconds)
    child.join()
    return found


def _limited(seed: int, seconds: int, there: Any) -> None:  # noqa: ANN401  # a connection
    """Send the outcome of one certificate, unless processor time ends before."""
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    outcome, reason = certificate(seed)
    there.send((outcome, reason, time.process_time()))  # of this process alone


def certificate(seed: int) -> tuple[str, str]:
    """Return what becomes of one pipeline and question: verified, refused, rejected or failed."""
    guarantee, asked = natural(seed)
    try:
        text = guarantee.certify(**asked).to_json()
    except NotCertified as refusal:
        inside = "the checker rejects" in str(refusal)
        return ("rejected" if inside else "refused"), f"{asked}: {refusal}"
    except PrivacyError as refusal:
        return "refused by the engine", f"{asked}: {type(refusal).__name__}: {refusal}"
    except Exception as error:  # noqa: BLE001  # whatever is not typed is a finding
        return "failed", f"{asked}: {type(error).__name__}: {error}"
    verdict = proofs.check_text(text)
    return ("verified" if verdict.ok else "rejected"), f"{asked}"


if __name__ == "__main__":
    main()
