"""The kernel and the rules have no branch that the tests do not take both ways."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import pytest
from flint import arb

from dpproof.proofs import Rejected, check_text
from dpproof.proofs.core import rules
from dpproof.proofs.core.pairs import GaussianPair
from dpproof.proofs.core.statements import GDP
from dpproof.proofs.pairs.pair import LogisticPair
from dpproof.proofs.rules import RULES, compose, gdp_zcdp
from dpproof.proofs.sampled import sampled, table
from dpproof.proofs.sampled.counted_gaussians import CountedGaussiansPair, read_scheme
from dpproof.proofs.sums.finite_sums import finite_profile
from tests.architecture.tree import ROOT
from tests.proofs import test_abbreviations, test_kernel, test_labels, test_limits
from tests.proofs.branches import traced, untaken
from tests.proofs.core import test_core
from tests.proofs.corpus import FOLDER
from tests.proofs.pairs import test_loss_atoms
from tests.proofs.rules import (
    test_compose,
    test_convert,
    test_hockey_stick,
    test_lower_bound,
    test_lower_power,
    test_sampled,
    test_shuffle,
    test_shuffled_lower,
)
from tests.proofs.sampled import test_allocated, test_counted_gaussians, test_tables
from tests.proofs.sums import test_lattice, test_ranges, test_residues
from tests.proofs.support import Case, said

CHECKER = ROOT / "dpproof" / "proofs"
FILES = [
    CHECKER / "kernel.py",
    CHECKER / "core" / "kernel.py",
    CHECKER / "core" / "rules.py",
    CHECKER / "balls" / "run_counts.py",
    CHECKER / "pairs" / "pair.py",
    *sorted(
        path for folder in ("rules", "sampled", "sums") for path in (CHECKER / folder).glob("*.py")
    ),
]
ASSUMED = {name for name in RULES if name.startswith("state/")}


def _cases() -> Iterator[Case]:
    """Every list of cases in the rules' tests, but one that takes its time when traced."""
    for path in sorted((ROOT / "tests" / "proofs" / "rules").glob("test_*.py")):
        module = importlib.import_module(f"tests.proofs.rules.{path.stem}")
        lists = [value for value in vars(module).values() if isinstance(value, list)]
        found = (case for value in lists if value is not test_sampled.RHO for case in value)
        yield from (case for case in found if isinstance(case, Case))


TABLES = list({id(case): case for case in _cases()}.values())  # lists share cases

BLANKED = said("gdp", mu_squared="2", relation="zero-out")


def _everything() -> None:
    for cache in (table._above, table._below):
        cache.cache_clear()  # of what other tests have left in it
    test_labels.test_a_label_is_quoted_and_changes_nothing("counts")
    test_labels.test_a_fact_has_no_label()
    for case in (*TABLES, test_sampled.RHO[1]):
        case.verdict()
    for path in FOLDER.glob("*.json"):
        if path.stem != "samples":  # tables take their time when traced, and have cases enough
            check_text(path.read_text(encoding="utf-8"))
    document = json.loads((FOLDER / "groups.json").read_text(encoding="utf-8"))
    check_text(json.dumps({**document, "steps": [*document["steps"], document["steps"][-1]]}))
    check_text("{}")
    for name in dir(test_kernel):
        if name.startswith("test_"):
            getattr(test_kernel, name)()
    test_core.open_steps()
    rules.stated(GDP)
    gdp_zcdp._chained(GDP, lambda one, _: one)
    compose.implied(GDP, lambda one: one)
    compose._pair_if(LogisticPair)
    with pytest.MonkeyPatch.context() as patch:
        test_abbreviations.test_a_text_that_is_too_long_at_length_is_refused(patch)
    rules.poisson_by(rules.gaussian_sample)
    for rows in test_convert.POINTS:
        test_convert.check_points(*rows)
    for step in test_convert.EXTRA:
        test_convert.test_points_need_one_pair_about_the_same_datasets(step)
    test_hockey_stick.test_a_bound_has_no_premise()
    _counted()
    test_allocated.test_tables_enclose_the_pair()
    test_allocated.test_refuses_what_it_does_not_know()
    _shuffled()
    test_tables.test_only_a_table_has_a_lattice()
    test_tables.test_a_point_below_the_polygon_costs_a_share(Fraction(9, 16), Fraction(1, 2))
    test_compose.test_disjoint_parts_are_told_apart(BLANKED, ())
    test_loss_atoms.test_a_power_has_every_term_once(1, 3)
    test_limits.test_hostile_certificates_are_rejected_soon("terms at nodes")
    test_limits.test_hostile_certificates_are_rejected_soon("lines of a table")
    gaussian = GaussianPair(Fraction(1))
    sampled.SampledPair(((gaussian, 1),), Fraction(1, 2), sampled.Direction.REMOVAL).profile(arb(1))
    _profiles()
    test_ranges.test_largest_chords_that_jump()
    test_ranges.test_much_to_look_at_again_is_refused()
    test_lower_power.test_what_shows_no_power()
    for kink in test_lower_power.KINKS:
        test_lower_power.test_the_power_of_finite_pairs(*kink)
    test_lower_bound.test_only_pairs_that_are_known_exactly()
    test_lower_bound.test_no_rule_restates_a_lower_bound("at-least/closed")


