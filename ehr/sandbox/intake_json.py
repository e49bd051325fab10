"""From the bytes of a request to a JSON object, or HAPI's refusal of them."""

from __future__ import annotations

import json
import re

from ehr.sandbox.body import Tree, parse
from ehr.sandbox.outcome import malformed

_EXPECTED = "was expecting (JSON String, Number, Array, Object or token 'null', 'true' or 'false')"
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
        found = f"first non-whitespace character was: '{first}' (must be '{{')"
        raise malformed(f"HAPI-1859: Content does not appear to be FHIR JSON, {found}")
    try:
        tree: Tree = parse(text)
    except json.JSONDecodeError as error:
        raise malformed(fault(text, error)) from None
    except ValueError as error:
        raise malformed(str(error)) from None
    except RecursionError:
        raise malformed("Document nesting depth exceeds the maximum allowed") from None
    return tree


def fault(text: str, error: json.JSONDecodeError) -> str:
    """What is wrong with a text and where, in the words of HAPI's JSON reader as far as the error tells."""
    rest = text[error.pos :]
    if not rest.strip():
        return f"Unexpected end-of-input within/between Object entries\n at {_place(text, len(text))}"
    word = _WORD.match(rest)
    if word:
        return f"Unrecognized token '{word.group()}': {_EXPECTED}\n at {_place(text, error.pos + word.end())}"
    return f"Unexpected character ('{rest[0]}' (code {ord(rest[0])})): {error.msg}\n at {_place(text, error.pos)}"


def _place(text: str, position: int) -> str:
    line = text.count("\n", 0, position) + 1
    column = position - (text.rfind("\n", 0, position) + 1) + 1
    return f"[line: {line}, column: {column}]"
