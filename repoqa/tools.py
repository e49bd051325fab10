"""What an agent can do in a repository: list a folder, read a file, and, where it is switched on, search.

Confined by construction: the files of a tree are listed once, links left out, and what an agent names is only ever
looked up in that list. No path that it writes reaches the disk, whatever its dots, links, encoding or length.

What is shown of a file is its text as it is, without line numbers. A file with a NUL byte is binary and is not shown;
one that is no UTF-8 is read as Latin-1, and that is said.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from harness.functions import tool
from harness.tool import Tool, ToolResult

MAX_LINES = 2_000
MAX_CHARACTERS = 60_000
MAX_ENTRIES = 1_000
MAX_MATCHES = 50
MAX_PATH = 1_000
MAX_QUERY = 200
_LINE_SHOWN = 300


class RepositoryTools:
    """The tools over one tree. `root` must hold nothing that an agent may not see."""

    def __init__(self, root: Path, *, search: bool = False) -> None:
        self._root = root
        self._files, self._folders = _listed(root)
        self._has_search = search

    def tools(self) -> Sequence[Tool]:
        """The tools, `search` last where it is switched on."""
        offered: list[Callable[..., ToolResult]] = [self.list_directory, self.read_file]
        return tuple(tool(one) for one in [*offered, *([self.search] if self._has_search else [])])

    def list_directory(self, path: str = ".") -> ToolResult:
        """List the files and folders in one folder of the repository. Folders end in a slash. At most 1,000 entries.

        Args:
            path: The folder, relative to the top of the repository, which is ".".
        """
        where = _confined(path)
        if isinstance(where, ToolResult):
            return where
        if where in self._files:
            return _error(f"{where!r} is a file; read it with read_file")
        if where not in self._folders:
            return _error(self._missing(where, "folder"))
        entries = self._folders[where]
        shown: dict[str, Any] = {"path": where or ".", "entries": list(entries[:MAX_ENTRIES])}
        if len(entries) <= MAX_ENTRIES:
            return ToolResult("ok", shown)
        shown["cut"] = f"{len(entries) - MAX_ENTRIES} more entries are not shown"
        return ToolResult("ok", shown, cut_by="tool")

    def read_file(self, path: str, start_line: int | None = None, end_line: int | None = None) -> ToolResult:
        """Read a text file of the repository, or some of its lines. At most 2,000 lines and 60,000 characters at once.

        Args:
            path: The file, relative to the top of the repository.
            start_line: The first line to show, counted from 1. The beginning of the file if left out.
            end_line: The last line to show. The end of the file if left out.
        """
        where = _confined(path)
        if isinstance(where, ToolResult):
            return where
        if where in self._folders:
            return _error(f"{where or '.'!r} is a folder; list it with list_directory")
        if where not in self._files:
            return _error(self._missing(where, "file"))
        content = _content(self._root / where)
        if b"\0" in content:
            return _error(f"{where!r} is a binary file of {len(content):,} bytes; it cannot be shown as text")
        return _shown(where, content, start_line, end_line)

    def search(self, query: str) -> ToolResult:
        """Search all text files of the repository for a text, upper and lower case alike. At most 50 lines are shown.

        Args:
            query: The text, as it stands in a line; no pattern.
        """
        if not query.strip() or len(query) > MAX_QUERY or "\n" in query:
            return _error(f"query must be one line of 1 to {MAX_QUERY} characters")
        matches: list[dict[str, Any]] = []
        for match in self._matches(query.casefold()):
            if len(matches) == MAX_MATCHES:
                said = f"there are more than {MAX_MATCHES} matching lines; search for something rarer"
                return ToolResult("ok", {"query": query, "matches": matches, "cut": said}, cut_by="tool")
            matches.append(match)
        return ToolResult("ok", {"query": query, "matches": matches})

    def _matches(self, query: str) -> Iterator[dict[str, Any]]:
        for path in self._files:
            content = _content(self._root / path)
            if b"\0" in content:
                continue
            text, _ = _decoded(content)
            if query not in text.casefold():
                continue
            for number, line in enumerate(text.split("\n"), 1):
                if query in line.casefold():
                    yield {"path": path, "line": number, "text": line.strip()[:_LINE_SHOWN]}

    def _missing(self, where: str, kind: str) -> str:
        near = next((path for path in (*self._files, *self._folders) if path.casefold() == where.casefold()), None)
        hint = f"upper and lower case count, and there is {near!r}" if near else "list_directory shows what there is"
        shown = where if len(where) <= 200 else where[:200] + "…"
        return f"there is no {kind} {shown!r}; {hint}"


def _confined(path: str) -> str | ToolResult:
    """The path as the list of files has it, "" for the top; or why it cannot be one."""
    if len(path) > MAX_PATH:
        return _error(f"the path has {len(path):,} characters; at most {MAX_PATH:,} are possible")
    if "\0" in path:
        return _error("the path holds a NUL character; no file's does")
    if "\\" in path:
        return _error(f"{path!r} holds a backslash; write / between folders")
    if path.startswith(("/", "~")):
        return _error(f"{path!r} leads outside; paths are relative to the top of the repository, which is '.'")
    plain = posixpath.normpath(path) if path else "."
    if plain == ".." or plain.startswith("../"):
        return _error(f"{path!r} leads outside of the repository")
    return "" if plain == "." else plain


def _shown(where: str, content: bytes, start: int | None, end: int | None) -> ToolResult:
    text, encoding = _decoded(content)
    lines = text.split("\n")
    lines = [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    total = len(lines)
    first, last = 1 if start is None else start, total if end is None else end
    if not total and first == 1 and last >= 0:
        return ToolResult("ok", {"path": where, "content": "", "start_line": 0, "end_line": 0, "total_lines": 0})
    if first < 1 or last < first:
        return _error(f"lines {first} to {last} are no range; {where!r} has {total} lines, counted from 1")
    if first > total:
        return _error(f"{where!r} has {total} lines; line {first} is behind its end")
    last = min(last, total)
    until = min(last, first + MAX_LINES - 1)
    part = lines[first - 1 : until]
    part, inside = _within(part)
    until = first + len(part) - 1
    shown: dict[str, Any] = {
        "path": where, "content": "".join(part), "start_line": first, "end_line": until, "total_lines": total,
    }  # fmt: skip
    if encoding != "utf-8":
        shown["encoding"] = encoding
    if until == last and not inside:
        return ToolResult("ok", shown)
    rest = (
        f"line {until} is cut after {MAX_CHARACTERS:,} characters" if inside else f"read on with start_line={until + 1}"
    )
    shown["cut"] = f"lines {first} to {until} of {total} are shown; {rest}"
    return ToolResult("ok", shown, cut_by="tool")


def _within(lines: list[str]) -> tuple[list[str], bool]:
    """As many whole lines as may be shown; where the first alone is too long, a part of it (and True)."""
    room = MAX_CHARACTERS
    for number, line in enumerate(lines):
        if len(line) > room:
            return (lines[:number], False) if number else ([line[:MAX_CHARACTERS]], True)
        room -= len(line)
    return lines, False


def _decoded(content: bytes) -> tuple[str, str]:
    try:
        return content.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return content.decode("latin-1"), "latin-1"


def _error(sentence: str) -> ToolResult:
    return ToolResult("error", {"error": sentence})


@lru_cache(maxsize=512)
def _content(path: Path) -> bytes:
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    with os.fdopen(handle, "rb") as file:
        return file.read()


@lru_cache(maxsize=64)
def _listed(root: Path) -> tuple[frozenset[str] | dict[str, None], dict[str, tuple[str, ...]]]:
    """The files of a tree in order, and for each folder what is in it. Links are left out."""
    files: dict[str, None] = {}
    folders: dict[str, tuple[str, ...]] = {}
    for place, below, names in os.walk(root, followlinks=False):
        here = Path(place).relative_to(root).as_posix()
        prefix = "" if here == "." else f"{here}/"
        below[:] = sorted(name for name in below if not (Path(place) / name).is_symlink() and name != "__pycache__")
        plain = sorted(
            name for name in names if (Path(place) / name).is_file() and not (Path(place) / name).is_symlink()
        )
        folders[prefix.rstrip("/")] = (*(f"{name}/" for name in below), *plain)
        files |= dict.fromkeys(f"{prefix}{name}" for name in plain)
    return dict.fromkeys(sorted(files)), folders
