"""Words for sums of rounds whose noise is correlated by a factor of a matrix."""

from collections.abc import Callable, Mapping

from dpproof import mechanisms
from dpproof.accountant import L2Contribution, ParameterError, Relation
from dpproof.mechanisms.correlated.factors import Factor, Participation
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.pipeline.kinds.kind import Kind, ReleaseParameters

_NOISE = (("noise_multiplier",), ("sigma", "contribution"))
_PARTICIPATIONS = (("separation",), ("batches",))


def _matrix(
    words: str,
    factor: Callable[[ReleaseParameters], Factor],
    needed: tuple[str, ...],
    *,
    bands: bool = False,
) -> Kind:
    """Return the kind of a factor: its parameters, the noise, and when a record takes part."""

    def build(release: ReleaseParameters) -> Mechanism[Relation]:
        made, values = factor(release), release.values
        multiplier = values.get("noise_multiplier")
        return mechanisms.MatrixMechanism(
            factor=made,
            sigma=values["sigma"] if multiplier is None else multiplier,
            sensitivity=L2Contribution(values.get("contribution", 1), release.relation),
            participation=_participation(release, made.rounds),
        )

    return Kind(
        words=words,
        forms=tuple((*noise, *needed, *often) for often in _PARTICIPATIONS for noise in _NOISE),
        additions=((("participations",),), *([(("bands",),)] if bands else [])),
        build=build,
    )


def _participation(release: ReleaseParameters, rounds: int) -> Participation:
    """Return in which rounds a record takes part."""
    most, batches = release.values.get("participations"), release.values.get("batches")
    if batches is None:
        times = None if most is None else int(most)
        return mechanisms.MinSeparation(int(release.values["separation"]), participations=times)
    if most is not None:
        allowed = "left out with batches: a record takes part once in every epoch"
        raise ParameterError("participations", most, allowed)
    if rounds % batches:
        raise ParameterError("batches", batches, f"a divisor of rounds = {rounds}")
    return mechanisms.FixedEpochs(rounds // int(batches))


def _rounds(release: ReleaseParameters) -> int:
    return int(release.values["rounds"])


def _square_root(release: ReleaseParameters) -> Factor:
    bands = release.values.get("bands")
    most = None if bands is None else int(bands)
    return mechanisms.SquareRoot(rounds=_rounds(release), bands=most)


def _toeplitz(release: ReleaseParameters) -> Factor:
    first, *others = release.rows["coefficients"]
    if others:
        raise ParameterError("coefficients", len(others) + 1, "one array of numbers in an array")
    return mechanisms.Toeplitz(first, rounds=_rounds(release))


def _buffered(release: ReleaseParameters) -> Factor:
    weights, decays = zip(*release.rows["buffers"], strict=True)
    return mechanisms.BufferedToeplitz(weights=weights, decays=decays, rounds=_rounds(release))


KINDS: Mapping[str, Kind] = {
    "square-root-factor": _matrix(
        "noise by the square root of prefix sums", _square_root, ("rounds",), bands=True
    ),
    "toeplitz-factor": _matrix("noise by a Toeplitz factor", _toeplitz, ("coefficients", "rounds")),
    "buffered-factor": _matrix(
        "noise by a buffered Toeplitz factor", _buffered, ("buffers", "rounds")
    ),
    "triangular-factor": _matrix(
        "noise by a triangular factor",
        lambda given: mechanisms.LowerTriangular(given.rows["factor"]),
        ("factor",),
    ),
    "tree-aggregation": _matrix(
        "tree aggregation", lambda given: mechanisms.Tree(rounds=_rounds(given)), ("rounds",)
    ),
}
