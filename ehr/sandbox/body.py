"""JSON bodies whose numbers keep their digits: 1.00 stays 1.00.

A body is parsed to a tree of `dict`, `list`, `str`, `bool`, `None` and `Number`, the digits as they were written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from json.encoder import encode_basestring as _quoted
from typing import Any

import orjson

Tree = dict[str, Any]


class Number(str):
    """A number's digits, as JSON writes them."""

    __slots__ = ()


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_KEEPING = json.JSONDecoder(parse_float=Number, parse_int=Number, parse_constant=_no_constant)
_COMPARING = json.JSONDecoder(parse_float=Decimal, parse_int=Decimal, parse_constant=_no_constant)


def parse(body: bytes | str) -> Any:
    """The tree of a body. Raises `ValueError` (`json.JSONDecodeError` with the place) where it is no JSON."""
    return _KEEPING.decode(body if isinstance(body, str) else body.decode())


def parse_object(body: bytes | str) -> Tree:
    """The tree of a body that is an object. Raises `ValueError` where it is not."""
    tree = parse(body)
    if not isinstance(tree, dict):
        raise ValueError(f"expected a JSON object, found {type(tree).__name__}")
    return tree


def tree_of(value: Any) -> Any:
    """The same tree from plain Python values: numbers become `Number`, `bytes` are parsed."""
    if isinstance(value, bytes):
        return parse(value)
    if isinstance(value, Mapping):
        return {key: tree_of(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [tree_of(item) for item in value]
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int | float | Decimal):
        return Number(format(value, "f") if isinstance(value, Decimal) else repr(value))
    raise TypeError(f"{value!r} has no place in a FHIR body")


def compact(tree: Any) -> bytes:
    """The tree as JSON without blanks, UTF-8. Half surrogate pairs become `?`, as on a Java server."""
    try:
        return orjson.dumps(tree, default=_fragment, option=orjson.OPT_PASSTHROUGH_SUBCLASS)
    except orjson.JSONEncodeError:
        return _compact(tree).encode("utf-8", "replace")


def _fragment(value: Any) -> Any:
    if isinstance(value, Number):
        return orjson.Fragment(str(value))
    raise TypeError(f"{value!r} has no place in a FHIR body")


def _compact(tree: Any) -> str:
    if isinstance(tree, dict):
        return "{" + ",".join(f"{_quoted(key)}:{_compact(value)}" for key, value in tree.items()) + "}"
    if isinstance(tree, list):
        return "[" + ",".join(map(_compact, tree)) + "]"
    return _scalar(tree)


def pretty(tree: Any) -> bytes:
    """The tree as HAPI prints it: two blanks for each object, lists in the line."""
    return _pretty(tree, "\n").encode("utf-8", "replace")


def _pretty(tree: Any, indent: str) -> str:
    if isinstance(tree, dict):
        inner = indent + "  "
        lines = [
            f"{inner}{_quoted(key)}: {_quoted(value) if type(value) is str else _pretty(value, inner)}"
            for key, value in tree.items()
        ]
        return "{" + ",".join(lines) + indent + "}" if lines else "{ }"
    if isinstance(tree, list):
        return "[ " + ", ".join([_pretty(item, indent) for item in tree]) + " ]" if tree else "[ ]"
    return _scalar(tree)


def _scalar(value: Any) -> str:
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, str):
        return _quoted(value)
    if value is None:
        return "null"
    return "true" if value else "false"


def same_content(one: bytes, other: bytes) -> bool:
    """Whether two bodies say the same: numbers by value, keys in any order, `versionId` and `lastUpdated` aside."""
    return one == other or _alike(_content(one), _content(other))


def _content(body: bytes) -> Any:
    tree = _COMPARING.decode(body.decode())
    return without_version(tree) if isinstance(tree, dict) else tree


def without_version(tree: Tree) -> Tree:
    """The tree without `meta.versionId` and `meta.lastUpdated`, which are the server's; an empty `meta` goes too."""
    meta = tree.get("meta")
    if not isinstance(meta, dict):
        return tree
    kept = {key: value for key, value in meta.items() if key not in ("versionId", "lastUpdated")}
    rest = {key: value for key, value in tree.items() if key != "meta"}
    return rest | {"meta": kept} if kept else rest


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(_alike(one[k], other[k]) for k in one)
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(_alike, one, other))
    return type(one) is type(other) and bool(one == other)
