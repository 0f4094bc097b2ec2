"""Another library, in a process of its own: a hang, a crash or a huge array ends nothing here."""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, final

from dpproof.errors import InputError
from dpproof.files import content
from dpproof.refute.question import PAST, Question, draw

KNOWN: Final = str(Path(__file__).with_name("libraries.toml"))
_SECONDS, _IMPORTS = 15.0, 3  # of a program, and how many times that of the first
_CHILD: Final = """
import json, sys, warnings
warnings.filterwarnings("ignore")
replies, sys.stdout = sys.stdout, sys.stderr  # what a library prints is no reply
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (3600, 3600))  # if nobody is there to end it
except (ImportError, ValueError):
    pass
for line in sys.stdin:
    names = {}
    try:
        exec(json.loads(line), names)
        reply = names["answer"] if isinstance(names["answer"], str) else float(names["answer"])
    except BaseException as error:
        reply = [f"{type(error).__name__}: {error}"[:200]]
    print(json.dumps(reply), file=replies, flush=True)
"""


@final
@dataclass(frozen=True, slots=True)
class Claim:
    """A number that a library publishes; ``libraries.toml`` says what the fields mean."""

    name: str
    upper: bool = True
    rigorous_from: float = math.inf
    epsilon: str = ""
    delta: str = ""
    power: str = ""
    noise: str = ""


@final
@dataclass(frozen=True, slots=True)
class Library:
    """What a library publishes; ``libraries.toml`` says what the fields mean."""

    states: str
    poisson: bool
    kinds: Mapping[str, Sequence[str]]
    claims: tuple[Claim, ...]
    before: str = ""

    @property
    def asked(self) -> list[str]:
        """Return what some claim answers; epsilon twice, as it is asked most."""
        names = ("epsilon", "epsilon", "delta", "power", "noise")
        return [name for name in names if any(getattr(one, name) for one in self.claims)]

    @property
    def past(self) -> list[Question]:
        """Return what some accountant got wrong before, of the questions that are answered."""
        return [
            question
            for question in PAST
            for part in question.parts
            if question.relation in self.kinds.get(part.kind, ()) and question.asked in self.asked
            if self.poisson or part.rate == 1
        ]

    def questions(self, source: random.Random) -> Iterator[Question]:
        """Yield what some accountant got wrong before, and then random questions without end."""
        yield from self.past
        while asked := source.choice(self.asked):
            yield draw(source, self.kinds, asked, poisson=self.poisson)

    def program(self, claim: Claim, question: Question) -> str:
        """Return the program that leaves a number in ``answer``; empty if none is published."""
        wanted: str = getattr(claim, question.asked)
        return f"{question.written()}\n{self.before.lstrip()}{wanted.strip()}" if wanted else ""


def libraries(path: str = KNOWN) -> dict[str, Library]:
    """Return the libraries of a file, by the names of their distributions."""
    try:
        tables = tomllib.loads(content(path, "libraries to ask"))
        return {
            name: Library(**{**one, "claims": tuple(Claim(**claim) for claim in one["claims"])})
            for name, one in tables.items()
        }
    except (tomllib.TOMLDecodeError, TypeError, KeyError) as error:
        raise InputError(f"{path}: expected libraries to ask: {error}") from error


@final
@dataclass(slots=True)
class Peer:
    """A process that runs programs, started again when it is lost."""

    python: str = sys.executable
    # The longest time for one program; the first one also imports the library.
    seconds: float = _SECONDS
    _process: subprocess.Popen[str] | None = field(default=None, init=False)

    def ask(self, program: str) -> float | str | list[str]:
        """Return a program's number, its text, or in a list why there is none."""
        fresh = self._process is None
        if self._process is None:
            pipe, null = subprocess.PIPE, subprocess.DEVNULL
            command = [self.python, "-c", _CHILD]
            try:
                self._process = subprocess.Popen(  # noqa: S603  # the caller's interpreter, our text
                    command, stdin=pipe, stdout=pipe, stderr=null, text=True
                )
            except OSError as error:
                raise InputError(f"{self.python}: cannot be run: {error.strerror}") from error
        process = self._process
        allowed = self.seconds * (_IMPORTS if fresh else 1)
        late = threading.Timer(allowed, process.kill)
        late.start()
        try:
            print(json.dumps(program), file=process.stdin, flush=True)  # to a pipe
            line = process.stdout.readline() if process.stdout else ""
        except BrokenPipeError:
            line = ""
        late.cancel()
        if not line:
            self.close()
            return [f"no answer within {allowed:g} s, or the process died"]
        answer: float | str | list[str] = json.loads(line)
        return answer

    def version(self, package: str) -> str:
        """Return the version of an installed distribution; empty without it."""
        answer = self.ask(f"from importlib.metadata import version\nanswer = version({package!r})")
        return answer if isinstance(answer, str) else ""

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            with suppress(BrokenPipeError):
                self._process.communicate()
            self._process = None
