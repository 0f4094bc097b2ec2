"""Pages of the site that are not files of ``docs/``: hooks that mkdocs calls while it builds.

The reference is generated: a page for each topic of the public names, and one of the command line.
A link that leaves ``docs/`` brings the file it names into the site.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Final

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from dpproof.__main__ import commands as command_line
from dpproof.accountant.public_names import homes_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # mkdocs loads this file by its path

from tests.docs.blocks import FENCE, ROOT

DOCS: Final = ROOT / "docs"
API: Final = "reference/api"
WIDEST: Final = 60  # characters of a signature on one line
SECTION: Final = re.compile(
    r"^([A-Z]\w+(?: by)?):(?=\s)((?:.*\n?)(?:(?: .*|)(?:\n|\Z))*)", re.MULTILINE
)
LINK: Final = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")

TOPICS: Final = {
    "Guarantees": ("accountant.guarantees", "accountant.bound"),
    "Neighbours and sensitivities": ("accountant.relation", "accountant.sensitivity"),
    "Composition and conversion": ("accountant.theorems",),
    "Samples": ("accountant.sampling", "mechanisms.batches"),
    "Tuning and calibration": ("accountant.run_counts", "accountant.calibration", "search"),
    "Filters and odometers": ("accountant.adaptive",),
    "Certificates": ("accountant.certificates", "proofs"),
    "Mechanisms of your own": (
        *(
            "mechanisms.mechanism",
            "mechanisms.queries",
            "mechanisms.blocks",
            "mechanisms.samplers",
            "pipeline.vocabulary",
        ),
    ),
    "Noise": ("mechanisms.noise",),
    "Correlated noise": ("mechanisms.correlated",),
    "Sums, means and answers": ("mechanisms.statistics",),
    "Choices and thresholds": ("mechanisms.selection",),
    "Local reports": ("mechanisms.local",),
    "Combined mechanisms": ("mechanisms.combinators",),
    "Estimators": ("learn",),
    "Learners": ("mechanisms.learning",),
    "Audits": ("auditing",),
    "Ledger": ("ledger",),
    "Plots": ("plot",),
    "Tables of users": ("tables",),
    "Other tools": ("interop",),
    "Errors": ("accountant.errors", "accountant.form"),
}
"""Title of each page of the reference, and the modules whose public names it documents."""

PACKAGES: Final = (
    "dpproof",
    "dpproof.accountant",
    "dpproof.mechanisms",
    "dpproof.auditing",
    "dpproof.interop",
    "dpproof.learn",
    "dpproof.proofs",
)
"""Packages with public names, the front door first."""


def public_names() -> dict[str, tuple[str, str]]:
    """Return the package and the module that defines it, for every public name."""
    found: dict[str, tuple[str, str]] = {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        homes = imported(module)
        for name in getattr(module, "__all__", homes_of(package)):
            home = homes.get(name) or getattr(module, name).__module__
            found.setdefault(name, (package, home))
    for topic in ("plot", "tables"):
        home = f"dpproof.{topic}"
        for name, value in vars(importlib.import_module(home)).items():
            if not name.startswith("_") and getattr(value, "__module__", "") == home:
                found[f"{topic}.{name}"] = ("dpproof", home)
    return found


def imported(module: ModuleType) -> dict[str, str]:
    """Return the module that each name is imported from, as the source of a package says."""
    return {
        alias.name: node.module
        for node in ast.walk(ast.parse(Path(module.__file__ or "").read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dpproof.")
        for alias in node.names
        if node.module
    }


def topic(home: str) -> str:
    """Return the topic of what a module defines.

    Raises:
        LookupError: none has it.
    """
    for title, places in TOPICS.items():
        if any(f"{home}.".startswith(f"dpproof.{place}.") for place in places):
            return title
    raise LookupError(f"TOPICS has no place for {home}")


def address(title: str) -> str:
    """Return the path of a topic's page in the site."""
    return f"{API}/{title.lower().replace(' ', '-')}.md"


