"""The subject of an audit: a callable, a program or a server that draws outputs.

The protocol: for every call there are exactly as many lines as outputs were asked for, ended by a
line feed, in UTF-8. A line of numbers, with blanks or commas between them, is these numbers; any
other line, also an empty one, is a text. All bytes have a meaning, so that whatever an
implementation writes is an output.
"""

from __future__ import annotations

import copy
import inspect
import math
import os
import re
import shlex
import signal
import string
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http.client import HTTPException, HTTPResponse
from typing import Any, Final, Protocol, final

import numpy as np
from attrs import field, frozen

from dpproof.accountant import ParameterError, arguments
from dpproof.accountant.form import DataError, Form, origin
from dpproof.auditing.counts import SamplerFailed
from dpproof.auditing.trials.encoding import Features, Labels, encode


class Sampler(Protocol):
    """Any callable that draws independent outputs of an implementation.

    Assumed by every audit: the outputs of one call, and of different calls, are independent given
    the data. A mechanism whose outputs are not (a seed reset by each call, noise reused between
    two releases) has to be audited on transcripts: one output = everything one call releases.
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator, /) -> Any:  # noqa: ANN401
        """Return ``size`` outputs on ``data``, first axis = outputs; ``rng`` may be ignored."""
        ...


def require_sampler(sampler: object) -> None:
    """Refuse what cannot be called with a dataset, a size and a generator."""
    signature = type(sampler).__name__
    if callable(sampler):
        try:
            inspect.signature(sampler).bind(None, 1, None)
        except ValueError:  # a function that does not tell its arguments
            return
        except TypeError:
            signature += f" {inspect.signature(sampler)}"
        else:
            return
    raise ParameterError("sampler", signature, "a function (data, size, rng) -> outputs")


@final
@dataclass(frozen=True, slots=True)
class OneAtATime:
    """A sampler from a function that draws one output.

    Args:
        draw: ``(data, rng) -> output``, or ``data -> output`` with its own randomness.
        takes_rng: whether ``draw`` takes the generator.
        errors_are_outputs: what a release raises is visible to whoever asked for it, so the type
            of an exception is an output like any other; False lets it propagate.
    Example:
        >>> sampler = OneAtATime(lambda data, rng: data + rng.normal())
        >>> len(sampler(3.0, 5, np.random.default_rng(1)))
        5
    """

    draw: Callable[..., object]
    takes_rng: bool = True
    errors_are_outputs: bool = True

    def __call__(self, data: object, size: int, rng: np.random.Generator) -> list[object]:
        """Return ``size`` outputs, one call each."""
        return [self._one(data, rng) for _ in range(size)]

    def _one(self, data: object, rng: np.random.Generator) -> object:
        try:
            return self.draw(data, rng) if self.takes_rng else self.draw(data)
        except Exception as error:
            if not self.errors_are_outputs:
                raise
            return f"raised {type(error).__name__}"


@final
@dataclass(frozen=True, slots=True)
class Timed:
    """A sampler with the running time of every call as its last number, in powers of 2 seconds.

    For a release whose time can be seen. Of one output a call, so ``audit`` needs ``chunk=1``: then
    a fresh coin chooses the dataset of every call, and a machine that grows slower, or what the
    call before left in its caches, is independent of the coin. Time that only the load of the
    machine decides is no evidence, whatever its law.

    Args:
        sampler: returns numbers.
    """

    sampler: Sampler

    def __call__(self, data: object, size: int, rng: np.random.Generator) -> list[list[float]]:
        """Return one output and its time; what else is there after each call is the same."""
        if size != 1:
            raise ParameterError("size", size, "1, so that a call is one output", "give chunk=1")
        start = time.perf_counter_ns()
        outputs = self.sampler(data, 1, rng)
        taken = time.perf_counter_ns() - start
        return [[*encode(outputs, 1)[0].tolist(), math.log2(max(taken, 1) * 1e-9)]]


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Attempt:
    """A call's value, or the type of the error it raised and where: its text may quote the data."""

    value: Any
    error: str | None = None

    @staticmethod
    def of(call: Callable[[Any], Any], data: object) -> Attempt:
        """Call it; the data stays as it is, warnings are not shown."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                return Attempt(call(copy.deepcopy(data)))
            except Exception as error:  # noqa: BLE001  # whatever it raises is what it shows
                return Attempt(None, origin(error))

    def __str__(self) -> str:
        return str(Form.of(self.value)) if self.error is None else self.error


def told_apart(first: Attempt, other: Attempt) -> tuple[str, str]:
    """Return two outcomes in words, of values their forms and where they differ first."""
    if first.error is not None or other.error is not None:
        return str(first), str(other)
    one, two = Form.of_both(first.value, other.value)
    return str(one), str(two)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Training:
    """Trials to look at freely: they choose a test and are never tested."""

    features: Features  # shape (trials, coordinates)
    labels: Labels  # shape (trials,), True where the trial was on D

    def __len__(self) -> int:
        return len(self.labels)

    def halves(self) -> tuple[Training, Training]:
        """Return two disjoint halves, every second trial each."""
        return (
            Training(self.features[0::2], self.labels[0::2]),
            Training(self.features[1::2], self.labels[1::2]),
        )

    def joined(self, other: Training) -> Training:
        """Return both sets of trials together."""
        return Training(
            np.concatenate([self.features, other.features]),
            np.concatenate([self.labels, other.labels]),
        )


Output = float | tuple[float, ...] | str
_PLACEHOLDERS: Final = ("size", "dataset", "seed")
_NUMBER: Final = re.compile(
    r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?inf(inity)?|nan", re.IGNORECASE | re.ASCII
)
_BETWEEN: Final = re.compile(r"[ \t,]+")
_MOST_BYTES: Final = 1 << 28
_BLOCK: Final = 1 << 16


@final
@frozen(init=False)
class Command:
    r"""A sampler that runs a program for every call and reads what it prints, one line an output.

    No shell is involved: the command is split as a shell splits words, and then every placeholder
    is filled in, so that a blank or a quote in the name of a dataset stays in its argument.

    Args:
        command: the program and its arguments. ``{size}`` is the number of outputs, ``{dataset}``
            the name of one (D or D' of the pair: a text or a number, as a path), ``{seed}``, which
            may be missing, a fresh whole number below 2^63.
        seconds: time of one call.
    Raises:
        SamplerFailed: in a call, the program cannot be started, takes longer, prints more than
            256 MiB or other than ``size`` lines, or ends with another status than 0. No message
            has anything that was printed.
    Example:
        >>> echo = Command("printf '%s 1\n%.0s' {dataset} {size}")
        >>> echo(0.5, 1, np.random.default_rng(1))
        [(0.5, 1.0)]
    """

    words: tuple[str, ...]
    seconds: float

    def __init__(self, command: str, *, seconds: arguments.Number = 60) -> None:
        try:
            words = tuple(shlex.split(command))
        except ValueError as error:
            allowed = "words as a shell has them"
            raise ParameterError("command", command, allowed, str(error)) from None
        _require_placeholders("command", command, words)
        self.__attrs_init__(words, float(arguments.positive(seconds=seconds)))

    def __call__(self, data: object, size: int, rng: np.random.Generator) -> list[Output]:
        """Return the outputs of one run."""
        filled = _filled(data, size, rng)
        name = os.path.basename(self.words[0])  # noqa: PTH119  # no path, the name of a program
        try:
            process = subprocess.Popen(  # noqa: S603  # the caller's own program, no shell
                [word.format_map(filled) for word in self.words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise SamplerFailed(f"{name} cannot be started: {type(error).__name__}") from None
        printed = _printed(process, self.seconds)
        if printed is None:
            raise SamplerFailed(f"{name} took longer than {self.seconds:g} s")
        if len(printed) > _MOST_BYTES:
            raise SamplerFailed(f"{name} printed more than {_MOST_BYTES} bytes")
        if process.returncode:
            raise SamplerFailed(f"{name} {_ended(process.returncode)}")
        return _parsed(printed, size, f"{name} printed")


@final
@frozen(init=False)
class Server:
    """A sampler that asks a server for every call, by GET, and reads one line an output.

    The address has the placeholders of ``Command``, filled in percent-encoded.

    Raises:
        SamplerFailed: in a call, there is no answer in time, or one with another status than 200,
            of more than 256 MiB, or of other than ``size`` lines.
    Example:
        >>> Server("https://localhost/release?n={size}&d={dataset}").seconds
        60.0
    """

    url: str = field(repr=False)  # it may hold a password
    seconds: float

    def __init__(self, url: str, *, seconds: arguments.Number = 60) -> None:
        if not re.match(r"https?://[^/{]+(/|\?|$)", url):
            allowed = "an address that begins with http:// or https://"
            raise ParameterError("url", "another text", allowed)
        _require_placeholders("url", "another address", (url,))
        self.__attrs_init__(url, float(arguments.positive(seconds=seconds)))

    def __call__(self, data: object, size: int, rng: np.random.Generator) -> list[Output]:
        """Return the outputs of one answer."""
        filled = {
            name: urllib.parse.quote(text, safe="", errors="surrogatepass")
            for name, text in _filled(data, size, rng).items()
        }
        deadline = time.monotonic() + self.seconds
        try:
            with urllib.request.urlopen(  # noqa: S310  # http or https, as required above
                self.url.format_map(filled), timeout=self.seconds
            ) as answer:
                if answer.status != 200:
                    raise SamplerFailed(f"the server answered with status {answer.status}")
                body = _received(answer, deadline)
        except urllib.error.HTTPError as error:
            error.close()
            raise SamplerFailed(f"the server answered with status {error.code}") from None
        except TimeoutError:
            raise SamplerFailed(f"the server took longer than {self.seconds:g} s") from None
        except (OSError, HTTPException, ValueError) as error:
            cause = getattr(error, "reason", error)
            raise SamplerFailed(f"the server gave no answer: {type(cause).__name__}") from None
        return _parsed(body, size, "the server sent")


def _require_placeholders(name: str, whole: str, words: tuple[str, ...]) -> None:
    try:
        parts = [part for word in words for part in string.Formatter().parse(word)]
    except ValueError as error:
        raise ParameterError(name, whole, "a text with placeholders", str(error)) from None
    placeholders = {field for _, field, *_ in parts if field is not None}
    plain = all(not form and conversion is None for _, field, form, conversion in parts if field)
    allowed = "a text with the placeholders {size} and {dataset}, and {seed} or not"
    if not plain or not {*_PLACEHOLDERS[:2]} <= placeholders <= {*_PLACEHOLDERS}:
        raise ParameterError(name, whole, allowed, "write {{ and }} for braces")


def _filled(data: object, size: int, rng: np.random.Generator) -> dict[str, str]:
    if isinstance(data, bool) or not isinstance(data, str | int | float):
        raise DataError("dataset", data, "the name of a dataset: a text or a number")
    seed = int(rng.integers(1 << 63, dtype=np.int64, endpoint=False))
    return {"size": str(size), "dataset": str(data), "seed": str(seed)}


def _received(answer: HTTPResponse, deadline: float) -> bytes:
    body = bytearray()
    for block in iter(partial(answer.read1, _BLOCK), b""):
        body += block
        if time.monotonic() > deadline:
            raise TimeoutError
        if len(body) > _MOST_BYTES:
            raise SamplerFailed(f"the server sent more than {_MOST_BYTES} bytes")
    return bytes(body)


def _printed(process: subprocess.Popen[bytes], seconds: float) -> bytes | None:
    """Return what a program prints until it ends, None if that takes too long; then it is ended."""
    # All that it started ends with it: until it is waited for, its number is its own.
    deadline, outputs = time.monotonic() + seconds, list[bytes]()

    def read() -> None:
        if process.stdout:
            with process.stdout as output:
                outputs.append(output.read(_MOST_BYTES + 1))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        reader.join(seconds)
        printed = outputs[0] if outputs else None
        if printed is not None and len(printed) <= _MOST_BYTES:
            process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        printed = None
    finally:
        if process.returncode is None:
            _kill(process)
            process.wait()
    return printed


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):  # it has ended
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _ended(status: int) -> str:
    if status > 0:
        return f"ended with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"


def _parsed(printed: bytes, size: int, who: str) -> list[Output]:
    *lines, rest = printed.decode("utf-8", errors="backslashreplace").split("\n")
    if rest:
        raise SamplerFailed(f"{who} a last line without its line feed: it may be cut")
    if len(lines) != size:
        raise SamplerFailed(f"{who} {len(lines)} lines, expected {size}")
    return [_output(line.removesuffix("\r")) for line in lines]


def _output(line: str) -> Output:
    words = _BETWEEN.split(line.strip(" \t"))
    if not all(map(_NUMBER.fullmatch, words)):
        return line
    numbers = tuple(map(float, words))
    return numbers[0] if len(numbers) == 1 else numbers
