"""Rules of sampling: subsampled, allocated and shuffled records.

Proofs: proofs/theory/shuffle_model.md, and allocation.md, section 7.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import ceil, floor
from typing import Final

from flint import arb, ctx

from dpproof.proofs.balls.integer_laws import Counts, counts_work
from dpproof.proofs.core.arithmetic import ball, exact, require_at_most
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.core.pairs import GaussianPair, Pair, Product, SubsampledGaussianPair
from dpproof.proofs.core.rule import ALONE, FRESH, Application
from dpproof.proofs.core.rules import gaussian_sample, poisson_by
from dpproof.proofs.core.statements import Pairs, PureDP, rate
from dpproof.proofs.limits import LAYER, MAX_LAYERS, MAX_REPORTS
from dpproof.proofs.logic.statement import AtLeast
from dpproof.proofs.pairs.gaussian_above_floor import OppositeGaussiansPair
from dpproof.proofs.pairs.pair import ShuffledReportsPair, swapped
from dpproof.proofs.rules.finite_pair import alone, require_both_above
from dpproof.proofs.sampled.allocated import AllocatedGaussianPair
from dpproof.proofs.sampled.counted_gaussians import RELATIONS, CountedGaussiansPair, read_scheme
from dpproof.proofs.sampled.sampled import Direction, SampledPair

NOTHING_FOR_BLANKS: Final = "adds nothing to the exact sum for a blank record"


def contributed(contribution: Fraction) -> str:
    """Say what a record adds to a sum."""
    each = "each contribution is a list of numbers, as long for every record, of at most"
    return f"{each} {exact(contribution)} in L2 norm that depends on no other record"


_MOVES: Final = {"zero-out": 1, "replace-one": 2}  # in contributions


def shuffled(step: Application) -> tuple[str, ...]:
    """Check that a Gaussian pair dominates noisy sums of shuffled batches, in both directions.

    mu^2 = epochs (moves contribution / sigma)^2: proofs/theory/shuffled.md, section 1.
    """
    step.axiom()
    moves = _MOVES.get(step.conclusion.relation)
    if moves is None:
        raise RefusedError("the rule is about zero-out and replace-one")
    contribution, sigma = step.witness.positive("contribution"), step.witness.positive("sigma")
    batches, epochs = step.witness.whole("batches"), step.witness.whole("epochs")
    product = ((GaussianPair(epochs * (moves * contribution / sigma) ** 2), 1),)
    step.expect(Pairs(product, product))
    often = "once" if epochs == 1 else f"{epochs} times"
    order = (
        f"puts the records in an order that is drawn uniformly and fills {batches} batches in it, "
        "whose sizes are the same for all datasets"
    )
    added = (
        f"{often} it adds Gaussian noise of mean 0 and standard deviation {exact(sigma)}, "
        "independent in every coordinate, to every batch's sum of its records' contributions"
    )
    blank = [NOTHING_FOR_BLANKS] * (step.conclusion.relation == "zero-out")
    return f"{order}; {added}; {contributed(contribution)}", *blank, FRESH, ALONE


def random(step: Application) -> tuple[str, ...]:
    """Check the pairs of Gaussian noise in rounds that every record draws by itself.

    One pair of one of t rounds, or the product of k of them, of sizes that differ by at most one
    and add up to t; mu^2 = epochs times the base's: proofs/theory/allocation.md, sections 1, 2.
    """
    relation = step.conclusion.relation
    if relation not in ("add-remove", "zero-out"):
        raise RefusedError("the rule is about add-remove and zero-out")
    if step.conclusion.steps != 1:
        raise RefusedError("the rule is about one record")
    base = step.only(Pairs)
    rounds, chosen = step.witness.whole("rounds"), step.witness.whole("chosen")
    epochs = step.witness.whole("epochs")
    if chosen > rounds or (chosen > 1 and epochs > 1):
        raise RefusedError("chosen is at most rounds, and 1 if the rounds are kept")
    ways = tuple(
        _parts(epochs * _mu_squared(product), rounds, chosen, removal=removal)
        for product, removal in ((base.forward, True), (base.backward, False))
    )
    step.expect(Pairs(*ways))
    return runs_on_draws(step, rounds, chosen, epochs)


def runs_on_draws(step: Application, rounds: int, chosen: int, epochs: int) -> tuple[str, ...]:
    """Return what is assumed of a mechanism in rounds that records draw."""
    drawn = (
        f"of which every record draws {chosen} of {rounds}, uniformly, and independently of the "
        "other records and of every result"
    )
    runs = f"runs {step.mechanisms[0]} in every round on the records that drew it"
    often = "" if epochs == 1 else f", all rounds {epochs} times"
    blank = ["treats a blank record as if it were not there"]
    blanks = blank * (step.conclusion.relation == "zero-out")
    return f"{runs}{often}, rounds {drawn}", *blanks, FRESH, ALONE


def _mu_squared(base: Product) -> Fraction:
    """Return mu^2 of Gaussian pairs; refuse others, and none."""
    squares = [pair.mu_squared * n for pair, n in base if isinstance(pair, GaussianPair)]
    if not base or len(squares) < len(base):
        raise RefusedError("the rule takes a base of Gaussian pairs")
    return sum(squares, Fraction(0))


def _parts(mu_squared: Fraction, rounds: int, chosen: int, *, removal: bool) -> Product:
    """Return the pairs of as many parts of the rounds as are drawn, larger parts first."""
    size, larger = divmod(rounds, chosen)
    sizes = ((size + 1, larger), (size, chosen - larger))
    return tuple((_part(mu_squared, n, removal=removal), count) for n, count in sizes if count)


def _part(mu_squared: Fraction, rounds: int, *, removal: bool) -> Pair:
    """Return the pair of one of so many rounds."""
    if rounds == 1:
        return GaussianPair(mu_squared)
    return AllocatedGaussianPair(mu_squared, rounds, removal)


_BITS: Final = 256  # of e^epsilon and of odds
_GRID: Final = 1 << 64  # probabilities of bits are multiples of its inverse
_LARGEST: Final = 32  # nats
_MAX_CATEGORIES: Final = 1 << 50
_MOST_ROOM: Final = Fraction(1, 1 << 20)  # of what rounded odds change


@frozen
class Law:
    """Binomial counts; a mass is off by at most this factor, as the odds are rounded."""

    counts: Counts
    factor: Fraction

    def most(self, first: int, last: int) -> Fraction:
        """Return a bound of the probability of counts from first to last."""
        units = self.counts.between(first, last) + self.counts.lost
        return self.factor * units / self.counts.total

    def least(self, first: int, last: int) -> Fraction:
        """Return a bound of the same from below."""
        units = max(self.counts.between(first, last) - self.counts.lost, 0)
        return units / (self.factor * self.counts.total)


@frozen
class Layer:
    """A bit, told with probability up/2^64 and else turned, among so many of one probability."""

    others: Counts  # the sum of these bits
    up: int  # over 2^64
    weight: int  # of the layer, or more (less from below), in units of 2^-256

    def height(self, t: Fraction) -> int:
        """Return the weight times a bound of H_t, t >= 1: a sum over the best half-line."""
        a, b, down = t.numerator, t.denominator, _GRID - self.up
        ahead = self.up * b - down * a
        if ahead <= 0:
            return 0
        place = self._place(ahead, a * self.up - b * down)
        over = ahead * self.others.mass(place - 1) - (a - b) * _GRID * self.others.tail(place)
        return max(self.weight * over, 0) // (b * _GRID * self.others.total) + 1

    def depth(self, t: Fraction) -> int:
        """Return the weight times a bound of H_t from below, t >= 1: a sum over a half-line."""
        a, b, down = t.numerator, t.denominator, _GRID - self.up
        ahead, counts = self.up * b - down * a, self.others
        if ahead <= 0:
            return 0
        place = self._place(ahead, a * self.up - b * down)
        mass = max(counts.between(place - 1, place - 1) - counts.lost, 0)
        over = ahead * mass - (a - b) * _GRID * (counts.between(place, counts.trials) + counts.lost)
        return max(self.weight * over, 0) // (b * _GRID * counts.total)

    def _place(self, ahead: int, behind: int) -> int:
        """Return where the best half-line begins: Lemma 2."""
        x, y = self.others.odds.as_integer_ratio()
        share = x * behind
        return -(-(self.others.trials + 1) * share // (y * ahead + share))


@frozen
class Reports:
    """Reports and the layers of their bound."""

    records: int  # the number of reports
    power: tuple[Fraction, Fraction]  # e^epsilon from below, and from above
    spare: int  # categories beside two
    clones: bool  # whether of the reports epsilon alone is known; else it is randomised response
    groups: list[list[int]]  # ends of blocks of counts on two categories
    nodes: list[int]  # numbers of uniform reports elsewhere

    def law(self, trials: int, odds: tuple[Fraction, Fraction]) -> Law:
        """Return a law whose odds are between two numbers, in either order.

        A mass is odds^k (1 + odds)^-n times a number: changed odds change it at most as much as
        their n-th power.
        """
        low, high = sorted(odds)
        change = trials * (high / low - 1 + Fraction(1, 1 << 100))
        if change > _MOST_ROOM:
            raise RefusedError("epsilon is too small for so many reports")
        scale = 1 << max(0, 112 + low.denominator.bit_length() - low.numerator.bit_length())
        rounded = Fraction(ceil(low * scale), scale)
        return Law(Counts(trials, rounded), 1 + 2 * change)

    def uniform(self) -> Law:
        """Return the law of the others' uniform reports on two categories, or of the clones."""
        low, high = self.power
        if self.clones:
            return self.law(self.records - 1, (1 / (high - 1), 1 / (low - 1)))
        spare = self.spare - 1
        return self.law(self.records - 1, (2 / (high + spare), 2 / (low + spare)))

    def elsewhere(self, size: int) -> Law:
        """Return the law of the uniform reports elsewhere, given ``size`` on the two."""
        low, high = (self.spare / (power - 1) for power in reversed(self.power))
        return self.law(max(self.records - 1 - size, 0), (low, high))

    def layers(self) -> list[Layer]:
        """Return layers that dominate the reports."""
        law, kept_share = self.uniform(), ceil(_GRID * self.power[1] / (self.power[1] + 1))
        first, last = self.groups[0][0], self.groups[-1][-1] - 1
        beyond = law.most(0, first - 1) + law.most(last + (not self.spare), law.counts.trials)
        listed, tables = (
            [Layer(Counts(0, Fraction(1)), kept_share, _up(beyond))],
            dict[int, Counts](),
        )
        for ends in self.groups:
            shares = self._shares(ends[-1] - 1) if self.spare else []
            for start, end in pairwise(ends):
                bits = max(start - 1, 0) if self.spare else start
                if bits not in tables:
                    tables[bits] = Counts(bits, Fraction(1))
                others = tables[bits]
                if not self.spare:
                    listed.append(Layer(others, kept_share, _up(law.most(start, end - 1))))
                elif end > 1:
                    apart, own = law.most(start, end - 1), law.most(start - 1, end - 2)
                    for node, (outside, inside) in zip(self.nodes, shares, strict=True):
                        weight = _up(apart * outside + own * inside)
                        listed.append(Layer(others, _GRID - self.flip(end - 1, node), weight))
        return listed

    def layers_below(self) -> list[Layer]:
        """Return layers that the reports dominate: all others have a third category, or clones."""
        law, (low, high), listed = self.uniform(), self.power, list[Layer]()
        for start, end in pairwise(self.groups[0]):
            if self.clones:
                bits, up, weight = end - 1, low / (low + 1), law.least(start, end - 1)
            else:
                outside = 2 * self.spare * (self.records - start)
                own = 1 / (1 + outside / ((low + 1) * (low + self.spare - 1) * start))
                bits, up = end - 2, (1 + own * (low - 1) / (low + 1)) / 2
                apart, among = (law.least(start - one, end - 1 - one) for one in (0, 1))
                weight = self.spare * apart / (high + 1 + self.spare)
                weight += (low + 1) * among / (low + 1 + self.spare)
            units = floor(weight * (1 << _BITS))
            listed.append(Layer(Counts(bits, Fraction(1)), floor(_GRID * up), units))
        return listed

    def flip(self, size: int, elsewhere: int) -> int:
        """Return the least probability that the record's bit is turned, times 2^64."""
        total = size + elsewhere
        return floor(_GRID * total / (2 * total + (self.power[1] - 1) * size))

    def _shares(self, size: int) -> list[tuple[Fraction, Fraction]]:
        """Return the nodes' shares, without the record's own report on the two and with it."""
        low, high = ((e + 1) / (e + 1 + self.spare) for e in self.power)
        outside = self._spread(self.elsewhere(size), 1)
        inside = self._spread(self.elsewhere(size - 1), 0)
        return [((1 - low) * a, high * b) for a, b in zip(outside, inside, strict=True)]

    def _spread(self, law: Law, further: int) -> list[Fraction]:
        """Return a law's counts and some more, spread over the nodes on either side of each."""
        units, begin = law.counts.units, law.counts.first + further
        masses = [Fraction(0)] * len(self.nodes)
        for place, (start, end) in enumerate(pairwise(self.nodes)):
            left = max(start, begin)
            inside = units[left - begin : max(min(end - begin, len(units)), left - begin)]
            moment = sum(unit * (left - start + k) for k, unit in enumerate(inside))
            masses[place + 1] += Fraction(moment, end - start)
            masses[place] += sum(inside) - Fraction(moment, end - start)
        masses[-1] += law.counts.between(self.nodes[-1] - further, law.counts.trials)
        return [law.factor * (one + law.counts.lost) / law.counts.total for one in masses]