def api_page(title: str) -> str:
    """Return the page of a topic: every name with its signature and docstring."""
    names = sorted((n, *p) for n, p in public_names().items() if topic(p[1]) == title)
    lines = [f"# {title}", ""]
    for name, package, home in names:
        short = "dp" if package == "dpproof" else package
        value = getattr(importlib.import_module(home), name.rpartition(".")[2])
        lines += [f"## {name} {{ #{name} }}", "", *definition(f"{short}.{name}", value)]
    return "\n".join(lines)


def definition(path: str, value: object) -> Iterator[str]:
    """Yield the lines on one name: signature, docstring and the methods that it adds."""
    if not isinstance(value, type) and not inspect.isfunction(value):  # a constant or a union
        yield from ("```python", f"{path} = {value}", "```", "")
        return
    yield from ("```python", f"{path}{signature(value)}", "```", "", described(value))
    for name, member in sorted(vars(value).items()) if isinstance(value, type) else ():
        function = getattr(member, "fget", None) or getattr(member, "__func__", member)
        if not name.startswith("_") and inspect.isfunction(function):
            shown = name if isinstance(member, property) else f"{name}{signature(function)}"
            text = textwrap.indent(described(function), "    ").lstrip()
            yield from (f"`{' '.join(shown.split())}`", f":   {text}", "")


def signature(value: Callable[..., object]) -> str:
    """Return the names and defaults of parameters; a long list has one of them a line."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except ValueError:  # of an error, which takes a message
        return "(message)"
    named = [p.replace(annotation=p.empty) for p in parameters if p.name != "self"]
    shown = [str(p).replace("=NOTHING", "=...") for p in named]
    kinds = [p.kind for p in named]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        shown.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    text = ", ".join(shown)
    return f"({text})" if len(text) <= WIDEST else "(\n    " + ",\n    ".join(shown) + ",\n)"


def described(value: object) -> str:
    """Return a docstring as Markdown: its sections under their names, its examples as code."""
    text = inspect.getdoc(value) or ""
    lines = [escaped(SECTION.split(text)[0].strip())]
    for name, content in SECTION.findall(text):
        body = inspect.cleandoc(content)
        if name.startswith("Example"):
            lines.append(f"```pycon\n{body}\n```")
        elif name in {"Args", "Raises"}:
            entries = (" ".join(entry.split()) for entry in re.split(r"\n(?=\S)", body))
            items = (re.sub(r"^([\w, *]+):", r"`\1`:", entry) for entry in entries)
            lines.append(f"**{name}**\n\n" + "\n".join(f"- {escaped(item)}" for item in items))
        else:
            lines.append(f"**{name}.** {escaped(body)}")
    return "\n\n".join(lines)


def escaped(text: str) -> str:
    """Return a text in which only code between backticks is markup."""
    parts = re.split(r"(``?[^`]+``?)", text)
    plain = (re.sub(r"([*_\[])", r"\\\1", part.replace("<", "&lt;")) for part in parts)
    return "".join(p if p.startswith("`") else q for p, q in zip(parts, plain, strict=True))


def api_index() -> str:
    """Return the list of all public names, each with its page."""
    lines = ["# Every public name", "", "`dp` stands for `import dpproof as dp`.", ""]
    for title in TOPICS:
        names = sorted(name for name, (_, home) in public_names().items() if topic(home) == title)
        here = address(title).removeprefix(f"{API}/")
        links = ", ".join(f"[`{name}`]({here}#{name})" for name in names)
        lines += [f"**[{title}]({here})**: {links}", ""]
    return "\n".join(lines)


def command_page() -> str:
    """Return the page of the command line: every command's help."""
    lines = ["# Command line", ""]
    lines += ["Exit status 0: it holds. 1: it does not. 2: bad input. 130: interrupted.", ""]
    for name, command in commands(command_line, "dpproof"):
        context = click.Context(command, info_name=name, max_content_width=80)
        lines += [f"## {name}", "", "```text", command.get_help(context), "```", ""]
    return "\n".join(lines)


