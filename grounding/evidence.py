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

from grounding.cache import Cache
from grounding.claims import Trace
from grounding.entities import normal_path
from grounding.languages import SOURCE_EXTENSIONS, extension_of, language_of
from grounding.loss import lost_evidence
from grounding.shown import Shown, shown_by
from grounding.sources import Source, no_source, read_source
from harness.trace import Call

_NAMESPACE = re.compile(r"__|[./:]")


@dataclass(frozen=True, slots=True)
class FileRead:
    """One file that one call read. `paths` are as written and in normal form, `modules` are the names it is one of.

    `source` is what its text defines, None where its language is not known.
    """

    call: int
    paths: tuple[tuple[str, str], ...]
    module: tuple[str, ...]
    source: Source | None
    text: str


@dataclass(frozen=True, slots=True)
class FileEvidence:
    """The files that a trace read. `tools` are the names of all tools called, in order."""

    reads: tuple[FileRead, ...]
    doubts: tuple[str, ...]
    tools: tuple[str, ...]


def read_files(trace: Trace, tools: Collection[str], cache: Cache) -> FileEvidence:
    """The evidence of a trace, where `tools` are those that read files."""
    reads: list[FileRead] = []
    doubts = list(lost_evidence(trace.loss))
    for call in trace.calls:
        if not is_tool(call.name, tools):
            continue
        if call.status != "ok":
            continue
        if call.cut_by == "recorder":
            doubts.append(f"call {call.position} ({call.name}) was cut by the recorder")
        result = shown_by(call)
        if result.unknown and call.cut_by != "recorder":
            doubts.append(f"the result of call {call.position} ({call.name}) has no form that is known")
        for shown in result.files:
            read, is_cut = _read(call, shown, cache)
            reads.append(read)
            if is_cut and call.cut_by is None:
                doubts.append(
                    f"a mark in the result of call {call.position} ({call.name}) says that something was left out, and"
                    " not by whom"
                )
    return FileEvidence(tuple(reads), tuple(doubts), tuple(dict.fromkeys(call.name for call in trace.calls)))


def is_tool(name: str, tools: Collection[str]) -> bool:
    """Whether a tool of this name is one of `tools`, in whichever namespace a protocol puts it."""
    return name in tools or _NAMESPACE.split(name)[-1] in tools


def _read(call: Call, shown: Shown, cache: Cache) -> tuple[FileRead, bool]:
    paths = tuple((path, normal_path(path)) for path in shown.paths)
    file = next((path for _, path in paths if extension_of(path)), "")
    language = language_of(file)
    if language is not None:
        source = read_source(shown.text, language, shown.first_line, cache)
    else:
        source = no_source(shown.text, cache)
    is_unknown = language is None and extension_of(file) in SOURCE_EXTENSIONS
    module = tuple(_module_of(file)) if language is not None else ()
    read = FileRead(call.position, paths, module, None if is_unknown else source, shown.text)
    return read, source.cut


def _module_of(path: str) -> Iterator[str]:
    """The names of a module's path: src/a/b.py is src, a, b, and src/a/__init__.py is src, a."""
    *folders, file = path.split("/")
    yield from folders
    stem = file.partition(".")[0]
    if stem != "__init__":
        yield stem