def randomized_response(step: Application) -> tuple[str, ...]:
    """Check a finite pair above shuffled reports by randomised response: Theorem 1."""
    step.axiom()
    epsilon = step.witness.positive("epsilon")
    categories = step.witness.whole("categories", least=2, most=_MAX_CATEGORIES)
    records = _require_above(step, epsilon, categories)
    reported = (
        f"gets of each of {records} records one of {categories} categories, the same list for all "
        f"datasets, and reports it by randomised response at epsilon {exact(epsilon)}; its result "
        "is how often each category was reported"
    )
    return reported, FRESH, ALONE


def pure(step: Application) -> tuple[str, ...]:
    """Check a finite pair above shuffled reports of which epsilon alone is known: Theorem 2."""
    if step.conclusion.steps != 1:
        raise RefusedError("the rule is about one record")
    records = _require_above(step, step.only(PureDP).epsilon, 0)
    (name,) = step.mechanisms
    order = "its result is these reports in an order that is drawn uniformly"
    return f"runs {name} on each of {records} records alone, and {order}", FRESH, ALONE


def allocated(step: Application) -> tuple[str, ...]:
    """Check finite pairs above one of some rounds that a record draws, each epsilon-DP.

    The bit is told by randomised response of e^epsilon, rounded up, and all others as if the record
    were not in theirs: proofs/theory/allocation.md, Theorem 5.
    """
    relation = step.conclusion.relation
    if relation not in ("add-remove", "zero-out") or step.conclusion.steps != 1:
        raise RefusedError("the rule is about add-remove and zero-out, and about one record")
    rounds = step.witness.whole("rounds", most=MAX_REPORTS)
    epochs, chosen = step.witness.whole("epochs"), step.witness.whole("chosen")
    epsilon = epochs * step.only(PureDP).epsilon
    if chosen != 1 or not 0 < epsilon <= _LARGEST:
        raise RefusedError(f"a record draws one round, of epsilon above 0 and at most {_LARGEST}")
    claim = step.concludes(Pairs)
    ratios = sum(len(alone(one, "concludes").p) for one in (claim.forward, claim.backward))
    step.budget.spend(2 * counts_work(rounds) + LAYER * (ratios + 8))
    power = Fraction(ceil(_power(epsilon)[1] * _GRID), _GRID)
    told = ceil(_GRID * power / (power + 1))
    ways = [Layer(Counts(rounds - 1, odds), told, 1 << _BITS) for odds in (1 / power, power)]
    require_both_above(step, claim, [partial(_heights, [one]) for one in ways])
    return runs_on_draws(step, rounds, chosen, epochs)


