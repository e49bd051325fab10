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
from grounding.code import Code
from grounding.entities import normal_path
from grounding.languages import SOURCE_EXTENSIONS, extension_of, language_of, language_of_script
from grounding.loss import lost_evidence
from grounding.shown import Shown, shown_by
from grounding.sources import folded, is_cut
from harness.trace import Call

_NAMESPACE = re.compile(r"__|[./:]")


class FileRead:
    """One file that one call read.

    `paths` are as written and in normal form, `module` are the names of the path where it is a Python module, `text` is
    what was shown, `code` the same where its language is known. `is_known` says that it is known what the file's
    language is, or that it has none.
    """

    def __init__(self, call: Call, shown: Shown, cache: Cache) -> None:
        self.call = call.position
        self.paths = tuple((path, normal_path(path)) for path in shown.paths)
        self.text = shown.text
        file = next((path for _, path in self.paths if extension_of(path)), self.paths[0][1] if self.paths else "")
        language = language_of(file) or language_of_script(shown.text) if file else None
        self.is_known = bool(language) or bool(file and extension_of(file) not in SOURCE_EXTENSIONS)
        self.module = tuple(_module_of(file)) if language else ()
        self.code = Code(shown.text, language, shown.first_line, cache) if language else None
        self._cache = cache

    def says(self, key: str) -> bool:
        """Whether the folded name stands anywhere in the text."""
        return key in self._folded if self.code is None else self.code.says(key)

    @cached_property
    def _folded(self) -> str:
        return folded(self.text)

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
