"""Where a ledger is, without the password of its database."""

from __future__ import annotations

import copy
import pickle
import traceback
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import dpproof as dp
from dpproof.learn import LogisticRegression, PerceptronClassifier, tune
from dpproof.ledger import ledger as module
from dpproof.ledger.places import SQLiteDatabase, masked
from tests.dpproof.command import Command

MARKER = "s3cr/xq7zv@x"
URL = f"postgresql+psycopg://ann:{MARKER}@host:5432/db?application_name=x"


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dp.Ledger:
    """A ledger at a URL with a password, kept in a file so that no server is needed."""
    monkeypatch.setattr(
        module, "connect", lambda *_, **__: SQLiteDatabase(str(tmp_path / "ledger"))
    )
    return dp.Ledger.create(URL, budget=dp.ApproxDP(epsilon=8, delta=1e-5))


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ("study.ledger", "study.ledger"),
        ("postgresql://host/db", "postgresql://host/db"),
        ("postgresql://ann@host/db", "postgresql://ann@host/db"),
        ("postgresql://ann:a:b/c@host/db", "postgresql://ann:***@host/db"),
        ("postgresql://:a@host/db", "postgresql://:***@host/db"),
        ("postgresql:///db?host=/tmp&password=a", "postgresql:///db?host=/tmp&password=***"),
        ("mssql+pyodbc:///?odbc_connect=PWD%3Da", "mssql+pyodbc:///?odbc_connect=***"),
        ("postgresql:/ann:a@host/db", "postgresql:/ann:***@host/db"),
        ("ann:a@host/db", "ann:***@host/db"),
        ("host=a user=ann password=a", "host=a user=ann password=***"),
        ("C:/ann/me@home/study.ledger", "C:/ann/me@home/study.ledger"),
        ("C:\\ann\\me@home", "C:\\ann\\me@home"),
        ("study@home/a:b", "study@home/a:b"),
    ],
)
def test_a_place_is_shown_without_its_password(place: str, shown: str) -> None:
    """Of a user or among the options; all else stays."""
    assert masked(place) == shown


def test_a_ledger_shows_and_pickles_no_password(ledger: dp.Ledger) -> None:
    """It is not in its representation or place, and it refuses to be pickled with one."""
    assert "xq7zv" not in repr(ledger) + ledger.place
    assert copy.deepcopy(ledger) is ledger
    with pytest.raises(dp.LedgerError, match="PGPASSFILE") as refusal:
        pickle.dumps(ledger)
    assert "xq7zv" not in str(refusal.value)


@pytest.mark.parametrize("kind", [PerceptronClassifier, LogisticRegression])
def test_an_estimator_shows_and_pickles_no_password(kind: type, ledger: dp.Ledger) -> None:
    """Fitted or not, cloned, set anew, in a pipeline or a search, as text or as HTML."""
    del ledger
    x = np.random.default_rng(0).normal(size=(40, 3))
    model = kind(epsilon=1, delta=1e-6, classes=[0, 1], ledger=URL, ledger_key="fit")
    other = kind(epsilon=1, delta=1e-6, classes=[0, 1]).set_params(ledger=URL, ledger_key="other")
    model.fit(x, (x[:, 0] > 0).astype(int))
    around = [make_pipeline(other), GridSearchCV(model, {"epsilon": [1]})]
    if kind is PerceptronClassifier:
        around.append(tune(clone(other), {"rate": [0.5, 1]}))

    for one in (model, other, clone(model), copy.deepcopy(model), *around):
        assert "xq7zv" not in repr(one) + str(one) + one._repr_html_()
        assert "xq7zv" not in repr(one.get_params())
        with pytest.raises(dp.LedgerError, match="PGPASSFILE"):
            pickle.dumps(one)


def test_a_url_without_a_password_is_pickled() -> None:
    """It says nothing that nobody may read."""
    model = PerceptronClassifier(ledger="postgresql://ann@host/db", ledger_key="k", classes=[0, 1])

    assert pickle.loads(pickle.dumps(model)).ledger == model.ledger  # noqa: S301  # our own


def test_commands_echo_no_password(ledger: dp.Ledger, command: Command) -> None:
    """What is created and what is asked for is named without it."""
    del ledger
    for outcome in (
        command.run("ledger", "init", URL, "--rho", "1", "--relation", "add-remove"),
        command.run("ledger", "status", URL),
        command.run("ledger", "status", URL, "--json"),
        command.run("ledger", "verify", URL),
        command.run("ledger", "release", URL, "--key", "a"),
    ):
        assert "xq7zv" not in outcome.out + outcome.err
    assert "ann:***@host" in command.run("ledger", "status", URL).out


@pytest.mark.parametrize("port", ["bad", "99999999999999999999x"])
def test_a_url_with_a_bad_port_is_refused_by_a_type(command: Command, port: str) -> None:
    """In one line, which says how to write a password that was taken for a port."""
    pytest.importorskip("sqlalchemy")
    url = f"postgresql+psycopg://ann:xq7zv@host:{port}/db"
    with pytest.raises(dp.LedgerError, match="port") as refusal:
        dp.Ledger.open(url)
    assert "xq7zv" not in str(refusal.value)
    outcome = command.run("ledger", "status", url)
    assert (outcome.status, outcome.err.count("\n")) == (2, 1)
    assert "xq7zv" not in outcome.err


def test_a_database_out_of_reach_is_named_without_its_password() -> None:
    """Nor is it in what the driver says, which the refusal repeats."""
    pytest.importorskip("sqlalchemy")
    pytest.importorskip("psycopg")
    with pytest.raises(dp.LedgerError, match=r"ann:\*\*\*@127.0.0.1") as refusal:
        dp.Ledger.open("postgresql+psycopg://ann:xq7zv@127.0.0.1:1/db")
    assert "xq7zv" not in repr(refusal.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://ann:a@xq7zv@127.0.0.1:1/db",
        "postgresql+psycopg://127.0.0.1:1/db?user=ann&password=xq7zv",
        "postgresql+psycopg:/ann:xq7zv@127.0.0.1:1/db",
        "ann:xq7zv@127.0.0.1:1/db",
        "host=127.0.0.1 user=ann password=xq7zv",
    ],
)
def test_a_url_that_is_written_wrongly_shows_no_password(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    """Refused with an @ too many, a password among the options, or no ://, and no file is made."""
    pytest.importorskip("sqlalchemy")
    pytest.importorskip("psycopg")
    monkeypatch.chdir(tmp_path)
    for call in (dp.Ledger.open, partial(dp.Ledger.create, budget=dp.ZCDP(rho=1))):
        with pytest.raises(dp.LedgerError) as refusal:
            call(url)
        assert "xq7zv" not in "".join(traceback.format_exception(refusal.value))
    outcome = command.run("ledger", "status", url)
    assert (outcome.status, "xq7zv" in outcome.err) == (2, False)
    model = PerceptronClassifier(ledger=url, ledger_key="k", classes=[0, 1])
    assert "xq7zv" not in repr(model)
    assert not [*tmp_path.iterdir()]
