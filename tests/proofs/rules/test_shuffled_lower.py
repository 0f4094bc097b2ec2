"""Lower bounds of shuffled reports, against the laws themselves."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import mpmath
import pytest
from flint import arb

from dpproof import proofs
from dpproof.accountant import BallsInBins, NotCertified, PureDP, ReplaceOne, Shuffle, compose
from dpproof.accountant.theorems.allocation import allocate_random
from dpproof.accountant.theorems.parallel import shuffle_pure, shuffle_randomized_response
from dpproof.proofs import Rejected
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.pairs.pair import ShuffledReportsPair

RULE = "at-least/shuffled-reports"
Object = dict[str, Any]
Law = dict[tuple[int, ...], Any]


def pair(categories: int, records: int, *, removal: bool = True, epsilon: str = "1") -> Object:
    """A pair of shuffled reports in JSON."""
    said: Object = {"epsilon": epsilon, "categories": categories, "records": records}
    return {"kind": "shuffled-reports", **said, "removal": removal}


def single_counts(of: Object) -> list[int]:
    """Blocks of one count each; of two categories there are none."""
    first, last = int(of["categories"] > 0), of["records"] + 1
    return [] if of["categories"] == 2 else list(range(first, last + 1))


def document(of: Object, delta: str, epsilon: str = "1/4", **changes: Any) -> Object:  # noqa: ANN401
    """A certificate of one fact, blocks of single counts."""
    claim: Object = {"notion": "hockey-stick-at-least", "epsilon": epsilon, "delta": delta}
    claim["product"] = changes.pop("product", [{"count": 1, "pair": of}])
    witness = changes if "blocks" in changes else {"blocks": single_counts(of)}
    step: Object = {"rule": RULE, "premises": [], "witness": witness}
    step["conclusion"] = claim
    certificate = template()
    certificate.update(steps=[step], claim=claim)
    return certificate


def template() -> Object:
    """The frame of a certificate."""
    report = PureDP(epsilon=1, relation=ReplaceOne())
    loaded: Object = json.loads(report.certify().to_json())
    return loaded


def verdict(given: Object) -> Any:  # noqa: ANN401
    """What the checker says."""
    return proofs.check_text(json.dumps(given))


def _response(truth: int, of: Object) -> list[Any]:
    power = mpmath.exp(mpmath.mpf(Fraction(of["epsilon"]).numerator))
    total = power + of["categories"] - 1
    return [(power if k == truth else 1) / total for k in range(of["categories"])]


def histograms(of: Object, own: int) -> Law:
    """The law of the numbers of reports of the first two categories."""
    other = 2 if of["categories"] > 2 else int(of["removal"])
    law: Law = {}
    for reports in product(range(of["categories"]), repeat=of["records"]):
        chance = _response(own, of)[reports[0]]
        for one in reports[1:]:
            chance *= _response(other, of)[one]
        seen = (reports.count(0), reports.count(1))
        law[seen] = law.get(seen, 0) + chance
    return law


def clones(of: Object, own: int) -> Law:
    """The law of a number of clones, and of how many are of the first report."""
    law: Law = {}
    told = 1 / (1 + mpmath.exp(-1 if own == 0 else 1))
    share, trials = mpmath.exp(-1), of["records"] - 1
    for count in range(trials + 1):
        for heads in range(count + 1):
            chance = math.comb(trials, count) * share**count * (1 - share) ** (trials - count)
            chance *= mpmath.mpf(math.comb(count, heads)) / 2**count
            for bit in (0, 1):
                seen = count, heads + bit
                law[seen] = law.get(seen, 0) + chance * (told if bit else 1 - told)
    return law


def truth(of: Object, epsilon: float) -> Fraction:
    """The divergence of the laws, to 40 digits."""
    with mpmath.workdps(50):
        law = histograms if of["categories"] else clones
        p, q, t = law(of, 0), law(of, 1), mpmath.exp(epsilon)
        total = mpmath.fsum(max(chance - t * q[seen], 0) for seen, chance in p.items())
        return Fraction(int(total * 10**40), 10**40)


CASES = [
    pair(2, 1),
    pair(2, 6),
    pair(2, 6, removal=False),
    pair(3, 1),
    pair(3, 5),
    pair(4, 4),
    pair(3, 5, epsilon="2"),
    pair(0, 1),
    pair(0, 7),
]


@pytest.mark.parametrize("of", CASES, ids=str)
@pytest.mark.parametrize("epsilon", ["0", "1/4", "3/4"])
def test_accepts_the_truth_and_nothing_above(of: Object, epsilon: str) -> None:
    """With blocks of single counts the bound is the divergence, to 15 digits."""
    exact = truth(of, float(Fraction(epsilon)))
    if exact < Fraction(1, 10**20):
        return
    near, above = exact * (1 - Fraction(1, 10**15)), exact * (1 + Fraction(1, 10**30))

    assert verdict(document(of, str(near), epsilon)).ok
    found = verdict(document(of, str(above), epsilon))
    assert isinstance(found, Rejected)
    assert "is at least" in found.reason


@pytest.mark.parametrize("of", [pair(3, 5), pair(0, 7)], ids=str)
def test_wide_blocks_prove_less(of: Object) -> None:
    """A block is bounded by its worst count: still below the truth."""
    exact = truth(of, 0.25)
    blocks = [1, 3, of["records"] + 1]

    assert isinstance(verdict(document(of, str(exact), blocks=blocks)), Rejected)
    assert verdict(document(of, str(exact / 3), blocks=blocks)).ok


THREE = pair(3, 5)
MUTANTS: dict[str, tuple[Object, str]] = {
    "more reports": (document(pair(3, 6), str(truth(THREE, 0.25))), ""),
    "more noise": (document(pair(3, 5, epsilon="3/4"), str(truth(THREE, 0.25))), ""),
    "another category": (document(pair(4, 5), str(truth(THREE, 0.25))), ""),
    "few blocks": (document(THREE, str(truth(THREE, 0.25)), blocks=[2, 3]), ""),
    "no blocks": (document(THREE, "0", blocks=[]), "ends of blocks"),
    "blocks of two categories": (document(pair(2, 5), "0", blocks=[1, 2]), "ends of blocks"),
    "blocks that fall": (document(THREE, "0", blocks=[2, 1]), "must grow"),
    "blocks from nothing": (document(THREE, "0", blocks=[0, 2]), "begin at 1"),
    "no loss": (document(THREE, "0", "5/4"), "no loss above"),
    "many reports": (document(THREE | {"records": 10**9}, "0", blocks=[1, 2]), "fewer"),
    "a large epsilon": (document(pair(3, 5, epsilon="33"), "0"), "at most 32"),
    "twice": (document(THREE, "0", product=[{"count": 2, "pair": THREE}]), "once"),
    "nothing": (document(THREE, "0", product=[]), "once"),
    "a Gaussian": (
        document(
            THREE, "0", product=[{"count": 1, "pair": {"kind": "gaussian", "mu_squared": "1"}}]
        ),
        "shuffled reports",
    ),
    "one category": (document(pair(1, 5), "0"), "two categories"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_rejects_mutants(name: str) -> None:
    """Whatever would prove more than the laws hold, or another rule's question."""
    given, reason = MUTANTS[name]
    found = verdict(given)

    assert isinstance(found, Rejected)
    assert reason in found.reason


