"""JSON as text: where its parts are, so that parts can be taken out or changed and every other byte kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, NamedTuple

__all__ = ["Member", "elements", "members", "one_line", "with_id"]

_BLANK = re.compile(r"[ \t\r\n]*")
_STRING_OR_BLANK = re.compile(rb'("(?:[^"\\]|\\.)*")|[ \t\r\n]+', re.DOTALL)


def _refuse(text: str) -> Any:
    raise ValueError(f"{text} is no JSON number")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


class Member(NamedTuple):
    """A member of an object, or an element of a list: its name, where its value is in the text, and the value
    parsed.
    """

    name: str
    start: int
    end: int
    value: Any


def members(text: str, start: int = 0, unparsed: str = "") -> Iterator[Member]:
    """The members of the object at `start`, in order. The one named `unparsed` is not parsed: its end is its start, and
    the text after it is not looked at (walk it with `elements`). Raises `ValueError` where the text is no object.
    """
    position = _after(text, start, "{")
    if text[position : position + 1] == "}":
        return
    while True:
        if text[position : position + 1] != '"':
            raise ValueError(f"a member's name is expected at character {position}")
        name, position = scanstring(text, position + 1, True)
        position = _after(text, position, ":")
        if name == unparsed and text[position : position + 1] == "[":
            yield Member(name, position, position, None)
            return
        value, end = _value(text, position)
        yield Member(name, position, end, value)
        position = _blank(text, end)
        if text[position : position + 1] == "}":
            return
        position = _after(text, position, ",")


def elements(text: str, start: int) -> Iterator[Member]:
    """The elements of the list at `start`, each parsed. Raises `ValueError` where the text is no list."""
    position = _after(text, start, "[")
    if text[position : position + 1] == "]":
        return
    while True:
        value, end = _value(text, position)
        yield Member("", position, end, value)
        position = _blank(text, end)
        if text[position : position + 1] == "]":
            return
        position = _after(text, position, ",")


def _value(text: str, position: int) -> tuple[Any, int]:
    try:
        value, end = _DECODER.raw_decode(text, position)
    except StopIteration as stop:  # an old habit of the scanner at the end of the text
        raise ValueError(f"the text ends at character {stop.value}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value, end


def _blank(text: str, position: int) -> int:
    found = _BLANK.match(text, position)
    return position if found is None else found.end()


def _after(text: str, position: int, character: str) -> int:
    """The place after a character and the blanks around it."""
    position = _blank(text, position)
    if text[position : position + 1] != character:
        raise ValueError(f"{character!r} is expected at character {position}")
    return _blank(text, position + 1)


def one_line(body: bytes) -> bytes:
    """A body on one line: where it has line breaks, the blanks between its tokens go, and nothing else."""
    return _STRING_OR_BLANK.sub(rb"\1", body) if b"\n" in body or b"\r" in body else body


def with_id(text: str, id: str) -> str:
    """The text of a resource with this id, put after `resourceType` where it had none."""
    place = None
    for member in members(text):
        if member.name == "id":
            return f"{text[: member.start]}{json.dumps(id)}{text[member.end :]}"
        if member.name == "resourceType":
            place = member.end
    if place is None:
        raise ValueError("it has no resourceType")
    return f'{text[:place]},"id":{json.dumps(id)}{text[place:]}'
