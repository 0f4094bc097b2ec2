"""``dpproof ledger``: budgets that many processes spend."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpproof.accountant.relation import RELATIONS, Relation
from dpproof.commands.calibrate import warn
from dpproof.errors import InputError
from dpproof.rounding import above, below
from dpproof.streams import say_json

if TYPE_CHECKING:
    from dpproof.accountant import Guarantee
    from dpproof.ledger.ledger import Ledger
    from dpproof.ledger.spending import Spend

HOLDS, DOES_NOT_HOLD, PAID_BEFORE = 0, 1, 3
MOST_DIGITS, LARGEST_POWER = 100, 900  # of a number; certificates hold 1,100 characters
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


def where(function: Any) -> Any:  # noqa: ANN401  # a decorator of commands
    """Add the options that say whose budget it is."""
    function = click.option("--dataset", help="Which data it reads.")(function)
    return click.option("--principal", help="Who runs it.")(function)


@click.group()
def ledger() -> None:
    """Keep budgets that many processes spend.

    Reserve, run, then commit or release.

    FILE is a path, or the URL of a database server (postgresql+psycopg://...).
    """


@ledger.command()
@click.argument("file")
@click.option(
    "--epsilon", callback=exact, help="Pure privacy alone; or with --delta, or with --order."
)
@click.option("--delta", callback=exact)
@click.option("--rho", callback=exact, help="A budget of rho-zCDP.")
@click.option("--mu", callback=exact, help="A budget of mu-GDP.")
@click.option("--order", callback=exact, help="With --epsilon: a budget at one Renyi order.")
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
    **given: Any,  # noqa: ANN401  # as click gives it
) -> int:
    """Make a ledger with one budget."""
    from dpproof.ledger.ledger import Ledger  # noqa: PLC0415  # --help should not wait for it

    warn(given["delta"])
    budget = _budget(relation, {name: one for name, one in given.items() if one is not None})
    made = Ledger.create(
        file,
        budget=budget,
        dataset=dataset,
        principal=principal,
        open_names=open_names,
        head_file=head_file,
    )
    made.close()
    click.echo(f"{made.place}: {budget.describe()} for {relation} neighbours")
    return HOLDS


@ledger.command()
@click.argument("file")
@click.argument("pipeline")
@KEY
@click.option("--label", help="What it is for; by default the pipeline's file.")
@click.option("--delta", callback=exact, help="The delta at which its epsilon is charged.")
@HEAD_FILE
@where
def reserve(file: str, pipeline: str, **given: Any) -> int:  # noqa: ANN401  # as click gives it
    """Take the cost of PIPELINE out of the budget, before it runs; then commit or release."""
    from dpproof.accountant.guarantees.words import in_words  # noqa: PLC0415  # as in init
    from dpproof.ledger.errors import AlreadySpent  # noqa: PLC0415  # as in init

    opened, guarantee, options = _asked(file, pipeline, given)
    # Whoever commits by the key alone cannot tell its run from another one.
    spend = opened.reserve(guarantee, **options, take_over=False)
    if spend.committed:
        raise AlreadySpent(f"the key {spend.key!r} was committed before: run nothing for it again")
    told = f"reserved {in_words(guarantee)} for {spend.key!r}"
    click.echo(f"{told}; {_left(opened)}{_closing(spend)}")
    return HOLDS


@ledger.command("spend")
@click.argument("file")
@click.argument("pipeline")
@KEY
@click.option("--label", help="What it is for; by default the pipeline's file.")
@click.option("--delta", callback=exact, help="The delta at which its epsilon is charged.")
@click.option("--idempotent", is_flag=True, help="Exit with 0 where the key was paid for before.")
@HEAD_FILE
@where
def spend_(file: str, pipeline: str, *, idempotent: bool, **given: Any) -> int:  # noqa: ANN401  # as click gives it
    """Reserve and commit at once: PIPELINE is paid for, whatever happens to its run.

    The exit status is 3 where the key was paid for before: run nothing for it again.
    """
    from dpproof.ledger.errors import AlreadySpent  # noqa: PLC0415  # as in init

    opened, guarantee, options = _asked(file, pipeline, given)
    try:
        spend = opened.spend(guarantee, **options, idempotent=idempotent)
    except AlreadySpent as refusal:
        click.echo(f"dpproof: {refusal}", err=True)
        return PAID_BEFORE
    told = "spent" if spend.fresh else "was spent before, and may not run again,"
    click.echo(f"{told} for {options['key']!r}; {_left(opened)}{_closing(spend)}")
    return HOLDS


@ledger.command()
@click.argument("file")
@KEY
@HEAD_FILE
def commit(file: str, *, key: str, head_file: str | None) -> int:
    """Keep what a key has reserved, for good; its result may be published now."""
    opened = _opened(file, head_file)
    opened.commit(key)
    click.echo(f"committed {key!r}; {_left(opened)}")
    return HOLDS


@ledger.command()
@click.argument("file")
@KEY
@HEAD_FILE
def release(file: str, *, key: str, head_file: str | None) -> int:
    """Give back what a key has reserved: it did not run, or published nothing."""
    opened = _opened(file, head_file)
    opened.release(key)
    click.echo(f"released {key!r}; {_left(opened)}")
    return HOLDS


@ledger.command()
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@HEAD_FILE
def status(file: str, *, as_json: bool, head_file: str | None) -> int:
    """Print the spent and the remaining budget."""
    opened = _opened(file, head_file)
    found = opened.status()
    if as_json:
        say_json("ledger", found.to_dict())
        return HOLDS
    click.echo(
        f"{opened.place}: {found.relation} neighbours, {found.entries} entries, head {found.head}"
    )
    for one in found.budgets:
        about = "".join(f", {text}" for text in (one.dataset, one.principal) if text is not None)
        click.echo(f"{one.guarantee.describe()}{about}: {_percent(one.remaining)} left")
        for name, way in one.ways.items():
            numbers = zip(way.spent, way.limit, strict=True)
            told = " and ".join(f"{above(used, 6)} of {below(limit, 6)}" for used, limit in numbers)
            click.echo(f"  {name:9} {told}{'' if way.open else ' (closed)'}")
        if one.composed is not None:
            click.echo(f"  composed, as if all was planned before: ε at most {above(one.composed)}")
    click.echo(f"{len(found.committed)} committed, {len(found.pending)} pending")
    for key in found.pending:
        click.echo(f"  pending: {key}")
    return HOLDS


@ledger.command()
@click.argument("file")
@click.option("--head", help="A hash written down earlier, which has to be in the chain.")
@HEAD_FILE
def verify(file: str, *, head: str | None, head_file: str | None) -> int:
    """Recompute every hash, sum and certificate: 0 all of it holds, 1 it does not."""
    from dpproof.ledger.errors import LedgerDamaged  # noqa: PLC0415  # as in init

    try:
        found = _opened(file, head_file).verify(head=head)
    except LedgerDamaged as damage:
        click.echo(f"damaged: {damage}")
        return DOES_NOT_HOLD
    click.echo(f"verified {found.entries} entries and {found.certificates} certificates")
    for key, reason in found.uncertified:
        click.echo(f"  without a certificate: {key}: {reason}")
    if found.uncovered:
        keys = ", ".join(found.uncovered)
        click.echo(f"  from before entries said what a key stands for: {keys}")
    click.echo(f"head {found.head}")
    return HOLDS


@ledger.command()
@click.argument("file")
@click.option("-o", "--output", type=click.Path(dir_okay=False, writable=True))
def export(file: str, *, output: str | None) -> int:
    """Write all entries and certificates as JSON."""
    return _written(json.dumps(_opened(file).export(), indent=1) + "\n", output)


@ledger.command()
@click.argument("file")
@click.argument("copy")
def backup(file: str, copy: str) -> int:
    """Write all of FILE to the new file COPY, also while others spend from it."""
    opened = _opened(file)
    opened.backup(copy)
    click.echo(f"{copy}: a copy of {opened.place}")
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
    """Write the certificate of what one spend costs, for dpproof check.

    --dataset and --principal say from which budget, if several were charged differently.
    """
    from dpproof.ledger import names  # noqa: PLC0415  # as in init

    found = {
        (label, name): text
        for (label, name), text in _opened(file).certificates(key).items()
        if way in (None, name, name.partition("-")[0])
        and all(
            asked in (None, said)
            for asked, said in zip((dataset, principal), names.where(label), strict=True)
        )
    }
    if len(set(found.values())) != 1:
        ways = " or ".join({f"--way {name.partition('-')[0]}": None for _, name in found})
        raise InputError(
            f"the spend {key!r} has {len(set(found.values()))} certificates there; choose one by "
            f"{ways or 'another --way'}, --dataset or --principal"
        )
    return _written(next(iter(found.values())), output)


def _written(text: str, output: str | None) -> int:
    """Print a text, or write it to a new file."""
    if output is None:
        click.echo(text, nl=False)
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


def _budget(relation: str, given: dict[str, Fraction]) -> Guarantee[Relation]:
    from dpproof.accountant import GDP, RDP, ZCDP, ApproxDP, PureDP  # noqa: PLC0415  # as in init
    from dpproof.ledger.budget import relation_named  # noqa: PLC0415  # as in init

    about = relation_named(relation)
    match sorted(given):
        case ["delta", "epsilon"]:
            return ApproxDP(epsilon=given["epsilon"], delta=given["delta"], relation=about)
        case ["epsilon"]:
            return PureDP(epsilon=given["epsilon"], relation=about)
        case ["rho"]:
            return ZCDP(rho=given["rho"], relation=about)
        case ["mu"]:
            return GDP(mu=given["mu"], relation=about)
        case ["epsilon", "order"]:
            return RDP(points=((given["order"], given["epsilon"]),), relation=about)
    raise click.UsageError(
        "a budget is --epsilon, with --delta or --order or alone, or --rho, or --mu"
    )


def _opened(file: str, head_file: str | None = None) -> Ledger:
    from dpproof.ledger.ledger import Ledger  # noqa: PLC0415  # as in init

    return Ledger.open(file, head_file=head_file)


def _asked(
    file: str, pipeline: str, given: dict[str, Any]
) -> tuple[Ledger, Guarantee[Relation], dict[str, Any]]:
    """Return the ledger, what the pipeline costs, and the options of a spend."""
    from dpproof.commands.budget import total  # noqa: PLC0415  # as in init
    from dpproof.errors import placed  # noqa: PLC0415  # as in init
    from dpproof.pipeline import parse  # noqa: PLC0415  # as in init

    opened = _opened(file, given.pop("head_file"))
    found = parse.load(pipeline)
    guarantees = []
    for stage in found.stages:
        with placed(stage.place):
            guarantees.append(stage.guarantee(found.relation))
    with placed(found.file):
        whole = total(guarantees)
    return opened, whole, {**given, "label": given["label"] or found.file}


def _closing(spend: Spend) -> str:
    """Return which ways of spending a spend has closed, if any."""
    return f"; it closes the ways {', '.join(spend.closed)}" if spend.closed else ""


def _left(opened: Ledger) -> str:
    shares = ", ".join(_percent(one.remaining) for one in opened.status().budgets)
    return f"{shares} of the budget left"


def _percent(share: Fraction) -> str:
    return f"{below(100 * share, 4)} %"
