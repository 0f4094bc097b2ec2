"""``dpproof budget``: what it says, and the status it exits with."""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpproof.accountant import GDP, RDP, ZCDP, compose as compose_guarantees, group
from dpproof.accountant.bound import Bound
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.sampling import Poisson
from dpproof.accountant.sensitivity import L1, L2
from dpproof.commands import budget
from dpproof.mechanisms import Gaussian, Laplace, compose
from dpproof.pipeline import parse
from dpproof.reports import words
from dpproof.time_limit import QUICK_ORDERS
from tests.architecture.tree import ROOT
from tests.dpproof.command import Command, time_is_up
from tests.dpproof.files import GAUSSIAN, GROUP, ISSUE, LAPLACE, PIPELINE

EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
LONG = ("us-census-2020", "census-tables", "tuned-training")  # each takes seconds


def test_json_is_what_the_accountant_says(command: Command) -> None:
    """Every number of the JSON is the accountant's, to the last bit."""
    training = Gaussian(sigma=1.0, sensitivity=L2(1)).subsample(Poisson(sampling_rate=0.01))
    evaluation = Laplace(scale=20, sensitivity=L1(1))
    stages = [training.repeat(10_000), evaluation.repeat(3)]
    total = compose(*stages).guarantee().epsilon(delta=1e-6)

    outcome = command.budget(ISSUE, "--json")

    answer = outcome.json
    assert outcome.status == 0
    assert outcome.err == ""
    assert answer["epsilon"] == {
        "lower": total.lower,
        "upper": total.upper,
        "attained": total.attained,
    }
    assert answer["delta"] == 1e-6
    assert answer["within_budget"] is True
    assert [stage["name"] for stage in answer["stages"]] == ["training", "evaluation"]
    for stage, mechanism in zip(answer["stages"], stages, strict=True):
        alone = mechanism.guarantee().epsilon(delta=1e-6)
        assert stage["epsilon"] == {
            "lower": alone.lower,
            "upper": alone.upper,
            "attained": alone.attained,
        }


def test_json_has_the_same_keys_with_the_same_types(command: Command) -> None:
    """Nothing is left out, whatever the pipeline says."""
    full = command.budget(ISSUE, "--json").json
    bare = command.budget(PIPELINE.replace("epsilon = 8.0", "") + GAUSSIAN, "--json").json

    assert list(full) == list(bare)
    assert bare["within_budget"] is None
    assert bare["budget"] is None
    for answer in (full, bare):
        for value in (answer["epsilon"], answer["mu"], answer["advantage"]):
            assert value["lower"] <= value["upper"]
        for stage in answer["stages"]:
            keys = {"name", "epsilon", "one_run", "factor", "share", "poisson_accounting", "stages"}
            assert set(stage) == keys
            assert stage["poisson_accounting"] is None
            assert stage["stages"] == []


def test_over_budget_is_status_1(command: Command) -> None:
    """An upper end above the budget does not hold, in both forms of output."""
    text = ISSUE.replace("epsilon = 8.0", "epsilon = 6.9")

    assert command.budget(text).status == 1
    outcome = command.budget(text, "--json")
    assert (outcome.status, outcome.json["within_budget"]) == (1, False)


def test_no_budget_is_status_0(command: Command) -> None:
    """Without a budget there is nothing to violate."""
    outcome = command.budget(ISSUE.replace("epsilon = 8.0", ""))

    assert outcome.status == 0


def test_the_upper_end_decides(command: Command) -> None:
    """A budget equal to the upper end holds; the next float below does not."""
    upper = command.budget(ISSUE, "--json").json["epsilon"]["upper"]
    at = ISSUE.replace("epsilon = 8.0", f"epsilon = {upper!r}")
    below = ISSUE.replace("epsilon = 8.0", f"epsilon = {math.nextafter(upper, 0)!r}")

    assert command.budget(at, "--json").status == 0
    assert command.budget(below, "--json").status == 1


def test_shares_add_up(command: Command) -> None:
    """Shares are the parts of one whole, the expensive stage first."""
    shares = [stage["share"] for stage in command.budget(ISSUE, "--json").json["stages"]]

    assert sum(shares) == pytest.approx(1)
    assert shares[0] > 0.9


