"""What HAPI's parser accepts as the value of a primitive element, and what it makes of it.

HAPI reads every JSON scalar as text and lets the element's type read that text: `"12"` is a decimal, `5` a string,
`"true"` a boolean. What a type cannot read is refused (HAPI-1821) with the type's own words. Dates, times and zones,
strings and codes are kept as they were sent; a decimal keeps its digits, without an exponent.
"""

from __future__ import annotations

import base64
import binascii
import re
from calendar import monthrange
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from ehr.sandbox.body import Number
from ehr.sandbox.definitions import Element, codes
from ehr.sandbox.intake.narrative import narrative
from ehr.sandbox.outcome import RefusedError, not_parsed

_HALF_PAIR = re.compile("[\ud800-\udfff]")
"""Half a surrogate pair, which no UTF-8 can hold; a Java server writes a question mark for it."""
LONGEST_NUMBER = 1000
"""Digits a number may have: what HAPI's JSON reader bounds too."""
LARGEST_EXPONENT = 308
"""Beyond it a number is no double, and HAPI's index fails on it."""


class UnreadableError(ValueError):
    """A text that is no value of the element's type. The message is HAPI's."""


def text_of(value: Any) -> str:
    """A JSON scalar as the text that HAPI sees. Raises `UnreadableError` for a number out of bounds."""
    if isinstance(value, Number):
        return _plain(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    return text if text.isascii() else _HALF_PAIR.sub("?", text)


def scalar(element: Element, type: str, value: Any) -> Any:
    """The value to store for a scalar sent for `element`; `None` where nothing is left of it.

    Raises `UnreadableError`.
    """
    text = text_of(value)
    if not text or text.isspace():
        return None
    if type == "code" and element.binding and element.value_set:
        allowed = codes(element.value_set)
        if allowed is not None and text not in allowed:
            raise UnreadableError(f"Unknown {element.binding} code '{text}'")
        return text
    read = _READERS.get(type)
    if read is None:
        return text
    return read(text, value)


def refusal(key: str, value: Any, error: UnreadableError) -> RefusedError:
    """HAPI's words for a value that cannot be read."""
    return not_parsed(invalid(key, value, error))


def invalid(key: str, value: Any, error: UnreadableError) -> str:
    """The same without the words about the body around it."""
    shown = str(value) if isinstance(value, Number) else text_of(value)
    return f'HAPI-1821: [element="{key}"] Invalid attribute value "{shown}": {error}'


# ---- numbers and booleans


def _plain(digits: str) -> str:
    """Digits without an exponent, as Java's `BigDecimal.toPlainString` writes them."""
    if len(digits) > LONGEST_NUMBER:
        raise UnreadableError(f"Number value length ({len(digits)}) exceeds the maximum allowed ({LONGEST_NUMBER})")
    if "e" not in digits and "E" not in digits:
        return digits[1:] if digits.startswith("-") and not digits.strip("-0.") else str(digits)
    return _written_out(Decimal(digits))


def _written_out(number: Decimal) -> str:
    if number and abs(number.adjusted()) > LARGEST_EXPONENT:
        raise UnreadableError("Infinite or NaN")
    written = format(number, "f")
    return written[1:] if written.startswith("-") and not written.strip("-0.") else written


_JSON_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def _decimal(text: str, value: Any) -> Number:
    if isinstance(value, Number):
        return Number(text)
    if not _DECIMAL.fullmatch(text):
        strange = next((c for c in text if c not in "0123456789+-.eE"), None)
        if strange is None:
            raise UnreadableError("")
        raise UnreadableError(
            f'Character {strange} is neither a decimal digit number, decimal point, nor "e" notation exponential mark.'
        )
    try:
        written = _written_out(Decimal(text))
    except InvalidOperation:
        raise UnreadableError("") from None
    return Number(text if _JSON_NUMBER.fullmatch(text) and len(text) <= LONGEST_NUMBER else written)


def _integer(text: str, value: Any) -> Number:
    try:
        number = int(text) if re.fullmatch(r"[+-]?\d{1,20}", text, re.ASCII) else None
    except ValueError:
        number = None
    if number is None or not -(2**31) <= number < 2**31:
        raise UnreadableError(f'java.lang.NumberFormatException: For input string: "{text}"')
    return Number(number)


def _boolean(text: str, value: Any) -> bool:
    trimmed = text.strip()
    if trimmed not in ("true", "false"):
        raise UnreadableError(f"Invalid boolean string: '{text}'")
    return trimmed == "true"


# ---- dates and times


def moment(text: str, value: Any = None) -> str:
    """`date`, `dateTime` and `instant` alike: HAPI's parser does not mind which precision a type may have."""
    bad = f'Invalid date/time format: "{text}"'

    def number(start: int, end: int, low: int, high: int) -> int:
        part = text[start:end]
        if len(part) != end - start or not (part.isascii() and part.isdigit()) or not low <= int(part) <= high:
            raise UnreadableError(bad)
        return int(part)

    def expect(index: int, character: str) -> None:
        if text[index : index + 1] != character:
            raise UnreadableError(f"{bad}: Expected character '{character}' at index {index} but found {text[index]}")

    def at_least(length: int) -> None:
        if len(text) < length:
            raise UnreadableError(bad)

    at_least(4)
    year = number(0, 4, 0, 9999)
    if len(text) == 4:
        return text
    expect(4, "-")
    at_least(7)
    month = number(5, 7, 1, 12)
    if len(text) == 7:
        return text
    expect(7, "-")
    at_least(10)
    number(8, 10, 1, monthrange(year or 4, month)[1])
    if len(text) == 10:
        return text
    at_least(17)
    expect(10, "T")
    offset = _offset(text, bad)
    end = len(text) if offset == -1 else offset
    if offset != -1:
        _zone(text[offset:], bad)
    expect(13, ":")
    number(11, 13, 0, 23)
    number(14, 16, 0, 59)
    if end - 11 > 5:
        at_least(19)
        expect(16, ":")
        number(17, 19, 0, 60)
        if end - 11 > 8:
            expect(19, ".")
            fraction = text[20:end]
            if not (fraction.isascii() and fraction.isdigit()):
                raise UnreadableError(bad)
    return text


def _offset(text: str, bad: str) -> int:
    """Where the zone begins, -1 for none. More than one sign in the time is refused."""
    places = [text.find(sign, 16) for sign in "+-Z"]
    found = max(places)
    if found != -1 and found - 2 != sum(places):
        raise UnreadableError(bad)
    return found


def _zone(zone: str, bad: str) -> None:
    if zone == "Z":
        return
    if not re.fullmatch(r"[+-]\d\d:\d\d", zone, re.ASCII):
        raise UnreadableError(f'{bad}: Timezone offset must be in the form "Z", "-HH:mm", or "+HH:mm"')
    if int(zone[1:3]) > 23 or int(zone[4:6]) > 59:
        raise UnreadableError(bad)


# ---- bytes and narrative

_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}", re.ASCII)


def _bytes(text: str, value: Any) -> str | None:
    """Base64 without the blanks it was sent with; `None` where it holds no byte."""
    dense = "".join(text.split())
    if not _BASE64.fullmatch(dense):
        raise UnreadableError("")
    digits = dense.rstrip("=")
    digits = digits[: len(digits) - (len(digits) % 4 == 1)]
    try:
        data = base64.b64decode(digits + "=" * (-len(digits) % 4))
    except binascii.Error:
        raise UnreadableError("") from None
    return base64.b64encode(data).decode() or None


_READERS: dict[str, Callable[[str, Any], Any]] = {
    "boolean": _boolean,
    "integer": _integer,
    "positiveInt": _integer,
    "unsignedInt": _integer,
    "decimal": _decimal,
    "date": moment,
    "dateTime": moment,
    "instant": moment,
    "base64Binary": _bytes,
    "xhtml": lambda text, value: narrative(text),
}
