"""Write the steps of a certificate from a derivation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final, TypeAlias, final

from dpproof.accountant.arithmetic.hull import lower_hull
from dpproof.accountant.certificates import single_number
from dpproof.accountant.certificates.base_profile import (
    RangeParts,
    Substitutes,
    finite_guarantee,
    single_finite_pair,
    with_logistic,
)
from dpproof.accountant.certificates.best_of_runs import pairs_above_best
from dpproof.accountant.certificates.conversions import ProvedGuarantee
from dpproof.accountant.certificates.finite_pairs import (
    Aim,
    finite_base_pairs,
    finite_mixture_pairs,
    pair_above_reports,
)
from dpproof.accountant.certificates.serialize import (
    UNCERTIFIED,
    Object,
    conclusion,
    run_law,
    scheme,
    unsaid,
)
from dpproof.accountant.certificates.threshold import pairs_above_threshold
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.guarantees.derivation import Derivation, Parameter
from dpproof.accountant.guarantees.dominating_pair import GDP, DominatingPair, PairGuarantee
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.pure_dp import BoundedRange
from dpproof.accountant.guarantees.rdp import RDP, ZCDP, RenyiGuarantee
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.run_counts.law import RunLaw
from dpproof.accountant.sampling import OneStepScheme
from dpproof.proofs.certificate import Json, Step, show_rational
from dpproof.proofs.limits import MAX_LABEL

Proved: TypeAlias = Guarantee[Any]
Place: TypeAlias = tuple[int, int]
"""The position of a step, and how many steps of its relation its datasets are apart."""


@final
@dataclass(slots=True)
class Steps:
    """The steps so far; a derivation that was added already is cited, not repeated."""

    # Conversions to raised numbers, by id of their derivation.
    raised: Mapping[int, ProvedGuarantee] = field(default_factory=dict)
    # Purpose of finite pairs above selections; without a tail there are none.
    aim: Aim = field(default_factory=Aim)
    # A composition whose bounded ranges are counted together, if any.
    ranges: RangeParts | None = None
    substitutes: Substitutes = field(default_factory=Substitutes)
    listed: list[Step] = field(default_factory=list)
    _places: dict[int, tuple[int, int]] = field(default_factory=dict)
    _kept: list[Derivation] = field(default_factory=list)  # an id is only good for what lives

    def derive(self, derivation: Derivation) -> Place:
        """Add a derivation with all that it rests on; return its place and distance."""
        stack = [derivation]
        while stack:
            node = stack[-1]
            missing = [one for one in self._needed(node) if id(one) not in self._places]
            if id(node) in self._places or not missing:
                stack.pop()
                if id(node) not in self._places:
                    self._places[id(node)] = self._step(node)
                    self._kept.append(node)
                    self._label(node)
            else:
                stack.extend(reversed(missing))
        return self._places[id(derivation)]

    def add(self, rule: str, concluded: Object, premises: Sequence[int], witness: Object) -> int:
        """Add one step; its premises are put in increasing order."""
        step = Step(
            rule=rule, conclusion=concluded, premises=tuple(sorted(premises)), witness=witness
        )
        self.listed.append(step)
        return len(self.listed) - 1

    def facts(self, steps: list[Step]) -> list[int]:
        """Add facts, which have no premises, and return their positions."""
        self.listed.extend(steps)
        return list(range(len(self.listed) - len(steps), len(self.listed)))

    def _label(self, node: Derivation) -> None:
        """Put the label of a derivation on its step, beside one that is there."""
        place, _ = self._places[id(node)]
        previous = self.listed[place].label
        if node.label and node.label != previous:
            both = f"{previous}; {node.label}" if previous else node.label
            self.listed[place] = replace(self.listed[place], label=both[:MAX_LABEL])

    def _step(self, node: Derivation) -> Place:
        """Add the step of one derivation, whose premises are listed already."""
        proof = self.raised.get(id(node))
        if proof:
            return self._raised(proof)
        if not isinstance(node.conclusion, Guarantee):
            raise NotCertified(unsaid(node.rule))
        produce = PRODUCERS.get(node.theorem.written)
        if produce is None:
            raise NotCertified(
                f"certificates cannot prove yet that it is {node.statement} (by {node.rule}); "
                f"certify the parts that it is made of, or {UNCERTIFIED}"
            )
        premises = [self._places[id(one)] for one in self._needed(node)]
        apart = {steps for _, steps in premises} or {1}
        if len(apart) > 1:
            raise NotCertified(
                f"{node.rule} joins guarantees about one record with others about groups; group "
                "the total, or every part alike"
            )
        (steps,) = apart
        if node.rule.startswith("group/"):
            steps *= int(str(dict(node.parameters)["size"]))
        elif node.rule == "restrict/relation":
            steps //= int(str(dict(node.parameters).get("size", 1)))
        if self.ranges and node is self.ranges.root:
            produce = Steps.with_ranges
        return produce(self, node, node.conclusion, [place for place, _ in premises], steps)

    def _needed(self, node: Derivation) -> tuple[Derivation, ...]:
        """Return the premises that its step cites: of the best of some runs, the first alone."""
        if self.ranges and node is self.ranges.root:
            return tuple(part for part, _ in self.ranges.parts)
        return node.premises[:1] if node.rule == "select/pair" else node.premises

    def plain(self, node: Derivation, proved: Proved, places: list[int], steps: int) -> Place:
        """Add a step of the theorem's own name, whose witness is its parameters."""
        parameters = {name: _json(value) for name, value in node.parameters}
        said = conclusion(self.substitutes.substituted(proved), steps)
        name = node.rule.replace("repeat/", "compose/")  # of one part, so many times
        return self.add(name, said, places, parameters), steps

    def composed(self, node: Derivation, proved: Proved, places: list[int], steps: int) -> Place:
        """Add a composition; cite one part as it is, or restate it at the orders queried."""
        if len(places) > 1:
            return self.plain(node, proved, places, steps)
        if not isinstance(proved, RDP):
            return places[0], steps
        return self.add("convert/rdp-rdp", conclusion(proved, steps), places, {}), steps

    def with_ranges(self, _: Derivation, proved: Proved, places: list[int], steps: int) -> Place:
        """Add a composition whose bounded ranges are counted together."""
        if not (isinstance(proved, DominatingPair) and self.ranges):
            raise NotCertified(unsaid("a composition of bounded ranges that is no pair"))
        forward, backward, witness = self.ranges.written(places, self.substitutes)
        self.substitutes.products[proved.forward] = forward
        self.substitutes.products[proved.backward] = backward
        said = conclusion(self.substitutes.substituted(proved), steps)
        return self.add("compose/ranges", said, places, witness), steps

    def _selected(
        self, node: Derivation, proved: Guarantee[Any]
    ) -> tuple[DominatingPair[Any], DominatingPair[Any], RunLaw]:
        """Return the base, the pair of the selection, and the law of the number of runs."""
        base = node.premises[0].conclusion
        if not isinstance(base, DominatingPair) or not isinstance(proved, DominatingPair):
            raise NotCertified(unsaid("a selection from what is no pair"))
        if not (self.aim.tail and base.forward.factors and base.backward.factors):
            raise NotCertified(
                "of a selection beside something else, or from below, certificates prove epsilon "
                f"at a delta above 0, or delta, where its runs reveal something; {UNCERTIFIED}"
            )
        base = with_logistic(self.substitutes.of(base))
        return base, proved, law_of(dict(node.parameters))

    def filtered(self, node: Derivation, proved: Proved, places: list[int], steps: int) -> Place:
        """Add a budget that was spent from, with what was spent."""
        said = conclusion(proved, steps)
        return self.add(node.rule, said, places, single_number.filter_witness(node, proved)), steps

    def first_above(self, node: Derivation, proved: Proved, places: list[int], steps: int) -> Place:
        """Add bounds of the base's profile, and a finite pair above the selection."""
        base, released, runs = self._selected(node, proved)
        (place,) = places[:1]
        forward, backward, facts, witness = pairs_above_threshold(base, runs, self.aim)
        self.substitutes.add(released, forward, backward)
        said = conclusion(finite_guarantee(released, forward, backward), steps)
        return self.add("select/above-pair", said, [place, *self.facts(facts)], witness), steps

    def best_of_runs(
        self, node: Derivation, proved: Proved, places: list[int], steps: int
    ) -> Place:
        """Add a finite pair above the base, unless it is one, and one above the selection."""
        base, released, runs = self._selected(node, proved)
        (place,) = places[:1]
        forward, backward = single_finite_pair(base.forward), single_finite_pair(base.backward)
        if forward is None or backward is None:
            forward, backward, facts = finite_base_pairs(
                base, self.aim.tail / max(runs.mean, 1.0), self.aim.selections or 1
            )
            above = conclusion(finite_guarantee(base, forward, backward), steps)
            place = self.add("dominate/pair", above, [place, *self.facts(facts)], {})
        forward, backward, witness = pairs_above_best(forward, backward, runs, self.aim)
        self.substitutes.add(released, forward, backward)
        said = conclusion(finite_guarantee(released, forward, backward), steps)
        return self.add("select/pair", said, [place], witness), steps

    def mixed(self, node: Derivation, proved: Proved, places: list[int], steps: int) -> Place:
        """Add bounds of the profiles of all parts, and a finite pair above their mixture."""
        if not isinstance(proved, DominatingPair) or not self.aim.tail:
            raise NotCertified(
                f"a choice among unequal parts ({node.rule}) is certified for epsilon at a delta "
                f"above 0, and for delta; {UNCERTIFIED}"
            )
        parts, shares = [], dict.fromkeys(places, Fraction(0))
        listed: Any = dict(node.parameters)["weights"]
        for place, one, weight in zip(places, node.premises, listed, strict=True):
            shares[place] += weight
            if not isinstance(one.conclusion, DominatingPair):
                raise NotCertified(unsaid(one.statement))
            parts.append((weight, with_logistic(self.substitutes.of(one.conclusion))))
        forward, backward, facts = finite_mixture_pairs(proved, parts, self.aim)
        self.substitutes.add(proved, forward, backward)
        said = conclusion(finite_guarantee(proved, forward, backward), steps)
        witness: Object = {"weights": [show_rational(shares[place]) for place in sorted(shares)]}
        return self.add(node.rule, said, [*shares, *self.facts(facts)], witness), steps

    def shuffled_reports(
        self, node: Derivation, proved: Proved, places: list[int], steps: int
    ) -> Place:
        """Add a finite pair above hidden reports, with the layers that prove it."""
        if not isinstance(proved, DominatingPair):
            raise NotCertified(unsaid(node.rule))
        above, witness = pair_above_reports(proved, self.aim)
        other = above if proved.relation.symmetric else FinitePair(p=above.q, q=above.p)
        self.substitutes.add(proved, above, other)
        said = conclusion(finite_guarantee(proved, above, other), steps)
        parameters = {name: _json(value) for name, value in node.parameters}
        return self.add(node.rule, said, places, {**parameters, **witness}), steps

    def _raised(self, proof: ProvedGuarantee) -> Place:
        """Add the steps that prove a conversion to raised numbers."""
        premise, apart = self._places[id(proof.premise.derivation)]
        before = len(self.listed) - 1
        for step in proof.steps(apart):
            places = (before + one if one else premise for one in step.premises)
            self.listed.append(replace(step, premises=tuple(sorted(places))))
        return len(self.listed) - 1, apart * proof.size

    def to_pure(self, node: Derivation, proved: Proved, _: list[int], steps: int) -> Place:
        """Add a conversion to pure DP by the largest loss of the premise's pairs."""
        place = self._pair(node)[1]
        return self.add("convert/pair-pure", conclusion(proved, steps), [place], {}), steps

    def restated(self, node: Derivation, proved: Proved, _: list[int], steps: int) -> Place:
        """Add a conversion to the smallest mu or rho of the premise's pairs."""
        pair, place = self._pair(node)
        if isinstance(proved, GDP):
            bare = single_number.unsampled(pair, proved.mu_squared)
            if bare is not None:
                pair, said = bare, conclusion(bare, steps)
                place = self.add("convert/pair-unsampled", said, [place], {})
            witness = single_number.gdp_witness(pair, float(proved.mu), proved.mu_squared)
        elif isinstance(proved, ZCDP):
            witness = single_number.zcdp_witness(pair, float(proved.rho))
        else:
            raise NotCertified(unsaid(node.rule))
        return self.add(node.rule, conclusion(proved, steps), [place], witness), steps

    def to_rdp(self, node: Derivation, proved: Proved, places: list[int], steps: int) -> Place:
        """Add Renyi points of a pair, of zCDP, or of other points."""
        premise, said = node.premises[0].conclusion, conclusion(proved, steps)
        if isinstance(premise, ZCDP):
            return self.add("convert/zcdp-rdp", said, places, {}), steps
        if isinstance(premise, RDP):
            return self.add("convert/rdp-rdp", said, places, {}), steps
        if isinstance(premise, BoundedRange):
            return self.add("convert/bounded-range-rdp", said, places, {}), steps
        pair, place = self._pair(node)
        orders = [order for order, _ in proved.points] if isinstance(proved, RDP) else []
        witness = single_number.rdp_witness(pair, orders)
        return self.add("convert/pair-rdp", said, [place], witness), steps

    def _pair(self, node: Derivation) -> tuple[DominatingPair[Any], int]:
        """Return the premise's pair and its position, if nothing is substituted in it."""
        premise = node.premises[0].conclusion
        if not isinstance(premise, PairGuarantee):
            raise NotCertified(
                f"no rule leads from {node.premises[0].statement} to {node.rule}; certify what it "
                "was applied to"
            )
        pair = premise.to_pair()
        place, _ = self.derive(pair.derivation)
        if self.substitutes.of(pair) != pair:
            what = "a pair that the checker knows from above"
            raise NotCertified(f"{node.rule} of {what} is not certified; {UNCERTIFIED}")
        return with_logistic(pair), place

    def to_selected_rdp(
        self, node: Derivation, proved: Proved, places: list[int], steps: int
    ) -> Place:
        """Add bounds at the corners of a selection's convex curve, and the rest by convexity."""
        base, parameters = node.premises[0].conclusion, dict(node.parameters)
        if not isinstance(base, RenyiGuarantee) or not isinstance(proved, RDP):
            raise NotCertified(unsaid(node.rule))
        names = dict(
            zip((a for a, _ in proved.points), str(parameters["bounds"]).split(), strict=True)
        )
        scaled = lower_hull(
            [(Fraction(0), Fraction(0)), *((a - 1, (a - 1) * r) for a, r in proved.points)]
        )
        corners = RDP(points=[(x + 1, y / x) for x, y in scaled if x], relation=proved.relation)
        hints = [(names[order], order) for order, _ in corners.points]
        witness = single_number.selected_witness(base, law_of(parameters), hints)
        place = self.add("select/rdp", conclusion(corners, steps), places, witness)
        if corners.points == proved.points:
            return place, steps
        return self.add("convert/rdp-rdp", conclusion(proved, steps), [place], {}), steps


