"""From a derivation to the steps of a certificate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final, final

from accountant.certify.hockey import Point, distinct, prove
from accountant.certify.json_form import Object, conclusion, run_law
from accountant.certify.renyi import ROOM, rdp_witness, renyi_point, selected_witness
from accountant.certify.restate import gdp_witness, zcdp_witness
from accountant.certify.selection import selected
from accountant.certify.shown import Shown
from accountant.certify.threshold import stopped
from accountant.derivation import Derivation
from accountant.errors import NotCertified
from accountant.guarantees.approx_dp import ApproxDP
from accountant.guarantees.bounded_range import BoundedRange
from accountant.guarantees.dominating_pair import DominatingPair
from accountant.guarantees.gdp import GDP
from accountant.guarantees.guarantee import Guarantee
from accountant.guarantees.pair_guarantee import FaithfulPairGuarantee, PairGuarantee
from accountant.guarantees.points import lower_hull
from accountant.guarantees.privacy_profile import PrivacyProfile
from accountant.guarantees.pure_dp import PureDP
from accountant.guarantees.rdp import RDP
from accountant.guarantees.renyi_guarantee import RenyiGuarantee
from accountant.guarantees.rounding import floats_around
from accountant.guarantees.zcdp import ZCDP
from accountant.runs.law import RunLaw
from proofs.certificate import Json, Step, show_rational

_SELECTIONS: Final = {"select/pair": selected, "select/above": stopped}
_SAME_NAME: Final = frozenset(
    {
        "mechanism/gaussian",
        "mechanism/laplace",
        "mechanism/discrete-laplace",
        "mechanism/discrete-gaussian",
        "mechanism/discrete-gaussian-zcdp",
        "mechanism/randomized-response",
        "mechanism/exponential",
        "state/pure-dp",
        "state/approx-dp",
        "state/bounded-range",
        "state/gdp",
        "state/zcdp",
        "state/rdp",
        "state/privacy-profile",
        "state/trade-off",
        "state/dominating-pair",
        "dominate/gdp",
        "dominate/pure-dp",
        "dominate/approx-dp",
        "dominate/bounded-range",
        "dominate/privacy-profile",
        "dominate/trade-off",
        "compose/gdp",
        "compose/zcdp",
        "compose/rdp",
        "compose/pair",
        "repeat/gdp",
        "repeat/zcdp",
        "repeat/rdp",
        "repeat/pair",
        "parallel",
        "post-process",
        "subsample/poisson",
        "select/pure",
        "subsample/without-replacement",
        "group/pure-dp",
        "group/approx-dp",
        "group/bounded-range",
        "group/gdp",
        "group/zcdp",
        "group/rdp",
        "group/pair",
        "convert/pure-approx",
        "convert/approx-pure",
        "convert/pure-bounded-range",
        "convert/pure-zcdp",
        "convert/pure-gdp",
        "convert/bounded-range-pure",
        "convert/bounded-range-zcdp",
        "convert/gdp-zcdp",
        "convert/profile-trade-off",
    }
)


@final
@dataclass(slots=True)
class Steps:
    """The steps so far; a derivation that was added already is cited, not repeated."""

    shown: Mapping[int, Shown] = field(default_factory=dict)  # by id of the derivation
    listed: list[Step] = field(default_factory=list)
    _places: dict[int, tuple[int, int]] = field(default_factory=dict)
    _kept: list[Derivation] = field(default_factory=list)  # an id is only good for what lives

    def derive(self, derivation: Derivation) -> tuple[int, int]:
        """Add a derivation with everything it rests on.

        Returns:
            Its position, and how many steps of its relation its datasets are apart.
        Raises:
            NotCertified: no rule of the checker covers some theorem in it.
        """
        stack = [derivation]
        while stack:
            node = stack[-1]
            missing = [one for one in node.premises if id(one) not in self._places]
            if id(node) in self._places or not missing:
                stack.pop()
                if id(node) not in self._places:
                    proof = self.shown.get(id(node))
                    self._places[id(node)] = self._shown(proof) if proof else self._node(node)
                    self._kept.append(node)
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
        """Add facts, which have no premises."""
        self.listed.extend(steps)
        return list(range(len(self.listed) - len(steps), len(self.listed)))

    def _node(self, node: Derivation) -> tuple[int, int]:
        """One theorem application whose premises are there already."""
        if not isinstance(node.conclusion, Guarantee):
            raise NotCertified(f"the derivation does not say what {node.rule} concludes")
        premises = [self._places[id(one)] for one in node.premises]
        apart = {steps for _, steps in premises} or {1}
        if len(apart) > 1:
            raise NotCertified(
                f"{node.rule} joins guarantees about one record with others about groups; group "
                "the total, or every part alike"
            )
        (steps,) = apart
        parameters = {name: _json(value) for name, value in node.parameters}
        if node.rule.startswith("group/"):
            steps *= int(str(dict(node.parameters)["size"]))
        places = [place for place, _ in premises]
        if node.rule == "convert/pair-pure":
            return self._to_pure(node, node.conclusion, steps)
        if node.rule in {"convert/pair-gdp", "convert/pair-zcdp"}:
            return self._restated(node, node.conclusion, steps)
        if node.rule.startswith("compose/") and len(places) == 1:
            if not isinstance(node.conclusion, RDP):
                return premises[0]
            said = conclusion(node.conclusion, steps)
            return self.add("convert/rdp-rdp", said, places, {}), steps
        curves = {"convert/notion-rdp": self._to_rdp, "select/rdp": self._to_selected_rdp}
        if node.rule in curves:
            return curves[node.rule](node, node.conclusion, places, steps)
        if node.rule not in _SAME_NAME:
            raise NotCertified(
                f"no rule of the certificates covers {node.rule} ({node.statement}) yet; certify "
                "what it was applied to"
            )
        return self.add(node.rule, conclusion(node.conclusion, steps), places, parameters), steps

    def _shown(self, shown: Shown) -> tuple[int, int]:
        """The steps that show a conversion to raised numbers."""
        premise, apart = self._places[id(shown.premise.derivation)]
        before = len(self.listed) - 1
        for step in shown.steps(apart):
            places = (before + one if one else premise for one in step.premises)
            self.listed.append(replace(step, premises=tuple(sorted(places))))
        return len(self.listed) - 1, apart * shown.size

    def _to_pure(self, node: Derivation, found: Guarantee[Any], steps: int) -> tuple[int, int]:
        """The largest loss of the pairs of what is known."""
        known = node.premises[0].conclusion
        if not isinstance(known, PairGuarantee):
            raise NotCertified(f"no rule leads from {node.premises[0].statement} to a largest loss")
        place, _ = self.derive(known.to_pair().derivation)
        return self.add("convert/pair-pure", conclusion(found, steps), [place], {}), steps

    def _restated(self, node: Derivation, found: Guarantee[Any], steps: int) -> tuple[int, int]:
        """The smallest mu or rho of the pairs of what is known."""
        known = node.premises[0].conclusion
        if not isinstance(known, PairGuarantee):
            raise NotCertified(f"no rule leads from {node.premises[0].statement} to {node.rule}")
        pair = known.to_pair()
        place, _ = self.derive(pair.derivation)
        if isinstance(found, GDP):
            witness = gdp_witness(pair, float(found.mu), found.mu_squared)
        elif isinstance(found, ZCDP):
            witness = zcdp_witness(pair, float(found.rho))
        else:
            raise NotCertified(f"{node.rule} concludes neither mu-GDP nor rho-zCDP")
        return self.add(node.rule, conclusion(found, steps), [place], witness), steps

    def _to_rdp(
        self, node: Derivation, found: Guarantee[Any], places: list[int], steps: int
    ) -> tuple[int, int]:
        """Renyi points of a pair, of zCDP, or of other points."""
        known, said = node.premises[0].conclusion, conclusion(found, steps)
        if isinstance(known, ZCDP):
            return self.add("convert/zcdp-rdp", said, places, {}), steps
        if isinstance(known, RDP):
            return self.add("convert/rdp-rdp", said, places, {}), steps
        if isinstance(known, BoundedRange):
            return self.add("convert/bounded-range-rdp", said, places, {}), steps
        if not isinstance(known, PairGuarantee) or not isinstance(found, RDP):
            raise NotCertified(f"no rule leads from {node.premises[0].statement} to Renyi points")
        pair = known.to_pair()
        place, _ = self.derive(pair.derivation)
        orders = [order for order, _ in found.points]
        return self.add("convert/pair-rdp", said, [place], rdp_witness(pair, orders)), steps

    def _to_selected_rdp(
        self, node: Derivation, found: Guarantee[Any], places: list[int], steps: int
    ) -> tuple[int, int]:
        """Where the derivation's bounds are not above what convexity implies, and the rest."""
        base, given = node.premises[0].conclusion, dict(node.parameters)
        if not isinstance(base, RenyiGuarantee) or not isinstance(found, RDP):
            raise NotCertified(f"the derivation does not say what was selected from: {node.rule}")
        names = dict(zip((a for a, _ in found.points), str(given["bounds"]).split(), strict=True))
        scaled = lower_hull(
            [(Fraction(0), Fraction(0)), *((a - 1, (a - 1) * r) for a, r in found.points)]
        )
        corners = RDP(points=[(x + 1, y / x) for x, y in scaled if x], relation=found.relation)
        hints = [(names[order], order) for order, _ in corners.points]
        witness = selected_witness(base, _law(given), hints)
        place = self.add("select/rdp", conclusion(corners, steps), places, witness)
        if corners.points == found.points:
            return place, steps
        return self.add("convert/rdp-rdp", conclusion(found, steps), [place], {}), steps


