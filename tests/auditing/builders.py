"""What the tests of this folder share."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import GDP, ZCDP, DominatingPair, Poisson
from dpproof.accountant.pairs.laplace import LaplacePair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.theorems.subsampling import subsample_poisson
from tests.auditing import samplers, variants
from tests.auditing.samplers import Case, gaussian, laplace

ZEROS, ONES = np.zeros, np.ones

NO_CUT_OFF = samplers.sparse_vector(2.0, cut_off=False)

NO_QUERY_NOISE = samplers.sparse_vector(0.0, cut_off=False)


def opposite(half: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Queries or scores that all move: half of them 0 then 1, and the other way round."""
    low, high = np.zeros(half), np.ones(half)
    return np.concatenate([low, high]), np.concatenate([high, low])


RAISED = np.zeros(21), np.array([1.0, *[-1.0] * 20])

ORDERED = np.array([2.0**24, *[1.0] * 50], dtype=np.float32)

LAST = np.array([0.0, 0.0, 0.0, 0.0, 1.0]), np.array([1.0, 1.0, 1.0, 1.0, 0.0])

SHARES = np.array([3.0, 1.0]), np.array([3.0, 2.0])

CUT_OFF_IGNORED = variants.sparse_vector(2.0, 2.0, 2)

HALF_THE_NOISE = variants.sparse_vector(1.0, 2.0, 1)

SUM_OVER_COUNT, TREE = variants.noisy_sum_exact_count, variants.tree_without_depth

PLAIN_THRESHOLD = variants.sparse_vector(0.0, 2.0, 1)

