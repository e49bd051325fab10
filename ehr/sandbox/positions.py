"""Where in a text its JSON objects and values end, for messages that name a line and column."""

from __future__ import annotations

import re
from json.decoder import scanstring  # type: ignore[attr-defined]  # not in the stubs, in every CPython
from typing import Any

from ehr.sandbox.body import Number, Tree

_BLANK = re.compile(r"[ \t\n\r]*")
_ATOM = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_WORDS = {"true": True, "false": False, "null": None}
DEEPEST = 200


class Positions:
    """A text's tree, and where each object of it and each value in an object ends.

    The text must be JSON (raises `ValueError` otherwise).
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends: dict[tuple[int, str], int] = {}
        self.tree, _ = self._value(self._skip(0), 0)

    def end(self, holder: Tree, key: str = "") -> str:
        """`Line[1] Col[52]`: the place behind an object of the tree, or behind the value of one of its keys."""
        position = self._ends.get((id(holder), key), 0)
        line = self._text.count("\n", 0, position) + 1
        return f"Line[{line}] Col[{position - (self._text.rfind(chr(10), 0, position) + 1) + 1}]"

    def _skip(self, position: int) -> int:
        found = _BLANK.match(self._text, position)
        assert found is not None  # blanks may be none
        return found.end()

    def _value(self, position: int, depth: int) -> tuple[Any, int]:
        sign = self._text[position : position + 1]
        if depth > DEEPEST:
            raise ValueError("the text nests too deeply")
        if sign == '"':
            return scanstring(self._text, position + 1, True)  # type: ignore[no-any-return]
        if sign == "{":
            return self._object(position + 1, depth)
        if sign == "[":
            return self._list(position + 1, depth)
        found = _ATOM.match(self._text, position)
        if found is None:
            raise ValueError(f"no JSON at {position}")
        text = found.group()
        return (_WORDS[text] if text in _WORDS else Number(text)), found.end()

    def _object(self, position: int, depth: int) -> tuple[Tree, int]:
        tree: Tree = {}
        position = self._skip(position)
        while self._text[position : position + 1] != "}":
            key, position = scanstring(self._text, self._skip(position) + 1, True)
            position = self._skip(self._skip(position) + 1)
            tree[key], position = self._value(position, depth + 1)
            self._ends[id(tree), key] = position
            position = self._next(position, "}")
        self._ends[id(tree), ""] = position + 1
        return tree, position + 1

    def _list(self, position: int, depth: int) -> tuple[list[Any], int]:
        items: list[Any] = []
        position = self._skip(position)
        while self._text[position : position + 1] != "]":
            item, position = self._value(self._skip(position), depth + 1)
            items.append(item)
            position = self._next(position, "]")
        return items, position + 1

    def _next(self, position: int, close: str) -> int:
        """The place of the next item, or of the bracket that closes."""
        position = self._skip(position)
        sign = self._text[position : position + 1]
        if sign == ",":
            return self._skip(position + 1)
        if sign != close:
            raise ValueError(f"no JSON at {position}")
        return position
