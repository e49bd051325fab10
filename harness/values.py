"""Frozen values, and the one way to turn a value into bytes and into a digest."""

from __future__ import annotations

import hashlib
import json
import re
from decimal import Decimal
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

_SHOWN = 60
"""Characters of a wrong value at most."""


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


def first_wrong(problem: ValidationError, whole: str = "the line") -> str:
    """What is wrong first in a document of JSON, and its value: `usage.calls: Input should be ..., and is 'x'`.

    `whole` is what it is called where it is wrong as a whole.
    """
    first = problem.errors(include_url=False)[0]
    where = ".".join(map(str, first["loc"])) or whole
    said = re.sub(r"^Value error, | or instance of \w+$", "", first["msg"])
    said = said.replace("a valid dictionary", "an object").replace("a valid tuple", "a valid array")
    if first["type"] in ("missing", "json_invalid", "value_error"):  # there is none, or a rule of ours has named it
        return f"{where}: {said}"
    value = repr(first["input"])
    return f"{where}: {said}, and is {value if len(value) <= _SHOWN else value[:_SHOWN] + '...'}"


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(f"{value!r} has no canonical JSON")