def _shuffled() -> None:
    test_shuffle.test_accepts_and_says_what_is_assumed()
    for name in (*test_shuffle.SABOTAGE, *test_shuffle.FALSE_BITS):
        test_shuffle.test_rejects_sabotage(name)
    test_shuffle.test_rejects_clones_of_a_weaker_report()
    test_shuffle.test_rejects_clones_of_several_records()
    test_shuffle.test_refuses_rough_odds()
    test_shuffle.test_rejects_the_pair_of_three_atoms()
    test_shuffle.test_counts_enclose_exact_masses(40, Fraction(1))
    test_shuffled_lower.verdicts()
    test_shuffled_lower.test_the_pair_has_no_moments_and_is_swapped()


def _counted() -> None:
    for said_scheme, scheme in test_counted_gaussians.BOTH:
        for removal in (True, False):
            test_counted_gaussians.test_profiles_agree(
                said_scheme, scheme, Fraction(2), removal=removal
            )
        for relation, removal in product(("zero-out", "replace-one"), (True, False)):
            law = read_scheme(said_scheme)
            pair = CountedGaussiansPair(Fraction(4), law, removal, relation)
            assert pair.most > 0
            assert pair.swapped().profile(arb(0.3)) > 0
    test_counted_gaussians.test_rare_counts_are_enclosed_at_few_digits(removal=True)
    test_counted_gaussians.test_rare_counts_are_enclosed_at_few_digits(removal=False)
    test_counted_gaussians.test_tables_enclose_the_pair()
    test_counted_gaussians.test_refuses_what_it_does_not_know()
    test_counted_gaussians.test_refuses_other_schemes({"kind": "poisson"}, "no scheme is called")
    test_counted_gaussians.test_refuses_too_many_counts()


def _profiles() -> None:
    for factors, _, _ in test_residues.CASES:
        finite_profile(factors)(arb(0))
    for row in test_lattice.CELLS:
        test_lattice.test_cells(*row)
    for epsilon in test_lattice.PLACES:
        test_lattice.test_bounded_losses(((test_lattice.WHOLE, 2), (test_lattice.COIN, 1)), epsilon)
        test_lattice.test_one_pair(test_lattice.ANSWER, epsilon)
        test_lattice.test_one_pair(test_lattice.GAUSS, epsilon)
    test_lattice.test_an_epsilon_that_is_a_loss()
    for row in test_residues.WORK:
        test_residues.test_long_sums_are_left_out(*row)
    test_residues.test_whole_noise(Fraction(0))
    for direction in test_loss_atoms.POISSON:
        test_loss_atoms.test_samples_of_several_releases(direction)
    for pair in test_loss_atoms.UNLISTED:
        test_loss_atoms.test_other_losses_are_not_listed(pair)
    test_loss_atoms.test_a_pair_that_tells_everything()
    test_residues.test_an_epsilon_that_is_a_loss()


@pytest.mark.slow
def test_every_branch_is_taken() -> None:
    """Every statement runs, every condition is seen true and false."""
    arcs = traced({str(path) for path in FILES}, _everything)
    missing = [text for path in FILES for text in untaken(path, arcs)]

    assert missing == []


def test_a_branch_that_is_not_taken_is_seen() -> None:
    """Without the tables most branches are missing: the measurement measures."""
    arcs = traced({str(path) for path in FILES}, lambda: None)

    assert sum(len(untaken(path, arcs)) for path in FILES) > 100


@pytest.mark.parametrize("name", sorted(set(RULES) - ASSUMED))
def test_every_rule_is_seen_to_accept_and_to_refuse(name: str) -> None:
    """Every rule is accepted, and refused at least as often."""
    accepted = [bool(case.why) for case in TABLES if case.rule == name].count(False)
    refused = [bool(case.why) for case in TABLES if case.rule == name].count(True)
    if name in {"convert/pair-approx", "convert/pair-profile"}:
        notion = {"convert/pair-approx": "approx-dp", "convert/pair-profile": "privacy-profile"}
        rows = [why for said, _, why in test_convert.POINTS if said["notion"] == notion[name]]
        accepted, refused = rows.count(""), len(rows) - rows.count("")

    if name == "at-least/true-positive-rate":
        verdicts = [isinstance(one, Rejected) for one in test_lower_power.power_verdicts()]
        accepted, refused = verdicts.count(False), verdicts.count(True)
    if name == test_shuffled_lower.RULE:
        verdicts = [isinstance(one, Rejected) for one in test_shuffled_lower.verdicts()]
        accepted, refused = verdicts.count(False), verdicts.count(True)
    if name.startswith("shuffle/") or name == "allocate/pure-dp":
        verdicts = test_shuffle.rejections(name)
        accepted, refused = verdicts.count(False), verdicts.count(True)

    assert 0 < accepted <= refused
