"""The command line: ``dpproof budget``, ``certify``, ``audit``, ``ledger`` and the others.

Exit status: 0 the budget holds or the claim is not refuted, 1 it does not or is, 2 the input cannot
be answered, with one line on standard error.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from dpproof import streams
from dpproof.accountant.errors import BudgetExceeded, PrivacyError
from dpproof.commands.ledger import (
    HEAD_FILE,
    OF_OTHERS,
    balances,
    exact,
    ledger,
    opened_at,
    options,
    warn,
)
from dpproof.errors import require_other
from dpproof.time_limit import ROUGH, SECONDS, in_time, seconds_of

if TYPE_CHECKING:
    from dpproof.pipeline.pipeline import Pipeline

HOLDS, DOES_NOT_HOLD, INTERRUPTED = 0, 1, 130
BAD_INPUT = 2
# Bytes of freed arrays that glibc keeps for others, and the names of its thresholds. Heuristic.
_KEPT, _THRESHOLDS = 1 << 29, (-1, -3)
OUT = click.Path(dir_okay=False, writable=True)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
_DELTA = "The delta of epsilon, by default a pipeline's, or 1e-6."
DELTA = click.option("--delta", callback=exact, help=_DELTA)
FOREIGN = options(click.argument("file"), OF_OTHERS, DELTA, SECONDS, JSON)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dpproof", prog_name="dpproof")
@click.pass_context
def commands(context: click.Context) -> None:
    """Compute, prove and audit differential-privacy budgets.

    Exit status: 0 it holds, 1 it does not, 2 bad input, 130 interrupted.
    """
    if context.invoked_subcommand != "audit":  # which runs programs of others
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # our matrices are small: threads wait
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError):  # another C library
            for threshold in _THRESHOLDS:  # new pages for every array cost a tenth of the time
                ctypes.CDLL(None).mallopt(threshold, _KEPT)


@commands.command()
@click.argument("file")
@click.option("--certify", "out", type=OUT, help="Also write a certificate of the total.")
@SECONDS
@click.option(
    "--set",
    "numbers",
    multiple=True,
    metavar="STAGE.NAME=VALUE",
    help="Ask what if: another number of a stage, or delta=VALUE, epsilon=VALUE.",
)
@click.option("--without", multiple=True, metavar="STAGE", help="Ask what if: without a stage.")
@JSON
def budget(  # the options of a command
    file: str,
    *,
    out: str | None,
    seconds: float | None,
    numbers: tuple[str, ...],
    without: tuple[str, ...],
    as_json: bool,
) -> int:
    """Compute the cost of the pipeline in FILE.

    Epsilon of the total is computed first, then the stages and what an attacker gains. At Ctrl-C,
    or after N seconds, the command shows what is known; without epsilon it has no answer.
    """
    from dpproof.commands.budget import answer, pieces, spend  # noqa: PLC0415  # as above
    from dpproof.pipeline import free_parameter, parse  # noqa: PLC0415  # --help needs no engine
    from dpproof.streams import progress  # noqa: PLC0415  # as above

    require_other(out, file)
    pipeline = free_parameter.changed(parse.load(file), numbers, without)
    if out is not None and pipeline.digest == "":
        raise click.UsageError(
            "--certify with --set or --without: write what it is about to a file"
        )
    warn(pipeline.delta)
    with progress(pieces(pipeline)) as step:
        spent = spend(pipeline, step, seconds)
    if out is not None and not spent.interrupted:
        from dpproof.commands.certify import write  # noqa: PLC0415  # as above

        write(pipeline, out)
    if as_json:
        streams.say_json("budget", answer(spent))
    else:
        from dpproof.reports.words import show  # noqa: PLC0415  # not needed for JSON

        show(spent, streams.console())
    if spent.interrupted:
        return INTERRUPTED
    return DOES_NOT_HOLD if spent.within_budget is False else HOLDS


@commands.command()
@click.argument("file")
@click.option("--stage", required=True, help="The stage that has the number.")
@click.option("--parameter", required=True, help="The number: noise_multiplier, rate, count, …")
@SECONDS
@JSON
def calibrate(
    file: str, stage: str, parameter: str, *, seconds: float | None, as_json: bool
) -> int:
    """Find the number at which a pipeline just meets its budget.

    With --seconds, a safe number is found when the time is up, which may be improved with more.
    """
    from dpproof.commands.calibrate import Unreachable, answer, solve  # noqa: PLC0415  # as in budget
    from dpproof.files import shown_path  # noqa: PLC0415  # as in budget
    from dpproof.pipeline import free_parameter, parse  # noqa: PLC0415  # as in budget
    from dpproof.streams import progress  # noqa: PLC0415  # as in budget

    document = free_parameter.completed(parse.read(file), stage, parameter)
    pipeline = parse.parse(document, shown_path(file))
    warn(pipeline.delta)
    number = free_parameter.find(pipeline, stage, parameter)
    try:
        with progress(None) as step:
            solved = solve(number, step, seconds)
    except Unreachable as reason:
        if as_json:
            streams.say_json("calibrate", {"value": None, "epsilon": None, "reason": str(reason)})
        return refuse(f"dpproof: {reason}", DOES_NOT_HOLD)
    if as_json:
        streams.say_json("calibrate", answer(solved))
    else:
        from dpproof.reports.words import show_solved  # noqa: PLC0415  # not needed for JSON

        show_solved(solved, streams.console())
    return HOLDS


@commands.command()
@click.argument("file")
@click.option("-o", "--output", "out", type=OUT, help="Where to write it.")
@click.option(
    "--formal", type=OUT, help="Write a theorem for Coq here, about steps of finite privacy loss."
)
@click.option(
    "--lower", is_flag=True, help="Certify that no analysis of the dominating pair gives less."
)
@click.option(
    "--false-positive-rate",
    type=float,
    help="Certify how often attacks detect at this rate of false alarms.",
)
@click.option(
    "--advantage", is_flag=True, help="Certify the largest advantage of an attack over guessing."
)
@OF_OTHERS
@DELTA
@SECONDS
def certify(
    file: str,
    *,
    out: str | None,
    formal: str | None,
    seconds: float | None,
    relation: str | None,
    poisson: bool,
    delta: Fraction | None,
    **question: Any,  # noqa: ANN401  # as click gives it
) -> int:
    """Write a certificate of the total cost of the pipeline in FILE.

    FILE is a pipeline, or what `dpproof import` reads. With --formal, write a theorem for Coq, too,
    or alone. With --seconds, the certificate of a quick upper end is written when half of the time
    is up.
    """
    from dpproof.commands.certify import write  # noqa: PLC0415  # as in budget
    from dpproof.commands.interchange import pipeline_of  # noqa: PLC0415  # as in budget
    from dpproof.proofs.__main__ import lines  # noqa: PLC0415  # as in budget

    if question["advantage"] and question["false_positive_rate"] is not None:
        raise click.UsageError(
            "--advantage or --false-positive-rate: a certificate answers one question; choose one"
        )
    if formal is not None and any(one not in (None, False) for one in question.values()):
        raise click.UsageError("--formal is about epsilon: leave the other questions out")
    if out is not None and formal is not None and os.path.realpath(out) == os.path.realpath(formal):
        raise click.UsageError("a certificate and a theorem need a file each")
    if out is None and formal is None:
        raise click.UsageError(
            "certify writes a file: --output for a certificate, --formal for Coq"
        )
    for one in (out, formal):
        require_other(one, file)
    pipeline = pipeline_of(file, relation, poisson=poisson, delta=delta)
    warn(pipeline.delta)
    if out is not None:
        verdict, is_rough = write(pipeline, out, seconds=seconds, **question)
        streams.say("\n".join([*lines(verdict), *([ROUGH] if is_rough else [])]))
    if formal is not None:
        from dpproof.commands import check  # noqa: PLC0415  # as in budget
        from dpproof.rounding import above  # noqa: PLC0415  # as in budget

        epsilon = check.write(pipeline, formal)
        streams.say(f"wrote a theorem of epsilon {above(epsilon, 7)}; coqc has to accept it")
    return HOLDS


@commands.command()
@click.argument("certificate")
@click.option("--core", is_flag=True, help="Let the core alone check, without extensions.")
@click.option(
    "--show", metavar="DIGEST", help="Print the text that the verdict names by this digest."
)
@click.option(
    "--against", metavar="FILE", help="Say whether the certificate is about what is in this file."
)
@OF_OTHERS
@SECONDS
@JSON
def check(certificate: str, *, seconds: float | None, **options: Any) -> int:  # noqa: ANN401  # as click gives it
    """Verify a CERTIFICATE.

    Exit status: 0 verified, 1 rejected, or with --against of another pipeline. The checker is the
    one that came with dpproof, whatever lies in the working directory.
    """
    from dpproof.commands.check import answer  # noqa: PLC0415  # as in budget
    from dpproof.files import shown_path  # noqa: PLC0415  # as in budget

    asked = partial(answer, certificate, **options)
    return in_time(seconds, f"{shown_path(certificate)}: the verdict", asked)


@commands.command()
@click.argument("target", required=False)
@click.option("--command", help="A program in place of TARGET: 'bin {size} {dataset} {seed}'.")
@click.option("--url", help="A server in place of TARGET: 'http://host/?n={size}&d={dataset}'.")
@click.option("--timeout", type=float, help="Seconds of one call of either, 60 by default.")
@click.option("--datasets", nargs=2, metavar="D D'", help="Names of both in place of --pair.")
@click.option("--pair", help="package.module:name of two datasets, or of a function giving them.")
@click.option("--epsilon", type=float, help="The claimed epsilon.")
@click.option("--delta", type=float, help="The claimed delta, by default 0, or the pipeline's.")
@click.option("--pipeline", help="A pipeline file whose total is the claim.")
@click.option("--samples", type=int, help="Samples per dataset, 100000 by default.")
@click.option("--significance", type=float, help="Error probability, 0.05 by default.")
@click.option("--seconds", type=float, help="Time budget.")
@click.option("--seed", type=int, help="Replay an audit that reported this seed.")
@click.option("--workers", type=int, help="Draw samples in this many processes.")
@click.option("--executor", help="package.module:name of an Executor, or of a function giving one.")
@click.option("--chunk", type=int, help="Samples of one call; 1 if a sample trains a model.")
@click.option("--store", help="File that keeps samples; the same command then continues.")
@click.option("--version", help="Name of the sampler's code in the store.")
@click.option("--plot", "picture", type=OUT, help="Draw the claimed curve and the measured region.")
@JSON
def audit(target: str | None, *, picture: str | None, as_json: bool, **options: object) -> int:
    """Test whether outputs of an implementation contradict its claim.

    TARGET is a file with an [audit] table, or package.module:sampler with options. A program or a
    server in its place writes one line an output; no shell reads the command. With a file, only
    --seconds, --workers, --executor, --store, --plot and --json may be given.

    Exit status: 0 not refuted, 1 refuted, 2 bad input, 130 interrupted. An interrupted audit
    reports the tests that it made.
    """
    from pathlib import Path  # noqa: PLC0415  # as in budget

    from dpproof.auditing import Outcome  # noqa: PLC0415  # as in budget
    from dpproof.commands import audit_requests  # noqa: PLC0415  # as in budget
    from dpproof.reports import plot  # noqa: PLC0415  # as in budget
    from dpproof.streams import on_terminal, trials  # noqa: PLC0415  # as in budget

    chosen = {name: value for name, value in options.items() if value is not None}
    if "store" in chosen:
        chosen["store"] = str(Path(str(chosen["store"])).absolute())
    request = audit_requests.asked(target, chosen)
    if picture is not None:
        require_other(picture, target or "")
        plot.library(picture)  # a refusal now, not after the audit
    if on_terminal():  # before the first sample, as drawing them may take long
        click.echo(request.needs(), err=True)
    with trials() as progress:
        report = request.run(progress)
    if picture is not None:
        plot.save(report, request.claim, picture)
    if as_json:
        streams.say_json("audit", report.to_dict())
    else:
        streams.say(str(report))
    if report.outcome is Outcome.VIOLATION:
        return DOES_NOT_HOLD
    return INTERRUPTED if audit_requests.interrupted(report) else HOLDS


commands.add_command(ledger)


@commands.command("import")
@FOREIGN
def import_(
    file: str,
    *,
    relation: str | None,
    poisson: bool,
    delta: Fraction | None,
    **shown: Any,  # noqa: ANN401  # as click gives it
) -> int:
    """Compute the cost of another tool's events or accountant.

    FILE is JSON.
    """
    from dpproof.commands import interchange  # noqa: PLC0415  # as in budget

    warn(delta)
    history = interchange.imported(file, relation, poisson=poisson)
    answer = interchange.answer(*history, delta, shown["seconds"])
    if shown["as_json"]:
        streams.say_json("import", answer)
        return HOLDS
    ends = answer["epsilon"]
    streams.say(f"{answer['statement']}, {answer['relation']} neighbours")
    whose = "" if ends["attained"] else " of the dominating pair"
    bracket = interchange.bracket(ends)
    streams.say(f"epsilon{whose} lies in {bracket} at delta = {answer['delta']:g}")
    if answer["meaning"]:
        streams.say(answer["meaning"])
    if not answer["exact"]:
        streams.say(ROUGH)
    for assumption in answer["assumptions"]:
        streams.say(f"- {assumption}")
    return HOLDS


@commands.command()
@FOREIGN
def compare(file: str, *, as_json: bool, **asked: Any) -> int:  # noqa: ANN401  # as click gives it
    """Compare our bracket with other accountants.

    FILE is a pipeline or what `dpproof import` reads; the others are RDP, PLD and PRV.
    """
    from dpproof.commands import interchange  # noqa: PLC0415  # as in budget

    warn(asked["delta"])
    answer = interchange.comparison(file, **asked)
    if as_json:
        streams.say_json("compare", answer)
    else:
        streams.say("\n".join(interchange.lines(answer)))
    return HOLDS


@commands.command()
@click.option("--library", "libraries", multiple=True, help="Ask this, or those of a .toml file.")
@click.option("--python", default=sys.executable, help="Ask those installed for this interpreter.")
@click.option("--seconds", callback=seconds_of, default="60", show_default=True, metavar="N")
@click.option("--seed", type=int, default=0, show_default=True, help="Draw other questions.")
@click.option("-o", "--output", "out", type=OUT, help="Also write a page with certificates.")
def refute(
    *, libraries: tuple[str, ...], python: str, seconds: float, seed: int, out: str | None
) -> int:
    """Look for wrong numbers of other accountants.

    They are asked random questions. Below a lower end of ours that some instance attains, a claim
    is refuted. Exit status: 0 nothing is, 1 something is, 2 a rigorous number contradicts ours.
    """
    from dpproof.refute.referee import refute as ask, write  # noqa: PLC0415  # as in budget

    reports = ask(libraries, python, seconds, seed)
    if out is not None:
        write(reports, out)
    return DOES_NOT_HOLD if any(report.found for report in reports) else HOLDS


@commands.command()
@click.argument("file")
@click.option("-o", "--output", "out", type=OUT, help="Where to write the page, as HTML.")
@click.option("--pdf", type=OUT, help="Print the page here, by an installed browser.")
@click.option("--registry", type=OUT, help="Also write the record for the Deployments Registry.")
@click.option("--ledger", "place", help="Also say what is left in this ledger, a path or a URL.")
@SECONDS
def report(
    file: str,
    *,
    out: str | None,
    pdf: str | None,
    registry: str | None,
    place: str | None,
    seconds: float | None,
) -> int:
    """Write a page for a review board on the pipeline in FILE.

    The [about] table of the file says what is released, by whom and when.
    """
    from dpproof.reports.page import write  # noqa: PLC0415  # as in budget

    written = [one for one in (out, pdf, registry) if one is not None]
    if out is None and pdf is None:
        raise click.UsageError("report writes a file: --output for a page, --pdf for its print")
    if len({os.path.realpath(one) for one in written}) < len(written):
        raise click.UsageError("the page, its print and the record need a file each")
    pipeline = _loaded(file, *written)
    for one in written:
        require_other(one, place or "")
    left = () if place is None else balances(place)
    within = write(pipeline, out, record=registry, printed=pdf, seconds=seconds, left=left)
    streams.say("\n".join(written))
    return DOES_NOT_HOLD if within is False else HOLDS


@ledger.command("report")
@click.argument("file")
@click.option("-o", "--output", "out", type=OUT, required=True, help="Where to write the page.")
@HEAD_FILE
def ledger_report(file: str, *, out: str, head_file: str | None) -> int:
    """Write a page: what is left, what is pending, who spent what."""
    from dpproof.files import save  # noqa: PLC0415  # as in budget
    from dpproof.reports import page  # noqa: PLC0415  # as in budget

    require_other(out, file)
    opened = opened_at(file, head_file)
    save(out, page.ledger_page(opened.place, opened.status(), opened.log()))
    streams.say(out)
    return HOLDS


@commands.command("plot")
@click.argument("file")
@click.option("-o", "--output", "out", type=OUT, default="pipeline.png", show_default=True)
@SECONDS
def plot_(file: str, *, out: str, seconds: float | None) -> int:
    """Draw the curves of the pipeline in FILE.

    These are the trade-off of attacks, and epsilon against delta, noise and count.
    """
    from dpproof.plot import save_pipeline  # noqa: PLC0415  # as in budget

    complete = save_pipeline(_loaded(file, out), out, seconds)
    streams.say(out if complete else f"{out} ({ROUGH})")
    return HOLDS


@commands.command()
@click.argument("before")
@click.argument("after")
@SECONDS
def explain(before: str, after: str, *, seconds: float | None) -> int:
    """Explain why two pipeline files cost different amounts.

    It goes from BEFORE to AFTER, one change at a time.
    """
    from dpproof.pipeline import parse  # noqa: PLC0415  # as in budget
    from dpproof.reports.words import lines  # noqa: PLC0415  # as in budget

    one, other = parse.load(before), parse.load(after)
    warn(max(one.delta, other.delta))
    streams.say("\n".join(lines(one, other, seconds)))
    return HOLDS


EXAMPLES: Final = {
    "audit": ("audit.toml", "package.module:sampler --pair package.module:pair --epsilon 1"),
    "budget": ("p.toml", "p.toml --seconds 10 --json", "p.toml --set training.count=2000"),
    "calibrate": ("p.toml --stage training --parameter noise_multiplier",),
    "certify": (
        "p.toml -o certificate.json",
        "accountant.json --relation add-remove -o certificate.json",
    ),
    "check": ("certificate.json", "certificate.json --against p.toml"),
    "compare": ("p.toml", "event.json --relation add-remove --delta 1e-5"),
    "explain": ("before.toml after.toml",),
    "import": ("accountant.json --relation add-remove --poisson --delta 1e-5",),
    "plot": ("p.toml -o pipeline.png",),
    "refute": ("--seconds 60", "--library opacus --python venv/bin/python -o gallery.md"),
    "report": ("p.toml -o report.html --ledger study.ledger", "p.toml --pdf report.pdf"),
}
LEDGER_EXAMPLES: Final = {
    "backup": ("study.ledger copy.ledger",),
    "certificate": ("study.ledger --key week-1 -o week-1.json",),
    "close": ("study.ledger --dataset visits --by alice",),
    "commit": ("study.ledger --key week-1",),
    "export": ("study.ledger -o study.json",),
    "import": ("study.json new.ledger",),
    "init": (
        "a.ledger --relation add-remove --epsilon 1 --delta 1e-6",
        "postgresql+psycopg://host/d --relation add-remove --rho 1",
    ),
    "limit": ("study.ledger --rho 0.1 --principal alice",),
    "log": ("study.ledger", "study.ledger --csv --delta 1e-6"),
    "lower": ("study.ledger --epsilon 0.5 --delta 1e-6 --by alice",),
    "raise": ("study.ledger --epsilon 2 --delta 1e-6 --by alice",),
    "release": ("study.ledger --key week-1",),
    "renew": ("study.ledger --epsilon 1 --delta 1e-6 --by alice",),
    "report": ("study.ledger -o page.html",),
    "reserve": ("study.ledger p.toml --key week-1", "study.ledger p.toml --key a --dataset visits"),
    "restore": ("copy.ledger study.ledger --head-file head.txt",),
    "spend": ("study.ledger p.toml --key week-1", "study.ledger p.toml --key a --seconds 10"),
    "status": ("study.ledger", "study.ledger --older-than 24h", "study.ledger --metrics"),
    "verify": ("study.ledger --head-file head.txt",),
    "what-if": ("study.ledger p.toml --delta 1e-7",),
}


def _show_examples(group: click.Group, path: str, examples: Mapping[str, Sequence[str]]) -> None:
    for name, lines in examples.items():
        shown = "\n".join(f"  {path} {name} {line}" for line in lines)
        group.commands[name].epilog = f"\b\nExamples:\n{shown}"


_show_examples(commands, "dpproof", EXAMPLES)
_show_examples(ledger, "dpproof ledger", LEDGER_EXAMPLES)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if sys.stdout is None:
        return refuse("dpproof: standard output is closed: nobody would see an answer", BAD_INPUT)
    streams.prepare()
    try:
        status = commands.main(words or ["--help"], prog_name="dpproof", standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):
        return refuse("dpproof: interrupted", INTERRUPTED)
    except BudgetExceeded as refusal:
        return refuse(f"dpproof: {refusal}", DOES_NOT_HOLD)
    except Exception as error:
        if os.environ.get("DPPROOF_TRACEBACK"):
            raise
        return failed(error)
    return int(status or HOLDS)


def _loaded(file: str, *written: str | None) -> Pipeline:
    """Return the pipeline of a file, which is none that is written; warn of a large delta."""
    from dpproof.pipeline import parse  # noqa: PLC0415  # as in budget

    for out in written:
        require_other(out, file)
    pipeline = parse.load(file)
    warn(pipeline.delta)
    return pipeline


def failed(error: Exception) -> int:
    """Say in a line why there is no answer; where the output is the reason, stop writing to it."""
    match error:
        case PrivacyError():
            reason = str(error)
        case click.ClickException():
            reason = error.format_message()
        case OSError():
            reason = error.strerror or str(error)
        case _:
            what = f"{_raised_in(error)} raised {type(error).__name__}"
            reason = f"{what}, whose text may quote data; DPPROOF_TRACEBACK=1 shows it"
    if isinstance(error, OSError):
        _discard_output()
        if isinstance(error, BrokenPipeError):
            return BAD_INPUT
    return refuse(f"dpproof: {reason}", BAD_INPUT)


def _raised_in(error: BaseException) -> str:
    """Return the file and line that an error comes from."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "something"
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"


def _discard_output() -> None:
    """Let what is still buffered go nowhere, so that leaving Python does not fail again."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def refuse(line: str, status: int) -> int:
    """Print one line on standard error, whatever it can show, and return the status."""
    with contextlib.suppress(OSError, ValueError):
        click.echo(streams.shown(" ".join(line.split()), sys.stderr), err=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
