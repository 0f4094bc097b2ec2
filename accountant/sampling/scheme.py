"""Any sampling scheme: how the records of one step are drawn, always explicit."""

from __future__ import annotations

from dpproof.accountant.sampling.poisson import Poisson
from dpproof.accountant.sampling.without_replacement import WithoutReplacement

SamplingScheme = Poisson | WithoutReplacement
