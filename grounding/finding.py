"""Whether the files that a trace read show an entity, and where.

Rules, in this order, for each file that was read:

- a path is supported by a read of it, and under `mentions` by a text in which it stands;
- `Class.method(` is supported by a function or class of that name in that class, or, in a part of a file, in a class
  whose head is not shown; `name(` by one of that name anywhere; a dotted identifier with a class before it likewise;
- an identifier is supported by a definition that it names or begins, or by a file whose module it is;
- under `mentions`, by a text in which a word begins with it.

What is not supported fails, unless it may be a definition that cannot be told (`grounding.languages.Definitions`), or
may be one in a file of a language that is not known; a path fails unless a read is of nobody knows which file: then it
is unscored.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from grounding.choices import Choices
from grounding.claims import Finding, Support
from grounding.entities import Entity
from grounding.evidence import FileEvidence, FileRead
from grounding.languages import Definition
from grounding.sources import folded

PLACES = 20
"""Places of support that are named for one entity at most, one for each read."""

_NAMES_OF_TOOLS = 3


def find(choices: Choices, entity: Entity, evidence: FileEvidence) -> Finding:
    """What the evidence says about one entity."""
    supports = _path_supports if entity.kind == "path" else _name_supports
    found = [support for read in evidence.reads if (support := next(supports(choices, entity, read), None))]
    if found:
        return Finding(outcome="pass", support=tuple(found[:PLACES]))
    doubt = next((doubt for read in evidence.reads if (doubt := _doubt(choices, entity, read))), None)
    if doubt is not None:
        return Finding(outcome="unscored", why=doubt)
    return Finding(outcome="fail", why=_why(choices, entity, evidence))


def _path_supports(choices: Choices, entity: Entity, read: FileRead) -> Iterator[Support]:
    for written, path in read.paths:
        if path == entity.name or (choices.paths == "suffix" and path.endswith("/" + entity.name)):
            yield Support(call=read.call, how="read", span=(0, len(written)))
    if choices.mentions:
        yield from _mentions(entity.name, read)


def _name_supports(choices: Choices, entity: Entity, read: FileRead) -> Iterator[Support]:
    for definition in _definitions(choices, entity, read, entity.owner):
        if _is_in_class(choices, definition, entity.owner):
            yield Support(call=read.call, how="defined", span=(definition.start, definition.end))
    if choices.modules and entity.kind == "identifier" and _is_module(choices, entity, read):
        yield Support(call=read.call, how="module", span=(0, len(read.paths[0][0])))
    if choices.mentions:
        yield from _mentions(entity.name, read)


def _definitions(choices: Choices, entity: Entity, read: FileRead, owner: str | None) -> Iterator[Definition]:
    """The definitions that the entity's name means, those in the class `owner` or in whichever."""
    if read.code is None:
        return
    key = folded(entity.name)
    is_signature = entity.kind == "signature"
    is_whole = choices.whole or is_signature
    kinds = ("function", "class") if is_signature else choices.definitions
    for definition in read.code.defined(key, folded(owner) if owner else None, assigned=not is_signature):
        if is_whole and folded(definition.name) != key:
            return  # those of this whole name come first
        if definition.kind in kinds and (choices.ignore_case or _has_case_of(entity.name, definition, is_whole)):
            yield definition


def _has_case_of(name: str, definition: Definition, is_whole: bool) -> bool:
    defined = unicodedata.normalize("NFKC", definition.name)
    return defined == name if is_whole else defined.startswith(name)


def _is_in_class(choices: Choices, definition: Definition, owner: str | None) -> bool:
    if owner is None or definition.scope == "unknown":
        return True
    if definition.owner is None:
        return False
    return folded(definition.owner) == folded(owner) if choices.ignore_case else definition.owner == owner


def _is_module(choices: Choices, entity: Entity, read: FileRead) -> bool:
    """Whether the names are those of the file's module, of a package around it, or of the way from one to the other."""
    module, parts = list(read.module), list(entity.parts)
    if choices.ignore_case:
        module, parts = [folded(name) for name in module], [folded(name) for name in parts]
    return any(module[at : at + len(parts)] == parts for at in range(len(module) - len(parts) + 1))


def _mentions(name: str, read: FileRead) -> Iterator[Support]:
    """The first place where a word of the text begins with the name, or where the path stands, whatever its case."""
    if not read.says(folded(name)):
        return
    end = r"(?!\w)" if "/" in name or "." in name else ""
    found = re.search(rf"(?<!\w){re.escape(name)}{end}", read.text, re.IGNORECASE)
    if found is not None:
        yield Support(call=read.call, how="mentioned", span=found.span())


def _doubt(choices: Choices, entity: Entity, read: FileRead) -> str | None:
    """Why nobody can say that this read does not show an entity."""
    if entity.kind == "path":
        return None if read.paths else f"nobody knows which file call {read.call} read"
    key = folded(entity.name)
    if not read.says(key):
        return None
    if not read.is_known:
        return f"it stands in what call {read.call} read, and what is defined is known for Python only"
    is_prefix = entity.kind == "identifier" and not choices.whole
    named = read.code.uncertain(key, assigned=entity.kind == "identifier") if read.code else {}
    if key in named or (is_prefix and any(name.startswith(key) for name in named)):
        return f"it may be defined in what call {read.call} read, where the text shows too little or cannot be parsed"
    return None


def _why(choices: Choices, entity: Entity, evidence: FileEvidence) -> str:
    tool = choices.reads[0]
    if not evidence.reads:
        if any(choices.reads_files(name) for name in evidence.tools):
            return f"no {tool} of the trace succeeded"
        others = f"; it calls {_listed(evidence.tools)}" if evidence.tools else ""
        return f"the trace has no {tool} result{others}"
    if entity.kind == "path":
        file = entity.name.rsplit("/", 1)[-1].casefold()
        for read in evidence.reads:
            for written, path in read.paths:
                if path.rsplit("/", 1)[-1].casefold() == file:
                    return f"no {tool} result is of this path; call {read.call} read {written!r}"
        return f"no {tool} result is of this path"
    owner = folded(entity.owner) if entity.owner else None
    if owner and not any(read.code and read.code.shows_class(owner) for read in evidence.reads):
        return f"no {tool} result shows a class {entity.owner}"
    for read in evidence.reads:
        for definition in _definitions(choices, entity, read, None):
            place = f"in {definition.owner}" if definition.owner else "outside of classes"
            return f"call {read.call} shows {definition.name} defined {place}, not in {entity.owner}"
    return f"no definition in any {tool} result"


def _listed(tools: tuple[str, ...]) -> str:
    shown = ", ".join(tools[:_NAMES_OF_TOOLS])
    return f"{shown} and others" if len(tools) > _NAMES_OF_TOOLS else shown
