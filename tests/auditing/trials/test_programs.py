"""Samplers that are programs or servers."""

from __future__ import annotations

import math
import os
import shlex
import subprocess
import sys
import threading
import time
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import DataError
from dpproof.auditing import Command, Outcome, SamplerFailed, Server, audit
from dpproof.auditing.trials import sampler

MARKER = "Alice-123-45-6789"
RELEASE = """
import random, sys
size, value, scale, seed = sys.argv[1:]
value, scale, rng = float(value), float(scale), random.Random(int(seed))
for _ in range(int(size)):
    noise = rng.expovariate(1 / scale) - rng.expovariate(1 / scale)
    print(round(value + noise, 6))
"""


def rng() -> np.random.Generator:
    """A generator."""
    return np.random.default_rng(1)


def python(code: str, *more: str, seconds: float = 60) -> Command:
    """A command that runs some lines of Python."""
    words = (sys.executable, "-c", code.replace("{", "{{").replace("}", "}}"), *more)
    return Command(shlex.join(words) + " {size} {dataset}", seconds=seconds)


@pytest.mark.parametrize(("scale", "outcome"), [(1.0, "NO_EVIDENCE"), (0.25, "VIOLATION")])
def test_a_program_is_audited(tmp_path: Path, scale: float, outcome: str) -> None:
    """With too little noise it is refuted; a seed replays it."""
    program = tmp_path / "a release.py"
    program.write_text(RELEASE, encoding="utf-8")
    words = f"{sys.executable} '{program}' {{size}} {{dataset}} {scale} {{seed}}"
    report = audit(Command(words), ("0.0", "1.0"), (1, 0), samples=1_000, seed=1)

    assert report.outcome is Outcome[outcome], str(report)
    assert audit(Command(words), ("0.0", "1.0"), (1, 0), samples=1_000, seed=1).findings == (
        report.findings
    )


def test_every_line_is_an_output() -> None:
    """Numbers are numbers, all else is a text; any bytes have a meaning."""
    written = r"b'1\n 1.5,-2e3\tnan \n\n1_0\n+inf\nword\r\n\xff\xfe\n0x10\n\xd9\xa3\n'"
    outputs = python(f"import sys; sys.stdout.buffer.write({written})")("D", 9, rng())

    assert outputs[0] == 1.0
    assert str(outputs[1]) == "(1.5, -2000.0, nan)"
    assert outputs[2:7] == ["", "1_0", math.inf, "word", "\\xff\\xfe"]
    assert outputs[7:] == ["0x10", "٣"]


