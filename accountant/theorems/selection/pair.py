"""Selection from a base with a dominating pair."""

from __future__ import annotations

from typing import Final

from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.derivation import Derivation
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.pair_guarantee import PairGuarantee
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import R
from dpproof.accountant.run_counts.law import RunLaw
from dpproof.accountant.selection.selected_pair import SelectedPair
from dpproof.accountant.side_conditions import selection_of_the_best
from dpproof.accountant.theorems.selection.pure import select_pure

SELECT_PAIR: Final = Theorem(
    rule="select/pair",
    source="proofs/theory/selection.md, Theorem 1, or Theorem 2 where it rounds to less",
    attained=Attained.POINTS,  # for every epsilon some order of the outputs
    again=lambda premises, given: select_pair(premises[0], given["runs"]),
)


def select_pair(guarantee: PairGuarantee[R], runs: RunLaw) -> DominatingPair[R]:
    """Run a mechanism K times on the same data, release only the best output.

    Statement: let (P, Q) dominate (M(D), M(D')), let K have generating function phi and not
        depend on the data, and let the selected output be the best of K independent ones by a
        score of the output, ties broken at random. With w(a) = phi'(1 - a), for every epsilon
        at or above 0 the hockey-stick divergence of the selected outputs is at most the
        supremum, over the events U in [0, 1] and with A and B the least and largest mass under
        Q of a set of a given mass under P, of the integral over U of
        w(u) du - e^epsilon w(Q(p = 0) + A(k) + B(u - k)) dA(k), k the length of U up to u. Some
        mechanism and score attain it. It is at most E_Q[psi(dP/dQ)] with
        psi(l) = max over a of (w(a) l - e^epsilon w(g(a)))_+, g(a) the largest mass under Q of
        a set of mass a under P. No run at all reveals nothing.
    Assumes: independent number of runs; own randomness; score of the output; best output alone.
    Source: proofs/theory/selection.md, Theorems 1 and 2.
    Rounds: not at all; the pair answers by brackets, the smaller of the two upper bounds.
    Laws: one run changes nothing; more runs never cost less; never above releasing all runs.

    Args:
        guarantee: of one run.
        runs: the law of the number of runs.
    Returns:
        One pair per direction, known by its profile.
    Example:
        >>> from dpproof.accountant.guarantees.gdp import GDP
        >>> from dpproof.accountant.run_counts.truncated_negative_binomial import TruncatedNegativeBinomial
        >>> best = select_pair(GDP(mu=0.25), TruncatedNegativeBinomial(eta=1, gamma=0.1))
        >>> round(best.epsilon(delta=1e-6).upper, 3)
        1.557
    """
    pair = guarantee.to_pair()
    premises = [pair.derivation]
    if isinstance(guarantee, PureDP) and guarantee.stated_epsilon > 0:
        premises.append(select_pure(guarantee, runs).derivation)
    return DominatingPair(
        forward=_selected(pair.forward, runs),
        backward=_selected(pair.backward, runs),
        relation=guarantee.relation,
        derivation=Derivation(
            theorem=SELECT_PAIR,
            statement=f"best of {runs.describe()}, for the worst score",
            premises=tuple(premises),
            assumptions=selection_of_the_best(),
            parameters=(("runs", runs),),
            attained=SELECT_PAIR.attained.of_premises([pair.attained], pointwise=False),
        ),
    )


def _selected(base: Product, runs: RunLaw) -> Product:
    """Return the pair of the selection; a base that reveals nothing is returned as it is."""
    return Product.of(SelectedPair(base=base, runs=runs)) if base.factors else base