def law_of(parameters: Mapping[str, object]) -> RunLaw:
    """Return the law of the number of runs among a theorem's parameters."""
    runs = parameters["runs"]
    if not isinstance(runs, RunLaw):
        raise NotCertified(unsaid("a selection among a number of runs without a law"))
    return runs


def _json(value: Parameter | tuple[Fraction | int, ...]) -> Json:
    """Return a parameter in the certificate's JSON."""
    if isinstance(value, RunLaw):
        return run_law(value)
    if isinstance(value, OneStepScheme):
        return scheme(value)
    if isinstance(value, tuple):
        return [_json(one) for one in value]
    return show_rational(value) if isinstance(value, Fraction) else value


Producer: TypeAlias = Callable[[Steps, Derivation, Proved, list[int], int], Place]
"""From a derivation, its conclusion, the places of its premises and how many steps of the relation
their datasets are apart, to the place of its own step and the distance of its datasets."""

PRODUCERS: Final[Mapping[str, Producer]] = {
    "plain": Steps.plain,
    "composed": Steps.composed,
    "to_pure": Steps.to_pure,
    "restated": Steps.restated,
    "to_rdp": Steps.to_rdp,
    "to_selected_rdp": Steps.to_selected_rdp,
    "best_of_runs": Steps.best_of_runs,
    "first_above": Steps.first_above,
    "mixed": Steps.mixed,
    "filtered": Steps.filtered,
    "shuffled_reports": Steps.shuffled_reports,
}
"""What writes the step of a theorem, by the name that it says (``Theorem.written``)."""
