"""``dpproof ledger``: budgets that many processes spend."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from fractions import Fraction
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dpproof.accountant.relation import RELATIONS, Relation
from dpproof.errors import InputError
from dpproof.rounding import above, percent_below
from dpproof.streams import say, say_json
from dpproof.time_limit import ROUGH, SECONDS, in_time, known_in

if TYPE_CHECKING:
    from dpproof.accountant import Guarantee
    from dpproof.ledger.ledger import Ledger

Run = TypeVar("Run", bound=Callable[..., Any])
HOLDS, DOES_NOT_HOLD, PAID_BEFORE = 0, 1, 3
MOST_DIGITS, LARGEST_POWER = 100, 900  # of a number; certificates hold 1,100 characters
LARGE_DELTA = Fraction(1, 100)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
KEY = click.option("--key", required=True, help="Names the spend; it is paid for once.")
HEAD_FILE = click.option(
    "--head-file",
    help="Holds the newest hash seen, which the ledger must contain; a spend updates it.",
)


def exact(_: click.Context, parameter: click.Parameter, text: str | None) -> Fraction | None:
    """Return the exact value of a number as it is written: 1e-6 and 1/3 are exact."""
    if text is None:
        return None
    try:
        power = text.lower().partition("e")[2]
        if len(text) > MOST_DIGITS or (power and abs(int(power)) > LARGEST_POWER):
            raise ValueError  # noqa: TRY301  # a number of thousands of digits
        number = Fraction(text)
        float(number)
    except (ValueError, ZeroDivisionError, OverflowError):
        expected = f"expected a number such as 0.5, 1e-6 or 1/3, got {text!r}"
        raise click.BadParameter(expected, param=parameter) from None
    return number


def warn(delta: Fraction | None) -> None:
    """Say on standard error that a delta is so large that epsilon promises little."""
    if delta is not None and LARGE_DELTA < delta < 1:
        click.echo(
            f"dpproof: warning: delta = {float(delta):g} is large, and epsilon promises little "
            "beside it; below one over the number of records is usual",
            err=True,
        )


def options(*each: Callable[[Any], Any]) -> Callable[[Run], Run]:
    """Return one decorator for several, the first one outermost."""
    return lambda function: reduce(lambda inner, one: one(inner), reversed(each), function)


where = options(
    click.option("--principal", help="Who runs it."),
    click.option("--dataset", help="Which data it reads."),
)
OF_OTHERS = options(
    click.option(
        "--relation",
        type=click.Choice([one.name for one in RELATIONS]),
        help="Which datasets are neighbours, if a file of another tool does not say.",
    ),
    click.option("--poisson", is_flag=True, help="State that its batches were Poisson samples."),
)
PRICED = options(
    click.option("--delta", callback=exact, help="The delta at which its epsilon is charged."),
    OF_OTHERS,
    SECONDS,
    HEAD_FILE,
    where,
)
SPEND = options(
    click.argument("file"),
    click.argument("pipeline"),
    KEY,
    click.option("--label", help="What it is for; by default the pipeline's file."),
    PRICED,
)


@click.group()
def ledger() -> None:
    """Keep budgets that many processes spend.

    Reserve, run, then commit or release.

    FILE is a path, or the URL of a database server (postgresql+psycopg://...). PIPELINE is a
    pipeline file, or what `dpproof import` reads.
    """


_BUDGETS = {
    "--epsilon": "Pure privacy alone; or with --delta, or with --order.",
    "--delta": None,
    "--rho": "A budget of rho-zCDP.",
    "--mu": "A budget of mu-GDP.",
    "--order": "With --epsilon: a budget at one Renyi order.",
}
numbers = options(*(click.option(one, callback=exact, help=_BUDGETS[one]) for one in _BUDGETS))


@ledger.command()
@click.argument("file")
@numbers
@click.option("--relation", type=click.Choice([one.name for one in RELATIONS]), required=True)
@click.option(
    "--open-names", is_flag=True, help="Also admit names that have no limit of their own."
)
@HEAD_FILE
@where
def init(
    file: str,
    *,
    relation: str,
    head_file: str | None,
    open_names: bool,
    dataset: str | None,
    principal: str | None,
    **options: Any,  # noqa: ANN401  # as click gives it
) -> int:
    """Make a ledger with one budget."""
    from dpproof.ledger.ledger import Ledger  # noqa: PLC0415  # --help should not wait for it

    budget = _budget(relation, options)
    made = Ledger.create(
        file,
        budget=budget,
        dataset=dataset,
        principal=principal,
        open_names=open_names,
        head_file=head_file,
    )
    made.close()
    say(f"{made.place}: {budget.describe()} for {relation} neighbours")
    return HOLDS


@ledger.command()
@SPEND
def reserve(file: str, pipeline: str, **options_given: Any) -> int:  # noqa: ANN401  # as click gives it
    """Take the cost of PIPELINE out of the budget.

    Do it before it runs; then commit or release. With --seconds, a quick upper end is taken when
    half of the time is up.
    """
    from dpproof.accountant.guarantees.guarantee import in_words  # noqa: PLC0415  # as in init
    from dpproof.ledger.errors import AlreadySpent  # noqa: PLC0415  # as in init

    opened, guarantee, options = _asked(file, pipeline, options_given)
    # Whoever commits by the key alone cannot tell its run from another one.
    spend = opened.reserve(guarantee, **options, take_over=False)
    if spend.committed:
        raise AlreadySpent(f"the key {spend.key!r} was committed before: run nothing for it again")
    words = f"reserved {in_words(guarantee)} for {spend.key!r}"
    say(f"{words}; {_left(opened)}{_closing(spend.closed)}")
    return HOLDS


@ledger.command("spend")
@SPEND
@click.option("--idempotent", is_flag=True, help="Exit with 0 where the key was paid for before.")
@JSON
def spend_(
    file: str,
    pipeline: str,
    *,
    idempotent: bool,
    as_json: bool,
    **options_given: Any,  # noqa: ANN401  # as click gives it
) -> int:
    """Reserve and commit at once.

    PIPELINE is paid for, whatever happens to its run. --seconds is as of reserve. The exit status
    is 3 where the key was paid for before: run nothing for it again.
    """
    from dpproof.ledger.errors import AlreadySpent  # noqa: PLC0415  # as in init

    opened, guarantee, options = _asked(file, pipeline, options_given)
    try:
        spend = opened.spend(guarantee, **options, idempotent=idempotent)
    except AlreadySpent as refusal:
        click.echo(f"dpproof: {refusal}", err=True)
        return PAID_BEFORE
    if as_json:
        made = {name: getattr(spend, name) for name in ("key", "fresh", "closed")}
        budgets = [one.to_dict() for one in opened.status().budgets]
        say_json("ledger-spend", {**made, "budgets": budgets})
        return HOLDS
    words = "spent" if spend.fresh else "was spent before, and may not run again,"
    say(f"{words} for {options['key']!r}; {_left(opened)}{_closing(spend.closed)}")
    return HOLDS


ENDS = {
    "commit": (
        "committed",
        "Keep what a key has reserved, for good.",
        "Its result may be published",
    ),
    "release": (
        "released",
        "Give back what a key has reserved.",
        "It did not run, or published nothing",
    ),
}


def _ending(name: str) -> Any:  # noqa: ANN401  # for click
    """Return a command that ends a reservation."""

    def run(file: str, *, key: str, head_file: str | None) -> int:
        opened = opened_at(file, head_file)
        getattr(opened, name)(key)
        say(f"{ENDS[name][0]} {key!r}; {_left(opened)}")
        return HOLDS

    return options(click.argument("file"), KEY, HEAD_FILE)(run)


for name_ in ENDS:
    ledger.command(name_, help="\n\n".join(ENDS[name_][1:]) + ".")(_ending(name_))


# A command, its method, what it does, whether it states a budget, and whether it is signed.
CHANGES = (
    ("limit", "limit", "Add a budget that spends are charged to as well.", True, None),
    ("lower", "lower", "Let a budget admit less from now on.", True, False),
    ("raise", "raise_to", "Sign that a budget is larger: two names have to.", True, True),
    ("renew", "renew", "Sign that a budget has so much more: two names have to.", True, True),
    ("close", "close_budget", "Let a budget admit nothing any more.", False, False),
)


def _changing(name: str, method: str, states: bool) -> Any:  # noqa: ANN401, FBT001  # for click
    """Return a command that changes a budget."""

    def run(file: str, head_file: str | None, **options: Any) -> int:  # noqa: ANN401  # as click gives it
        opened = opened_at(file, head_file)
        about = {one: options.pop(one) for one in ("dataset", "principal")}
        about |= {one: options.pop(one) or "" for one in ("by",) if one in options}
        budget = [_budget(opened.status().relation.name, options)] if states else []
        waits = getattr(opened, method)(*budget, **about) is False
        say(f"{'signed: it waits for a second name' if waits else name}; {_left(opened)}")
        return HOLDS

    return HEAD_FILE(where(numbers(run) if states else run))


for name_, method_, told_, states_, signed_ in CHANGES:
    run_ = _changing(name_, method_, states_)
    if signed_ is not None:
        by = "Who signs." if signed_ else "Who says so."
        run_ = click.option("--by", required=signed_, help=by)(run_)
    ledger.command(name_, help=told_)(click.argument("file")(run_))


@ledger.command("what-if")
@click.argument("file")
@click.argument("pipeline")
@PRICED
@JSON
def what_if(file: str, pipeline: str, *, as_json: bool, **options_given: Any) -> int:  # noqa: ANN401  # as click gives it
    """Print what PIPELINE would cost and leave.

    Exit status: 0 the budget allows it, 1 it does not. --seconds is as of reserve.
    """
    opened, guarantee, options = _asked(file, pipeline, options_given | {"label": ""})
    del options["label"]
    effects = opened.what_if(guarantee, **options)
    if as_json:
        say_json("ledger-what-if", {"budgets": [one.to_dict() for one in effects]})
    for one in effects if not as_json else ():
        left = percent_below(one.before.remaining)
        then = (
            "over the budget"
            if one.after is None
            else f"{percent_below(one.after.remaining)} after"
        )
        say(f"{one.before.describe()}: {left} left, {then}{_closing(one.closes)}")
        for name, costs in one.costs.items():
            words = " and ".join(above(cost, 6) for cost in costs or ())
            say(f"  {name:9} {words or 'not bounded or too large'}")
    return HOLDS if all(one.after for one in effects) else DOES_NOT_HOLD


@ledger.command()
@click.argument("file")
@JSON
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, as spreadsheets read it.")
@click.option("--delta", callback=exact, help="Where epsilon is told, if not the budget's.")
@HEAD_FILE
def log(
    file: str, *, as_json: bool, as_csv: bool, delta: Fraction | None, head_file: str | None
) -> int:
    """Print every entry, its epsilon and what was left."""
    from dpproof.ledger.status import COLUMNS  # noqa: PLC0415  # as in init

    if as_json and as_csv:
        raise click.UsageError("log prints one of --json and --csv")
    entries = opened_at(file, head_file).log(delta=delta)
    if as_json:
        say_json("ledger-log", {"entries": [one.to_dict() for one in entries]})
        return HOLDS
    if as_csv:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([COLUMNS, *(one.row() for one in entries)])
        say(text.getvalue(), end="")
        return HOLDS
    for one in entries:
        cost = "" if one.epsilon is None else f"ε {above(one.epsilon)}"
        left = f"{percent_below(min(one.left.values()))} left" if one.left else ""
        who = ", ".join(name for name in (one.dataset, one.principal, one.who) if name)
        columns = (cost, one.guarantee, left, who, one.label)
        words = "; ".join(text for text in columns if text)
        say(f"{one.time[:19]} {one.kind:9} {one.key}{': ' if one.key else ''}{words}")
    return HOLDS


def seconds(_: click.Context, parameter: click.Parameter, text: str | None) -> float | None:
    """Return the seconds of a time such as 90m, 24h or 7d."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d{1,6})([smhd])", text)
    if match is None:
        raise click.BadParameter(
            f"expected a time such as 90m, 24h or 7d, got {text!r}", param=parameter
        )
    return float(match[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[match[2]]


@ledger.command()
@click.argument("file")
@JSON
@click.option("--metrics", is_flag=True, help="Print what Prometheus reads.")
@click.option(
    "--older-than",
    callback=seconds,
    help="List only what is pending for longer (90m, 24h, 7d): 1 if there is any.",
)
@HEAD_FILE
def status(
    file: str, *, as_json: bool, metrics: bool, older_than: float | None, head_file: str | None
) -> int:
    """Print the spent and the remaining budget."""
    if as_json and metrics:
        raise click.UsageError("status prints one of --json and --metrics")
    opened = opened_at(file, head_file)
    state = opened.status()
    old = [one for one in state.reservations if one.age() > (older_than or 0)]
    code = DOES_NOT_HOLD if older_than is not None and old else HOLDS
    if as_json:
        say_json("ledger", state.to_dict())
        return code
    if metrics:
        say(state.metrics(), end="")
        return code
    say(f"{opened.place}: {state}")
    for waiting in old:
        who = ", ".join(text for text in (waiting.principal, waiting.owner) if text)
        say(f"  pending: {waiting.key}, {waiting.age() / 3600:.1f} h{who and ', '}{who}")
    return code


@ledger.command()
@click.argument("file")
@click.option("--head", help="A hash written down earlier, which has to be in the chain.")
@SECONDS
@HEAD_FILE
def verify(file: str, *, head: str | None, seconds: float | None, head_file: str | None) -> int:
    """Recompute every hash, sum and certificate.

    Exit status: 0 all of it holds, 1 it does not, 2 the time was up.
    """
    from dpproof.ledger.errors import LedgerDamaged  # noqa: PLC0415  # as in init

    try:
        opened = opened_at(file, head_file)
        ask = partial(opened.verify, head=head)
        verified = in_time(seconds, f"{opened.place}: the verdict", ask)
    except LedgerDamaged as damage:
        say(f"damaged: {damage}")
        return DOES_NOT_HOLD
    say(f"verified {verified.entries} entries and {verified.certificates} certificates")
    for key, reason in verified.uncertified:
        say(f"  without a certificate: {key}: {reason}")
    say(f"head {verified.head}")
    return HOLDS


@ledger.command()
@click.argument("file")
@click.option("-o", "--output", type=click.Path(dir_okay=False, writable=True))
def export(file: str, *, output: str | None) -> int:
    """Write all entries and certificates as JSON."""
    return _written(json.dumps(opened_at(file).export(), indent=1) + "\n", output)


@ledger.command()
@click.argument("file")
@click.argument("copy")
def backup(file: str, copy: str) -> int:
    """Write all of FILE to the new file COPY.

    Others may spend from it in the meantime.
    """
    opened = opened_at(file)
    opened.backup(copy)
    say(f"{copy}: a copy of {opened.place}")
    return HOLDS


@ledger.command()
@click.argument("copy")
@click.argument("file")
@HEAD_FILE
def restore(copy: str, file: str, *, head_file: str | None) -> int:
    """Verify COPY, a backup, and make the new FILE of it.

    With --head-file a copy that lost entries is refused.
    """
    opened = opened_at(copy, head_file)
    opened.verify()
    opened.backup(file)
    say(f"{file}: restored from {opened.place}; {_left(opened)}")
    return HOLDS


@ledger.command("import")
@click.argument("export")
@click.argument("file")
@HEAD_FILE
def import_(export: str, file: str, *, head_file: str | None) -> int:
    """Verify EXPORT and make the new ledger FILE of it."""
    from dpproof.ledger.ledger import Ledger  # noqa: PLC0415  # as in init

    try:
        read = json.loads(Path(export).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{export}: no JSON can be read there ({type(error).__name__})") from None
    made = Ledger.from_export(read, file, head_file=head_file)
    say(f"{made.place}: imported; {_left(made)}")
    return HOLDS


@ledger.command()
@click.argument("file")
@KEY
@click.option("--way", help="The way in which it was charged, if there are several (see status).")
@click.option("-o", "--output", type=click.Path(dir_okay=False, writable=True))
@where
def certificate(
    file: str,
    *,
    key: str,
    way: str | None,
    output: str | None,
    dataset: str | None,
    principal: str | None,
) -> int:
    """Write the certificate of what one spend costs.

    dpproof check verifies it. --dataset and --principal say from which budget, if several were
    charged differently.
    """
    from dpproof.ledger import names  # noqa: PLC0415  # as in init

    parts = {
        (label, name): text
        for (label, name), text in opened_at(file).certificates(key).items()
        if way in (None, name, name.partition("-")[0])
        and all(
            asked in (None, said)
            for asked, said in zip((dataset, principal), names.where(label), strict=True)
        )
    }
    if len(set(parts.values())) != 1:
        ways = " or ".join({f"--way {name.partition('-')[0]}": None for _, name in parts})
        raise InputError(
            f"the spend {key!r} has {len(set(parts.values()))} certificates there; choose one by "
            f"{ways or 'another --way'}, --dataset or --principal"
        )
    return _written(next(iter(parts.values())), output)


def _written(text: str, output: str | None) -> int:
    """Print a text, or write it to a new file."""
    if output is None:
        say(text, end="")
        return HOLDS
    try:
        with Path(output).open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise InputError(
            f"{output}: exists already, and is left as it is; name another file"
        ) from None
    except OSError as error:
        raise InputError(f"{output}: {error.strerror}") from error
    return HOLDS


def _budget(relation: str, options: dict[str, Any]) -> Guarantee[Relation]:
    from dpproof.accountant import GDP, RDP, ZCDP, ApproxDP, PureDP  # noqa: PLC0415  # as in init
    from dpproof.ledger.budget import relation_named  # noqa: PLC0415  # as in init

    about = relation_named(relation)
    options = {name: one for name, one in options.items() if one is not None}
    warn(options.get("delta"))
    match sorted(options):
        case ["delta", "epsilon"]:
            return ApproxDP(epsilon=options["epsilon"], delta=options["delta"], relation=about)
        case ["epsilon"]:
            return PureDP(epsilon=options["epsilon"], relation=about)
        case ["rho"]:
            return ZCDP(rho=options["rho"], relation=about)
        case ["mu"]:
            return GDP(mu=options["mu"], relation=about)
        case ["epsilon", "order"]:
            return RDP(points=((options["order"], options["epsilon"]),), relation=about)
    raise click.UsageError(
        "a budget is --epsilon, with --delta or --order or alone, or --rho, or --mu"
    )


def opened_at(file: str, head_file: str | None = None) -> Ledger:
    """Return the ledger at a path or a URL."""
    from dpproof.ledger.ledger import Ledger  # noqa: PLC0415  # as in init

    return Ledger.open(file, head_file=head_file)


def _asked(
    file: str, pipeline: str, options: dict[str, Any]
) -> tuple[Ledger, Guarantee[Relation], dict[str, Any]]:
    """Return the ledger, what the pipeline costs, and the options of a spend."""
    from dpproof.commands.budget import together  # noqa: PLC0415  # as in init
    from dpproof.commands.interchange import pipeline_of  # noqa: PLC0415  # as in init

    opened = opened_at(file, options.pop("head_file"))
    relation, poisson = options.pop("relation"), options.pop("poisson")
    loaded, seconds = pipeline_of(pipeline, relation, poisson=poisson), options.pop("seconds")
    where = {name: options[name] for name in ("delta", "dataset", "principal")}

    def priced(whole: Guarantee[Relation]) -> Guarantee[Relation]:
        if seconds is not None:  # before anything is written, which no timer should stop
            opened.what_if(whole, **where)
        return whole

    make = partial(together, loaded, everywhere=True)
    whole, is_rough = known_in(seconds, make, priced, loaded.delta, f"{loaded.file}: its cost")
    if is_rough:
        click.echo(f"dpproof: its cost is {ROUGH}", err=True)
    return opened, whole, {**options, "label": options["label"] or loaded.file}


def _closing(ways: tuple[str, ...]) -> str:
    """Return which ways of spending a spend closes, if any."""
    return f"; it closes the ways {', '.join(ways)}" if ways else ""


def balances(place: str) -> list[str]:
    """Return what is left of each budget of a ledger, in words; nothing is written there."""
    opened = opened_at(place)
    status = opened.status()
    opened.close()
    where = f"in the ledger {opened.place}, entry {status.entries}, head {status.head[:16]}"
    return [f"{percent_below(one.remaining)} of {one.describe()} {where}" for one in status.budgets]


def _left(opened: Ledger) -> str:
    shares = ", ".join(percent_below(one.remaining) for one in opened.status().budgets)
    return f"{shares} of the budget left"
