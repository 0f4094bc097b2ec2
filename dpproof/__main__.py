"""The command line: ``dpproof budget``, ``certify``, ``audit``, ``ledger`` and the others.

Exit status: 0 the budget holds or the claim is not refuted, 1 it does not or is, 2 the input cannot
be answered, with one line on standard error.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import click

from dpproof import streams
from dpproof.accountant.errors import BudgetExceeded, PrivacyError
from dpproof.accountant.relation import RELATIONS
from dpproof.commands.calibrate import warn
from dpproof.commands.ledger import exact, ledger
from dpproof.files import seconds_of

HOLDS, DOES_NOT_HOLD, INTERRUPTED = 0, 1, 130
BAD_INPUT = 2
OUT = click.Path(dir_okay=False, writable=True)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dpproof", prog_name="dpproof")
@click.pass_context
def commands(context: click.Context) -> None:
    """Compute, prove and audit differential-privacy budgets.

    Exit status: 0 it holds, 1 it does not, 2 bad input, 130 interrupted.
    """
    if context.invoked_subcommand != "audit":  # which runs programs of others
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # our matrices are small: threads wait


@commands.command()
@click.argument("file")
@click.option("--certify", "out", type=OUT, help="Also write a certificate of the total.")
@click.option(
    "--seconds", callback=seconds_of, metavar="N", help="Show what is known after N seconds."
)
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
    from dpproof.commands import answers  # noqa: PLC0415  # as above
    from dpproof.commands.budget import pieces, spend  # noqa: PLC0415  # as above
    from dpproof.pipeline import parse, what_if  # noqa: PLC0415  # --help should not wait for the engine
    from dpproof.streams import progress  # noqa: PLC0415  # as above

    _require_other(out, file)
    pipeline = what_if.changed(parse.load(file), numbers, without)
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
        streams.say_json("budget", answers.budget(spent))
    else:
        from dpproof.reports.table import show  # noqa: PLC0415  # not needed for JSON

        show(spent, streams.console())
    if spent.interrupted:
        return INTERRUPTED
    return DOES_NOT_HOLD if spent.within_budget is False else HOLDS


@commands.command()
@click.argument("file")
@click.option("--stage", required=True, help="The stage that has the number.")
@click.option("--parameter", required=True, help="The number: noise_multiplier, rate, count, …")
@JSON
def calibrate(file: str, stage: str, parameter: str, *, as_json: bool) -> int:
    """Find the number at which a pipeline just meets its budget."""
    from dpproof.commands import answers  # noqa: PLC0415  # as in budget
    from dpproof.commands.calibrate import Unreachable, solve  # noqa: PLC0415  # as in budget
    from dpproof.files import shown_path  # noqa: PLC0415  # as in budget
    from dpproof.pipeline import free_parameter, parse  # noqa: PLC0415  # as in budget
    from dpproof.streams import progress  # noqa: PLC0415  # as in budget

    document = free_parameter.completed(parse.read(file), stage, parameter)
    pipeline = parse.parse(document, shown_path(file))
    warn(pipeline.delta)
    number = free_parameter.find(pipeline, stage, parameter)
    try:
        with progress(None) as step:
            solved = solve(number, step)
    except Unreachable as reason:
        if as_json:
            streams.say_json("calibrate", {"value": None, "epsilon": None, "reason": str(reason)})
        return refuse(f"dpproof: {reason}", DOES_NOT_HOLD)
    if as_json:
        streams.say_json("calibrate", answers.solved(solved))
    else:
        from dpproof.reports.table import show_solved  # noqa: PLC0415  # not needed for JSON

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
def certify(file: str, *, out: str | None, formal: str | None, **question: Any) -> int:  # noqa: ANN401  # as click gives it
    """Write a certificate of the total cost of the pipeline in FILE.

    With --formal, write a theorem for Coq, too, or alone.
    """
    from dpproof.commands.certify import write  # noqa: PLC0415  # as in budget
    from dpproof.pipeline import parse  # noqa: PLC0415  # as in budget
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
    for each in (out, formal):
        if each is not None:
            _require_other(each, file)
    pipeline = parse.load(file)
    warn(pipeline.delta)
    if out is not None:
        streams.say("\n".join(lines(write(pipeline, out, **question))))
    if formal is not None:
        from dpproof.commands import formal as theorem  # noqa: PLC0415  # as in budget
        from dpproof.rounding import above  # noqa: PLC0415  # as in budget

        epsilon = theorem.write(pipeline, formal)
        streams.say(f"wrote a theorem of epsilon {above(epsilon, 7)}; coqc has to accept it")
    return HOLDS


@commands.command()
@click.argument("certificate")
@click.option("--core", is_flag=True, help="Let the core alone check, without extensions.")
@click.option(
    "--show", metavar="DIGEST", help="Print the text that the verdict names by this digest."
)
@click.option(
    "--against", metavar="FILE", help="Say whether the certificate is about this pipeline file."
)
@JSON
def check(certificate: str, **options: Any) -> int:  # noqa: ANN401  # as click gives it
    """Verify a CERTIFICATE.

    Exit status: 0 verified, 1 rejected, or with --against of another pipeline. The checker is the
    one that came with dpproof, whatever lies in the working directory.
    """
    from dpproof.commands.check import answer  # noqa: PLC0415  # as in budget

    return answer(certificate, **options)


@commands.command()
@click.argument("target")
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
def audit(target: str, *, picture: str | None, as_json: bool, **options: object) -> int:
    """Test whether outputs of an implementation contradict its claim.

    TARGET is a file with an [audit] table, or package.module:sampler with options. With a file,
    only --seconds, --workers, --executor, --store, --plot and --json may be given.

    Exit status: 0 not refuted, 1 refuted, 2 bad input, 130 interrupted. An interrupted audit
    reports the tests that it made.
    """
    from pathlib import Path  # noqa: PLC0415  # as in budget

    from dpproof.auditing import Outcome  # noqa: PLC0415  # as in budget
    from dpproof.commands import audit_requests  # noqa: PLC0415  # as in budget
    from dpproof.pipeline.section import Section  # noqa: PLC0415  # as in budget
    from dpproof.reports import plot  # noqa: PLC0415  # as in budget
    from dpproof.streams import on_terminal, trials  # noqa: PLC0415  # as in budget

    given = {name: value for name, value in options.items() if value is not None}
    if "store" in given:
        given["store"] = str(Path(str(given["store"])).absolute())
    if target == "-" or target.endswith(".toml"):
        if not given.keys() <= {*audit_requests.RUNNING}:
            raise click.UsageError("a file and options together: state everything in the file")
        request = audit_requests.from_file(target, given)
    else:
        request = audit_requests.from_table(Section("audit", {"sampler": target, **given}), Path())
    if picture is not None:
        _require_other(picture, target)
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


_RELATION = click.option(
    "--relation",
    type=click.Choice([one.name for one in RELATIONS]),
    help="Which datasets are neighbours, if the file does not say.",
)
_POISSON = click.option("--poisson", is_flag=True, help="State that batches were Poisson samples.")
_DELTA = click.option(
    "--delta", callback=exact, help="The delta of epsilon, by default a pipeline's, or 1e-6."
)


@commands.command("import")
@click.argument("file")
@_RELATION
@_POISSON
@_DELTA
@JSON
def import_(
    file: str, *, relation: str | None, poisson: bool, delta: Fraction | None, as_json: bool
) -> int:
    """Compute the cost of another tool's events or accountant.

    FILE is JSON.
    """
    from dpproof.commands import interchange  # noqa: PLC0415  # as in budget

    warn(delta)
    known = interchange.imported(file, relation, poisson=poisson)
    found = interchange.answer(*known, Fraction(1, 10**6) if delta is None else delta)
    if as_json:
        streams.say_json("import", found)
        return HOLDS
    ends = found["epsilon"]
    streams.say(f"{found['statement']}, {found['relation']} neighbours")
    whose = "" if ends["attained"] else " of the dominating pair"
    streams.say(f"epsilon{whose} lies in {interchange.bracket(ends)} at delta = {found['delta']:g}")
    if found["meaning"]:
        streams.say(found["meaning"])
    for assumption in found["assumptions"]:
        streams.say(f"- {assumption}")
    return HOLDS


@commands.command()
@click.argument("file")
@_RELATION
@_POISSON
@_DELTA
@JSON
def compare(
    file: str, *, relation: str | None, poisson: bool, delta: Fraction | None, as_json: bool
) -> int:
    """Compare our bracket with other accountants.

    FILE is a pipeline or what `dpproof import` reads; the others are RDP, PLD and PRV.
    """
    from dpproof.commands import interchange  # noqa: PLC0415  # as in budget

    warn(delta)
    found = interchange.comparison(file, relation, delta, poisson=poisson)
    if as_json:
        streams.say_json("compare", found)
    else:
        streams.say("\n".join(interchange.lines(found)))
    return HOLDS


@commands.command()
@click.argument("file")
@click.option("-o", "--output", "out", type=OUT, required=True, help="Where to write the page.")
@click.option("--registry", type=OUT, help="Also write the record for the Deployments Registry.")
def report(file: str, *, out: str, registry: str | None) -> int:
    """Write a page for a review board on the pipeline in FILE."""
    from dpproof.pipeline import parse  # noqa: PLC0415  # as in budget
    from dpproof.reports.page import write  # noqa: PLC0415  # as in budget

    _require_other(out, file)
    _require_other(registry, file)
    if registry is not None and os.path.realpath(registry) == os.path.realpath(out):
        raise click.UsageError("the page and the record need a file each")
    pipeline = parse.load(file)
    warn(pipeline.delta)
    within = write(pipeline, out, registry)
    streams.say("\n".join(one for one in (out, registry) if one))
    return DOES_NOT_HOLD if within is False else HOLDS


@commands.command("plot")
@click.argument("file")
@click.option("-o", "--output", "out", type=OUT, default="pipeline.png", show_default=True)
def plot_(file: str, *, out: str) -> int:
    """Draw the curves of the pipeline in FILE.

    These are the trade-off of attacks, and epsilon against delta, noise and count.
    """
    from dpproof.pipeline import parse  # noqa: PLC0415  # as in budget
    from dpproof.plot import save_pipeline  # noqa: PLC0415  # as in budget

    _require_other(out, file)
    pipeline = parse.load(file)
    warn(pipeline.delta)
    save_pipeline(pipeline, out)
    streams.say(out)
    return HOLDS


@commands.command()
@click.argument("before")
@click.argument("after")
def explain(before: str, after: str) -> int:
    """Explain why two pipeline files cost different amounts.

    It goes from BEFORE to AFTER, one change at a time.
    """
    from dpproof.pipeline import parse  # noqa: PLC0415  # as in budget
    from dpproof.reports.explain import lines  # noqa: PLC0415  # as in budget

    one, other = parse.load(before), parse.load(after)
    warn(max(one.delta, other.delta))
    streams.say("\n".join(lines(one, other)))
    return HOLDS


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if sys.stdout is None:
        return refuse("dpproof: standard output is closed: nobody would see an answer", BAD_INPUT)
    streams.prepare()
    try:
        status = commands.main(given or ["--help"], prog_name="dpproof", standalone_mode=False)
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


def _require_other(out: str | None, file: str) -> None:
    """Refuse to write over the input."""
    from dpproof.errors import require_other  # noqa: PLC0415  # as in budget

    if out is not None:
        require_other(out, file)


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
            told = f"{_raised_in(error)} raised {type(error).__name__}"
            reason = f"{told}, whose text may quote data; DPPROOF_TRACEBACK=1 shows it"
    if isinstance(error, OSError):
        _discard_output()
    return (
        BAD_INPUT if isinstance(error, BrokenPipeError) else refuse(f"dpproof: {reason}", BAD_INPUT)
    )


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
