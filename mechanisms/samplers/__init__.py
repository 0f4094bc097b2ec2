"""Samplers whose outputs follow their stated law exactly, given independent uniform words.

Every function works on arrays in binary64 with a rigorous error margin, and decides the rare draws
that the margin leaves open from further digits of the same uniform, in integers. So binary64
changes how fast a draw is made and never which draw it is.

Assumptions: the words are independent and uniform; the bounds in ``margins`` hold for numpy's
exp and log and scipy's ndtri; the one in ``enclosure`` holds for mpmath. Running time depends on
the draws and, in ``rounded``, on the values; timing is outside the stated laws.
"""

from dpproof.mechanisms.samplers.arrays import (
    add_whole as add_whole,
    as_floats as as_floats,
    repeated_values as repeated_values,
)
from dpproof.mechanisms.samplers.discrete import (
    categorical_exp as categorical_exp,
    discrete_gaussian as discrete_gaussian,
    discrete_laplace as discrete_laplace,
    geometric as geometric,
    permutation as permutation,
    poisson_mask as poisson_mask,
    randomized_response as randomized_response,
    run_count as run_count,
    skellam as skellam,
    subset_without_replacement as subset_without_replacement,
    subsets_without_replacement as subsets_without_replacement,
)
from dpproof.mechanisms.samplers.rng import (
    Rng as Rng,
    as_rng as as_rng,
    bernoulli as bernoulli,
    bernoulli_exp as bernoulli_exp,
    bernoulli_exp_ratios as bernoulli_exp_ratios,
    uniform_below as uniform_below,
)
from dpproof.mechanisms.samplers.rounded import (
    default_granularity as default_granularity,
    discrete_cube_norm as discrete_cube_norm,
    gaussian_rounded as gaussian_rounded,
    laplace_rounded as laplace_rounded,
    spherical_rounded as spherical_rounded,
    with_noise as with_noise,
)
