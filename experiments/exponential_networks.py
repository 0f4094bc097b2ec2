"""A small network among public random ones, with pure differential privacy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from attrs import field, frozen
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant import arguments
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import R
from dpproof.mechanisms import parameters
from dpproof.mechanisms.learning.bounded_updates import signed
from dpproof.mechanisms.learning.covers import checked_size
from dpproof.mechanisms.learning.maps.feature_map import checked_seed
from dpproof.mechanisms.learning.records import (
    PRODUCT_BITS,
    RECORD_BITS,
    STATE_BITS,
    GridRecords,
    Vectors,
    unit_rows,
)
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.samplers.rng import ReplayRng
from experiments.mistake_exponential import MistakeExponential

_LAYERS: Final = 2
# The rational function below leaves [-1, 1] here, and tanh is 1 up to 1e-4.
_FLAT: Final = 4.97


def _widths(widths: Sequence[int], name: str = "value") -> tuple[int, ...]:
    """Keep the widths of the rows and of at least one hidden layer."""
    given: Any = widths
    if not isinstance(given, tuple | list) or len(given) < _LAYERS:
        raise ParameterError(name, widths, "widths of the rows and of one hidden layer or more")
    return tuple(arguments.count(**{name: width}) for width in given)


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class ExponentialNetworks(MistakeExponential[R]):
    """Pick one of some public random networks, those with few mistakes exponentially likely.

    Every unit has a weight vector of length ``gain`` in a random direction and the activation
    (1 - e^(-eta a/2)) / (1 + e^(-eta a/2)) = tanh(eta a / 4), the last one is linear. A record is a
    mistake if y times the output is at most 0. This is a learner over finitely many candidates:
    beyond some eight parameters few of them are any good, and DP-SGD is the method to take.

    Statement: as for every ``MistakeExponential``: epsilon-bounded range.
    Source: Bassily, Mohri & Suresh, arXiv:2204.10376, section 5, with public random networks for
        the cover of all. The paper takes eta for the activation's Lipschitz constant, which is
        eta/4: its (2 eta Lambda)^L may be (eta Lambda / 2)^L.
    Proof: the outputs are computed from one record by exact products on a grid and by additions,
        multiplications and divisions of single numbers, so they are a function of that record.

    Args:
        architecture: widths, from that of the rows to that of the last hidden layer.
        candidates: the number of networks, from 1 to 10^8.
        seed: public, chosen before looking at the data; trying several is a selection.
        epsilon: of the pick, in nats.
        eta: slope parameter of the activation, above 0.
        gain: length of every unit's weight vector, above 0.
        norm: rows are clipped to this Euclidean norm.
        relation: the neighbouring relation.
    Outputs:
        A record with fields ``index`` and ``weights``, the parameters of the network of that
        index in one row, for ``outputs``.
    Raises:
        ParameterError: a parameter outside its domain; on release, data that is not labelled rows.
    Example:
        >>> from dpproof.accountant import ReplaceOne
        >>> learner = ExponentialNetworks(
        ...     architecture=(
        ...     2, 3), candidates=200, seed=1, epsilon=1, eta=8, gain=1, relation=ReplaceOne(
        ... )
        ... )
        >>> learner.lipschitz, learner.guarantee().stated_epsilon
        (2.0, Fraction(1, 1))
    """

    architecture: tuple[int, ...] = field(converter=_widths)
    candidates: int = field(converter=checked_size)
    seed: int = field(converter=checked_seed)
    eta: Fraction = field(default=Fraction(1), converter=parameters.positive)
    gain: Fraction = field(default=Fraction(1), converter=parameters.positive)
    margin: Fraction = field(init=False, default=Fraction(0))

    @property
    def features(self) -> int:
        """Return the width of a row."""
        return self.architecture[0]

    @property
    def lipschitz(self) -> float:
        """Return the activation's Lipschitz constant, eta/4."""
        return float(self.eta) / 4

    def outputs(self, weights: ArrayLike, rows: ArrayLike) -> NDArray[np.float64]:
        """Return the outputs of one released network on some rows; the sign is the label.

        Args:
            weights: of a release.
            rows: shape (n, features), in data units, within the norm.
        """
        layers, last = self._layers(np.asarray(weights, dtype=np.float64)[np.newaxis])
        unit = 1.0 if self.norm is None else float(self.norm)
        states = np.trunc(np.asarray(rows, dtype=np.float64) / unit * 2.0**RECORD_BITS)
        return np.asarray(self._forward(states[np.newaxis], layers, last)[0])

    def _directions(self) -> NDArray[np.float64]:
        """Return every network's unit vectors on the grid, one network a row."""
        from scipy.special import ndtri  # noqa: PLC0415 - its import takes longer than all of ours

        shapes = [*zip(self.architecture[1:], self.architecture, strict=False)]
        shapes.append((1, self.architecture[-1]))
        words = ReplayRng(b"networks:%d" % self.seed)
        parts = []
        for units, inputs in shapes:
            drawn = words.words(self.candidates * units * inputs)
            normal = ndtri(((drawn >> np.uint64(11)) + 0.5) * 2.0**-53).reshape(-1, inputs)
            parts.append(unit_rows(normal, STATE_BITS).reshape(self.candidates, -1))
        return np.concatenate(parts, axis=1) * 2.0**-STATE_BITS

    def _mistakes(self, records: GridRecords, limit: float) -> NDArray[np.int64]:
        """Count the mistakes of every network; ``limit`` is 0."""
        vectors = signed(records)
        signs = 2.0 * records.classes - 1.0
        rows = vectors * signs[:, np.newaxis]
        networks, mistakes = self._directions(), np.empty(self.candidates, dtype=np.int64)
        size = max(1, 2**20 // max(1, len(rows) * max(self.architecture)))
        for start in range(0, self.candidates, size):
            layers, last = self._layers(networks[start : start + size])
            said = self._forward(rows[np.newaxis], layers, last)
            mistakes[start : start + size] = (said * signs <= limit).sum(axis=1)
        return mistakes

    def _layers(self, weights: NDArray[np.float64]) -> tuple[list[Vectors], Vectors]:
        """Split rows of parameters into matrices on the grid, and the last vectors."""
        steps, place, layers = np.rint(weights * 2.0**STATE_BITS), 0, []
        for inputs, units in zip(self.architecture, self.architecture[1:], strict=False):
            layer = steps[:, place : place + units * inputs]
            layers.append(layer.reshape(len(weights), units, inputs))
            place += units * inputs
        return layers, steps[:, place:]

    def _forward(self, states: Vectors, layers: list[Vectors], last: Vectors) -> Vectors:
        """Return outputs, shape (networks, records), of states in units of 2^-24."""
        slope = self.lipschitz * float(self.gain)
        for place, layer in enumerate(layers):
            products = states @ layer.transpose(0, 2, 1) * 2.0**-PRODUCT_BITS
            longest = float(self._unit) if place == 0 else math.sqrt(layer.shape[2])
            bent = _tanh(products * (slope * longest))
            states = np.trunc(bent * (2.0**RECORD_BITS / math.sqrt(layer.shape[1])))
        return np.asarray((states @ last[:, :, np.newaxis])[:, :, 0])

    @property
    def _unit(self) -> Fraction:
        """Return the bound of the rows' norms, in data units."""
        return Fraction(1) if self.norm is None else self.norm


def _tanh(numbers: Vectors) -> Vectors:
    """Return tanh up to 1e-4, from operations that round one number at a time.

    A library's tanh may differ with the place of a number in an array.
    """
    x = np.clip(numbers, -_FLAT, _FLAT)
    square = x * x
    above = x * (135135 + square * (17325 + square * (378 + square)))
    below = 135135 + square * (62370 + square * (3150 + square * 28))
    return np.asarray(np.clip(above / below, -1.0, 1.0))
