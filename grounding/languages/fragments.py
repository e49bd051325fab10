"""A part of a Python file, mended so that a parser of whole files reads it.

A range of lines may begin inside a docstring, inside brackets or below an `if` whose `else` it shows, and end anywhere.
A parser then takes prose for code and code for prose: of random ranges of real files, one in eight loses definitions.
What is cut is blanked or closed here, character for character, so that every place in the text stays where it is.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

import regex  # type: ignore[import-untyped]  # whose possessive groups are right; those of `re` only from 3.11.5 on

STARTS = ("", '"""', "'''")
"""What a part may begin inside of: nothing, or a string with these quotes."""

_TOKEN = re.compile(r"""\#[^\n]*|(?P<quotes>\"{3}|'{3}|"|')|(?P<open>[(\[{])|(?P<close>[)\]}])|\\.""", re.DOTALL)
_STRING_END = {
    '"""': regex.compile(r'(?:[^\\"]|\\.|"(?!""))*+"""', regex.DOTALL),
    "'''": regex.compile(r"(?:[^\\']|\\.|'(?!''))*+'''", regex.DOTALL),
    '"': regex.compile(r'(?:[^\\"\n]|\\.)*+"', regex.DOTALL),
    "'": regex.compile(r"(?:[^\\'\n]|\\.)*+'", regex.DOTALL),
}
_OPENS = {")": "(", "]": "[", "}": "{"}
_CLOSES = {opening: closing for closing, opening in _OPENS.items()}
_HEAD = re.compile(r"[ \t\f]*(?:async[ \t]+)?(?:def|class|if|elif|for|while|with|except|match|case)\b")
_LINE = re.compile(r"^([ \t\f]*)(?:(else|finally|except|elif)\b([ \t]*:)?|[^\s#])", re.MULTILINE)
_NOT_A_LINE_END = re.compile(r"[^\n]")
_TAB = 8


@dataclass(slots=True)
class _Scan:
    """The strings and brackets of a text.

    The first `head` characters belong to something that began before the text. `opened` are the quotes of a string
    that does not end, `stack` the brackets that do not, each with its place. `inside` are spans of strings and of
    outermost brackets.
    """

    head: int = 0
    opened: str = ""
    stack: list[tuple[str, int]] = field(default_factory=list)
    inside: list[tuple[int, int]] = field(default_factory=list)


def mended(text: str, start: str) -> str:
    """`text`, taken as beginning inside of `start` (one of `STARTS`), as something that can stand alone.

    Its first `len(text)` characters have the lines and columns of `text`; what closes an open end comes after them.
    """
    scan = _scan(text, start)
    closing = f"\n{scan.opened}" if scan.opened else ""
    if scan.stack:
        closing += "\n" + "".join(_CLOSES[bracket] for bracket, _ in reversed(scan.stack))
        if _HEAD.match(text, text.rfind("\n", 0, scan.stack[0][1]) + 1):
            closing += ": pass"
    head = _NOT_A_LINE_END.sub(" ", text[: scan.head])
    return f"{head}{_without_orphans(text, scan)}{closing}\n"


def _scan(text: str, start: str) -> _Scan:
    scan = _Scan()
    at = 0
    if start:
        end = _STRING_END[start].match(text)
        if end is None:
            scan.head = len(text)
            return scan
        at = scan.head = end.end()
    while (token := _TOKEN.search(text, at)) is not None:
        at = token.end()
        if quotes := token["quotes"]:
            end = _STRING_END[quotes].match(text, at)
            if end is not None:
                at = end.end()
            elif len(quotes) == 3:
                scan.opened = quotes
                at = len(text)
            else:  # no string: an apostrophe where nothing can be parsed anyway
                at = _line_end(text, at)
            scan.inside.append((token.start(), at))
        elif token["open"]:
            scan.stack.append((token["open"], token.start()))
        elif token["close"]:
            if scan.stack and scan.stack[-1][0] == _OPENS[token["close"]]:
                _, opened_at = scan.stack.pop()
                if not scan.stack:
                    scan.inside.append((opened_at, at))
            elif not scan.stack:  # everything so far stood inside a bracket that began before the text
                at = scan.head = _line_end(text, at)
    if scan.stack:
        scan.inside.append((scan.stack[0][1], len(text)))
    scan.inside = _outermost(scan.inside)
    return scan


def _outermost(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans that lie in no other, by their place."""
    kept: list[tuple[int, int]] = []
    for span in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
    return kept


def _without_orphans(text: str, scan: _Scan) -> str:
    """The text after its head, where a clause whose statement began before the text becomes a statement itself.

    `else` becomes `if 1`, `elif` `if`, `except` `with` or `if 1`, `finally` `if 1`, each at its place.
    """
    parts, written = [], scan.head
    starts = [start for start, _ in scan.inside]
    lowest, last_was_orphan = None, False
    for line in _LINE.finditer(text, scan.head):
        span = bisect_right(starts, line.start() - 1) - 1
        if span >= 0 and scan.inside[span][1] > line.start():
            continue  # the line begins inside a string or a bracket
        indent = len(line[1].expandtabs(_TAB))
        if lowest is not None and indent > lowest:
            continue
        orphan = line[2] if lowest is None or indent < lowest or last_was_orphan else None
        lowest, last_was_orphan = indent, bool(orphan)
        if orphan:
            at = line.start(2)
            statement = "if" if orphan == "elif" else "with" if orphan == "except" and not line[3] else "if 1"
            parts += [text[written:at], statement.ljust(len(orphan))]
            written = at + len(orphan)
    return "".join([*parts, text[written:]])


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end
