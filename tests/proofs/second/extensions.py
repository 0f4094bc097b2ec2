"""What is not checked here, by the extension that has it: rules, notions and pairs."""

from __future__ import annotations

from typing import Final

_RULES: Final = """
contour: hockey-stick/contour,chernoff,bounded
renyi: state/zcdp,rdp compose/zcdp,rdp convert/pair-rdp,zcdp-rdp,rdp-rdp,gdp-zcdp,pure-zcdp
renyi: convert/renyi-approx,renyi-profile,renyi-true-positive-rate
discrete: mechanism/discrete-laplace,discrete-gaussian,discrete-gaussian-zcdp,histogram,finite
discrete: mechanism/randomized-response dominate/pure-dp,approx-dp
discrete: mechanism/local-report,partition-selection,thresholded-counts,skellam hockey-stick/lattice
curves: state/bounded-range,metric-dp,privacy-profile,trade-off
curves: dominate/bounded-range,metric-dp,privacy-profile,trade-off,pair
curves: compose/ranges mixture/ mechanism/exponential,report-noisy-max,permute-and-flip
curves: mechanism/above-threshold,gaussian-above-threshold,logistic-objective
curves: mechanism/logistic-objective-pure,laplace-joint,correlated-gaussian
curves: mechanism/smooth-sensitivity,propose-test-release,gaussian-separator,sphere-lift
curves: mechanism/averaged-perturbation,separator-perturbation convert/metric-pure,point
curves: convert/bounded-range-pure,pure-bounded-range,bounded-range-zcdp,bounded-range-rdp
curves: convert/pair-profile,profile-trade-off
matrix: mechanism/matrix allocate/cyclic-poisson
samples: subsample/gaussian-sum,counted-sum,positions,without-replacement
samples: allocate/shuffled,random,several,pure-dp shuffle/randomized-response,pure-dp
samples: hockey-stick/sampled convert/pair-unsampled
selection: select/pure,rdp,profile,pair,above-pair
adaptive: filter/zcdp,gdp,renyi,approx-dp,several
groups: group/pure-dp,bounded-range,metric-dp,gdp,zcdp,approx-dp,rdp,trade-off,pair
groups: map-records/ choice/ parallel/,position restrict/relation compose/concurrent
numbers: compose/gdp
numbers: convert/pure-approx,approx-pure,pair-pure,pure-gdp,pair-gdp,profile-gdp,pair-zcdp
lower: at-least/closed,contour,smoothed,lattice,cells,allocated,renyi,true-positive-rate
lower: at-least/shuffled-reports
"""
_NOTIONS: Final = """
renyi: zcdp/ rdp/
curves: bounded-range/ metric-dp/ privacy-profile/ trade-off/ hockey-sticks/
lower: hockey-stick-at-least/ true-positive-rate-at-least/ renyi-at-least/
"""
_PAIRS: Final = """
discrete: randomized-response/ finite/ discrete-laplace/ discrete-gaussian/
curves: logistic/ floored-gaussian/ folded-gaussian/
samples: sampled/ counted-gaussians/ allocated-gaussian/ opposite-gaussians/
lower: largest-of-gaussians/ shuffled-reports/
"""


def _read(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in text.strip().split("\n"):
        extension, _, words = line.partition(": ")
        for word in words.split():
            family, _, names = word.partition("/")
            found |= {f"{family}/{one}".rstrip("/"): extension for one in names.split(",")}
    return found


OTHER_RULES: Final = _read(_RULES)
OTHER_NOTIONS: Final = _read(_NOTIONS)
OTHER_PAIRS: Final = _read(_PAIRS)
