"""What the tests of this folder share."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath

from tests.proofs.support import Object, factor, facts, gaussian, pairs


def response(epsilon: str, infinite: str = "0", categories: int = 2) -> Object:
    """A randomised-response factor."""
    fields = {"epsilon": epsilon, "categories": categories, "infinite": infinite}
    return factor("randomized-response", **fields)  # type: ignore[arg-type]


def sampled(removal: bool, mu_squared: str = "1", rate: str = "1/10") -> Object:  # noqa: FBT001
    """A subsampled Gaussian factor."""
    fields = {"mu_squared": mu_squared, "sampling_rate": rate, "removal": removal}
    return factor("subsampled-gaussian", **fields)  # type: ignore[arg-type]


def finite(p: list[str], q: list[str], count: int = 1) -> Object:
    """A finite factor."""
    return factor("finite", count, p=p, q=q)


ONE = gaussian("1")

RESPONSES = factor("randomized-response", 20, epsilon="1/2", categories=2, infinite="0")


def gaussian_delta(mu: float, epsilon: float) -> Fraction:
    """The profile of mu-GDP to 30 digits."""
    with mpmath.workdps(40):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        value = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
        return Fraction(int(value * 10**30), 10**30)


def response_delta(count: int, loss: Fraction, epsilon: Fraction) -> Fraction:
    """The profile of composed randomised response by enumeration, to 30 digits."""
    with mpmath.workdps(40):
        p = mpmath.e ** _mp(loss) / (1 + mpmath.e ** _mp(loss))
        total = mpmath.mpf(0)
        for k in range(count + 1):
            ratio = _mp((2 * k - count) * loss)
            mass = mpmath.binomial(count, k) * p**k * (1 - p) ** (count - k)
            total += mass * max(mpmath.mpf(0), 1 - mpmath.e ** (_mp(epsilon) - ratio))
        return Fraction(int(total * 10**30), 10**30)


def _mp(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def near(value: Fraction, relative: str) -> str:
    """A value moved by a relative amount, as the certificate writes it."""
    return str(value * (1 + Fraction(relative)))


GAUSS = gaussian_delta(1, 1)

GAUSS_TEN = gaussian_delta(10**0.5, 3)

MANY = response_delta(20, Fraction(1, 2), Fraction(2))


def least(product: list[Object], epsilon: str, delta: str) -> Object:
    """A lower bound of a product."""
    said = {"product": product, "epsilon": epsilon, "delta": delta}
    return {"notion": "hockey-stick-at-least", **said}


RESPONSE = factor("randomized-response", epsilon="1", categories=2, infinite="0")

LAPLACE = factor("laplace", epsilon="1/2")


def drawn(direction: str, base: list[Object], count: int = 1) -> Object:
    """A factor of what is released on a sample of one record in four."""
    return factor("sampled", count, base=base, sampling_rate="1/4", direction=direction)


def side(*runs: tuple[int, int], lines: tuple[Object, ...] = ()) -> Object:
    """One side of a table."""
    return {"runs": [{"stride": a, "count": n} for a, n in runs], "lines": list(lines)}


def table(forward: Object, backward: Object, span: str, level: str = "0") -> Object:
    """A table as the witness of a factor."""
    return {"span": span, "level": level, "forward": forward, "backward": backward}


def sampled_response_delta(count: int, epsilon: Any, *, removal: bool) -> Fraction:  # noqa: ANN401
    """The profile of sampled randomised response, composed, by enumeration to 30 digits."""
    with mpmath.workdps(40):
        e, q = mpmath.e, mpmath.mpf(1) / 4
        p = [e / (1 + e), 1 / (1 + e)]
        mixed = [(1 - q) * p[1 - i] + q * p[i] for i in range(2)]
        first, second = (
            (mixed, p[::-1])
            if removal
            else (p, [(1 - q) * a + q * b for a, b in zip(p, p[::-1], strict=True)])
        )
        total = mpmath.mpf(0)
        for k in range(count + 1):
            over = first[0] ** k * first[1] ** (count - k)
            under = second[0] ** k * second[1] ** (count - k)
            gap = over - mpmath.e**epsilon * under
            total += mpmath.binomial(count, k) * max(mpmath.mpf(0), gap)
        return Fraction(int(total * 10**30), 10**30)


REMOVED = drawn("removal", [RESPONSE], 10)

ADDED = drawn("addition", [RESPONSE], 10)

FINE = table(side((1, 150)), side((1, 100)), "1/256", "1/100")

DELTA_REMOVED = sampled_response_delta(10, 1, removal=True)

DELTA_ADDED = sampled_response_delta(10, 1, removal=False)

DEEP = {"c": "2", "step": "1/4", "nodes": 40, "tau": "0"}

BOTH = drawn("removal", [gaussian("1"), LAPLACE])

GEOMETRIC: Object = {"kind": "truncated-negative-binomial", "eta": "1", "gamma": "1/10"}

TWO: Object = {"kind": "binomial", "trials": 2, "probability": "1"}

SOME: Object = {"kind": "finite", "probabilities": ["1/4", "1/4", "1/2"]}

FEW: Object = {"kind": "finite", "probabilities": ["1/2", "1/4", "1/4"]}

BASE = pairs([RESPONSE])

EDGE = facts([RESPONSE], ("0", "1/2"), ("1", "0"))  # known at log t = -1, 0, 1: places 1, 2, 3

ONE_WAY, OTHER_WAY = [sampled(True, rate="1/2")], [sampled(False, rate="1/2")]

TILTED = (
    pairs(ONE_WAY, OTHER_WAY),
    facts(ONE_WAY, ("0", "1/5"), ("1", "1/9"), ("5", "1/1000")),
    facts(OTHER_WAY, ("0", "1/5"), ("1/2", "1/40"), ("1", "0")),
)

TOLD = finite(["1/2", "1/2", "0"], ["0", "1/2", "1/2"])

WIDE = finite(["1/100", "37/50", "1/4", "0"], ["0", "1/4", "37/50", "1/100"])

SURE = finite(["1"], ["1"])
