"""The shuffle model: what local reports in a random order cost."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.derivation import Derivation, Theorem
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import ReplaceOne
from dpproof.accountant.sampling import Shuffle
from dpproof.accountant.side_conditions import (
    CATEGORIES,
    OUTPUT_ALONE,
    RANDOM_BITS,
    SHUFFLED_REPORTS,
)
from dpproof.accountant.subsampling.shuffled_reports import Reports, ShuffledReportsPair

_LARGEST: Final = 32  # Nats; beyond it shuffling hides nothing.

SHUFFLE_RANDOMIZED_RESPONSE: Final = Theorem(
    rule="shuffle/randomized-response",
    source="proofs/theory/shuffle_model.md, Theorem 1",
    attained=Attained.WHOLE,  # all others alike: the lower ends are of that pair
    written="shuffled_reports",
)


def shuffle_randomized_response(
    *, epsilon: Number, categories: int, scheme: Shuffle, relation: ReplaceOne
) -> DominatingPair[ReplaceOne]:
    """Release how often each category occurs among reports by randomised response.

    Statement: let n persons report one of k categories each by randomised response, and only the
        histogram of the reports be released, or the reports in a random order. It is dominated by
        the privacy blanket: B of the n - 1 others report a uniformly random category, B ~ Bin(n -
        1, k/(e^epsilon + k - 1)), and the person reports hidden among these.
        From below: let all others have a third category, or, if k = 2, the person's own.
    Source: proofs/theory/shuffle_model.md; Balle, Bell, Gascon & Nissim, arXiv:1903.02837. The pair
        of three atoms (user, or not) that circulates for k > 2 is false.
    Rounds: outwards; blocks of counts are bounded together.
    Assumes: categories; shuffled reports; random bits; output alone.
    Laws: one report is no better than randomised response; more records cost less.

    Args:
        epsilon: of each report, above 0 and at most 32.
        categories: k, from 2.
        scheme: the public number of records.
        relation: replace-one, under which it is public.
    Returns:
        One pair per direction, of which one pair above and one below are known.
    Raises:
        NotImplied: under another relation.
        ParameterError: an argument outside its domain.
    Example:
        >>> shuffled = shuffle_randomized_response(
        ...     epsilon=1, categories=4, scheme=Shuffle(records=10_000), relation=ReplaceOne()
        ... )
        >>> cost = shuffled.epsilon(delta=1e-6)
        >>> round(cost.lower, 3), round(cost.upper, 3)
        (0.034, 0.034)
    """
    _require_replace_one(relation)
    exact, kinds = _within(epsilon), arguments.count(categories=categories)
    if not 2 <= kinds <= 1 << 50:
        raise ParameterError("categories", categories, "from 2 to 2^50")
    return _guarantee(
        Reports(scheme.records, exact, kinds),
        applied(
            SHUFFLE_RANDOMIZED_RESPONSE,
            f"{scheme.records} shuffled reports by randomised response at epsilon {show(exact)} on "
            f"{kinds} categories ({relation})",
            assumptions=(
                CATEGORIES(categories=kinds),
                SHUFFLED_REPORTS(records=scheme.records),
                RANDOM_BITS(),
                OUTPUT_ALONE(),
            ),
            epsilon=exact,
            categories=kinds,
            records=scheme.records,
        ),
    )


SHUFFLE_PURE: Final = Theorem(
    rule="shuffle/pure-dp",
    source="proofs/theory/shuffle_model.md, Theorem 2",
    attained=Attained.NO,  # no randomiser is known that does
    again=lambda premises, given: shuffle_pure(
        premises[0], scheme=Shuffle(records=given["records"])
    ),
    written="shuffled_reports",
)


def shuffle_pure(report: PureDP[ReplaceOne], *, scheme: Shuffle) -> DominatingPair[ReplaceOne]:
    """Release local reports in a random order, each of them epsilon-DP.

    Statement: let n persons report by one randomiser that is epsilon-DP for any two records, and
        only the reports in a random order be released. Each other report is a clone of either of
        the person's two reports with probability e^-epsilon: of C ~ Bin(n - 1, e^-epsilon) clones
        a uniformly random number is of either, and the person's own bit is hidden among them, told
        with probability e^epsilon/(e^epsilon + 1).
    Source: proofs/theory/shuffle_model.md; Feldman, McMillan & Talwar, arXiv:2012.12803. The
        probability 2/(e^epsilon + 1) of arXiv:2208.04591 is published, not proved here, and unused.
    Rounds: outwards; blocks of counts are bounded together.
    Assumes: shuffled reports.
    Laws: more records cost less; never better than randomised response on two categories.

    Args:
        report: what is stated of one report, of a dataset of one record.
        scheme: the public number of records.
    Returns:
        One pair, the same in both directions.
    Raises:
        NotImplied: under another relation than replace-one.
        ParameterError: not a PureDP, or its epsilon is not above 0 and at most 32.
    Example:
        >>> from dpproof.accountant import PureDP
        >>> report = PureDP(epsilon=1, relation=ReplaceOne())
        >>> shuffle_pure(report, scheme=Shuffle(records=10_000)).epsilon(delta=1e-6).upper < 0.07
        True
    """
    if not isinstance(report, PureDP):
        raise ParameterError("report", report, "PureDP(...)", "convert(report, to=PureDP)")
    _require_replace_one(report.relation)
    return _guarantee(
        Reports(scheme.records, _within(report.stated_epsilon), 0),
        applied(
            SHUFFLE_PURE,
            f"{scheme.records} shuffled reports, each {report.describe()} ({report.relation})",
            report,
            assumptions=(SHUFFLED_REPORTS(records=scheme.records),),
            records=scheme.records,
        ),
    )


def _guarantee(reports: Reports, derivation: Derivation) -> DominatingPair[ReplaceOne]:
    """Return one pair for both directions, of two categories the larger order from below."""
    pair = Product.of(ShuffledReportsPair(reports=reports, removal=False))
    return DominatingPair(forward=pair, backward=pair, relation=ReplaceOne(), derivation=derivation)


def _within(epsilon: Number) -> Fraction:
    """Return the epsilon of one report."""
    exact = Fraction(arguments.positive(epsilon=epsilon))
    if exact > _LARGEST:
        raise ParameterError(
            "epsilon", epsilon, f"at most {_LARGEST}", "beyond it shuffling hides next to nothing"
        )
    return exact


def _require_replace_one(relation: object) -> None:
    """Refuse relations under which the number of records is not public, or nothing is proved."""
    if not isinstance(relation, ReplaceOne):
        raise NotImplied(
            "shuffled reports have a guarantee under ReplaceOne(), where the number of records is "
            f"public, got {type(relation).__name__}: what they reveal under other relations, only "
            "publications say; state the report under ReplaceOne()"
        )
