"""Plain JSON values: what may enter a trace, whoever made it.

What agents say is untrusted: a number that is not one, half of a surrogate pair, a thousand levels of nesting or a
Python object would break the file that the trace is written to. `plain` copies a value and lets only JSON through.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from pydantic_core import to_json

MAX_DEPTH = 100
"""Levels of lists and objects inside one another; FHIR resources need about a dozen."""

MAX_DIGITS = 300
"""Digits of a whole number."""


class PlainError(ValueError):
    """A value that JSON cannot hold; the message says what and where in one clause."""


def plain(value: Any, where: str = "the value") -> Any:
    """A copy of `value` made of dict, list, str, int, float, bool and None only.

    Tuples become lists, `Decimal` the nearest float, lone surrogates the replacement character. Raises `PlainError` for
    everything else: other types, keys that are no text, NaN and infinity, more than `MAX_DEPTH` levels.
    """
    return _plain(value, where, MAX_DEPTH)


def clean(text: str) -> str:
    """`text` with lone surrogates replaced: any string can then be written as UTF-8."""
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def json_text(value: Any) -> str:
    """A tool's result as the agent reads it: text as it is, anything else as compact JSON. Raises `ValueError`."""
    if isinstance(value, str):
        value.encode()
        return value
    return to_json(value, inf_nan_mode="null").decode()


def shown(value: Any, length: int = 80) -> str:
    """`value` for an error message: its `repr`, at most `length` characters of it."""
    text = repr(value)
    return text if len(text) <= length else f"{text[:length]}…"


def _plain(value: Any, where: str, depth: int) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return clean(str(value))
    if isinstance(value, int):
        if abs(value) >= 10**MAX_DIGITS:
            raise PlainError(f"{where} is a whole number of more than {MAX_DIGITS} digits")
        return int(value)
    if isinstance(value, (float, Decimal)):
        number = float(value)
        if not math.isfinite(number):
            raise PlainError(f"{where} is {number!r}, which JSON cannot hold")
        return number
    if depth == 0:
        raise PlainError(f"{where.split('.')[0]} is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{where}[{place}]", depth - 1) for place, item in enumerate(value)]
    if isinstance(value, dict):
        return {_key(key, where): _plain(item, f"{where}.{key}", depth - 1) for key, item in value.items()}
    raise PlainError(f"{where} is of type {type(value).__name__}, which JSON cannot hold")


def _key(key: Any, where: str) -> str:
    if not isinstance(key, str):
        raise PlainError(f"{where} has the key {shown(key)}; keys must be text")
    return clean(key)