def test_no_shell_reads_the_name_of_a_dataset() -> None:
    """Blanks, quotes, dollars and braces stay in one argument."""
    name = "a 'b'; echo $HOME {size} `id` | cat"
    code = "import sys; print(len(sys.argv), sys.argv[2])"

    assert python(code)(name, 1, rng()) == [f"3 {name}"]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import sys; sys.exit(3)", "ended with status 3"),
        ("import os; os.kill(os.getpid(), 9)", "was ended by SIGKILL"),
        (f"print('{MARKER}')", "printed 1 lines, expected 2"),
        (f"print('{MARKER}', end='')", "a last line without its line feed"),
        ("print('x' * 2000)", "printed more than 1000 bytes"),
        (f"import sys; print('{MARKER}'); raise SystemExit('{MARKER}')", "ended with status 1"),
    ],
)
def test_failures_are_typed_and_show_no_output(
    code: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is a ``SamplerFailed`` that says what happened, and nothing that was printed."""
    monkeypatch.setattr(sampler, "_MOST_BYTES", 1000)
    with pytest.raises(SamplerFailed) as failure:
        python(code)("D", 2, rng())

    assert words in str(failure.value)
    assert MARKER not in str(failure.value)


@pytest.mark.parametrize(
    "code",
    [
        "import time; time.sleep(60)",
        "import os, time; os.close(1); time.sleep(60)",
        "import subprocess; subprocess.Popen(['sleep', '60'])",
        "import subprocess; subprocess.run(['sleep', '60'])",
    ],
)
def test_a_program_without_an_end_is_ended(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And all that it has started, whether it still prints or not."""
    begun, popen = time.monotonic(), subprocess.Popen
    started: list[Any] = []

    def start(*args: Any, **named: Any) -> Any:  # noqa: ANN401
        started.append(popen(*args, **named))
        return started[0]

    monkeypatch.setattr(subprocess, "Popen", start)
    with pytest.raises(SamplerFailed, match=r"took longer than 0\.5 s"):
        python(code, seconds=0.5)("D", 1, rng())

    assert time.monotonic() - begun < 20
    assert started[0].returncode is not None
    while _is_there(started[0].pid):  # until init has seen the end of what it had started
        assert time.monotonic() - begun < 20
        time.sleep(0.05)


def test_what_left_its_group_is_not_waited_for() -> None:
    """A service that a program leaves behind, with its output open, costs no more than the time."""
    begun = time.monotonic()
    code = "import subprocess; subprocess.Popen(['sleep', '3'], start_new_session=True)"
    with pytest.raises(SamplerFailed, match=r"took longer than 0\.5 s"):
        python(code, seconds=0.5)("D", 1, rng())

    assert time.monotonic() - begun < 2.5


def _is_there(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    "command",
    [
        "release {size}",
        "release {dataset}",
        "release {size} {dataset} {other}",
        "release {size.real} {dataset}",
        "release {size!r} {dataset}",
        "release {size:>9} {dataset}",
        "release {size} {dataset} {",
        "release {size} {dataset} {}",
        "release '{size} {dataset}",
        "",
    ],
)
def test_placeholders_are_checked_before_anything_runs(command: str) -> None:
    """Others, parts of them, formats and open quotes are refused, of addresses too."""
    with pytest.raises(ParameterError):
        Command(command)
    with pytest.raises(ParameterError):
        Server(f"http://localhost/{command}" if "'" not in command else "file:///{size}{dataset}")


def test_what_cannot_be_a_program_or_a_dataset() -> None:
    """A program that is not there, and a dataset without a name; its records are not shown."""
    with pytest.raises(SamplerFailed, match="nowhere cannot be started: FileNotFoundError"):
        Command("/no/nowhere {size} {dataset}")("D", 1, rng())
    with pytest.raises(DataError) as refusal:
        python("print(1)")([MARKER], 1, rng())
    assert MARKER not in str(refusal.value)
    for address in (
        "ftp://host/{size}{dataset}",
        "http:///{size}{dataset}",
        "http://{dataset}/{size}",
    ):
        with pytest.raises(ParameterError, match="http"):
            Server(address)


class Answers(BaseHTTPRequestHandler):
    """Answers by the name of the dataset."""

    def do_GET(self) -> None:
        """Write what is asked for."""
        asked = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        kind, size, seed = asked["d"][0], int(asked["n"][0]), int(asked["s"][0])
        if kind == "drip":
            self.send_response(200)
            self.end_headers()
            for _ in range(40):
                time.sleep(0.1)
                self.wfile.write(b"1")
            return
        if kind == "hang":
            time.sleep(2)
            return
        if kind == "broken":
            self.wfile.write(b"no http\n\n")
            return
        noise = np.random.default_rng(seed).laplace(scale=0.25, size=size)
        numeric = kind.replace(".", "").isdigit()
        rows = (float(kind) + noise).round(6) if numeric else [MARKER]
        self.send_response(500 if kind == "fails" else 200)
        self.end_headers()
        self.wfile.write("".join(f"{row}\n" for row in rows).encode())

    def log_message(self, *_: Any) -> None:  # noqa: ANN401
        """Say nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    """The address of a server on this machine."""
    server = HTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/release?n={{size}}&d={{dataset}}&s={{seed}}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_server_is_audited(address: str) -> None:
    """A quarter of the noise is refuted."""
    report = audit(Server(address), (0.0, 1.0), (1, 0), samples=500, seed=1)

    assert report.outcome is Outcome.VIOLATION, str(report)


@pytest.mark.parametrize(
    ("dataset", "words"),
    [
        ("fails", "answered with status 500"),
        ("a & b ö", "sent 1 lines, expected 2"),
        ("hang", "took longer than 0.7 s"),
        ("drip", "took longer than 0.7 s"),
        ("broken", "gave no answer"),
    ],
)
def test_failures_of_a_server_are_typed(address: str, dataset: str, words: str) -> None:
    """Each says what happened, and nothing that was sent."""
    with pytest.raises(SamplerFailed) as failure:
        Server(address, seconds=0.7)(dataset, 2, rng())

    assert words in str(failure.value)
    assert MARKER not in str(failure.value)


def test_no_server_is_no_answer() -> None:
    """A refused connection is told by its type, whatever characters a name has."""
    for name in ("D", "\ud800"):
        with pytest.raises(SamplerFailed, match="no answer: ConnectionRefusedError"):
            Server("http://127.0.0.1:9/{size}{dataset}")(name, 1, rng())
