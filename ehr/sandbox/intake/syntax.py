"""From the bytes of a request to a JSON object, or HAPI's refusal of them."""

from __future__ import annotations

import json
import re

from ehr.sandbox.body import Tree, parse
from ehr.sandbox.outcome import RefusedError, malformed

_EXPECTED = "was expecting (JSON String, Number, Array, Object or token 'null', 'true' or 'false')"
_ZERO = re.compile(r"(?<![\d.eE+])0\Z")
_WORD = re.compile(r"[A-Za-z_$][\w$]*")


def json_object(body: bytes) -> Tree:
    """The object that a body holds. Raises `RefusedError` (400) with HAPI's diagnostics."""
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise malformed(f"Invalid UTF-8 start byte 0x{body[error.start]:x}") from None
    first = text.lstrip()[:1]
    if not first:
        raise malformed("HAPI-1857: Did not find any content to parse")
    if first != "{":
        raise no_object(first)
    try:
        tree: Tree = parse(text)
    except json.JSONDecodeError as error:
        raise malformed(fault(text, error)) from None
    except ValueError as error:
        raise malformed(str(error)) from None
    except RecursionError:
        raise malformed("Document nesting depth exceeds the maximum allowed") from None
    return tree


def no_object(first: str) -> RefusedError:
    """The refusal of a body that begins with another character than a brace."""
    found = f"first non-whitespace character was: '{first}' (must be '{{')"
    return malformed(f"HAPI-1859: Content does not appear to be FHIR JSON, {found}")


HIDDEN = "Source: REDACTED (`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled); "
"""What HAPI says of the source where it reads a patch."""


def fault(text: str, error: json.JSONDecodeError, source: str = "") -> str:
    """What is wrong with a text and where, in the words of HAPI's JSON reader as far as the error tells."""
    said, position = _fault(text, error)
    line = text.count("\n", 0, position) + 1
    column = position - (text.rfind("\n", 0, position) + 1) + 1
    return f"{said}\n at [{source}line: {line}, column: {column}]"


def _fault(text: str, error: json.JSONDecodeError) -> tuple[str, int]:
    rest = text[error.pos :]
    if not rest.strip():
        return "Unexpected end-of-input within/between Object entries", len(text)
    word = _WORD.match(rest)
    if word:
        return f"Unrecognized token '{word.group()}': {_EXPECTED}", error.pos + word.end()
    if rest[0].isdigit() and _ZERO.search(text, 0, error.pos):
        return "Invalid numeric value: Leading zeroes not allowed", error.pos
    return f"Unexpected character ('{rest[0]}' (code {ord(rest[0])})): {error.msg}", error.pos
