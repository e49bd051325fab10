"""The evidence of a trace: which files were read, and what each text that was read defines.

Rules for counting:

- A call counts if its tool is one that reads files (`reads` of the policy; `mcp__files__read_file` is `read_file` too),
  its status is ok, and its result does not say itself that it failed. Each counts by itself: a retry after a failed
  read counts, the failed one does not, and reading twice is as good as reading once. The order of calls plays no part.
- A path was read if the agent asked for it and got a text, however much of it.
- A listing, a search, an error and the agent's own words support nothing.
- Where the recorder cut a read, where a mark in the text says that something was left out but not by whom, where the
  result has no known form, or where the trace's source lost something, there is doubt (`doubts`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property

from grounding.cache import Cache
from grounding.claims import Trace
from grounding.entities import normal_path
from grounding.languages import SOURCE_EXTENSIONS, extension_of, language_of, language_of_script
from grounding.loss import lost_evidence
from grounding.shown import Shown, shown_by
from grounding.sources import Source, folded, is_cut, is_whole, read_source
from harness.trace import Call

_NAMESPACE = re.compile(r"__|[./:]")


class FileRead:
    """One file that one call read.

    `paths` are as written and in normal form, `module` are the names of the path where it is a Python module, `text` is
    what was shown. `is_known` says that it is known what the file's language is, or that it has none.
    """

    def __init__(self, call: Call, shown: Shown, cache: Cache) -> None:
        self.call = call.position
        self.paths = tuple((path, normal_path(path)) for path in shown.paths)
        self.text = shown.text
        file = next((path for _, path in self.paths if extension_of(path)), self.paths[0][1] if self.paths else "")
        self._language = language_of(file) or language_of_script(shown.text) if file else None
        self.is_known = bool(self._language) or bool(file and extension_of(file) not in SOURCE_EXTENSIONS)
        self.module = tuple(_module_of(file)) if self._language else ()
        self._first_line = shown.first_line
        self._cache = cache
        self._folded: str | None = None
        self._source: Source | None = None

    def says(self, key: str) -> bool:
        """Whether the folded name stands anywhere in the text: only then is it worth reading what is defined."""
        if self._folded is None:
            self._folded = folded(self.text)
        return key in self._folded

    def may_define(self, key: str, owner: str | None, *, assigned: bool) -> bool:
        """Whether the text may define a folded name (in a class of the folded name `owner`): else nothing is parsed.

        In a class whose head is not in the text only if the text is not the whole file.
        """
        if not self.says(key) or self._language is None or self._folded is None:
            return False
        if not self._language.may_define(self._folded, key, assigned=assigned):
            return False
        return owner is None or self.shows_class(owner) or not self._is_whole()

    def shows_class(self, key: str) -> bool:
        """Whether the head of a class of this folded name may stand in the text."""
        if not self.says(key) or self._language is None or self._folded is None:
            return False
        return self._language.has_class(self._folded, key)

    def _is_whole(self) -> bool:
        """Whether the text is known to begin its file and nothing is left out in it."""
        return self._first_line == 1 and is_whole(self.text, self._cache)

    @property
    def source(self) -> Source | None:
        """What the text defines; None where that is nothing, or not known."""
        if self._source is None and self._language is not None:
            self._source = read_source(self.text, self._language, self._first_line, self._cache)
        return self._source

    @property
    def is_cut(self) -> bool:
        """Whether a mark in the text says that something was left out, and not by whom."""
        return is_cut(self.text, self._cache)


@dataclass(frozen=True)
class FileEvidence:
    """The files that a trace read. `tools` are the names of all tools called, in order.

    `certain_doubts` are those that need no look at a text, `unmarked` the reads whose calls do not say that they were
    cut.
    """

    reads: tuple[FileRead, ...]
    tools: tuple[str, ...]
    certain_doubts: tuple[str, ...]
    unmarked: tuple[FileRead, ...]

    @cached_property
    def doubts(self) -> tuple[str, ...]:
        """Why some of what was shown may be missing."""
        marks = (
            f"a mark in the result of call {read.call} says that something was left out, and not by whom"
            for read in self.unmarked
            if read.is_cut
        )
        return (*self.certain_doubts, *marks)


def read_files(trace: Trace, tools: Collection[str], cache: Cache) -> FileEvidence:
    """The evidence of a trace, where `tools` are those that read files."""
    reads: list[FileRead] = []
    unmarked: list[FileRead] = []
    doubts = list(lost_evidence(trace.loss))
    for call in trace.calls:
        if call.status != "ok" or not is_tool(call.name, tools):
            continue
        result = shown_by(call)
        if call.cut_by == "recorder":
            doubts.append(f"call {call.position} ({call.name}) was cut by the recorder")
        elif result.unknown:
            doubts.append(f"the result of call {call.position} ({call.name}) has no form that is known")
        read = [FileRead(call, shown, cache) for shown in result.files]
        reads += read
        unmarked += read if call.cut_by is None else ()
    names = dict.fromkeys(call.name for call in trace.calls)
    return FileEvidence(tuple(reads), tuple(names), tuple(doubts), tuple(unmarked))


def is_tool(name: str, tools: Collection[str]) -> bool:
    """Whether a tool of this name is one of `tools`, in whichever namespace a protocol puts it."""
    return name in tools or _NAMESPACE.split(name)[-1] in tools


def _module_of(path: str) -> Iterator[str]:
    """The names of a module's path: src/a/b.py is src, a, b, and src/a/__init__.py is src, a."""
    *folders, file = path.split("/")
    yield from folders
    stem = file.partition(".")[0]
    if stem != "__init__":
        yield stem
