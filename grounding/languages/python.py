"""What a piece of Python defines, by tree-sitter, which also reads pieces that are no whole file.

- Definitions are classes, functions (methods, nested and conditional ones, each overload), names assigned outside of
  functions, attributes set on `self`, type statements, and the strings of `__all__`; see `Kind`.
- A name set in an indented block whose head is not in the text may be a field, a variable or a local one: uncertain.
- Where the text cannot be parsed as it is, it is read as beginning inside a string, inside brackets or below a cut
  statement as well (`fragments`), and the reading with the fewest faults counts. If that has faults too, a name that
  stands behind `def` or `class` and is no definition in it is uncertain; if two readings have as few, so is what only
  one of them finds.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

import regex  # type: ignore[import-untyped]  # see outline
from tree_sitter import Language as Grammar
from tree_sitter import Node, Parser, Query, QueryCursor, Tree

from grounding.languages.definitions import Definition, Definitions, Kind, Scope
from grounding.languages.fragments import STARTS, mended
from grounding.languages.glance import has_class, may_define
from grounding.languages.outline import outline

LONGEST = 2_500_000
"""Characters of one text that are parsed at most; of a longer one what looks like a definition is uncertain."""

_LONGEST_MENDED = 400_000
"""Characters of a text that is read in several ways at most, where it cannot be parsed as it is."""

_TOKENS_IN_A_ROW = 2_000
"""Brackets, operators and keywords with nothing between them: no code has so many, and a query over them is slow."""

_LINES_JOINED = 2_000
"""Lines of one text that end in a backslash: no code has so many, and the parser takes long over them."""

_HIDDEN_COST = 60
"""What a reading that hides a line looking like a definition costs, in bytes of text that cannot be parsed."""

_NOT_TEXT = 0.01
"""The share of control characters from which on something is no text at all, and defines nothing; where it begins as
text, what it may define is uncertain."""
_FEW = 16
"""Control characters that any text may hold."""
_SAMPLE = 8_192
"""Characters at the beginning of a text: where these are text, and no NUL comes later, no other is looked at."""

_LOOKS_DEFINED = re.compile(r"^[ \t\f]*(?:async[ \t]+)?(?:def|class)[ \t]+([^\W\d]\w*)", re.MULTILINE)
_ENDLESS = regex.compile(rf"(?:(?:[^\w\s'\"#\\]|\b(?:{'|'.join(keyword.kwlist)})\b)\s*+){{{_TOKENS_IN_A_ROW}}}")
_SAYS_DEFINED = re.compile(r"\b(?:def|class)[ \t]+([^\W\d]\w*)")
_UNREADABLE = {"\0": " ", "\ufeff": " ", "\ufffd": "ǀ"}
"""What a parser stops at. What nobody could decode may have been a letter: a name goes on behind it."""
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")  # not the one that colours a terminal
_LOOKS_ASSIGNED = regex.compile(r"^[ \t]*+((?:[^\W\d][\w.]*+[ \t,]*+)++)(?::[^=\n]*+)?=(?!=)", regex.MULTILINE)
_NAME = re.compile(r"[^\W\d]\w*")
_LONE_RETURN = re.compile(r"\r(?!\n)")

_QUERY = """
(class_definition name: (identifier)) @class
(function_definition name: (identifier)) @function
(assignment left: (identifier) @variable)
(assignment left: [(pattern_list) (tuple_pattern) (list_pattern)] @variables)
(assignment left: (attribute object: (identifier) @self attribute: (identifier) @attribute) (#eq? @self "self"))
(type_alias_statement left: (type [(identifier) @alias (generic_type . (identifier) @alias)]))
(assignment left: (identifier) @all right: [(list) (tuple)] @exports (#eq? @all "__all__"))
(augmented_assignment left: (identifier) @all right: [(list) (tuple)] @exports (#eq? @all "__all__"))
(ERROR) @error
"""


class Python:
    """See `grounding.languages.Language`."""

    name = "python"

    def definitions(self, text: str, *, begins: bool) -> Definitions:
        """What `text` defines. See the module."""
        begins_as_text = not _has_controls(text[:_SAMPLE])
        if not (begins_as_text and "\0" not in text) and _has_controls(text):
            return _unparsed(text) if begins_as_text else Definitions((), {})
        clean = _clean(text)
        tree = _parse(clean) if _can_be_parsed(clean) else None
        if tree is not None and not tree.root_node.has_error:
            return _Reading(tree, clean, len(clean)).definitions(())
        if tree is None or _ENDLESS.search(clean):
            return _unparsed(clean)
        best, *others = _best_readings(tree, clean, begins)
        said = _said(clean) if best.faults or others else ()
        found = best.definitions(said)
        for other in others:
            found = _in_both(found, other.definitions(said))
        return found

    def outline(self, text: str) -> tuple[int, ...] | None:
        """See `grounding.languages.outline`."""
        if not _can_be_parsed(text) or "\0" in text or _has_controls(text[:_SAMPLE]):
            return None
        return outline(text)

    def part(self, text: str, *, cut: bool) -> Definitions | None:
        """What one part of an outline defines. See `Language`."""
        clean = _clean(text)
        tree = _parse(clean)
        if not tree.root_node.has_error:
            return _Reading(tree, clean, len(clean)).definitions(())
        if not cut or len(clean) > _LONGEST_MENDED:
            return None
        closed = mended(clean, "")
        tree = _parse(closed)
        return None if tree.root_node.has_error else _Reading(tree, closed, len(clean)).definitions(())

    def may_define(self, text: str, name: str, *, assigned: bool) -> bool:
        """See `grounding.languages.glance`."""
        return may_define(text, name, assigned=assigned)

    def has_class(self, text: str, name: str) -> bool:
        """See `grounding.languages.glance`."""
        return has_class(text, name)


PYTHON = Python()


def _can_be_parsed(text: str) -> bool:
    """Whether parsing takes no longer than its length says."""
    return len(text) <= LONGEST and text.count("\\\n") + text.count("\\\r\n") <= _LINES_JOINED


def _has_controls(text: str) -> bool:
    return len(_CONTROL.findall(text)) > max(_NOT_TEXT * len(text), _FEW)


def _unparsed(text: str) -> Definitions:
    """A text that is not parsed: what looks like a definition in it is uncertain."""
    assigned = [
        (name[0], line.start(1) + name.start())
        for line in _LOOKS_ASSIGNED.finditer(text)
        for name in _NAME.finditer(line[1])
    ]
    return Definitions((), _first_places([*_said(text), *assigned]))


def _said(text: str) -> list[tuple[str, int]]:
    """The names that stand behind `def` or `class`, whatever they stand in."""
    return [(match[1], match.start(1)) for match in _SAYS_DEFINED.finditer(text)]


def _clean(text: str) -> str:
    """The text as a parser can read it, every character at its place."""
    for character, instead in _UNREADABLE.items():
        text = text.replace(character, instead)
    return _LONE_RETURN.sub("\n", text) if "\r" in text else text


def _best_readings(tree: Tree, text: str, begins: bool) -> list[_Reading]:
    """The reading of a text with the fewest faults, where parsing it as it is (`tree`) finds some; several where they
    have as many: code before a triple quote may be code, or the end of a string that holds some.
    """
    looks = len(_LOOKS_DEFINED.findall(text))

    def cost(reading: _Reading) -> int:
        return reading.faults + _HIDDEN_COST * (looks - reading.defined)

    readings: list[_Reading] = []
    for other in _others(text, begins) if len(text) <= _LONGEST_MENDED else ():
        readings.append(_Reading(_parse(other), other, len(text)))
        if cost(readings[-1]) <= 0:
            return readings[-1:]
    readings = [*readings, _Reading(tree, text, len(text))]
    least = min(map(cost, readings))
    return [reading for reading in readings if cost(reading) == least]


def _in_both(one: Definitions, other: Definitions) -> Definitions:
    """What two readings of a text agree on; what only one of them finds is uncertain."""
    places = {(each.name, each.start) for each in one.certain} & {(each.name, each.start) for each in other.certain}
    disputed = [each for each in (*one.certain, *other.certain) if (each.name, each.start) not in places]
    uncertain = [*one.uncertain.items(), *other.uncertain.items(), *((each.name, each.start) for each in disputed)]
    agreed = tuple(each for each in one.certain if (each.name, each.start) in places)
    return Definitions(agreed, _first_places(uncertain))


def _others(text: str, begins: bool) -> Iterator[str]:
    """The text mended under each assumption about where it begins."""
    for start in STARTS:
        if not start or (not begins and start in text):
            yield mended(text, start)


def _first_places(named: Iterable[tuple[str, int]]) -> dict[str, int]:
    places: dict[str, int] = {}
    for name, at in named:
        places.setdefault(name, at)
    return places


class _Name(NamedTuple):
    """A name that is defined: its bytes, and the byte at which it is decided what it stands in."""

    stands_at: int
    start: int
    end: int
    kind: Kind


class _Block(NamedTuple):
    """A class or function: its bytes, and the name of a class."""

    start: int
    end: int
    class_name: str | None


class _Reading:
    """One parse of a text, of which the first `length` characters were shown. `faults` are bytes it cannot parse."""

    def __init__(self, tree: Tree, text: str, length: int) -> None:
        self._data = _bytes(text)
        self._is_ascii = len(self._data) == len(text)
        self._shown = length if self._is_ascii else len(_bytes(text[:length]))
        self._root = tree.root_node
        self._captured = QueryCursor(_query()).captures(self._root)
        errors = sum(node.end_byte - node.start_byte for node in self._captured.get("error", ()))
        self.faults = errors or int(self._root.has_error)
        self.defined = len(self._of("class")) + len(self._of("function"))

    def definitions(self, said: Sequence[tuple[str, int]]) -> Definitions:
        """What is defined. `said` are the names that stand behind `def` or `class` where the parse may hide some."""
        found: list[tuple[_Name, Kind, Scope, str | None]] = []
        dangling: list[_Name] = []
        for name, scope, owner in self._scoped():
            if name.kind != "variable":
                found.append((name, name.kind, scope, owner))
            elif scope == "unknown":
                dangling.append(name)
            elif scope != "function":
                found.append((name, "field" if scope == "class" else "variable", scope, owner))
        places = self._places([name.start for name, *_ in found])
        certain = tuple(
            Definition(text, kind, scope, owner, start, start + len(text))
            for (name, kind, scope, owner), start in zip(found, places, strict=True)
            for text in (self._text(name.start, name.end),)
        )
        known = set(places)
        loose = [self._text(name.start, name.end) for name in dangling]
        uncertain = [
            *zip(loose, self._places([name.start for name in dangling]), strict=True),
            *((name, at) for name, at in said if at not in known),
        ]
        return Definitions(certain, _first_places(uncertain))

    def _of(self, capture: str) -> list[Node]:
        return self._captured.get(capture, [])

    def _names(self) -> Iterator[_Name]:
        kinds: tuple[Kind, ...] = ("class", "function")
        for kind in kinds:
            for node in self._of(kind):
                name = node.child_by_field_name("name")
                if name is not None:
                    yield _Name(node.start_byte, name.start_byte, name.end_byte, kind)
        yield from _at_their_place(self._of("variable"), "variable")
        yield from _at_their_place(self._of("attribute"), "attribute")
        yield from _at_their_place(self._of("alias"), "alias")
        for several in self._of("variables"):
            yield from _at_their_place(
                (node for node in several.named_children if node.type == "identifier"), "variable"
            )
        for exports in self._of("exports"):
            for string in exports.named_children:
                content = [node for node in string.named_children if node.type == "string_content"]
                if len(content) == 1 and _NAME.fullmatch(self._text(*content[0].byte_range)):
                    yield from _at_their_place(content, "export")

    def _blocks(self) -> list[_Block]:
        """Classes and functions by their beginning, outer ones first."""
        blocks = [_Block(*node.byte_range, None) for node in self._of("function")]
        for node in self._of("class"):
            name = node.child_by_field_name("name")
            blocks.append(_Block(*node.byte_range, "" if name is None else self._text(*name.byte_range)))
        return sorted(blocks, key=lambda block: (block.start, -block.end))

    def _scoped(self) -> Iterator[tuple[_Name, Scope, str | None]]:
        """The names that were shown, in order, each with what it stands in."""
        blocks = self._blocks()
        around: list[_Block] = []
        ahead = 0
        for name in sorted(self._names()):
            if name.end > self._shown:
                continue
            while ahead < len(blocks) and blocks[ahead].start < name.stands_at:
                around.append(blocks[ahead])
                ahead += 1
            while around and around[-1].end <= name.stands_at:
                around.pop()
            if name.kind == "attribute":  # it is the class's, in whichever of its methods it is set
                owner = next((block.class_name for block in reversed(around) if block.class_name is not None), None)
                yield name, "unknown" if owner is None else "class", owner
            elif around:
                owner = around[-1].class_name
                yield name, "function" if owner is None else "class", owner
            else:
                yield name, self._scope_outside(name.stands_at), None

    def _scope_outside(self, at: int) -> Scope:
        """What stands in no block is the module's if its outermost statement begins a line, else it was cut off."""
        if at == self._data.rfind(b"\n", 0, at) + 1:
            return "module"
        statement = self._root.first_child_for_byte(at)
        is_whole = statement is not None and statement.start_point.column == 0 and not statement.is_error
        return "module" if is_whole else "unknown"

    def _text(self, start: int, end: int) -> str:
        return self._data[start:end].decode("utf-8", "replace")

    def _places(self, starts: Sequence[int]) -> list[int]:
        """Byte offsets, ascending, as offsets in characters."""
        if self._is_ascii:
            return list(starts)
        places, at, characters = [], 0, 0
        for start in starts:
            characters += len(self._data[at:start].decode("utf-8", "replace"))
            at = start
            places.append(characters)
        return places


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _parse(text: str) -> Tree:
    return Parser(_grammar()).parse(_bytes(text))


def _at_their_place(nodes: Iterable[Node], kind: Kind) -> Iterator[_Name]:
    for node in nodes:
        start, end = node.byte_range
        yield _Name(start, start, end, kind)


@cache
def _grammar() -> Grammar:
    import tree_sitter_python

    return Grammar(tree_sitter_python.language())


@cache
def _query() -> Query:
    return Query(_grammar(), _QUERY)