BROKEN = [
    Case("laplace, half the scale", laplace(0.5), 0.0, 1.0, (1, 0), 112),
    Case("laplace, a tenth short", laplace(1 / 1.1), 0.0, 1.0, (1, 0), 7_900),
    Case("gaussian, a tenth short", gaussian(0.9), 0.0, 0.27, GDP(mu=0.27), 60_000),
    Case("gaussian, a fifth short", gaussian(0.8), 0.0, 0.27, GDP(mu=0.27), 13_000),
    Case("gaussian, classic sigma", gaussian(1 / 3.303), 0.0, 1.0, GDP(mu=2.905), 9_000),
    Case("zcdp, variance for sigma", gaussian(5**0.25), 0.0, 1.0, ZCDP(rho=0.1), 5_000),
    Case("noisy max of 5, value too", samplers.noisy_max, ZEROS(5), ONES(5), (1, 0), 630),
    Case("noisy max of 10, value too", samplers.noisy_max, ZEROS(10), ONES(10), (1, 0), 790),
    Case("sparse vector, no cut-off, 3", NO_CUT_OFF, *opposite(3), (1, 0), 2_200),
    Case("sparse vector, no cut-off, 5", NO_CUT_OFF, *opposite(5), (1, 0), 8_900),
    Case("sparse vector, no query noise", NO_QUERY_NOISE, *opposite(1), (1, 0), 71),
    Case("sum without clipping", samplers.unclipped_sum, ZEROS(1), 10 * ONES(1), (1, 0), 10),
    Case("sensitivity of the other relation", laplace(1.0), 0.0, 2.0, (1, 0), 112),
    Case("best of ten runs", samplers.best_of(10), 0.0, 1.0, (1, 0), 112),
    Case("best of fifty runs", samplers.best_of(50), 0.0, 1.0, (1, 0), 158),
    Case("mean with private count", samplers.private_mean, ZEROS(1), ZEROS(2), (1, 0), 500),
    Case("only the keys present", samplers.present_keys, ["a"], ["a", "b"], (1, 0), 10),
    Case("noise reused", samplers.reused_noise, ZEROS(2), np.array([0.0, 1.0]), (1, 0), 10),
    Case("scale from the data", samplers.data_scale, ONES(1), np.array([1.0, 5.0]), (1, 0), 112),
    Case("exponential, no factor 2", samplers.hasty_exponential, *RAISED, (1, 0), 300),
    Case("noise truncated", samplers.truncated_laplace, 0.0, 1.0, (1, 0), 112),
    Case("noise rounded too early", samplers.rounded_noise, 0.0, 0.5, (1, 0), 10),
    Case("threshold too low", samplers.stable_histogram, 0.0, 1.0, (1, 1e-6), 112),
    Case("float32 order", samplers.float32_sum, ORDERED, ORDERED[::-1], (1, 0), 10),
    Case("shuffled, not Poisson", samplers.shuffled_steps, 1.0, 2.0, (1.51, 1e-5), 1_800),
    Case("sparse vector, cut-off ignored", CUT_OFF_IGNORED, *opposite(2), (1, 0), 1_930, 0.25),
    Case("sparse vector, half the noise", HALF_THE_NOISE, *opposite(3), (1, 0), 1_930, 0.25),
    Case("sparse vector, plain threshold", PLAIN_THRESHOLD, *opposite(3), (1, 0), 870, 0.25),
    Case("sparse vector, values too", variants.sparse_values, *LAST, (1, 0), 4_240, 0.25),
    Case("noisy max, half the noise", variants.hasty_noisy_max, *RAISED, (1, 0), 235),
    Case("permute and flip, no factor 2", variants.hasty_permute_and_flip, *RAISED, (1, 0), 180),
    Case("scores normalised", variants.normalised_scores, np.eye(21)[0], ONES(21), (1, 0), 300),
    Case("gaussian truncated", variants.truncated_gaussian, 0.0, 1.0, GDP(mu=1), 355),
    Case("noise of one sign", variants.positive_noise, 0.0, 1.0, (1, 0), 20),
    Case("drawn until not negative", variants.redrawn, 0.0, 1.0, (1, 0), 2_510),
    Case("geometric, exchanged", variants.exchanged_geometric, 0, 1, (0.5, 0), 215),
    Case("geometric, one side", variants.one_sided_geometric, 0, 1, (1, 0), 20),
    Case("scale upside down", laplace(0.5), 0.0, 1.0, (0.5, 0), 43),
    Case("gaussian for laplace", gaussian(1.0), 0.0, 1.0, (1, 0), 300),
    Case("threshold on exact count", variants.exact_threshold, 1.0, 2.0, (1, 1e-6), 10),
    Case("distance tested without noise", variants.exact_distance, 3.0, 4.0, (1, 1e-6), 10),
    Case("zcdp, the other relation", gaussian(5**0.5), 0.0, 2.0, ZCDP(rho=0.1), 255),
    Case("rho taken for epsilon", gaussian(1.0), 0.0, 1.0, (0.5, 0.05), 155),
    Case("shares of a private count", variants.noisy_shares, *SHARES, (1, 0), 15),
    Case("sum over a private count", SUM_OVER_COUNT, ZEROS(1), ZEROS(2), (1, 0), 390),
    Case("budget not split over four", variants.unsplit, ZEROS(4), ONES(4), (1, 0), 80),
    Case("tree without its depth", TREE, ZEROS(4), np.eye(4)[1], (1, 0), 165),
    Case("seed reset", variants.reset_seed, 0.0, 1.0, (1, 0), 10),
    Case("noise multiplied", variants.multiplied_noise, 0.0, 1.0, (1, 0), 10),
    Case("nan not clipped", variants.nan_unclipped, np.array([np.nan]), ZEROS(0), (1, 0), 10),
    Case("textbook laplace", samplers.textbook_laplace, 0.0, 1.0, (1, 0), 100),
    Case("textbook gaussian", samplers.textbook_gaussian, 0.0, 1.0, (2, 0.021), 100),
]

SCORES = np.zeros(4), np.array([1.0, -1.0, 1.0, 0.0])

RECORDS = np.zeros(5), np.array([1.0, 0.0, 0.0, 0.0, 0.0])

LAPLACE = DominatingPair(forward=Product.of(LaplacePair(epsilon=Fraction(1))))

SUBSAMPLED = subsample_poisson(GDP(mu=1), Poisson(sampling_rate=0.25))
