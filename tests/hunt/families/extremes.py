"""Parameters of any size: every answer is a bracket, and every refusal has a type."""

from __future__ import annotations

import math
from fractions import Fraction

from dpproof.accountant import Bound
from tests.hunt.case import Case
from tests.hunt.draw import Draw, text


def _any(draw: Draw) -> str:
    """A positive number of any size, exact or a float."""
    exponent = draw.integer(-20, 20) if draw.rarely(2) else draw.integer(-400, 400)
    if draw.rarely(3) and abs(exponent) <= 300:
        return f"1e{exponent}"
    return text(Fraction(draw.integer(1, 99)) * Fraction(10) ** exponent)


def _share(draw: Draw) -> str:
    """A number in (0, 1), at any distance from both."""
    tiny = Fraction(draw.integer(1, 9), 10 ** draw.integer(1, 400))
    return draw.choose(("0.5", text(tiny), text(1 - tiny)))


def _release(draw: Draw) -> str:
    x, y = _any(draw), _any(draw)
    return draw.choose(
        (
            f"PureDP(epsilon={x})",
            f"GDP(mu={x})",
            f"ZCDP(rho={x})",
            f"BoundedRange(epsilon={x})",
            f"ApproxDP(epsilon={x}, delta={_share(draw)})",
            f"RDP(points=[(1 + Fraction({x}), {y})])",
            f"PrivacyProfile(points=[({x}, {_share(draw)})])",
            f"mechanisms.Gaussian(sigma={x}, sensitivity=L2({y})).guarantee()",
            f"mechanisms.Laplace(scale={x}, sensitivity=L1({y})).guarantee()",
            f"mechanisms.DiscreteLaplace(scale={x}, sensitivity=L1(1)).guarantee()",
            f"mechanisms.RandomizedResponse(epsilon={x}, relation=AddRemove()).guarantee()",
        )
    )


def _law(draw: Draw) -> str:
    return draw.choose(
        (
            f"BinomialRuns(trials={draw.integer(1, 10**5)}, probability={_share(draw)})",
            f"TruncatedNegativeBinomial(eta={_any(draw)}, gamma={_share(draw)})",
            f"PoissonRuns(rate={_any(draw)})",
            f"FixedRuns(count={draw.integer(1, 10**4)})",
        )
    )


def _pipeline(draw: Draw) -> str:
    base = _release(draw)
    kind = draw.integer(0, 5)
    if kind == 1:
        rate = Fraction(draw.integer(1, 9), 10 ** draw.integer(1, 330))
        rate = 1 - rate if draw.rarely(2) else rate
        return f"subsample_poisson({base}, Poisson(sampling_rate={text(rate)}))"
    if kind == 2:
        return f"self_compose({base}, {10 ** draw.integer(0, 13)})"
    if kind == 3:
        return f"compose({base}, {_release(draw)})"
    if kind == 4:
        return f"group({base}, size={10 ** draw.integer(0, 12)})"
    if kind == 5 and base.startswith(("ZCDP", "RDP")):
        return f"select({base}, {_law(draw)})"
    return base


def _question(draw: Draw) -> str:
    return draw.choose(
        (
            f"delta(epsilon={_any(draw)})",
            f"epsilon(delta={_share(draw)})",
            "advantage()",
            f"rdp(order={text(1 + Fraction(10) ** draw.integer(-20, 20))})",
            f"true_positive_rate(false_positive_rate={_share(draw)})",
        )
    )


def _judge(answer: object) -> str:
    if not isinstance(answer, Bound):
        return f"not a bracket: {answer!r}"
    wrong = math.isnan(answer.lower) or math.isnan(answer.upper) or answer.upper < 0.0
    return f"no bracket: {answer}" if wrong else ""


def draw(source: Draw) -> Case:
    """A question with extreme numbers."""
    return Case(f"{_pipeline(source)}.{_question(source)}", _judge)