def test_a_group_is_one_sample(command: Command) -> None:
    """Two releases on one sample are the composition, subsampled."""
    parts = (Gaussian(sigma=2.0, sensitivity=L2(1)), Laplace(scale=4.0, sensitivity=L1(1)))
    stage = compose(*parts).subsample(Poisson(sampling_rate=0.02)).repeat(200)
    expected = stage.guarantee().epsilon(delta=1e-6)

    answer = command.budget(PIPELINE + GROUP, "--json").json

    assert answer["epsilon"] == {
        "lower": expected.lower,
        "upper": expected.upper,
        "attained": expected.attained,
    }


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_table_fits_and_does_not_understate(
    columns: int, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No line is wider than the terminal, and every epsilon is rounded up."""
    monkeypatch.setenv("COLUMNS", str(columns))
    answer = command.budget(ISSUE, "--json").json

    page = command.budget(ISSUE).out

    assert max(map(len, page.splitlines())) <= columns
    total = re.search(r"ε = ([\d.]+)", page)
    assert total is not None
    assert Fraction(total[1]) >= Fraction(answer["epsilon"]["upper"])
    for stage in answer["stages"]:
        shown = re.search(rf"^ *{stage['name']}.* ([\d.]+) +[\d.]+ %", page, re.MULTILINE)
        assert shown is not None
        assert Fraction(shown[1]) >= Fraction(stage["epsilon"]["upper"])
    assert "\x1b" not in page


def test_names_are_not_markup(command: Command) -> None:
    """A stage called like a colour is printed as it is called."""
    page = command.budget(PIPELINE + GAUSSIAN.replace("training", "[red]x[/red]")).out

    assert "[red]x[/red]" in page


def test_every_relation_is_explained(command: Command) -> None:
    """The page says what neighbours are, whatever the relation."""
    for relation in ("add-remove", "replace-one", "zero-out"):
        page = command.budget((PIPELINE + LAPLACE).replace("add-remove", relation)).out

        assert f"({relation})" in page


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.slow] * (path.stem in LONG), id=path.stem)
        for path in EXAMPLES
    ],
)
def test_examples_hold(path: Path, command: Command) -> None:
    """Every example explains itself and stays within its stated budget."""
    outcome = command.run("budget", str(path), "--json")

    assert path.read_text(encoding="utf-8").startswith("# ")
    assert outcome.status == 0
    assert outcome.json["within_budget"] is True
    assert outcome.json["epsilon"]["upper"] >= outcome.json["budget"] / 2


def test_there_are_examples_of_every_kind() -> None:
    """The examples show every mechanism, sampling, grouping and every key."""
    text = "".join(path.read_text(encoding="utf-8") for path in EXAMPLES)

    assert len(EXAMPLES) >= 3
    for word in ("gaussian", "laplace", "histogram", "discrete-laplace", "exponential"):
        assert f'mechanism = "{word}"' in text
    assert "[[stage.release]]" in text


def test_one_run_protects_the_group_that_the_pipeline_protects(command: Command) -> None:
    """What one run of a selection costs is said of as many records as what all of it costs."""
    stage = '[[stage]]\nname = "pick"\nmechanism = "stated"\nrho = 0.01\n'
    text = PIPELINE + "protect = 2\n" + stage + 'select = { runs = "geometric", gamma = 0.5 }\n'

    found = command.budget(text, "--json").json["stages"][0]["one_run"]["upper"]

    assert found == group(ZCDP(rho=0.01), size=2).epsilon(delta=1e-6).upper


def test_what_is_not_known_in_time_is_named(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Epsilon comes first and decides the status; brackets of the rest are the widest."""
    monkeypatch.setattr(budget, "_shares", time_is_up)
    whole = command.budget(ISSUE, "--json", "--seconds", "600")

    assert whole.status == 0
    assert whole.json["epsilon"]["upper"] < 8
    assert whole.json["missing"][0] == "shares"
    assert whole.json["missing"][-1] == "μ"
    assert whole.json["mu"] == {"lower": 0.0, "upper": "inf", "attained": True}
    epsilon, delta = whole.json["epsilon"]["upper"], whole.json["delta"]
    odds = math.exp(epsilon)
    assert whole.json["implied"] == [
        "advantage",
        "detection at 1 % false alarms",
        "detection at 0.1 % false alarms",
    ]
    advantage = (odds - 1 + 2 * delta) / (odds + 1)
    assert whole.json["advantage"]["upper"] == pytest.approx(advantage, rel=1e-12)
    for row in whole.json["true_positive_rate"]:
        rate = row["false_positive_rate"]
        power = min(odds * rate + delta, 1 - (1 - rate - delta) / odds)
        assert row["upper"] == pytest.approx(power, rel=1e-12)


def test_risks_that_are_not_known_are_those_that_epsilon_implies(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No line says 100 %: where the exact curve has no answer, epsilon at delta has one."""
    exact = command.budget(ISSUE, "--json").json
    monkeypatch.setattr(budget, "_or_nothing", lambda _, nothing: nothing)
    small = ISSUE.replace("noise_multiplier = 1.0", "noise_multiplier = 8.0")
    implied, printed = command.budget(small, "--json").json, command.budget(small).out

    assert exact["implied"] == []
    assert len(implied["implied"]) == 3
    assert implied["advantage"]["upper"] < 0.5
    assert "100.0 %" not in printed.partition("attack risk")[2].partition("μ  ")[0]
    assert printed.count("as ε and δ imply") == 3


def test_risks_of_which_nothing_is_known_say_so(tmp_path: Path) -> None:
    """A bracket that holds for everything is no bound, and is not shown as one."""
    file = tmp_path / "pipeline.toml"
    file.write_text(PIPELINE + GAUSSIAN, encoding="utf-8")
    spent = budget.spend(parse.load(str(file)))
    rates = tuple((rate, Bound(0.01, 1.0)) for rate, _ in spent.true_positive_rates)
    unknown = replace(spent, advantage=Bound(0.0, 1.0), true_positive_rates=rates)
    sure = replace(spent, advantage=Bound.exactly(1.0))

    assert words.risks(unknown) == [
        "how often it is right is not known",
        "at 1 % false alarms what it detects is not known",
        "at 0.1 % false alarms what it detects is not known",
    ]
    assert words.risks(sure)[0].startswith("right at most 100.0 % of the time")


def test_a_quick_bound_of_epsilon_is_an_answer(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the exact epsilon takes too long, Renyi divergences bound it, and the page says so."""
    exact = command.budget(ISSUE, "--json").json["epsilon"]["upper"]
    monkeypatch.setattr(budget._Found, "_total", time_is_up)
    found = command.budget(ISSUE, "--json", "--seconds", "600")
    over = command.budget(ISSUE.replace("8.0", "7.0"), "--seconds", "600")
    curve = compose_guarantees(
        Gaussian(sigma=1.0, sensitivity=L2(1))
        .subsample(Poisson(sampling_rate=0.01))
        .repeat(10_000)
        .guarantee(),
        Laplace(scale=20, sensitivity=L1(1)).repeat(3).guarantee(),
    )
    least = min(
        RDP(points=[(order, curve.rdp(order=order).upper)]).epsilon(delta=1e-6).upper
        for order in QUICK_ORDERS
    )

    assert found.status == 0
    assert found.json["epsilon"] == {"lower": 0.0, "upper": least, "attained": True}
    assert exact < least < 1.15 * exact
    assert found.json["missing"][0] == budget.EPSILON
    assert over.status == 1
    assert "NOT SHOWN TO BE WITHIN THE BUDGET: ε = " in over.out


TUNED = """
[[stage]]
name = "tuning"
select = { runs = "geometric", gamma = 0.1 }
"""


@pytest.mark.slow
@pytest.mark.parametrize("runs", ['"geometric", gamma = 0.1', '"poisson", mean = 10'])
def test_what_was_not_computed_is_not_shown_as_a_number(
    command: Command, monkeypatch: pytest.MonkeyPatch, runs: str
) -> None:
    """A selection has a useful bound by one run's divergences; a bound is marked as one."""
    chosen = TUNED.replace('"geometric", gamma = 0.1', runs)
    inner = GAUSSIAN.replace("[[stage]]", "[[stage.stage]]").replace("1.0", "8.0")
    text = PIPELINE + chosen + inner + LAPLACE
    exact = command.budget(text, "--json").json["epsilon"]["upper"]
    monkeypatch.setattr(budget._Found, "_total", time_is_up)
    found, shown = (
        command.budget(text, "--json", "--seconds", "600"),
        command.budget(text, "--seconds", "600"),
    )
    upper, lines = found.json["epsilon"]["upper"], shown.out.splitlines()

    assert exact <= upper < 4 * exact
    assert all("≤ " in line for line in lines if line.startswith((" tuning", " evaluation")))
    assert "one run: not computed" in shown.out
    assert next(line for line in lines if line.startswith(" together")).split()[-1] == "–"
    assert "μ            not computed" in shown.out


def test_an_interrupted_budget_says_what_it_knows(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C after epsilon shows it, with the status of an interruption."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(budget, "_shares", interrupted)
    outcome = command.budget(ISSUE)

    assert outcome.status == 130
    assert "Within the budget: ε = " in outcome.out
    assert "INCOMPLETE, interrupted. Not computed: shares, " in outcome.out


def test_time_that_is_up_amid_the_stages_moves_no_cost(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each stage has its own epsilon, whichever statement was interrupted."""
    stages = [LAPLACE.replace("evaluation", f"s{k}").replace("20", f"{20 + k}") for k in range(3)]
    text = PIPELINE + "".join(stages)
    exact = command.budget(text, "--json").json["stages"]

    class Late:
        """The longest label, during the first of which the time is up."""

        lengths = iter((None, *[100] * 9))

        def __index__(self) -> int:
            return next(self.lengths) or time_is_up()

    monkeypatch.setattr(budget, "MAX_LABEL", Late())
    assert command.budget(text, "--json", "--seconds", "600").json["stages"] == exact


@pytest.mark.slow
def test_many_missing_numbers_are_not_all_named(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table names ten and counts the others; JSON names all."""
    monkeypatch.setattr(budget._Found, "_total", time_is_up)
    stages = "".join(LAPLACE.replace("evaluation", f"count {k}") for k in range(20))
    shown = command.budget(PIPELINE + stages, "--seconds", "600").out
    missing = command.budget(PIPELINE + stages, "--seconds", "600", "--json").json["missing"]

    assert len(missing) == 26
    assert f"count 8 alone, {len(missing) - 10} others" in " ".join(shown.split())


def test_without_epsilon_in_time_there_is_no_answer(command: Command) -> None:
    """That is a refusal, and so is no time at all."""
    late = command.budget(ISSUE, "--seconds", "1e-6")
    assert (late.status, late.out) == (2, "")
    assert "is not known after 1e-06 seconds; give more" in late.err
    assert command.budget(ISSUE, "--seconds", "0").status == 2


SHUFFLED = """
[pipeline]
relation = "zero-out"
delta = 1e-6
[[stage]]
name = "training"
mechanism = "gaussian"
noise_multiplier = 1.0
sampling = { scheme = "shuffled", batches = 469, epochs = 10 }
"""


@pytest.mark.slow
def test_shuffled_batches_are_told_beside_poisson_accounting(command: Command) -> None:
    """Both ends, what they mean, and the number that tools print."""
    page = " ".join(command.budget(SHUFFLED).out.split())
    (stage,) = command.budget(SHUFFLED, "--json").json["stages"]

    assert "all records in 469 shuffled batches, 10 times" in page
    assert "Poisson accounting would print 0.85; the truth lies between 6.90 and 19.43" in page
    assert 6.902 < stage["epsilon"]["lower"] < stage["epsilon"]["upper"] < 19.424
    assert 0.853 < stage["poisson_accounting"]["lower"] < 0.854
    kept = SHUFFLED.replace("epochs = 10", 'epochs = 10, order = "kept"')
    page = " ".join(command.budget(kept).out.split())
    assert "all records in 469 shuffled batches, in one order for 10 epochs" in page


def test_both_ends_of_shuffled_batches_are_written(tmp_path: Path, command: Command) -> None:
    """Certificates of the upper and of the lower end, verified by the checker's command."""
    file, out = command.file(SHUFFLED), str(tmp_path / "certificate.json")
    for options, stated in (((), "is (19.4236"), (("--lower",), "not (6.902")):
        assert command.run("certify", file, "-o", out, *options).status == 0
        verdict = command.run("check", out)

        assert verdict.status == 0
        assert stated in verdict.out


@pytest.mark.parametrize("text", [ISSUE, SHUFFLED], ids=["issue", "shuffled"])
def test_pieces_are_those_that_are_named(text: str, tmp_path: Path) -> None:
    """A bar reaches its end."""
    file = tmp_path / "pipeline.toml"
    file.write_text(text, encoding="utf-8")
    pipeline, named = parse.load(str(file)), list[str]()
    budget.spend(pipeline, named.append)

    assert len(named) == budget.pieces(pipeline)


def test_curves_at_a_few_orders_beside_pairs(command: Command) -> None:
    """The profile that a stated curve implies is composed, where its few orders say less of all."""
    points = ((2, Fraction(1, 128)), (32, Fraction(1, 8)))
    curve = (
        '[[stage]]\nname = "theirs"\nmechanism = "stated"\npoints = [[2, 0.0078125], [32, 0.125]]\n'
    )
    noise = '[[stage]]\nname = "ours"\nmechanism = "gaussian"\nnoise_multiplier = 1.0\n'
    by_curves = compose_guarantees(RDP(points=points), GDP(mu=1)).epsilon(delta=1e-6)
    alone = GDP(mu=1).epsilon(delta=1e-6)

    found = command.budget(PIPELINE + curve + noise, "--json").json["epsilon"]["upper"]

    assert alone.upper < found < alone.upper + 0.5 < by_curves.upper


def test_a_pair_that_nothing_attains_is_named(command: Command) -> None:
    """The table, the import and JSON say of whose number the ends are."""
    threshold = (
        f'{PIPELINE}\n[[stage]]\nname = "alarm"\nmechanism = "above-threshold"\n'
        "threshold_scale = 10\nquery_scale = 20\nsensitivity = 1\n"
    )
    assert "ε of the dominating pair lies in" in command.budget(threshold).out
    assert command.budget(threshold, "--json").json["epsilon"]["attained"] is False
    attained = command.budget(f"{PIPELINE}{LAPLACE}")
    assert "ε lies in" in attained.out


def test_equal_stages_are_computed_once(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand stages that differ by name ask for one stage, the total and the others."""
    asked = []
    epsilon = Guarantee.epsilon

    def counted(self: Guarantee[Any], **given: Any) -> Bound:  # noqa: ANN401  # as it is given
        asked.append(self)
        return epsilon(self, **given)

    monkeypatch.setattr(Guarantee, "epsilon", counted)
    noise = GAUSSIAN.replace("multiplier = 1.0", "multiplier = 200.0")
    text = PIPELINE + "".join(noise.replace("training", f"s{k}") for k in range(1000))
    file = command.file(text)
    answer = command.run("budget", file, "--json").json
    table = command.run("budget", file).out

    assert len(asked) == 2 * 3
    assert len(answer["stages"]) == 1000
    assert answer["epsilon"]["upper"] == pytest.approx(0.6481051)
    assert answer["stages"][0]["epsilon"]["upper"] == pytest.approx(0.0159078, rel=1e-4)
    assert sum(stage["share"] for stage in answer["stages"]) == pytest.approx(1)
    assert answer["others"]["count"] == 990
    assert answer["others"]["epsilon"]["upper"] == pytest.approx(0.6446, rel=1e-3)
    assert "990 others" in table
    assert "s10 " not in table


@pytest.mark.slow
def test_stages_of_one_form_keep_their_names() -> None:
    """Two equal stages with inner stages are labelled by their own names in a certificate."""
    laplace = 'mechanism = "laplace"\nscale = 9\nsensitivity = 1\n'
    inner = f'[[stage.stage]]\nname = "@-inner"\n{laplace}'
    other = '[[stage.stage]]\nname = "@-noise"\nmechanism = "gaussian"\nnoise_multiplier = 9\n'
    stage = f'[[stage]]\nname = "@"\ncount = 3\n{inner}{other}'
    pipeline = parse.parse(
        tomllib.loads(PIPELINE + "".join(stage.replace("@", n) for n in "ab")), "f"
    )
    spent = budget.spend(pipeline)
    labels = [
        str(cost.guarantee.certify(delta=Fraction(1, 10**6)).to_json()) for cost in spent.stages
    ]

    for name, text in zip("ab", labels, strict=True):
        assert f'"{name}-inner"' in text
    assert '"a-inner"' not in labels[1]
