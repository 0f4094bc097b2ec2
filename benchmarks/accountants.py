"""One face for every accountant that is measured, so that all are asked the same question."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, final

from benchmarks.cases import Part

Ends = tuple[float | None, float]  # lower end where the accountant claims one, and upper end


class Unsupported(Exception):
    """The accountant has no answer to this question."""


class Accountant(ABC):
    """A package's computation of epsilon or delta of a pipeline under add/remove.

    Attributes:
        name: in tables.
        package: the distribution it comes from, for its version.
        modules: the modules that must be importable, and are imported before anything is timed.
    """

    name: ClassVar[str]
    package: ClassVar[str]
    modules: ClassVar[tuple[str, ...]]

    @classmethod
    def is_installed(cls) -> bool:
        """Return whether the package can be asked here."""
        return importlib.util.find_spec(cls.modules[0]) is not None

    @classmethod
    def version(cls) -> str:
        """Return the version of the package."""
        return importlib.metadata.version(cls.package)

    @abstractmethod
    def epsilon(self, parts: Sequence[Part], delta: Fraction) -> Ends:
        """Return the smallest epsilon at a delta."""

    @abstractmethod
    def delta(self, parts: Sequence[Part], epsilon: float) -> Ends:
        """Return the smallest delta at an epsilon."""

    def calibrate(self, rate: float, count: int, epsilon: float, delta: float) -> Ends:
        """Return the sigma of a subsampled Gaussian that meets a target.

        By default there is none.
        """
        raise Unsupported(f"{self.name} does not calibrate {rate, count, epsilon, delta}")

    def forget(self) -> None:
        """Empty every cache, so that no answer is timed twice; by default there are none."""
        return


@final
class Dpproof(Accountant):
    """This library: both ends certified."""

    name = "dpproof"
    package = "dpproof"
    modules = ("dpproof.accountant", "dpproof.mechanisms")

    @classmethod
    def version(cls) -> str:
        """Return the version of the tree this file is in."""
        try:
            return importlib.metadata.version(cls.package)
        except importlib.metadata.PackageNotFoundError:
            return "this tree"

    def epsilon(self, parts: Sequence[Part], delta: Fraction) -> Ends:
        """Bracket of epsilon."""
        bound = self._mechanism(parts).guarantee().epsilon(delta=delta)
        return bound.lower, bound.upper

    def delta(self, parts: Sequence[Part], epsilon: float) -> Ends:
        """Bracket of delta."""
        bound = self._mechanism(parts).guarantee().delta(epsilon=epsilon)
        return bound.lower, bound.upper

    def calibrate(self, rate: float, count: int, epsilon: float, delta: float) -> Ends:
        """Return sigma, on the safe side of the target."""
        from dpproof.accountant.calibration.calibrate import calibrate  # noqa: PLC0415

        found = calibrate(
            lambda sigma: self._mechanism([Part("gaussian", sigma, rate, count)]),
            epsilon=epsilon,
            delta=delta,
        )
        return None, found.value

    def forget(self) -> None:
        """Clear the tables that the engine keeps between questions."""
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] == "dpproof":
                for value in list(vars(module).values()):
                    if hasattr(value, "cache_clear"):
                        value.cache_clear()

    @staticmethod
    def _mechanism(parts: Sequence[Part]) -> Any:  # noqa: ANN401  # imported where it is measured
        from dpproof.accountant.sampling import Poisson  # noqa: PLC0415
        from dpproof.accountant.sensitivity import L1, L2  # noqa: PLC0415
        from dpproof.mechanisms import Gaussian, Laplace, Mechanism, compose  # noqa: PLC0415

        def one(part: Part) -> Mechanism[Any]:
            made: Mechanism[Any] = (
                Gaussian(sigma=part.noise, sensitivity=L2(1))
                if part.mechanism == "gaussian"
                else Laplace(scale=part.noise, sensitivity=L1(1))
            )
            if part.rate is not None:
                made = made.subsample(Poisson(sampling_rate=part.rate))
            return made.repeat(part.count) if part.count > 1 else made

        return one(parts[0]) if len(parts) == 1 else compose(*[one(part) for part in parts])


class _DpAccounting(Accountant):
    """The parts that both accountants of dp-accounting share."""

    package = "dp-accounting"
    modules = ("dp_accounting", "dp_accounting.pld", "dp_accounting.rdp")

    @abstractmethod
    def _empty(self) -> Any:  # noqa: ANN401  # the package is untyped
        """Return a new accountant."""

    def epsilon(self, parts: Sequence[Part], delta: Fraction) -> Ends:
        """Return the claimed upper end of epsilon."""
        return None, float(self._composed(parts).get_epsilon(float(delta)))

    def delta(self, parts: Sequence[Part], epsilon: float) -> Ends:
        """Return the claimed upper end of delta."""
        return None, float(self._composed(parts).get_delta(epsilon))

    def calibrate(self, rate: float, count: int, epsilon: float, delta: float) -> Ends:
        """Return sigma by the package's own search."""
        import dp_accounting  # noqa: PLC0415

        sigma = dp_accounting.calibrate_dp_mechanism(
            self._empty,
            lambda sigma: dp_accounting.SelfComposedDpEvent(
                dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(sigma)),
                count,
            ),
            epsilon,
            delta,
        )
        return None, float(sigma)

    def _composed(self, parts: Sequence[Part]) -> Any:  # noqa: ANN401
        import dp_accounting  # noqa: PLC0415

        accountant = self._empty()
        for part in parts:
            event = (
                dp_accounting.GaussianDpEvent(part.noise)
                if part.mechanism == "gaussian"
                else dp_accounting.LaplaceDpEvent(part.noise)
            )
            if part.rate is not None:
                event = dp_accounting.PoissonSampledDpEvent(part.rate, event)
            accountant.compose(event, part.count)
        return accountant


