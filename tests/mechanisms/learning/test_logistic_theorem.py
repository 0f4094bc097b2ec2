"""The theorem on logistic objective perturbation, against exact densities on line and plane."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm as normal

Rows = NDArray[np.float64]


def gaussian(mu: float, epsilon: float) -> float:
    """The profile of mu-GDP, from its textbook formula."""
    x, y = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    return float(normal.sf(x) - np.exp(epsilon) * normal.sf(y))


def floored(mu: float, epsilon: float, floor: float) -> float:
    """Return the bound of Lemma 3 on delta."""
    if epsilon >= floor:
        return gaussian(mu, epsilon)
    return 1 - float(np.exp(epsilon - floor)) * (1 - gaussian(mu, floor))


def noise_at(rows: Rows, decay: float, points: Rows) -> tuple[Rows, Rows]:
    """The noise that makes each point the minimum, and the determinant of the Hessian there."""
    share = 1 / (1 + np.exp(points @ rows.T))
    hessian = np.einsum("ni,ij,ik->njk", share * (1 - share), rows, rows)
    hessian += decay * np.eye(rows.shape[1])
    return share @ rows - decay * points, np.linalg.det(hessian)


def reach(rows: Rows, decay: float, sigma: float) -> float:
    """How far a minimum lies from 0 if the noise is at most 8 standard deviations."""
    return float(8 * sigma + np.linalg.norm(rows, axis=1).sum()) / decay


def on_a_line(before: Rows, after: Rows, decay: float, sigma: float, epsilon: float) -> float:
    """H_{e^epsilon} of the minima's masses in 4,000 intervals: at most that of their laws."""
    far = reach(np.vstack([before, after]), decay, sigma)
    ends = np.linspace(-far, far, 4_001)[:, np.newaxis]
    p, q = (
        -np.diff(normal.cdf(noise_at(rows, decay, ends)[0][:, 0] / sigma))
        for rows in (before, after)
    )
    return float(np.maximum(p - np.exp(epsilon) * q, 0).sum())


def in_the_plane(before: Rows, after: Rows, decay: float, sigma: float, epsilon: float) -> float:
    """H_{e^epsilon} by a sum over 401 x 401 points."""
    far = reach(np.vstack([before, after]), decay, sigma)
    line = np.linspace(-far, far, 401)
    points = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    densities = []
    for rows in (before, after):
        noise, determinant = noise_at(rows, decay, points)
        densities.append(np.prod(normal.pdf(noise / sigma) / sigma, axis=1) * determinant)
    cell = (line[1] - line[0]) ** 2
    assert abs(densities[0].sum() * cell - 1) < 1e-6
    return float(np.maximum(densities[0] - np.exp(epsilon) * densities[1], 0).sum() * cell)


@pytest.mark.parametrize(("width", "trials"), [(1, 20), pytest.param(2, 6, marks=pytest.mark.slow)])
def test_no_densities_exceed_the_bound(width: int, trials: int) -> None:
    """Random records, tilts, penalties and noise: both orders, every real epsilon tried."""
    rng = np.random.default_rng(width)
    measure, tolerance = (on_a_line, 1e-9) if width == 1 else (in_the_plane, 1e-4)
    for _ in range(trials):
        a = rng.normal(size=(1, width))
        a /= np.linalg.norm(a)
        others = rng.normal(size=(int(rng.integers(1, 5)), width)) * rng.choice([0.05, 1.0])
        sigma = float(np.exp(rng.uniform(-0.3, 1.0)))
        decay = float(2 * sigma**2 * np.exp(rng.choice([0.0, 0.5, -1.0, -2.0])))
        floor = max(0.0, 1 / decay - 1 / (2 * sigma**2))
        both = np.vstack([others, a])
        for epsilon in (-0.5, 0.1, 0.4, 1.2):
            present = measure(both, others, decay, sigma, epsilon)
            absent = measure(others, both, decay, sigma, epsilon)

            assert present <= floored(1 / sigma, epsilon, floor) + tolerance
            assert absent <= floored(1 / sigma, epsilon, 0.0) + tolerance