def prove_point(steps: Steps, guarantee: Guarantee[Any], point: Point) -> None:
    """Add the steps that prove a guarantee and a point (epsilon, delta) of it.

    Raises:
        NotCertified: no rule covers some theorem, or no proof comes near the point.
    """
    if isinstance(guarantee, PairGuarantee):
        if _is_stated(guarantee, point):
            _prove_stated(steps, guarantee, point)
        else:
            _prove_pair(steps, guarantee.to_pair(), point)
    elif isinstance(guarantee, RenyiGuarantee):
        _prove_renyi(steps, guarantee, point)
    else:
        raise NotCertified(f"certificates do not know {type(guarantee).__name__}")


def prove_divergence(steps: Steps, guarantee: Guarantee[Any], order: Fraction) -> None:
    """Add the steps that prove a guarantee's Renyi divergence at one order.

    Raises:
        NotCertified: it is infinite or unknown, or no rule covers some theorem.
    """
    value = guarantee.rdp(order=order).upper
    if math.isinf(value):
        raise NotCertified(
            f"{guarantee.describe()} has no finite Renyi divergence at order {float(order):g}"
        )
    exact = guarantee.divergence_up(order) if isinstance(guarantee, RenyiGuarantee) else None
    least = Fraction(value) * (1 + ROOM) + ROOM**2 if exact is None else exact
    claim = RDP(points=((order, least),), relation=guarantee.relation)
    if isinstance(guarantee, RenyiGuarantee):
        rule = "convert/zcdp-rdp" if isinstance(guarantee, ZCDP) else "convert/rdp-rdp"
        place, apart = steps.derive(guarantee.derivation)
        steps.add(rule, conclusion(claim, apart), [place], {})
    elif isinstance(guarantee, FaithfulPairGuarantee):
        pair = guarantee.to_pair()
        place, apart = steps.derive(pair.derivation)
        steps.add("convert/pair-rdp", conclusion(claim, apart), [place], rdp_witness(pair, [order]))
    elif isinstance(guarantee, BoundedRange):
        place, apart = steps.derive(guarantee.derivation)
        steps.add("convert/bounded-range-rdp", conclusion(claim, apart), [place], {})
    else:
        raise NotCertified(f"certificates do not know {type(guarantee).__name__}")


