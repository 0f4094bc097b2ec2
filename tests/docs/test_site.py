"""The site: every public name and every command has its place, and what pages link to is there."""

from __future__ import annotations

import importlib
import json
import re
from importlib import import_module
from typing import Any

import pytest

from dpproof.accountant.errors import PrivacyError
from tests.docs.blocks import ROOT, blocks

SITE = import_module("scripts.site_pages")


def test_every_public_name_has_a_reference() -> None:
    """The page of some topic has each name of each package, under a heading of its own."""
    pages = [SITE.api_page(title) for title in SITE.TOPICS]
    headings = re.findall(r"^## ([\w.]+) \{ #([\w.]+) \}$", "\n".join(pages), re.MULTILINE)

    assert sorted(headings) == sorted((name, name) for name in SITE.public_names())
    for package in SITE.PACKAGES:
        module = importlib.import_module(package)
        assert set(getattr(module, "__all__", [])) <= {name for name, _ in headings}
    assert {
        "Gaussian",
        "audit",
        "Ledger",
        "PerceptronClassifier",
        "from_dp_event",
        "plot.sweep",
    } <= set(SITE.public_names())


def test_a_name_without_a_topic_is_refused() -> None:
    """A public name from a new folder fails the build until ``TOPICS`` has a place for it."""
    with pytest.raises(LookupError, match=r"no place for dpproof\.elsewhere"):
        SITE.topic("dpproof.elsewhere")


def test_docstrings_become_markdown() -> None:
    """Sections keep their names, arguments are a list, examples are code, signs are no markup."""

    def described(sigma: float, *, count: int = 1) -> None:
        """Add noise of size <sigma> to x*y*z.

        Statement: it is private.

        Args:
            sigma: of the noise,
                in data units.
            count: how often.
        Example:
            >>> described(1)
        """

    assert "\n".join(SITE.definition("dp.described", described)).splitlines() == [
        "```python",
        "dp.described(sigma, *, count=1)",
        "```",
        "",
        r"Add noise of size &lt;sigma> to x\*y\*z.",
        "",
        "**Statement.** it is private.",
        "",
        "**Args**",
        "",
        "- `sigma`: of the noise, in data units.",
        "- `count`: how often.",
        "",
        "```pycon",
        ">>> described(1)",
        "```",
    ]


def test_every_command_has_its_help() -> None:
    """The page of the command line has a section for each command, of the ledger too."""
    page = SITE.command_page()

    for name in ("dpproof", "dpproof budget", "dpproof ledger", "dpproof ledger verify"):
        assert f"\n## {name}\n\n```text\nUsage: {name} " in page


def test_every_error_is_explained() -> None:
    """The index of errors has each one that the public packages export."""
    text = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    values: list[Any] = [
        getattr(import_module(home), name.rpartition(".")[2])
        for name, (_, home) in SITE.public_names().items()
    ]
    errors = {v.__name__ for v in values if isinstance(v, type) and issubclass(v, PrivacyError)}

    assert len(errors) > 12
    assert errors <= set(re.findall(r"`(?:dp\.)?(\w+)`", text))


def test_a_tutorial_is_a_notebook() -> None:
    """Its cells are the blocks of the page, which run in another test, and its prose."""
    page = ROOT / "docs" / "tutorials" / "price-dp-sgd.md"
    made = json.loads(SITE.notebook(page.read_text(encoding="utf-8")))
    code = [one["source"] for one in made["cells"] if one["cell_type"] == "code"]

    assert (made["nbformat"], made["nbformat_minor"]) == (4, 4)
    assert made["cells"][0]["source"].startswith("# Price DP-SGD")
    assert code[0].startswith("%%writefile training.toml\n[pipeline]\n")
    assert code[1] == (
        "!dpproof calibrate training.toml --stage training --parameter noise_multiplier"
    )
    python = [one.content.strip() for one in blocks(page) if one.language == "python"]
    assert [one for one in code if one[0] not in "!%"] == python


def test_links_lead_to_files() -> None:
    """Every relative link of a page and of what it links to names a file of the project."""
    pages = [*SITE.DOCS.rglob("*.md"), *(p for p in SITE.outside() if p.suffix == ".md")]
    generated = {"reference/cli.md", *(SITE.address(title) for title in SITE.TOPICS)}
    generated |= {f"{SITE.API}/index.md"}
    missing = [
        (page.relative_to(ROOT).as_posix(), target)
        for page in [ROOT / "README.md", *pages]
        for target in SITE.linked(page)
        if not target.exists() and SITE.place(target) not in generated
    ]

    assert missing == []