def verdicts() -> list[Any]:
    """What the checker says of the truth, of nothing at the largest loss, and of all mutants."""
    true = [document(of, str(truth(of, 0.25) * Fraction(999, 1000))) for of in CASES]
    false = [given for given, _ in MUTANTS.values()]
    return [verdict(one) for one in (*true, document(THREE, "0", "1"), *false)]


def test_nothing_is_above_the_largest_loss() -> None:
    """There the bound is 0, and accepted as that."""
    assert verdict(document(THREE, "0", "1")).ok
    assert isinstance(verdict(document(THREE, "1/1000000", "1")), Rejected)


def _clones(records: int) -> Any:  # noqa: ANN401
    report = PureDP(epsilon=1, relation=ReplaceOne())
    return shuffle_pure(report, scheme=Shuffle(records=records))


def _of(categories: int) -> Callable[[int], Any]:
    def made(records: int) -> Any:  # noqa: ANN401
        scheme = Shuffle(records=records)
        return shuffle_randomized_response(
            epsilon=1, categories=categories, scheme=scheme, relation=ReplaceOne()
        )

    return made


@pytest.mark.parametrize("make", [_of(2), _of(3), _of(10), _clones], ids=["2", "3", "10", "0"])
@pytest.mark.parametrize("records", [1, 30, 2_000, 1_000_000])
def test_certifies_the_engines_lower_end(make: Callable[[int], Any], records: int) -> None:
    """Within a relative 1e-6, and no falsified number passes."""
    delta = 1e-3 if records < 100 else 1e-6
    guarantee = make(records)
    wanted = guarantee.epsilon(delta=delta).lower
    given = json.loads(guarantee.certify(delta=delta, lower=True).to_json())
    said = Fraction(given["claim"]["epsilon"])

    assert wanted * (1 - 1e-6) <= said <= wanted
    assert verdict(given).ok
    false = str(said * Fraction(101, 100))
    given["claim"]["epsilon"] = given["steps"][0]["conclusion"]["epsilon"] = false
    assert isinstance(verdict(given), Rejected)


def test_certifies_delta_and_rounds_that_a_record_draws() -> None:
    """Delta at an epsilon, advantage, and the same bits of allocated rounds."""
    report = PureDP(epsilon=1)
    for guarantee in (_clones(50), allocate_random(report, BallsInBins(steps=20, epochs=1))):
        delta = guarantee.delta(epsilon=0.25).lower
        claim = proofs.check(guarantee.certify(epsilon=0.25, lower=True))
        assert claim.ok
        said = json.loads(guarantee.certify(epsilon=0.25, lower=True).to_json())["claim"]
        assert delta * (1 - 1e-6) <= Fraction(said["delta"]) <= delta
        assert proofs.check(guarantee.certify(advantage=True, lower=True)).ok


def test_the_pair_has_no_moments_and_is_swapped() -> None:
    """Swapped, others have the other category of two; else the pair is its own swap."""
    for categories, removal in ((0, True), (2, True), (2, False), (3, True)):
        pair = ShuffledReportsPair(Fraction(1), categories, 10, removal)
        assert pair.swapped().swapped() == pair
        assert (pair.swapped() == pair) is (categories != 2)
        for ask in (pair.moments, pair.profile):
            with pytest.raises(RefusedError):
                ask(arb(1))


def test_refuses_what_the_rule_does_not_cover() -> None:
    """Compositions, orders and rates, by type."""
    guarantee = _clones(50)
    for question in ({"order": 2}, {"false_positive_rate": 0.1}):
        with pytest.raises(NotCertified, match="no others"):
            guarantee.certify(**question, lower=True)
    with pytest.raises(NotCertified, match="alone, and once"):
        compose(guarantee, guarantee).certify(delta=1e-3, lower=True)