def test_the_bound_is_attained_and_its_condition_is_needed() -> None:
    """Absent against present attains the Gaussian profile; with a small penalty GDP fails."""
    none, one = np.zeros((1, 1)), np.ones((1, 1))
    absent = on_a_line(none, one, 0.25, 1.0, 3.5)
    violated = on_a_line(one, none, 0.02, 1.0, 0.71)

    assert absent == pytest.approx(3.011e-4, abs=1e-6)
    assert absent == pytest.approx(gaussian(1.0, 3.5), rel=1e-3)
    assert violated > 0.2 > gaussian(1.0, 0.71)


def test_a_penalty_of_half_norm_sigma_is_enough() -> None:
    """Lemma 4: without a floor on the line, in both orders, also where 2 sigma^2 is far larger."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        others = rng.normal(size=(int(rng.integers(1, 5)), 1)) * rng.choice([0.05, 1.0])
        sigma = float(np.exp(rng.uniform(0.0, 2.0)))
        both = np.vstack([others, [[1.0]]])
        for epsilon in (-0.3, 0.05, 0.3, 1.0):
            for before, after in ((both, others), (others, both)):
                moved = on_a_line(before, after, sigma / 2, sigma, epsilon)
                assert moved <= gaussian(1 / sigma, epsilon) + 1e-9


def largest_start(cuts: int) -> float:
    """The bound of Lemma 6 on B, by upper sums, over intervals of length 1/1000 up to 3/2."""
    t = np.linspace(0, np.sqrt(2), cuts)
    least, most, bounds = t[:-1], t[1:], []
    for c in np.arange(1_500) / 1_000:
        widths = np.maximum((np.sqrt(2) - least) ** 2 - c, 0)
        integral = 2 * most * widths * np.exp(c * most**2 - least**4 / 2) * (most - least)
        bounds.append((c + 0.001) / 2 * np.exp((2 - c) ** 2 / 2) + integral.sum())
    return float(max(bounds))


def test_lemma_5_bounds_every_path() -> None:
    """W falls by at least the gain along every s and v, and starts at the Gaussian's value."""
    assert largest_start(1_000) < 0.999
    s = np.linspace(0, 1, 201)
    x = np.concatenate([np.linspace(0, 2, 20_001), [8.0]])
    for c in (0.001, 0.1, 0.3, 0.42, 0.9, 1.5, 1.999):
        pull = np.sqrt(2) - np.sqrt(x) > np.sqrt(c)
        slopes = np.exp(c * x - x**2 / 2) * ((np.sqrt(2) - np.sqrt(x)) ** 2 - c) * pull
        u = c / 2 * np.exp((2 - c) ** 2 / 2) + np.concatenate(
            [[0], np.cumsum(np.diff(x) * slopes[:-1])]  # the slopes fall: an upper sum
        )
        assert u[-1] <= 1 + 1e-6
        for y in np.concatenate([np.linspace(-5, c, 300, endpoint=False), np.linspace(c, 8, 200)]):
            density = normal.pdf(y)
            if y >= c:
                h = c / 2 * np.exp(2 - 2 * y) / np.sqrt(2 * np.pi)
                falls, top = density * (s * y - c) + 2 * (1 - s) * h, density
            else:
                h, top = normal.pdf(c) * np.interp(c - y, x, u), normal.pdf(c)
                falls = (1 - s) * normal.pdf(c) * np.interp(c - y, x, slopes)
            for v in (0.0, 0.5, 1.0):
                gain = density * np.maximum(s * y + 2 * v * s * (1 - s) - c, 0)
                assert (gain <= falls + 2 * v * s * (1 - s) * (top - h) + 1e-6).all()


def test_a_flipped_label_shifts_the_noise() -> None:
    """Flipping a label costs exactly norm / sigma, whatever the penalty."""
    others, one = np.array([[0.3], [-0.7]]), np.ones((1, 1))
    for decay in (0.05, 3.0):
        moved = on_a_line(np.vstack([others, one]), np.vstack([others, -one]), decay, 1.0, 0.5)

        assert moved == pytest.approx(gaussian(1.0, 0.5), abs=1e-4)
