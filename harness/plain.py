"""Plain JSON values: what may enter a trace, whoever made it.

What agents say is untrusted: a number that is not one, half of a surrogate pair, a thousand levels of nesting or a
Python object would break the file that the trace is written to. `plain` copies a value and lets only JSON through.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

import orjson
from pydantic import BaseModel
from pydantic_core import to_json

MAX_DEPTH = 100
"""Levels of lists and objects inside one another; FHIR resources need about a dozen."""

MAX_DIGITS = 300
"""Digits of a whole number."""

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


class PlainError(ValueError):
    """A value that JSON cannot hold; the message says what and where in one clause."""


class Written(float):
    """A decimal that remembers its digits: it computes as a float, and `digits` is how it was written."""

    __slots__ = ("digits",)
    digits: str

    def __new__(cls, digits: str) -> Written:
        """The number that these digits write."""
        number = super().__new__(cls, digits)
        number.digits = digits
        return number

    def __reduce__(self) -> tuple[type[Written], tuple[str]]:
        return Written, (self.digits,)


def plain(value: Any, where: str = "the value") -> Any:
    """A copy of `value` made of dict, list, str, int, float, bool and None only.

    Tuples become lists, `Decimal` the nearest float, lone surrogates the replacement character; a float that carries
    its own digits keeps them (`Written`), so that who passes a number on does not change it. Raises `PlainError` for
    everything else: other types, keys that are no text, NaN and infinity, more than `MAX_DEPTH` levels.
    """
    return _plain(value, where, MAX_DEPTH)


def clean(text: str) -> str:
    """`text` with lone surrogates replaced: any string can then be written as UTF-8."""
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def json_bytes(value: Any) -> bytes:
    """`value` as compact JSON in UTF-8, pydantic values by their fields. Raises `ValueError` where it cannot be.

    A float that carries its own `digits` (as a decimal of a resource does) is written with them: 1.00 stays 1.00. NaN
    and infinity are null.
    """
    try:
        return orjson.dumps(value, default=_exactly, option=orjson.OPT_PASSTHROUGH_SUBCLASS)
    except TypeError:
        return to_json(value, inf_nan_mode="null")  # whole numbers beyond 64 bits


def json_text(value: Any) -> str:
    """A tool's result as the agent reads it: text as it is, anything else as JSON. Raises `ValueError`."""
    if isinstance(value, str):
        value.encode()
        return value
    return json_bytes(value).decode()


def copied(value: Any) -> Any:
    """A copy of a JSON value that shares no list and no object with it."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value


def shown(value: Any, length: int = 80) -> str:
    """`value` for an error message: its `repr`, at most `length` characters of it."""
    text = repr(value)
    return text if len(text) <= length else f"{text[:length]}…"


def _exactly(value: Any) -> Any:
    """What orjson does not write by itself: pydantic values, and subclasses of what JSON has."""
    if isinstance(value, BaseModel):
        return {name: getattr(value, name) for name in type(value).model_fields}
    if isinstance(value, float):
        digits = _digits_of(value)
        return float(value) if digits is None else orjson.Fragment(digits)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, (list, tuple)):
        return list(value)
    raise TypeError(f"{type(value).__name__} has no JSON")


def _digits_of(value: Any) -> str | None:
    """The digits that a number carries, where they are those of a number."""
    digits = getattr(value, "digits", None)
    return digits if isinstance(digits, str) and _NUMBER.fullmatch(digits) else None


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
        digits = _digits_of(value)
        return number if digits is None else Written(digits)
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
