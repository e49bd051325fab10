"""How much of an episode a report shows: a number of bytes, spent in the order in which a reader needs things."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from harness.visible import visible

_DEEPEST = 60


@dataclass(frozen=True, slots=True)
class Shown:
    """The first part of a text, made visible, and in words how much is left out after it, if anything."""

    text: str
    more: str | None = None


class Allowance:
    """Bytes of HTML that may still be written. Everything shown is paid for here, its markup too."""

    def __init__(self, size: int) -> None:
        self.left = size

    def pays(self, markup: int) -> bool:
        """Whether `markup` bytes are left; if so, they are spent."""
        if self.left < markup:
            return False
        self.left -= markup
        return True

    def take(self, text: str, most: int) -> Shown:
        """As much of `text` as fits into `most` bytes and into what is left, and spend it."""
        room = max(0, min(most, self.left))
        first = visible(text[:room])
        kept = min(len(text), room)
        while (size := _size(first)) > room:
            # Escapes and wide characters make it longer than its characters: shorten in proportion.
            kept = min(kept - 1, kept * room // size)
            first = visible(text[: max(0, kept)])
        self.left -= size
        cut = len(text) - max(0, kept)
        return Shown(first, f"{cut:,} more characters" if cut else None)

    def take_json(self, value: Any, most: int, *, indent: bool = False) -> Shown:
        """A JSON value as text, written only as far as it is shown."""
        room = max(0, min(most, self.left))
        pieces: list[str] = []
        length = 0
        for piece in _written(value, "\n" if indent else "", 0):
            pieces.append(piece)
            length += len(piece)
            if length > room:
                break
        shown = self.take("".join(pieces), most)
        return Shown(shown.text, "more") if shown.more else shown


def _size(text: str) -> int:
    """Bytes of `text` in the page: `&`, `<` and `>` are written as entities."""
    return len(text.encode(errors="replace")) + 4 * text.count("&") + 3 * (text.count("<") + text.count(">"))


def _written(value: Any, line: str, depth: int) -> Iterator[str]:
    """JSON in small pieces, so that a huge value costs no more than what is shown of it."""
    if isinstance(value, str):
        for start in range(0, max(1, len(value)), 4096):
            text = json.dumps(value[start : start + 4096], ensure_ascii=False)
            yield text[(start > 0) : len(text) - (start + 4096 < len(value))]
        return
    if not isinstance(value, dict | list | tuple) or not value or depth > _DEEPEST:
        yield "…" if isinstance(value, dict | list | tuple) and value else json.dumps(value, ensure_ascii=False)
        return
    inner = line + " " if line else ""
    is_object = isinstance(value, dict)
    yield "{" if is_object else "["
    for number, item in enumerate(value.items() if isinstance(value, dict) else value):
        yield ("," if number else "") + (inner or (" " if number else ""))
        if is_object:
            yield json.dumps(str(item[0])[:200], ensure_ascii=False) + ": "
        yield from _written(item[1] if is_object else item, inner, depth + 1)
    yield line + ("}" if is_object else "]")
