"""Certificates: the checker verifies what the library writes, and refuses what is untrue.

A certificate of a finite mechanism is checked as it is, and again with its claim lowered to below
the truth, everywhere that the number occurs: then no honest checker can accept it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction

from dpproof import proofs
from dpproof.proofs.certificate import Certificate
from tests.hunt.case import Case
from tests.hunt.draw import Draw, text
from tests.hunt.families import formulas
from tests.hunt.families.data import rows
from tests.hunt.families.products import composed
from tests.hunt.families.samples import sampled
from tests.hunt.laws import Neighbours, best_of_runs
from tests.hunt.parts import Part
from tests.hunt.questions import Pipeline
from tests.hunt.restated import restated
from tests.hunt.runs import runs
from tests.hunt.truth import MP, Real, real

Claims = Callable[[dict[str, str]], bool]
"""Whether a claim is false of the mechanism."""


def draw(source: Draw) -> Case:
    """A certificate of a composition, a sample, a guarantee in some notion, or of noise."""
    if source.rarely(3):
        return _asked(source, source.choose((formulas.one, formulas.sample))(source))
    return _asked(source, source.choose((composed, _one, _stated))(source).pipeline())


def draw_selected(source: Draw) -> Case:
    """A certificate of the best of several runs of a base known by its Renyi curve."""
    table, law = rows(source, zeros=False), runs(source)
    score = [source.integer(0, 2) for _ in table[0]]
    truth = Neighbours.of_rows([best_of_runs(row, law.generating, score) for row in table])
    stated = restated(source, table, kind="renyi")
    part = Part(f"select({stated}, {law.source})", truth, attained=False)
    return _asked(source, part.pipeline())


def _one(draw: Draw) -> Part:
    return sampled(draw, extreme=draw.rarely(4))


def _stated(draw: Draw) -> Part:
    table = rows(draw)
    return Part(restated(draw, table), Neighbours.of_rows(table), attained=False)


def _asked(draw: Draw, pipeline: Pipeline) -> Case:
    """Which number is certified."""
    truth = pipeline.truth
    kind = draw.integer(0, 3)
    if kind == 0:
        delta = Fraction(1, 10 ** draw.integer(1, 9))
        return _case(
            f"{pipeline.source}.certify(delta={text(delta)})",
            lambda claim: truth.delta(_number(claim, "epsilon")) > _number(claim, "delta"),
        )
    if kind == 1:
        epsilon = draw.positive()
        return _case(
            f"{pipeline.source}.certify(epsilon={text(epsilon)})",
            lambda claim: truth.delta(_number(claim, "epsilon")) > _number(claim, "delta"),
        )
    if kind == 2:
        return _case(
            f"{pipeline.source}.certify(advantage=True)",
            lambda claim: truth.delta(MP.mpf(0)) > _number(claim, "advantage"),
        )
    rate = draw.fraction_below_one()
    return _case(
        f"{pipeline.source}.certify(false_positive_rate={text(rate)})",
        lambda claim: truth.power(rate) > _number(claim, "true_positive_rate"),
    )


def _number(claim: dict[str, str], name: str) -> Real:
    return real(Fraction(claim[name]))


def _case(source: str, false_where_known: Claims) -> Case:
    def is_false(claim: dict[str, str]) -> bool:
        try:
            return false_where_known(claim)
        except NotImplementedError:
            return False

    def judge(answer: object) -> str:
        if not isinstance(answer, Certificate):
            return f"no certificate: {answer!r}"
        verdict = proofs.check(answer)
        if isinstance(verdict, proofs.Rejected):
            return f"rejected at step {verdict.step}, {verdict.rule}: {verdict.reason}"
        if is_false(dict(answer.claim)):  # type: ignore[arg-type]  # its numbers are texts
            return f"verified, and false: {verdict.claim}"
        return _forged(answer, verdict, is_false)

    return Case(source, judge)


def _forged(certificate: Certificate, before: proofs.Verdict, is_false: Claims) -> str:
    """What is wrong if the checker believes the same proof of less, from the same assumptions."""
    written = certificate.to_json()
    for name in ("epsilon", "delta", "advantage", "true_positive_rate"):
        old = certificate.claim.get(name)
        if not isinstance(old, str) or old in {"0", "1"}:
            continue
        for share in (Fraction(1, 2), Fraction(99, 100), 1 - Fraction(1, 10**6)):
            lowered = written.replace(f'"{old}"', f'"{Fraction(old) * share}"')
            claim = json.loads(lowered)["claim"]
            if not is_false(claim):
                continue
            after = proofs.check_text(lowered)
            if not isinstance(after, proofs.Rejected) and _assumed(after) == _assumed(before):
                return f"{name} lowered to {float(share):g} of itself is verified, and false"
    return ""


def _assumed(verdict: proofs.Verdict) -> tuple[str, ...]:
    """What a verdict takes for granted."""
    return verdict.assumptions if isinstance(verdict, proofs.VerifiedUnder) else ()
