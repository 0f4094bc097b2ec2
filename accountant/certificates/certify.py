"""Make the certificate of one number."""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace
from typing import Any

from dpproof.accountant import answers, arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.enclosure import float_down, float_up
from dpproof.accountant.certificates import lower_ends
from dpproof.accountant.certificates.choose import Point, distinct
from dpproof.accountant.certificates.conversions import raise_numbers
from dpproof.accountant.certificates.prove import (
    prove_advantage,
    prove_divergence,
    prove_point,
    prove_true_positive_rate,
)
from dpproof.accountant.certificates.serialize import UNCERTIFIED, factors
from dpproof.accountant.certificates.steps import Steps
from dpproof.accountant.errors import NotCertified, ParameterError
from dpproof.accountant.guarantees.dominating_pair import PairGuarantee
from dpproof.accountant.guarantees.guarantee import Guarantee, renyi_order
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.ranges import composes_ranges
from dpproof.accountant.subsampling.allocated import AllocatedGaussianPair, as_largest, is_allocated
from dpproof.accountant.subsampling.bracketed import BracketedPair, expanded
from dpproof.accountant.subsampling.counted_gaussians import CountedGaussiansPair
from dpproof.accountant.subsampling.subsampled import SubsampledPair
from dpproof.proofs.certificate import Certificate, Step


def checked(certificate: Certificate) -> Certificate:
    """Return a certificate that the checker verifies.

    Raises:
        NotCertified: the checker rejects it, with its reason.
    """
    from dpproof.proofs import kernel  # noqa: PLC0415  # flint loads when a certificate is made
    from dpproof.proofs.core import verdict  # noqa: PLC0415  # as above

    answer = kernel.check_text(certificate.to_json())
    if isinstance(answer, verdict.Rejected):
        raise NotCertified(
            f"the checker rejects the certificate that was written ({answer.rule}: "
            f"{answer.reason}), so there is none; {UNCERTIFIED}"
        )
    return certificate


def certify(
    guarantee: Guarantee[Any],
    *,
    delta: Number | None = None,
    epsilon: Number | None = None,
    order: Number | None = None,
    false_positive_rate: Number | None = None,
    advantage: bool = False,
    lower: bool = False,
) -> Certificate:
    """Prove one number of a guarantee, or the guarantee's own statement when none is asked for.

    The number is at or above the guarantee's upper end. It is raised by a relative 1e-6 at most
    where the losses are smooth or on a lattice (an epsilon below 1e-3 counts as 1e-3). Rough
    losses, attacks on few rare samples, Renyi divergences of samples and composed bounded ranges
    may need a few per cent, selections 1e-4 or more. A delta below 1e-31 may be proved as one of
    at most 1e-30. The claim says the number that holds, and the checker has verified it.

    Args:
        guarantee: what is to be certified.
        delta: where epsilon is asked for, in [0, 1]; a delta that is no float is rounded down.
        epsilon: where delta is asked for, at or above 0; rounded down likewise.
        order: where the Renyi divergence is asked for, above 1.
        false_positive_rate: where the true-positive rate of attacks is asked for, in [0, 1];
            rounded up.
        advantage: whether the total variation is asked for.
        lower: prove the lower end of the same number instead: a fact about the dominating pair,
            that two outputs with these laws differ by at least so much, and about the mechanism
            only if it attains the pair (``guarantee.attained``). The rate of false positives is
            then rounded down.
    Raises:
        ParameterError: several are given, or one is out of range.
        NotCertified: no rule of the checker covers a theorem in the derivation, or the number is
            infinite, no proof comes near it, or the checker rejects what was written.
    """
    return checked(
        unchecked(
            guarantee,
            delta=delta,
            epsilon=epsilon,
            order=order,
            false_positive_rate=false_positive_rate,
            advantage=advantage,
            lower=lower,
        )
    )


