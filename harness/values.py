"""Frozen values, and the one way to turn a value into bytes and into a digest."""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from typing import Any, Self

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A frozen, typed value. Strict when we write (an unknown name raises), tolerant when we read (see `read`)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def read(cls, line: str | bytes) -> Self:
        """The value a line of JSON holds. Keys that a newer version added are passed over.

        Raises `pydantic.ValidationError` where the line is not such a value.
        """
        return cls.model_validate_json(line, extra="ignore")

    def line(self) -> str:
        """The value as one line of JSON, keys in the order of the class, without the line's end."""
        return self.model_dump_json()


def canonical(value: Any) -> bytes:
    """`value` as canonical JSON: sorted keys, no blanks, UTF-8. `Decimal` keeps its digits. NaN and infinity raise."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain
    ).encode()


def digest(value: Any) -> str:
    """`sha256:` and the hexadecimal SHA-256 of `canonical(value)`; of the bytes themselves where bytes are given."""
    data = value if isinstance(value, bytes) else canonical(value)
    return "sha256:" + hashlib.sha256(data).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(f"{value!r} has no canonical JSON")