def at_least(step: Application) -> tuple[str, ...]:
    """Check a divergence of one pair of shuffled reports from below: Theorem 3.

    With two categories reports of a smaller epsilon are a post-processing: turn each by a coin.
    """
    claim, blocks = step.concludes(AtLeast), step.witness.items("blocks")
    pair, count = claim.product[0] if len(claim.product) == 1 else (None, 0)
    if step.premises or not isinstance(pair, ShuffledReportsPair) or count != 1:
        raise RefusedError("the rule takes one pair of shuffled reports, once, and no premise")
    if max(pair.records, pair.categories >> 22) > MAX_REPORTS or pair.epsilon > _LARGEST:
        raise RefusedError(f"epsilon of a report is at most {_LARGEST}, and there are fewer")
    if claim.epsilon > pair.epsilon:
        raise RefusedError("there is no loss above the epsilon of a report")
    if (pair.categories == 2) != (not blocks) or len(blocks) > MAX_LAYERS:
        raise RefusedError(f"there are 2 to {MAX_LAYERS} ends of blocks, of two categories none")
    step.budget.spend((1 + len(blocks)) * (counts_work(pair.records) + 9 * LAYER))
    power = _power(pair.epsilon)
    if blocks:
        ends, spare = _increasing(blocks), max(pair.categories - 2, 0)
        if spare and not ends[0]:
            raise RefusedError("blocks of the reports on two categories begin at 1 or above")
        layers = Reports(pair.records, power, spare, not spare, [ends], [0]).layers_below()
    else:
        told = Fraction(floor(power[0] * _GRID), _GRID)
        others = Counts(pair.records - 1, 1 / told if pair.removal else told)
        layers = [Layer(others, floor(_GRID * told / (told + 1)), 1 << _BITS)]
    with ctx.workprec(2 * _BITS):
        t = Fraction(ceil(_dyadic(ball(claim.epsilon).exp().upper()) * _GRID), _GRID)
    least = Fraction(sum(one.depth(t) for one in layers), 1 << _BITS)
    require_at_most(partial(ball, claim.delta), partial(ball, least), "the claimed divergence")
    return ()