def unchecked(
    guarantee: Guarantee[Any],
    *,
    delta: Number | None = None,
    epsilon: Number | None = None,
    order: Number | None = None,
    false_positive_rate: Number | None = None,
    advantage: bool = False,
    lower: bool = False,
) -> Certificate:
    """Return what ``certify`` does, for callers who let the checker verify it themselves."""
    questions = (delta, epsilon, order, false_positive_rate, advantage or None)
    if sum(given is not None for given in questions) > 1:
        raise ParameterError("delta", delta, "given, or else another question", "choose one")
    if lower and not any(given is not None for given in questions):
        raise ParameterError("lower", lower, "with a question", "give delta, epsilon or another")
    if isinstance(guarantee, PairGuarantee):
        _refuse_without_moments(distinct(guarantee.to_pair()), None if lower else order)
    if lower:
        epsilon = 0 if advantage else epsilon  # the advantage is delta at epsilon = 0
        products = _products_with_rules(guarantee)
        return Certificate(_lower(products, delta, epsilon, order, false_positive_rate))
    guarantee, proofs = raise_numbers(guarantee)
    steps = Steps(proofs)
    if order is not None:
        prove_divergence(steps, guarantee, renyi_order(order=order))
    elif false_positive_rate is not None:
        rate = float_up(arguments.probability(false_positive_rate=false_positive_rate))
        prove_true_positive_rate(steps, guarantee, rate)
    elif advantage:
        prove_advantage(steps, guarantee)
    elif delta is not None:
        prove_point(steps, guarantee, _at_delta(guarantee, delta))
    elif epsilon is not None:
        exact = float_down(arguments.non_negative(epsilon=epsilon))
        point = Point(epsilon=exact, delta=guarantee.delta(epsilon=exact).upper, moves=False)
        prove_point(steps, guarantee, point)
    else:
        steps.derive(guarantee.derivation)
    return Certificate(_named(steps.listed, guarantee.derivation.label))


def _named(listed: list[Step], label: str) -> tuple[Step, ...]:
    """Return the steps, the claim with its mechanism's label if no step has it."""
    *before, last = listed
    if label and "steps" in last.conclusion and all(step.label != label for step in listed):
        last = replace(last, label=label)
    return (*before, last)


def _at_delta(guarantee: Guarantee[Any], delta: object) -> Point:
    """Return the point to prove if epsilon is queried at a delta."""
    exact = float_down(arguments.probability(delta=delta))
    epsilon = guarantee.epsilon(delta=exact).upper
    if math.isinf(epsilon):
        raise NotCertified(
            f"{guarantee.describe()} has no finite epsilon at delta = {exact:g}: there is "
            "nothing to certify; try a larger delta"
        )
    return Point(epsilon=epsilon, delta=exact, moves=True)


def _products_with_rules(guarantee: Guarantee[Any]) -> list[Product]:
    """Return the different directions of a dominating pair; refuse pairs without a rule."""
    if not isinstance(guarantee, PairGuarantee):
        raise NotCertified(
            f"{guarantee.describe()} has no dominating pair to bound from below; ask for the upper "
            "end"
        )
    products = [expanded(product, high=False) for product in distinct(guarantee.to_pair())]
    for product in products:
        if composes_ranges(product):
            raise NotCertified(
                "composed bounded ranges have no one pair that attains their profile, so that no "
                "lower end is certified; certify one part, or ask for the bracket"
            )
        factors(product)  # what no rule covers is refused before its number is computed
    return products


def _refuse_without_moments(products: list[Product], order: Number | None) -> None:
    """Refuse samples of allocated rounds, and Renyi divergences of what tables alone know.

    Their tables end where delta is negligible, and what lies beyond rules a Renyi divergence.
    """
    above = (expanded(product, high=True) for product in products)
    pairs = [factor.pair for product in above for factor in product.factors]
    if any(isinstance(pair, SubsampledPair) and is_allocated(pair.base) for pair in pairs):
        raise NotCertified(
            "the checker knows no moments of allocated rounds, and no samples of them; certify "
            f"them without a sample, or {UNCERTIFIED}"
        )
    pairs += [factor.pair for product in products for factor in product.factors]
    tabled = AllocatedGaussianPair | CountedGaussiansPair | BracketedPair
    if order is not None and any(isinstance(pair, tabled) for pair in pairs):
        raise NotCertified(
            "Renyi divergences of allocated rounds, and of samples in which a record counts "
            "several times or pushes another one out, are not certified: the checker's tables of "
            f"them end, and what lies beyond matters; ask for epsilon at a delta, or {UNCERTIFIED}"
        )