def notebook(text: str) -> str:
    """Return a page as a notebook: its prose, and cells that do what its blocks do.

    A block with a title writes its file, commands run in a shell, and outputs are left out.
    """
    cells: list[dict[str, object]] = []

    def add(kind: str, source: str) -> None:
        code: dict[str, object] = {"execution_count": None, "outputs": []}
        if source.strip():
            cell = {"cell_type": kind, "metadata": {}, "source": source.strip()}
            cells.append(cell | (code if kind == "code" else {}))

    end = 0
    for match in FENCE.finditer(text):
        add("markdown", text[end : match.start()])
        end, (language, title, content) = match.end(), match.groups()
        if title:
            add("code", f"%%writefile {title}\n{content}")
        elif language == "console":
            commands_of = re.findall(r"^\$ (.*)$", content, re.MULTILINE)
            add("code", "\n".join(f"!{command}" for command in commands_of))
        elif language == "python":
            add("code", content)
        elif language != "text":
            add("markdown", match[0])
    add("markdown", text[end:])
    return json.dumps(
        {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}, indent=1
    )


def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """Yield a command and all below it, each with its full name."""
    yield name, command
    if isinstance(command, click.Group):
        for part, below in command.commands.items():
            yield from commands(below, f"{name} {part}")


def outside() -> Iterator[Path]:
    """Yield the files outside ``docs/`` that belong to the site: what its pages link to."""
    waiting = sorted(DOCS.rglob("*.md"))
    seen: set[Path] = set()
    while waiting:
        page = waiting.pop()
        for target in linked(page):
            if target not in seen and DOCS not in target.parents and target.is_file():
                seen.add(target)
                yield target
                waiting += [target] * (target.suffix == ".md")


def linked(page: Path) -> Iterator[Path]:
    """Yield the paths that a page's links name."""
    for match in LINK.finditer(page.read_text(encoding="utf-8")):
        if ":" not in match[2]:
            yield (page.parent / match[2]).resolve()


def place(path: Path) -> str:
    """Return where the site has a file: pages of ``docs/`` at its top, others as in the project."""
    inside = DOCS in path.parents
    return path.relative_to(DOCS if inside else ROOT).as_posix()


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of the API into the navigation."""
    text = {"API": [{"All names": f"{API}/index.md"}, *({t: address(t)} for t in TOPICS)]}
    for section in config.nav or []:
        for entries in section.values():
            for position, entry in enumerate(entries):
                if isinstance(entry, dict) and "API" in entry:
                    entries[position] = text
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, and the files outside ``docs/`` that pages link to."""
    generated = {address(title): api_page(title) for title in TOPICS}
    generated |= {f"{API}/index.md": api_index(), "reference/cli.md": command_page()}
    for uri, content in generated.items():
        files.append(File.generated(config, uri, content=content))
    for page in sorted((DOCS / "tutorials").glob("*-*.md")):
        uri, text = f"tutorials/{page.stem}.ipynb", page.read_text(encoding="utf-8")
        files.append(File.generated(config, uri, content=notebook(text)))
    for path in outside():
        files.append(File.generated(config, place(path), abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Turn links to other files of the project into links to where the site has them."""
    source = Path(page.file.abs_src_path or "")
    here = os.path.dirname(page.file.src_uri)  # noqa: PTH120  # an address

    def moved(match: re.Match[str]) -> str:
        target = (source.parent / match[2]).resolve()
        if not page.file.abs_src_path or ":" in match[2] or not target.is_file():
            return match[0]
        return f"{match[1]}{os.path.relpath(place(target), here)}{match[3]}"

    if here == "tutorials" and "-" in source.stem:
        markdown += f"\n[This page as a notebook]({source.stem}.ipynb)\n"
    return LINK.sub(moved, markdown)
