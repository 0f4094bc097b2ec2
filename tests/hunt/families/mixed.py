"""Noise known by a formula beside a finite pair: a sum over the finite outcomes is the truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from tests.hunt.case import Case
from tests.hunt.closed import Floored, Laplacian, Logistic, Normal
from tests.hunt.draw import Draw, text
from tests.hunt.laws import Neighbours
from tests.hunt.parts import part
from tests.hunt.questions import Pipeline, ask
from tests.hunt.truth import MP, DeltaAlone, Real, real

Profile = Callable[[Real], Real]


@final
@dataclass(frozen=True)
class Beside(DeltaAlone):
    """A finite mechanism and noise with a formula on the same data.

    Attributes:
        neighbours: the finite laws.
        forward: the noise's delta at any real epsilon, where the first dataset has the record.
        backward: the same in the other order.
    """

    neighbours: Neighbours
    forward: Profile
    backward: Profile

    def delta(self, epsilon: Real) -> Real:
        """The mean over finite outcomes of the noise's delta at what their loss leaves."""
        return max(
            sum(
                real(p) * (noise(epsilon - MP.log(real(p) / real(q))) if q else 1)
                for p, q in zip(*pair, strict=True)
                if p
            )
            for pairs, noise in (
                (self.neighbours.forward, self.forward),
                (self.neighbours.backward, self.backward),
            )
            for pair in pairs
        )


def _size(draw: Draw) -> Fraction:
    """A moderate size, sometimes far below all others."""
    if draw.rarely(4):
        return Fraction(1, 2 ** draw.integer(1, 300))
    return Fraction(draw.integer(1, 24), 8)


def _noise(draw: Draw) -> tuple[str, Profile, Profile]:
    """A guarantee, and its delta in both orders."""
    size, kind = _size(draw), draw.integer(0, 4)
    if kind == 0:
        profile = Logistic(real(size)).delta
        return f"BoundedRange(epsilon={text(size)})", profile, profile
    if kind == 1:
        profile = Laplacian(real(size)).delta
        metric = f"MetricDP(epsilon={text(size)})"
        noise = f"mechanisms.Laplace(scale={text(1 / size)}, sensitivity=L1(1)).guarantee()"
        return draw.choose((metric, noise)), profile, profile
    size = max(size, Fraction(1, 2**40))
    if kind == 2:
        profile = Normal(real(size)).delta
        return f"GDP(mu={text(size)})", profile, profile
    folded = kind == 4
    floor = size**2 / 2 if folded else Fraction(draw.integer(0, 16), 8)
    truth = Floored(real(size), real(floor), 2 if folded else 1)
    squared = f"mu_squared=Fraction({text(size**2)})"
    pair = f"FoldedGaussianPair({squared})"
    if not folded:
        pair = f"FlooredGaussianPair({squared}, floor=Fraction({text(floor)}))"
    source = f"DominatingPair(forward=Product.of({pair}), backward=Product.of({pair}.swapped()))"
    return source, truth.delta, truth.reversed_delta


def draw(source: Draw) -> Case:
    """Both together, in either order."""
    finite, (noise, forward, backward) = part(source), _noise(source)
    both = [finite.source, noise]
    if source.rarely(2):
        both.reverse()
    truth = Beside(finite.neighbours, forward, backward)
    made = Pipeline(f"compose({', '.join(both)})", truth, finite.attained)
    return ask(source, made, ("delta", "epsilon", "advantage"))
