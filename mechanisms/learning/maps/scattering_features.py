"""The scattering transform of images: wavelets that nobody trained."""

import functools
import itertools
import math
from fractions import Fraction
from typing import Final, final

import numpy as np
import scipy.fft
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms import parameters
from dpproof.mechanisms.learning.maps.feature_map import FeatureMap, checked_width
from dpproof.mechanisms.learning.records import RECORD_BITS, Vectors, grid_rows

# Heuristic: the wavelets of Andreux et al., "Kymatio", JMLR 21 (2020): width and frequency of the
# finest one, and the shape of its envelope, 4 / angles times as wide along its waves as across.
_WIDTH: Final = 0.8
_FREQUENCY: Final = 3 * math.pi / 4
_MOST_SCALES: Final = 5

Filters = tuple[Vectors, dict[int, Vectors]]
"""At one resolution: the low-pass filter, and of every coarser scale the wavelets by angle."""


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class ScatteringFeatures(FeatureMap):
    """Map an image x to local means of x, |x * w| and ||x * w| * v|, with Morlet wavelets w and v.

    v is coarser than w. Nothing is trained and no data is looked at: the wavelets are constants.
    Features change little where an image is shifted or bent a little, so a linear classifier of
    them needs far fewer records than one of pixels.

    Args:
        features: pixels of an image, row after row.
        height: of the image, a divisor of its pixels; None is that of a square.
        scales: J, of wavelets; means are taken over 2^J pixels.
        angles: L, of wavelets.
        floor: each of the 1 + J L + J (J - 1) / 2 L^2 channels is centred over its positions and
            divided by sqrt(its energy + floor), for images of norm 1; None leaves channels as they
            are.
        norm: rows are clipped to this Euclidean norm before they are mapped, in data units; None
            scales every row to norm 1.
    Source: Mallat, "Group invariant scattering", arXiv:1101.2286, section 2; Bruna & Mallat,
        arXiv:1203.1513; as features of private learners Tramer & Boneh, arXiv:2011.11660.
    Proof: an image goes through the transform by itself, in arrays whose shapes do not depend on
        the number of rows, so the same operations give the same bits. How far features move with
        an image is bounded by Theorem 1 of proofs/theory/scattering.md.
    Example:
        >>> plan = ScatteringFeatures(features=64, scales=1, angles=4)
        >>> plan.output_features
        125
        >>> plan.apply(np.eye(64)[:2]).shape
        (2, 125)
    """

    features: int = field(converter=checked_width)
    height: int | None = field(default=None, converter=parameters.optional_count)
    scales: int = field(
        default=2,
        converter=parameters.count,
        validator=parameters.within(1, _MOST_SCALES, f"at most {_MOST_SCALES}"),
    )
    angles: int = field(default=8, converter=parameters.count)
    floor: Fraction | None = field(default=Fraction(1, 32), converter=parameters.optional_scale)
    norm: Fraction | None = field(default=None, converter=parameters.optional_scale)

    def __attrs_post_init__(self) -> None:
        """Take a square where no height is given; refuse other shapes, and too many features."""
        height = math.isqrt(self.features) if self.height is None else self.height
        if self.features % height or (self.height is None and height**2 != self.features):
            raise ParameterError("height", self.height, f"a divisor of {self.features} pixels")
        object.__setattr__(self, "height", height)
        checked_width(self.output_features, "angles")

    @property
    def sides(self) -> tuple[int, int]:
        """Return height and width of the image with zeros around it: multiples of 2^scales."""
        height = int(self.height or 1)
        step = 2**self.scales
        return step * (height // step + 1), step * (self.features // height // step + 1)

    @property
    def channels(self) -> int:
        """Return the number of local means at one position."""
        first = self.scales * self.angles
        return 1 + first + first * (self.scales - 1) * self.angles // 2

    @property
    def output_features(self) -> int:
        """Return the number of channels times that of positions."""
        height, width = self.sides
        return self.channels * (height >> self.scales) * (width >> self.scales)

    @property
    def output_norm(self) -> Fraction | None:
        """Return the square root of the number of channels, each of norm below 1, if divided."""
        return None if self.floor is None else Fraction(math.isqrt(self.channels - 1) + 1)

    @property
    def description(self) -> str:
        """Return a description that names the numbers and the scaling."""
        image = f"{self.height} x {self.features // int(self.height or 1)} pixels"
        numbers = f"{self.scales} scales, {self.angles} angles"
        first = "scaling to norm 1" if self.norm is None else f"clipping to norm {self.norm}"
        last = "as they are" if self.floor is None else f"centred and divided, floor {self.floor}"
        return f"ScatteringFeatures, {image}, {numbers}, after {first}, channels {last}"

    def _apply(self, rows: Vectors) -> Vectors:
        images = grid_rows(rows, self.norm)
        mapped = np.empty((len(rows), self.output_features))
        for number, image in enumerate(images):
            mapped[number] = self._scattered(image * 2.0**-RECORD_BITS)
        return mapped

    def _scattered(self, image: Vectors) -> Vectors:
        """Return the features of one image, of norm at most 1."""
        filters, top = filters_of(self), self.scales
        padded = np.zeros(self.sides)
        pixels = image.reshape(int(self.height or 1), -1)
        padded[: pixels.shape[0], : pixels.shape[1]] = pixels
        whole = scipy.fft.fft2(padded)
        means, second = [_local(whole, filters[0][0], 2**top)], []
        for first in range(top):
            waves = scipy.fft.fft2(_modulus(whole * filters[0][1][first], 2**first))
            means.append(_local(waves, filters[first][0], 2 ** (top - first)))
            for coarser in range(first + 1, top):
                both = waves[:, np.newaxis] * filters[first][1][coarser]
                twice = scipy.fft.fft2(_modulus(both, 2 ** (coarser - first)))
                second.append(_local(twice, filters[coarser][0], 2 ** (top - coarser)))
        size = self.output_features // self.channels
        features = np.concatenate([part.reshape(-1, size) for part in means + second])
        if self.floor is not None:
            features -= features.mean(axis=1, keepdims=True)
            energies = np.square(features).sum(axis=1, keepdims=True)
            features /= np.sqrt(energies + float(self.floor))
        return features.reshape(-1)


def _modulus(transforms: NDArray[np.complex128], step: int) -> Vectors:
    """Return sizes at every ``step``-th position, times ``step``, from Fourier transforms."""
    waves = scipy.fft.ifft2(_folded(transforms, step)) * step
    return np.asarray(np.sqrt(np.square(waves.real) + np.square(waves.imag)))


def _local(transforms: NDArray[np.complex128], low: Vectors, step: int) -> Vectors:
    """Return the low-pass filtered values at every ``step``-th position, times ``step``."""
    return np.asarray(scipy.fft.ifft2(_folded(transforms * low, step)).real * step)


def _folded(transforms: NDArray[np.complex128], step: int) -> NDArray[np.complex128]:
    """Return the transform of every ``step``-th value in both directions: means of aliases."""
    height, width = transforms.shape[-2:]
    parts = (*transforms.shape[:-2], step, height // step, step, width // step)
    return np.asarray(transforms.reshape(parts).mean(axis=(-4, -2)))


@functools.lru_cache(maxsize=8)
def filters_of(plan: ScatteringFeatures) -> list[Filters]:
    """Return the real Fourier transforms of all filters, at resolutions 1, 1/2, 1/4, ..."""
    # Wavelets are scaled so that those of resolution 1 keep the energy of every image or lower it.
    bank: list[Filters] = []
    slant = 4 / plan.angles
    for coarse in range(plan.scales):
        low = _gaussian(plan.sides, coarse, _WIDTH * 2 ** (plan.scales - 1))
        wavelets = {}
        for octave in range(coarse, plan.scales):
            width, frequency, filters = _WIDTH * 2**octave, _FREQUENCY / 2**octave, []
            for turn in np.pi * np.arange(plan.angles) / plan.angles:
                wave = _gaussian(plan.sides, coarse, width, frequency, turn=turn, slant=slant)
                still = _gaussian(plan.sides, coarse, width, turn=turn, slant=slant)
                filters.append(wave - wave[0, 0] / still[0, 0] * still)
            wavelets[octave] = np.stack(filters)
        bank.append((low / low[0, 0], wavelets))
    energy = sum(np.square(waves).sum(axis=0) for waves in bank[0][1].values())
    mirrored = np.roll(np.flip(energy), (1, 1), axis=(0, 1))
    factor = 1 / math.sqrt(float((energy + mirrored).max()) / 2)
    return [(low, {j: waves * factor for j, waves in some.items()}) for low, some in bank]


def _gaussian(
    sides: tuple[int, int],
    coarse: int,
    width: float,
    frequency: float = 0,
    *,
    turn: float = 0,
    slant: float = 1,
) -> Vectors:
    """Return a Gaussian around a frequency at resolution 2^-coarse, aliases added up."""
    total = np.zeros([side >> coarse for side in sides])
    for alias in itertools.product(range(-3, 4), repeat=2):
        y, x = (
            2 * math.pi * (np.arange(side) / side + shift) / 2**coarse
            for side, shift in zip(total.shape, alias, strict=True)
        )
        along = y[:, np.newaxis] * math.sin(turn) + x * math.cos(turn) - frequency
        beside = y[:, np.newaxis] * math.cos(turn) - x * math.sin(turn)
        total += np.exp(-(width**2) / 2 * (along**2 + (beside / slant) ** 2))
    return total
