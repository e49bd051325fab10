"""Makes the counterfactual of a repository, proves it, and keeps it beside the repository.

What lists or describes the packaged files (`*.egg-info`, `*.dist-info`, `PKG-INFO`, `SOURCES.txt`, `RECORD`) is left
out, and so is a file that is no text and holds an old name. A tree is kept only after the proof: every Python file that
parsed still parses, and no old name is left anywhere.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repoqa.counterfactual.names import VERSION, Names, names_of
from repoqa.counterfactual.rewrite import Rewriter
from repoqa.counterfactual.scan import leftovers
from repoqa.fetch import Repository
from repoqa.layout import Layout
from repoqa.symbols import Index, parse

FORMAT = "readback.counterfactual/1"
_LEFTOVER_FILES = frozenset({"PKG-INFO", "SOURCES.txt", "RECORD", "top_level.txt", "installed-files.txt"})
_SHOWN = 3


class CounterfactualError(Exception):
    """A repository that could not be renamed so that the proof holds. One clear sentence."""


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """A renamed repository: its new name, its folder, and the names as data (`words`, `paths`: old -> new)."""

    name: str
    root: Path
    words: Mapping[str, str]
    paths: Mapping[str, str]
    digest: str


def counterfactual(repository: Repository, cache: Path, seed: int, *, index: Index | None = None) -> Counterfactual:
    """The counterfactual of this seed, made where it is not there yet. Raises `CounterfactualError`."""
    source = repository.pin.digest.removeprefix("sha256:")[:16]
    place = cache / "counterfactuals" / f"{repository.name}-{source}-{seed}-v{VERSION}"
    found = _kept(place)
    if found is not None and not repository.pin.shipped:
        return found
    index = index or Index(Layout.read(repository.root))
    names, files, paths = renamed(repository, index, seed)
    if found is not None and found.digest == names.digest:  # the shipped one changes with Readback
        return found
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{place.name}.", dir=place.parent) as folder:
        part = Path(folder) / "made"
        for path, content in files.items():
            target = part / "tree" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        words = {old: new for old, new in names.words.items() if old != new}
        described = {
            "format": FORMAT,
            "name": names.new_repository,
            "digest": names.digest,
            "words": words,
            "paths": paths,
        }
        (part / "names.json").write_text(json.dumps(described, indent=1, sort_keys=True), encoding="utf-8")
        shutil.rmtree(place, ignore_errors=True)
        part.replace(place)
    made = _kept(place)
    if made is None:
        raise CounterfactualError(f"the counterfactual of {repository.name} cannot be kept in {str(place.parent)!r}")
    return made


def renamed(repository: Repository, index: Index, seed: int) -> tuple[Names, dict[str, bytes], dict[str, str]]:
    """The names, the renamed files, and old paths with new ones. Raises `CounterfactualError` where the proof fails."""
    layout = index.layout
    try:
        names = names_of(repository.name, layout, index, seed)
    except ValueError as problem:
        raise CounterfactualError(f"{repository.name} cannot be renamed with seed {seed}: {problem}") from None
    rewriter = Rewriter(names)
    files: dict[str, bytes] = {}
    paths: dict[str, str] = {}
    for path, content in sorted(layout.files.items()):
        if _is_left_out(path):
            continue
        if path.endswith((".py", ".pyi")):
            new = rewriter.code(content, path)
        elif b"\0" in content:
            new = content
        else:
            new = rewriter.plain(content)
        target = rewriter.path(path)
        if b"\0" in content and any(True for _ in leftovers({target: new}, names)):
            continue
        if target in files:
            raise CounterfactualError(f"{repository.name}: two files would become {target!r} with seed {seed}")
        files[target], paths[path] = new, target
    _prove(repository.name, layout, files, paths, names, seed)
    return names, files, paths


def _is_left_out(path: str) -> bool:
    *folders, name = path.split("/")
    return (
        name in _LEFTOVER_FILES
        or name.endswith(".pyc")
        or any(folder.endswith((".egg-info", ".dist-info")) for folder in folders)
    )


def _prove(
    name: str, layout: Layout, files: Mapping[str, bytes], paths: Mapping[str, str], names: Names, seed: int
) -> None:
    for path, target in paths.items():
        if path.endswith(".py") and _parses(layout.files[path]) and not _parses(files[target]):
            raise CounterfactualError(
                f"{name}: {path!r} parses, and as {target!r} with seed {seed} it does not any more"
            )
    left = [found for _, found in zip(range(_SHOWN), leftovers(files, names), strict=False)]
    if left:
        shown = ", ".join(f"{one.name!r} in {one.path}:{one.line}" for one in left)
        raise CounterfactualError(f"{name}: old names are left with seed {seed}: {shown}")


def _parses(content: bytes) -> bool:
    try:
        parse(content)
    except (SyntaxError, ValueError):
        return False
    return True


def _kept(place: Path) -> Counterfactual | None:
    try:
        found: Any = json.loads((place / "names.json").read_text(encoding="utf-8"))
        if found["format"] != FORMAT or not (place / "tree").is_dir():
            return None
        return Counterfactual(found["name"], place / "tree", found["words"], found["paths"], found["digest"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
