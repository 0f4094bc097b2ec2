"""Robust accuracy as a bracket: what is certified, and what an attack leaves."""

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from dpproof.accountant import Bound, ParameterError, arguments as check
from dpproof.accountant.arguments import Number
from dpproof.learn.certified_radius import (
    LinearScores,
    Projection,
    class_of,
    fourier_radii,
    image_radii,
    lengths,
    projected_radii,
    scores_of,
    slack,
)
from dpproof.mechanisms import FourierFeatures, ScatteringFeatures
from dpproof.mechanisms.learning.records import Integers, Vectors

# Heuristic: all steps together may cross the ball of the attack this many times.
_CROSSINGS: Final = 2.5


def robust_accuracy(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    radius: Number,
    norm: str = "l2",
    steps: int = 30,
    starts: int = 2,
    seed: int = 0,
) -> Bound:
    """Return the share of rows that the model calls right wherever they move within a radius.

    Statement: at least the share of rows whose certified radius is above ``radius``, and at most
        the share of rows for which ``attack`` finds no point that the model calls something else.
    Source: Ghazi, Kumar, Manurangsi & Nguyen, arXiv:2011.14580, section 5.

    Arguments are those of ``attack``; a row with an unknown label is called wrong. As for
    ``certify_radius``, for private training rows it is another release.

    Raises:
        ParameterError: an argument outside its domain, or no rows.
    Example:
        >>> from dpproof.learn import PerceptronClassifier
        >>> model = PerceptronClassifier(sigma=2**-20, classes=[0, 1], steps=1)
        >>> _ = model.fit([[1.0, 0.0], [-1.0, 0.0]], [1, 0])
        >>> robust_accuracy(model, [[3.0, 4.0], [1.0, 0.0]], [1, 1], radius=2)
        Bound(lower=0.5, upper=0.5)
    """
    reach = float(check.non_negative(radius=radius))
    certified = certify_radius(model, X, y, norm=norm) > reach
    if not len(certified):
        raise ParameterError("X", len(certified), "at least one row")
    moved = attack(model, X, y, radius=radius, norm=norm, steps=steps, starts=starts, seed=seed)
    labels = class_of(model, moved, y)
    left = (labels >= 0) & (_predicted(model, moved) == labels)
    return Bound(float(certified.mean()), float(left.mean()))


def attack(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    radius: Number,
    norm: str = "l2",
    steps: int = 30,
    starts: int = 2,
    seed: int = 0,
) -> Vectors:
    """Move every row within a radius so that the model no longer calls it by its label, if found.

    Projected gradient descent on the gap between the label's score and that of the rival which is
    nearest for its slope, from the row itself and from random points of the ball.

    Source: Madry et al., "Towards deep learning models resistant to adversarial attacks",
        arXiv:1706.06083, section 2.1.

    Args:
        model: as for ``certify_radius``.
        X: shape (rows, features).
        y: the labels.
        radius: how far rows may be moved, at least 0, in data units.
        norm: ``"l2"`` or ``"linf"``.
        steps: of each descent.
        starts: how many descents.
        seed: of the random points.
    Returns:
        Points at most the radius from the rows; a row for which nothing was found stays.
    Example:
        >>> from dpproof.learn import PerceptronClassifier
        >>> model = PerceptronClassifier(sigma=2**-20, classes=[0, 1], steps=1)
        >>> _ = model.fit([[1.0, 0.0], [-1.0, 0.0]], [1, 0])
        >>> bool(attack(model, [[3.0, 4.0]], [1], radius=3.5)[0, 0] < 0)
        True
    """
    if norm not in NORMS:
        raise ParameterError("norm", norm, " or ".join(map(repr, NORMS)))
    reach = float(check.non_negative(radius=radius))
    scores = scores_of(model)
    if isinstance(scores.map, ScatteringFeatures):
        raise ParameterError("model", scores.map, "without scattering features: no attack on them")
    rows = scores.rows(X)
    labels = class_of(model, rows, y)
    rounds, descents = check.count(steps=steps), check.count(starts=starts)
    rng = np.random.default_rng(seed)
    moved_rows = rows.copy()
    open_ = np.flatnonzero(np.isfinite(rows).all(axis=1) & (_predicted(model, rows) == labels))
    for descent in range(descents):
        offset = _random(rng, rows[open_].shape, reach, norm) if descent else 0.0
        moved = rows[open_] + offset
        for _ in range(rounds):
            downhill = _downhill(scores, moved, labels[open_])
            moved = moved + _step(downhill, norm) * (_CROSSINGS * reach / rounds)
            moved = rows[open_] + _within(moved - rows[open_], reach, norm)
        inside = _sizes(moved - rows[open_], norm) * (1 + slack(rows.shape[1])) <= reach
        caught = inside & (_predicted(model, moved) != labels[open_])
        moved_rows[open_[caught]] = moved[caught]
        open_ = open_[~caught]
    return moved_rows


