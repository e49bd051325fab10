"""`repos.lock`: the pinned repositories as values. A TOML file; nothing in it is a guess, and nothing names an index.

A repository is pinned either as a source distribution (name, version and SHA-256 of the archive) or as one commit of a
git repository. Its bucket says how popular it is, with the figure behind that, where the figure is from, and when it
was read; `unknown` marks repositories that no model can know, because they were first released after its training.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from harness.values import Value, digest

FORMAT = "readback.repos/1"
LOCK_NAME = "repos.lock"
MAX_BYTES = 1_000_000

_NAME = r"^[a-z0-9][a-z0-9._-]{0,63}$"
_DATE = r"^\d{4}-\d\d(-\d\d)?$"


class LockError(ValueError):
    """A lock file that cannot be used. One clear sentence."""


class Sdist(Value):
    """A source distribution: its name and version in a package index, and the SHA-256 of its archive."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")
    version: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+!-]{0,127}$")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class Git(Value):
    """One commit of a git repository. `url` is what git takes: https, ssh, or a path on this machine."""

    url: str = Field(min_length=1, max_length=2000)
    commit: str = Field(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})$")


class Popularity(Value):
    """How popular the repository is: a figure, where it is from, and when it was read."""

    figure: str = Field(min_length=1)
    source: str = Field(min_length=1)
    date: str = Field(pattern=_DATE)


class Pin(Value):
    """One pinned repository.

    `name` is what it is called in questions and files. `packages` are the folders or modules that it is imported by,
    where they cannot be told from its tree. `unknown`: no model can know it. `shipped`: it comes with Readback.
    """

    name: str = Field(pattern=_NAME)
    licence: str = Field(min_length=1)
    bucket: str = Field(pattern=r"^[a-z][a-z0-9-]{0,31}$")
    popularity: Popularity
    released: str = Field(pattern=_DATE)
    first_released: str = Field(pattern=_DATE)
    unknown: bool = False
    packages: tuple[str, ...] = ()
    sdist: Sdist | None = None
    git: Git | None = None
    shipped: bool = False

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if [self.sdist is not None, self.git is not None, self.shipped].count(True) != 1:
            raise ValueError("a repository has one source: a table `sdist` or a table `git`")
        return self

    @property
    def version(self) -> str:
        """The version, or the first digits of the commit."""
        if self.sdist is not None:
            return self.sdist.version
        return self.git.commit[:12] if self.git is not None else "shipped"

    @property
    def digest(self) -> str:
        """The digest of where it is from: what the tree is named by."""
        source = self.sdist or self.git
        return digest({"name": self.name, "source": source.model_dump(mode="json") if source else "shipped"})


class Lock(Value):
    """All pinned repositories, in the order of the file."""

    format: Literal["readback.repos/1"] = "readback.repos/1"
    repositories: tuple[Pin, ...]

    @property
    def digest(self) -> str:
        """The digest of all sources and buckets."""
        return digest([pin.model_dump(mode="json") for pin in self.repositories])

    def named(self, name: str) -> Pin | None:
        """The repository of this name."""
        return next((pin for pin in self.repositories if pin.name == name), None)


def default_lock_path() -> Path:
    """The lock file that comes with Readback: inside the package where it is installed, else at the checkout's top."""
    here = Path(__file__).resolve().parent
    inside = here / LOCK_NAME
    return inside if inside.is_file() else here.parent / LOCK_NAME


def read_lock(path: Path) -> Lock:
    """The lock at this path. Raises `LockError`, one sentence."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as problem:
        raise LockError(f"the lock file {str(path)!r} cannot be read: {problem.strerror}; check the name") from None
    if len(data) > MAX_BYTES:
        raise LockError(f"the lock file {str(path)!r} is larger than {MAX_BYTES:,} bytes; name the right file")
    try:
        parsed = tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise LockError(f"the lock file {str(path)!r} is no UTF-8 text; save it as such") from None
    except (ValueError, RecursionError) as problem:
        raise LockError(f"the lock file {str(path)!r} is no TOML: {problem}") from None
    return _lock_of(parsed, str(path))


def _lock_of(parsed: Mapping[str, Any], path: str) -> Lock:
    if parsed.get("format") != FORMAT:
        raise LockError(
            f"the lock file {path!r} has the format {parsed.get('format')!r}; this version reads {FORMAT!r}"
        )
    tables = parsed.get("repository", [])
    unknown = sorted(parsed.keys() - {"format", "repository"})
    if unknown:
        raise LockError(f"the lock file {path!r} has {unknown[0]!r} at its top; expected only format and repository")
    if not isinstance(tables, list) or not tables:
        raise LockError(f"the lock file {path!r} pins nothing; add at least one table [[repository]]")
    pins = tuple(_pin_of(table, number, path) for number, table in enumerate(tables, 1))
    _refuse_twice([pin.name for pin in pins], path)
    return Lock(repositories=pins)


def _pin_of(table: Any, number: int, path: str) -> Pin:
    name = table.get("name") if isinstance(table, Mapping) else None
    where = f"repository {name!r}" if isinstance(name, str) else f"repository number {number}"
    if isinstance(table, Mapping) and table.get("shipped"):
        raise LockError(f"{where} of the lock file {path!r} says shipped; only Readback's own repository is")
    try:
        # As JSON: what TOML gives as a list is a tuple of the value.
        return Pin.model_validate(_plain(table), strict=True)
    except ValidationError as problem:
        # A key that is not known first: where it is a misspelling, another is missing only for that.
        first = min(problem.errors(), key=lambda error: error["type"] != "extra_forbidden")
        place = ".".join(str(part) for part in first["loc"]) or "it"
        if first["type"] == "missing":
            raise LockError(
                f"{where} of the lock file {path!r} has no {place}; see docs/repoqa.md for the form"
            ) from None
        if first["type"] == "extra_forbidden":
            raise LockError(
                f"{where} of the lock file {path!r} has {place!r}, which is no key; see docs/repoqa.md for the form"
            ) from None
        shown = repr(first["input"])
        shown = shown if len(shown) <= 80 else f"{shown[:80]}…"
        raise LockError(
            f"{where} of the lock file {path!r} is not right: {place} is {shown} ({first['msg']});"
            " see docs/repoqa.md for the form"
        ) from None


def _plain(value: Any) -> Any:
    """Dates as text, lists as tuples."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return tuple(_plain(item) for item in value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return value


def _refuse_twice(names: Sequence[str], path: str) -> None:
    # Folders are named by them, and on some machines two names that differ in case are one folder.
    seen: set[str] = set()
    for name in names:
        folded = re.sub(r"[._-]+", "-", name.lower())
        if folded in seen:
            raise LockError(f"the lock file {path!r} pins {name!r} twice; give each its own name")
        seen.add(folded)