def _heights(layers: list[Layer], ratios: list[Fraction]) -> dict[Fraction, Fraction]:
    """Return bounds of the layers' profile at ratios."""
    return {t: Fraction(sum(one.height(t) for one in layers), 1 << _BITS) for t in ratios}


def _require_above(step: Application, epsilon: Fraction, categories: int) -> int:
    """Accept a pair above the layers of a witness; return the number of records."""
    if step.conclusion.relation != "replace-one":
        raise RefusedError("the rule is about replace-one, where the number of records is public")
    if not 0 < epsilon <= _LARGEST:
        raise RefusedError(f"epsilon of a report must be above 0 and at most {_LARGEST}")
    records = step.witness.whole("records", most=MAX_REPORTS)
    spare = max(categories - 2, 0)
    groups = [_increasing(group) for group in step.witness.items("groups")]
    nodes = _increasing(step.witness.take("nodes"))
    if not groups or any(a[-1] != b[0] for a, b in pairwise(groups)):
        raise RefusedError("the blocks of counts must follow each other")
    if nodes[0] != 0 or (len(nodes) > 1) != bool(spare):
        raise RefusedError("nodes begin at 0, and there are more if there is a third category")
    blocks = sum(len(group) - 1 for group in groups)
    claim, layers = step.concludes(Pairs), blocks * len(nodes) + 1
    if layers > MAX_LAYERS:
        raise RefusedError(f"there are at most {MAX_LAYERS} layers")
    ratios = len(alone(claim.forward, "concludes").p)
    laws = 1 + blocks + 2 * len(groups)
    step.budget.spend(laws * counts_work(records) + LAYER * layers * (ratios + 8))
    reports = Reports(records, _power(epsilon), spare, not categories, groups, nodes)
    require_both_above(step, claim, [partial(_heights, reports.layers())])
    return records


