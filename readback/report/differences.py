"""A change as a reader sees it: which elements of a resource are there before and after, leaf by leaf.

It shows what is stored, digit by digit (1.0 to 1.00 is shown); what counts as a difference is the `state` lens's
business. The items of a list are matched by what they are, so that one item more does not shift all that follow.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

_SERVERS_OWN = frozenset({"meta.versionId", "meta.lastUpdated"})
_DEEPEST = 60
_LONGEST_MATCHED = 200
"""Longer lists are compared place by place: matching them takes time with the square of their length."""


class _Number(str):
    """A number as its digits are written."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Leaf:
    """One element: its path, and its value before and after as JSON text. None is: not there."""

    path: str
    before: str | None
    after: str | None


def differences(before: str | None, after: str | None) -> Iterator[Leaf]:
    """The leaves in which two stored bodies differ: all of the one where the other is not there.

    The server's own `meta.versionId` and `meta.lastUpdated` are left out. A body that is no JSON is one leaf.
    """
    one, other = _parsed(before), _parsed(after)
    for leaf in _compare("", one, other, 0):
        if leaf.path not in _SERVERS_OWN:
            yield leaf


class _Nothing:
    """What is not there."""


_NOTHING = _Nothing()


def _parsed(body: str | None) -> Any:
    if body is None:
        return _NOTHING
    try:
        return json.loads(body, parse_float=_Number, parse_int=_Number, parse_constant=_Number)
    except (ValueError, RecursionError):
        return body


def _compare(path: str, before: Any, after: Any, depth: int) -> Iterator[Leaf]:
    if isinstance(before, dict) and isinstance(after, dict) and depth < _DEEPEST:
        for key in [*before, *(key for key in after if key not in before)]:
            yield from _compare(_below(path, key), before.get(key, _NOTHING), after.get(key, _NOTHING), depth + 1)
    elif isinstance(before, list) and isinstance(after, list) and depth < _DEEPEST:
        yield from _compare_lists(path, before, after, depth + 1)
    elif before != after or type(before) is not type(after):
        if isinstance(before, dict | list) or isinstance(after, dict | list):
            yield from (Leaf(where, text, None) for where, text in _leaves(path, before, depth))
            yield from (Leaf(where, None, text) for where, text in _leaves(path, after, depth))
        else:
            yield Leaf(path or "(body)", _text(before), _text(after))


def _compare_lists(path: str, before: list[Any], after: list[Any], depth: int) -> Iterator[Leaf]:
    if max(len(before), len(after)) > _LONGEST_MATCHED:
        blocks = [(0, len(before), 0, len(after))]
    else:
        one_side, other_side = ([json.dumps(item, sort_keys=True) for item in items] for items in (before, after))
        codes = SequenceMatcher(None, one_side, other_side, autojunk=False).get_opcodes()
        blocks = [(i1, i2, j1, j2) for kind, i1, i2, j1, j2 in codes if kind != "equal"]
    for i1, i2, j1, j2 in blocks:
        for offset in range(max(i2 - i1, j2 - j1)):
            one = before[i1 + offset] if i1 + offset < i2 else _NOTHING
            other = after[j1 + offset] if j1 + offset < j2 else _NOTHING
            place = i1 + offset if other is _NOTHING else j1 + offset
            yield from _compare(f"{path}[{place}]", one, other, depth)


def _leaves(path: str, value: Any, depth: int) -> Iterator[tuple[str, str]]:
    if value is _NOTHING:
        return
    if isinstance(value, dict) and value and depth < _DEEPEST:
        for key, item in value.items():
            yield from _leaves(_below(path, key), item, depth + 1)
    elif isinstance(value, list) and value and depth < _DEEPEST:
        for number, item in enumerate(value):
            yield from _leaves(f"{path}[{number}]", item, depth + 1)
    else:
        text = _text(value)
        yield path or "(body)", "" if text is None else text


def _below(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _text(value: Any) -> str | None:
    if value is _NOTHING:
        return None
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, dict | list) and value:
        return "…"
    return json.dumps(value, ensure_ascii=False)