def _lower(
    products: list[Product],
    delta: Number | None,
    epsilon: Number | None,
    order: Number | None,
    false_positive_rate: Number | None,
) -> tuple[Step, ...]:
    """Return the lower end of one number, after the steps that lead to it."""
    points = delta is not None or epsilon is not None
    if not points and any(lower_ends.needs_cells(x) or lower_ends.has_reports(x) for x in products):
        raise NotCertified(
            "of batches of an epoch and of shuffled reports the lower ends of epsilon and of delta "
            "are certified, and no others; ask for one of them"
        )
    if false_positive_rate is not None:
        return _lower_power(products, false_positive_rate)
    if order is not None:
        return (_lower_renyi(products, order),)
    return (_lower_point(products, delta, epsilon),)


def _lower_point(products: list[Product], delta: Number | None, epsilon: Number | None) -> Step:
    """Return the fact about the lower end of the direction with the larger number."""
    if any(map(is_allocated, products)) and not any(map(lower_ends.needs_cells, products)):
        with contextlib.suppress(NotCertified):  # cells of the largest coordinate may do
            fact = _larger(products, delta, epsilon, by_largest=False)
            return checked(Certificate((fact,))).steps[0]
    by_largest = any(map(lower_ends.needs_cells, products)) or any(map(is_allocated, products))
    return _larger(products, delta, epsilon, by_largest=by_largest)


def _larger(
    products: list[Product], delta: Number | None, epsilon: Number | None, *, by_largest: bool
) -> Step:
    """Return the fact, of batches of an epoch by the largest coordinate if that is asked for."""
    used = [as_largest(product) if by_largest else product for product in products]
    fact = lower_ends.lower_fact_by_cells if by_largest else lower_ends.lower_fact
    if any(map(lower_ends.has_reports, products)):
        fact = lower_ends.lower_fact_of_reports
    if delta is not None:
        wanted = float_up(arguments.probability(delta=delta))
        ends = [answers.epsilon(product, wanted).lower for product in used]
        place = max(range(len(ends)), key=ends.__getitem__)
        if not (wanted and 0 < ends[place] < math.inf):
            raise NotCertified(
                f"epsilon at delta = {wanted:g} has no finite lower end above 0: there is nothing "
                "to certify; try another delta"
            )
        return fact(products[place], ends[place], wanted, moves=True)
    at = float_up(arguments.non_negative(epsilon=epsilon))
    ends = [answers.delta(product, at).lower for product in used]
    place = max(range(len(ends)), key=ends.__getitem__)
    return fact(products[place], at, ends[place], moves=False)


def _lower_power(products: list[Product], false_positive_rate: Number) -> tuple[Step, ...]:
    """Return the facts about the power of a test for the direction with the larger power."""
    rate = float_down(arguments.probability(false_positive_rate=false_positive_rate))
    powers = [answers.true_positive_rate(product, rate).lower for product in products]
    place = max(range(len(powers)), key=powers.__getitem__)
    if not (0.0 < rate < powers[place] < 1.0):
        raise NotCertified(
            f"the true-positive rate at {rate:g} has no lower end between that and 1: there is "
            "nothing to certify; try another rate"
        )
    return lower_ends.power_facts(products[place], rate, powers[place])


def _lower_renyi(products: list[Product], order: Number) -> Step:
    """Return the fact about the larger direction's Renyi divergence, from below."""
    exact = renyi_order(order=order)
    divergences = [answers.renyi(product, float(exact)).lower for product in products]
    place = max(range(len(divergences)), key=divergences.__getitem__)
    if divergences[place] == math.inf:
        raise NotCertified(
            f"the Renyi divergence of order {float(exact):.6g} is infinite: there is nothing to "
            "certify; try a smaller order"
        )
    return lower_ends.renyi_fact(products[place], exact)