def _increasing(value: object) -> list[int]:
    """Return a list of whole numbers from 0, each larger than the one before."""
    listed = value if isinstance(value, list) else []
    numbers = [one for one in listed if type(one) is int and 0 <= one <= MAX_REPORTS + 1]
    if not numbers or len(numbers) != len(listed) or any(a >= b for a, b in pairwise(numbers)):
        raise RefusedError("a list of whole numbers must grow")
    return numbers


def _power(epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Return e^epsilon, rounded down and up; refuse an epsilon at which it is next to 1."""
    with ctx.workprec(2 * _BITS):
        power = ball(epsilon).exp()
        low, high = _dyadic(power.lower()), _dyadic(power.upper())
    if not 1 + Fraction(1, 1 << 64) < low:
        raise RefusedError("epsilon is too small")
    return low, high


def _dyadic(value: arb) -> Fraction:
    """Return an exact ball as a rational."""
    mantissa, exponent = value.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _up(weight: Fraction) -> int:
    """Return a weight in units of 2^-256, rounded up."""
    return ceil(weight * (1 << _BITS))


def gaussian_sum(step: Application) -> tuple[str, ...]:
    """Check opposite Gaussians of mu = contribution/sigma. Source: proofs/theory/replace_one.md."""
    step.axiom()
    if step.conclusion.relation != "replace-one":
        raise RefusedError("the rule is about replace-one")
    contribution, sigma = step.witness.positive("contribution"), step.witness.positive("sigma")
    q = rate(step.witness)
    pair = OppositeGaussiansPair((contribution / sigma) ** 2, q)
    step.expect(Pairs(((pair, 1),), ((pair, 1),)))
    drawn = f"draws a sample that holds every record independently with probability {exact(q)}"
    return f"{drawn}, and {_noisy_sum(contribution, sigma)}", FRESH, ALONE


def counted_sum(step: Application) -> tuple[str, ...]:
    """Check that Gaussian mixtures against a point dominate a sampled sum, under add-remove.

    The same under zero-out where a record enters by coins of its own, so that it moves the sum by
    one contribution. Where a record counts once at most they are a Poisson sample's pair. Else,
    where the number of records is public, both laws are mixtures under zero-out and replace-one.
    Source: proofs/theory/one_step.md.
    """
    step.axiom()
    contribution, sigma = step.witness.positive("contribution"), step.witness.positive("sigma")
    mu_squared = (contribution / sigma) ** 2
    scheme, relation = read_scheme(step.witness.take("scheme")), step.conclusion.relation
    blank, coins = relation == "zero-out", not scheme.population
    if relation not in RELATIONS or (coins and relation == "replace-one"):
        raise RefusedError("the rule is about add-remove, zero-out, and replace-one of fixed sizes")
    alone = coins or relation == "add-remove"
    named = "add-remove" if alone else relation
    pair: Pair = CountedGaussiansPair(mu_squared, scheme, removal=True, relation=named)
    if alone and scheme.is_simple:
        pair = SubsampledGaussianPair(scheme.moves**2 * mu_squared, scheme.rate, removal=True)
    step.expect(Pairs(((pair, 1),), ((swapped(pair), 1),)))
    empty = "treats a blank record as if it were not there" if coins else NOTHING_FOR_BLANKS
    drawn = scheme.drawn
    if not coins:
        sizes = f"the larger of two neighbours has {scheme.larger}"
        drawn += f", where {sizes if alone else f'every dataset has {scheme.population} records'}"
    return f"{drawn}, and {_noisy_sum(contribution, sigma)}", *[empty] * blank, FRESH, ALONE


def _noisy_sum(contribution: Fraction, sigma: Fraction) -> str:
    noise = f"Gaussian noise of mean 0 and standard deviation {exact(sigma)}"
    drawn = "independent in every coordinate, to the sum of the drawn records' contributions"
    return f"adds {noise}, {drawn}; {contributed(contribution)}"


def without_replacement(step: Application) -> tuple[str, ...]:
    """Check H_t <= q H_{1+(t-1)/q} for t >= 1 and both orders, q = m/n, under replace-one.

    Source: Balle, Barthe & Gaboardi (arXiv:1807.01647), Theorem 10. Proof:
    proofs/theory/sampled.md.
    """
    if step.conclusion.relation != "replace-one":
        raise RefusedError("the formula is about datasets of one size, under replace-one")
    if step.conclusion.steps != 1:
        raise RefusedError("the formula is about one record")
    base, size = step.only(Pairs), step.witness.whole("sample_size")
    population = step.witness.whole("population_size", least=size + 1)
    if not base.forward:
        raise RefusedError("the rule takes a base of at least one pair")
    pair = SampledPair(base.forward, Fraction(size, population), Direction.REPLACEMENT)
    step.expect(Pairs(((pair, 1),), ((pair, 1),)))
    (name,) = step.mechanisms
    drawn = f"a sample of {size} of the {population} records, all such subsets equally likely"
    return f"runs {name} on {drawn}, in random order if their order matters", FRESH, ALONE


def _sample(base: Product, q: Fraction, *, removal: bool) -> Pair:
    """Return the sampled pair of one direction; Gaussian bases have a pair of their own."""
    if all(isinstance(pair, GaussianPair) for pair, _ in base):
        return gaussian_sample(base, q, removal=removal)
    return SampledPair(base, q, Direction.REMOVAL if removal else Direction.ADDITION)


poisson: Final = poisson_by(_sample)
"""Sampled pairs of any base."""