def _predicted(model: Any, rows: Vectors) -> Integers:
    """Return class numbers as the model itself computes them; -1 for rows that are not finite."""
    finite = np.isfinite(rows).all(axis=1)
    numbers = np.full(len(rows), -1)
    if finite.any():
        numbers[finite] = class_of(model, rows[finite], model.predict(rows[finite]))
    return numbers


def _downhill(scores: LinearScores, rows: Vectors, labels: Integers) -> Vectors:
    """Return minus the gradient of the gap to the rival that is nearest for the gap's slope."""
    each, values = np.arange(len(rows)), scores(rows)
    gaps = values[each, labels][:, np.newaxis] - values
    between = np.linalg.norm(scores.weights[:, np.newaxis] - scores.weights, axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        away = np.where(between[labels] > 0, gaps / between[labels], np.inf)
    rivals = away.argmin(axis=1)
    uphill = scores.weights[labels] - scores.weights[rivals]
    if isinstance(scores.map, Projection):
        return np.asarray(-scores.map.back(uphill))
    if not isinstance(scores.map, FourierFeatures):
        return np.asarray(-uphill)
    mapped, count = scores.map.apply(rows), scores.map.frequencies
    turned = uphill[:, count:] * mapped[:, :count] - uphill[:, :count] * mapped[:, count:]
    return np.asarray(-(turned @ scores.map.matrix()))


def _sizes(moves: Vectors, norm: str) -> Vectors:
    return np.asarray(np.linalg.norm(moves, ord=np.inf if norm == "linf" else 2, axis=1))


def _step(downhill: Vectors, norm: str) -> Vectors:
    """Return the direction of steepest descent of size 1 in the norm."""
    if norm == "linf":
        return np.asarray(np.sign(downhill))
    sizes = np.linalg.norm(downhill, axis=1, keepdims=True)
    return np.asarray(downhill / np.where(sizes > 0, sizes, 1.0))


def _within(moves: Vectors, reach: float, norm: str) -> Vectors:
    """Project moves on the ball, a little inside of it."""
    inner = reach * (1 - 2.0**-30)
    if norm == "linf":
        return np.clip(moves, -inner, inner)
    sizes = np.linalg.norm(moves, axis=1, keepdims=True)
    return np.asarray(moves * np.minimum(1.0, inner / np.where(sizes > 0, sizes, 1.0)))


def _random(rng: np.random.Generator, shape: tuple[int, ...], reach: float, norm: str) -> Vectors:
    """Return random points of the ball."""
    if norm == "linf":
        return rng.uniform(-reach, reach, size=shape)
    lengths = reach * rng.uniform(size=(shape[0], 1))
    return np.asarray(_step(rng.normal(size=shape), norm) * lengths)


NORMS: Final = ("l2", "linf")


def certify_radius(
    model: Any,
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    norm: str = "l2",
    curvature: bool = True,
) -> Vectors:
    """Return the distance that every row can move with the model sure to call it y, in data units.

    Statement: if ||z - x|| is below the radius, the model's scores, in exact arithmetic, are
        largest for y at z. For scores linear in x this is exact up to rounding: the least distance
        to a border, (f_y - f_c)(x) / ||w_y - w_c|| over the other classes c, with the Euclidean
        norm for ``l2`` and the sum of absolute values for ``linf``. For Fourier and scattering
        features see ``certified_radius.py``; under ``linf`` their radius
        is divided by sqrt(features).
    Source: Ghazi, Kumar, Manurangsi & Nguyen, arXiv:2011.14580, Lemmas 7 and 22; Hein &
        Andriushchenko, arXiv:1705.08475; proofs/theory/robustness.md.

    For rows of others this costs nothing. On private training rows it is another release, which
    the model's guarantee does not cover.

    Args:
        model: a fitted linear classifier with ``coef_``, ``intercept_`` and ``classes_``; a map is
            ``FourierFeatures``, ``ScatteringFeatures`` or a random projection.
        X: shape (rows, features).
        y: the labels to be kept; None takes the predicted ones.
        norm: ``"l2"`` or ``"linf"``, in which rows are moved.
        curvature: False gives the paper's radius for Fourier features, which is smaller.
    Returns:
        Shape (rows,). 0 if the label is unknown, the row is not finite, or the model calls it
        something else; infinite if no row would be called something else.
    Raises:
        ParameterError: another model, norm or shape.
    Example:
        >>> from dpproof.learn import PerceptronClassifier
        >>> model = PerceptronClassifier(sigma=2**-20, classes=[0, 1], steps=1)
        >>> _ = model.fit([[1.0, 0.0], [-1.0, 0.0]], [1, 0])
        >>> certify_radius(model, [[3.0, 4.0]]).round(3)
        array([3.])
    """
    if norm not in NORMS:
        raise ParameterError("norm", norm, " or ".join(map(repr, NORMS)))
    scores = scores_of(model)
    rows = scores.rows(X)
    kept = class_of(model, rows, y)
    finite = np.asarray(np.isfinite(rows).all(axis=1))
    inside = np.where(finite[:, np.newaxis], rows, 0.0)
    if isinstance(scores.map, FourierFeatures | ScatteringFeatures):
        if isinstance(scores.map, FourierFeatures):
            radii = fourier_radii(scores, scores.map, inside, kept, curvature=curvature)
        else:
            moves = _linear(scores, scores.map.apply(inside), kept, "l2")
            radii = image_radii(moves, scores.map, inside)
        radii = radii if norm == "l2" else radii / np.sqrt(rows.shape[1]) * (1 - slack(4))
    elif isinstance(scores.map, Projection):
        radii = projected_radii(scores, scores.map, inside, kept, norm)
    else:
        radii = _linear(scores, inside, kept, norm)
    return np.where(finite & (kept >= 0), radii, 0.0)


def _linear(scores: LinearScores, rows: Vectors, kept: Integers, norm: str) -> Vectors:
    """Return the least distance to a border between the kept class and another, rounded down."""
    radii = np.full(len(rows), np.inf)
    order = 1 if norm == "linf" else 2
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        values = rows @ scores.weights.T + scores.offsets
        sizes = np.abs(rows) @ np.abs(scores.weights).T + np.abs(scores.offsets)
        for winner in np.unique(kept[kept >= 0]):
            of = kept == winner
            gaps = values[of][:, [winner]] - values[of]
            gaps -= slack(rows.shape[1]) * (sizes[of][:, [winner]] + sizes[of])
            between = lengths(scores.weights[winner] - scores.weights, order)
            away = np.where(gaps > 0, gaps / between, 0.0) * (1 - slack(4))
            away[:, winner] = np.inf
            radii[of] = away.min(axis=1)
    return radii