def _prove_pair(steps: Steps, pair: DominatingPair[Any], point: Point) -> None:
    if pair.derivation.rule in _SELECTIONS:
        _prove_selection(steps, pair, point)
        return
    place, apart = steps.derive(pair.derivation)
    epsilon, delta, facts = prove(distinct(pair), point)
    claim = ApproxDP(epsilon=epsilon, delta=delta, relation=pair.relation)
    places = steps.facts(facts)
    steps.add("convert/pair-approx", conclusion(claim, apart), [place, *places], {})


def _prove_selection(steps: Steps, pair: DominatingPair[Any], point: Point) -> None:
    """By the checker's bound, or where a pure base has a smaller epsilon, by that."""
    base, *pure = pair.derivation.premises
    runs = _law(dict(pair.derivation.parameters))
    if not isinstance(base.conclusion, DominatingPair):
        raise NotCertified(f"the derivation does not say what was selected from: {base.statement}")
    closed = [one.conclusion for one in pure if runs.corner_is_worst]
    show = _SELECTIONS[pair.derivation.rule]
    found = None if closed and not point.delta else show(base.conclusion, runs, point)
    for one in closed:
        if isinstance(one, PureDP) and (found is None or one.stated_epsilon <= found.epsilon):
            least = max(floats_around(one.stated_epsilon)[1], point.epsilon)
            _prove_stated(steps, one, Point(least, point.delta, moves=False))
            return
    if found is None:
        raise NotCertified(f"no closed form is known of {pair.derivation.statement}")
    place, apart = steps.derive(base)
    profile = PrivacyProfile(points=((found.epsilon, found.delta),), relation=pair.relation)
    places = steps.facts(found.facts)
    shown = steps.add(found.rule, conclusion(profile, apart), [place, *places], found.witness)
    claim = ApproxDP(epsilon=found.epsilon, delta=found.delta, relation=pair.relation)
    steps.add("convert/point", conclusion(claim, apart), [shown], {})


