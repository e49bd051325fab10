"""What questions are made of: the symbols of a tree that are defined once, kept beside it so that it is read only once.

A catalog is named by the tree, the version of the rules and the version of Python, whose parser has the last word.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from harness.values import Value, digest
from repoqa.correctness import parameters_of
from repoqa.counterfactual.names import VERSION as NAMES_VERSION
from repoqa.counterfactual.names import names_of
from repoqa.layout import role_of
from repoqa.symbols import Index, Symbol

VERSION = 3


class Entry(Value):
    """A public function or class that is defined exactly once.

    `parameters` are a function's, None where it has several signatures. `caller` is the one other file of the
    repository's own code that calls it, None where there is none or are several. `renamed` says that its
    counterfactual has another name.
    """

    name: str
    kind: Literal["function", "class"]
    path: str
    first_line: int
    last_line: int
    bases: tuple[str, ...]
    parameters: str | None
    caller: str | None
    renamed: bool


class Catalog(Value):
    """The entries of a tree, in the order of its paths and lines, and the paths of the repository's own code.

    `listed` are the paths that look like its own code to who sees names only.
    """

    format: Literal["readback.catalog/1"] = "readback.catalog/1"
    entries: tuple[Entry, ...]
    own: tuple[str, ...]
    listed: tuple[str, ...]
    public: int
    unparsed: tuple[tuple[str, str], ...]

    def named(self, name: str) -> Entry | None:
        """The entry of this name."""
        return next((entry for entry in self.entries if entry.name == name), None)


def catalog_of(repository: str, index: Index, *, is_renamed: bool = False) -> Catalog:
    """The catalog of a tree. `is_renamed`: it is a counterfactual, of which nothing is renamed again."""
    words = {} if is_renamed else names_of(repository, index.layout, index, 0, check=False).words
    return Catalog(
        entries=tuple(_entry(symbol, index, is_renamed or symbol.name in words) for symbol in index.once),
        own=index.layout.own,
        listed=tuple(path for path in index.layout.python if role_of(path, b"") == "own"),
        public=len(index.public),
        unparsed=tuple((one.path, one.why) for one in index.unparsed),
    )


def kept_catalog(tree: str, cache: Path, make: Callable[[], Catalog]) -> Catalog:
    """The catalog of the tree with this digest, made where it is not kept yet. A cache that fails is no failure."""
    key = digest({"tree": tree, "rules": [VERSION, NAMES_VERSION], "python": platform.python_version()})
    path = cache / "catalogs" / f"{key.removeprefix('sha256:')[:32]}.json"
    try:
        return Catalog.read(path.read_bytes())
    except (OSError, ValidationError):
        made = make()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text(made.line(), encoding="utf-8")
        part.replace(path)
    except OSError:
        pass
    return made


def _entry(symbol: Symbol, index: Index, renamed: bool) -> Entry:
    own = set(index.layout.own)
    callers = sorted(path for path in index.calls.get(symbol.name, ()) if path in own and path != symbol.path)
    has_one = symbol.kind == "function" and not symbol.overloads and symbol.signature is not None
    return Entry(
        name=symbol.name,
        kind="class" if symbol.kind == "class" else "function",
        path=symbol.path,
        first_line=symbol.line,
        last_line=symbol.end_line,
        bases=symbol.bases,
        parameters=parameters_of(symbol.signature) if has_one and symbol.signature else None,
        caller=callers[0] if len(callers) == 1 else None,
        renamed=renamed,
    )