@final
class DpAccountingPld(_DpAccounting):
    """Privacy loss distributions with the default discretisation, 1e-4."""

    name = "dp-accounting PLD"

    def _empty(self) -> Any:  # noqa: ANN401
        from dp_accounting import pld  # noqa: PLC0415

        return pld.PLDAccountant()


@final
class DpAccountingRdp(_DpAccounting):
    """Renyi divergences at the default orders."""

    name = "dp-accounting RDP"

    def _empty(self) -> Any:  # noqa: ANN401
        from dp_accounting import rdp  # noqa: PLC0415

        return rdp.RdpAccountant()


@final
class Prv(Accountant):
    """Privacy random variables, epsilon within 0.01 and delta within a thousandth."""

    name = "prv-accountant"
    package = "prv-accountant"
    modules = ("prv_accountant",)

    def epsilon(self, parts: Sequence[Part], delta: Fraction) -> Ends:
        """Return its two claimed ends."""
        import prv_accountant  # noqa: PLC0415

        prvs = []
        for part in parts:
            if part.mechanism == "laplace":
                prvs.append(prv_accountant.LaplaceMechanism(mu=1 / part.noise))
            elif part.rate is None:
                prvs.append(prv_accountant.GaussianMechanism(noise_multiplier=part.noise))
            else:
                prvs.append(
                    prv_accountant.PoissonSubsampledGaussianMechanism(
                        noise_multiplier=part.noise, sampling_probability=part.rate
                    )
                )
        counts = [part.count for part in parts]
        accountant = prv_accountant.PRVAccountant(
            prvs=prvs, max_self_compositions=counts, eps_error=0.01, delta_error=float(delta) * 1e-3
        )
        low, _, high = accountant.compute_epsilon(float(delta), counts)
        return float(low), float(high)

    def delta(self, parts: Sequence[Part], epsilon: float) -> Ends:
        """Refuse: the error must be given as an absolute delta in advance."""
        raise Unsupported(f"{self.name} is asked for epsilon only, not at {epsilon, len(parts)}")


@final
class OpacusRdp(Accountant):
    """The Renyi accountant of Opacus: subsampled Gaussians only."""

    name = "Opacus RDP"
    package = "opacus"
    modules = ("opacus",)

    def epsilon(self, parts: Sequence[Part], delta: Fraction) -> Ends:
        """Return the claimed upper end of epsilon."""
        from opacus.accountants import RDPAccountant  # noqa: PLC0415

        accountant = RDPAccountant()
        for part in parts:
            if part.mechanism != "gaussian":
                raise Unsupported(f"{self.name} has no {part.mechanism} mechanism")
            rate = 1.0 if part.rate is None else part.rate
            accountant.history.append((part.noise, rate, part.count))
        return None, float(accountant.get_epsilon(delta=float(delta)))

    def delta(self, parts: Sequence[Part], epsilon: float) -> Ends:
        """Refuse, as the package offers no delta."""
        raise Unsupported(f"{self.name} has no delta at {epsilon} of {len(parts)} parts")


ALL: tuple[type[Accountant], ...] = (Dpproof, DpAccountingPld, DpAccountingRdp, Prv, OpacusRdp)


def installed() -> list[type[Accountant]]:
    """Return the accountants that can be asked here, this library first."""
    return [one for one in ALL if one.is_installed()]