def _is_stated(guarantee: PairGuarantee[Any], point: Point) -> bool:
    return any(
        x <= Fraction(point.epsilon) and y <= Fraction(point.delta)
        for x, y in guarantee.stated_points()
    )


def _prove_stated(steps: Steps, guarantee: PairGuarantee[Any], point: Point) -> None:
    place, apart = steps.derive(guarantee.derivation)
    claim = ApproxDP(
        epsilon=Fraction(point.epsilon), delta=Fraction(point.delta), relation=guarantee.relation
    )
    steps.add("convert/point", conclusion(claim, apart), [place], {})


def _prove_renyi(steps: Steps, guarantee: RenyiGuarantee[Any], point: Point) -> None:
    place, apart = steps.derive(guarantee.derivation)
    epsilon, delta, order = renyi_point(guarantee, point)
    claim = ApproxDP(epsilon=epsilon, delta=delta, relation=guarantee.relation)
    witness: Object = {"order": show_rational(order)}
    steps.add("convert/renyi-approx", conclusion(claim, apart), [place], witness)


def _law(parameters: Mapping[str, object]) -> RunLaw:
    runs = parameters["runs"]
    if not isinstance(runs, RunLaw):
        raise NotCertified(f"the derivation does not say how many runs there are: {runs!r}")
    return runs


def _json(value: Fraction | int | str | RunLaw) -> Json:
    if isinstance(value, RunLaw):
        return run_law(value)
    return show_rational(value) if isinstance(value, Fraction) else value
