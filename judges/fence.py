"""What keeps untrusted text apart from what a judge is told: one line a value, between two lines nobody could write.

Whatever stands in a trace was written by others, and some of it may be written to a judge. So

- each value is one line of JSON: a line break inside a text is `\\n` there, so no text can begin a line of its own;
- what chat templates, markup and readers take for more than text is written by its code point (`\\u003c`): every `<`,
  brackets before a capital (`[INST]`), and every character without a picture (controls, bidirectional marks, tags,
  joiners). The JSON is the same JSON; nothing is lost;
- the lines stand between two that hold a marker. It is a keyed digest of everything between them, so it is known to
  nobody beforehand, and a text that held its own marker would have to hold a digest of itself. All the same it is
  looked for, and another is taken where it is found.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from harness.plain import json_bytes, plain

KEY_BYTES = 32
"""Length of a key to make markers with."""

_MARKER_DIGITS = 32

_MARKUP = re.compile(r"<|\[(?=/?[A-Z])|\x7f")
_HIDDEN = frozenset({"Cc", "Cf", "Zl", "Zp", "Co", "Cs", "Cn"})


@dataclass(frozen=True, slots=True)
class Fence:
    """Two lines with one marker."""

    marker: str

    @property
    def begin(self) -> str:
        """The line before the data."""
        return f"----- BEGIN DATA {self.marker} -----"

    @property
    def end(self) -> str:
        """The line after the data."""
        return f"----- END DATA {self.marker} -----"

    def around(self, lines: Iterable[str]) -> str:
        """The lines between the two. Raises `ValueError` where one of them is more than a line, or holds the marker."""
        lines = list(lines)
        for line in lines:
            if "\n" in line or "\r" in line or self.marker in line:
                raise ValueError(f"a line of data would break the fence: {line[:80]!r}")
        return "\n".join((self.begin, *lines, self.end))


def fence_for(key: bytes, lines: Sequence[str]) -> Fence:
    """The fence for these lines, the same for the same key and lines. `key` is secret and random, `KEY_BYTES` long."""
    seen = hashlib.sha256("\n".join(lines).encode()).digest()
    for number in range(1_000):
        marker = hmac.new(key, seen + bytes([number >> 8, number & 255]), hashlib.sha256).hexdigest()[:_MARKER_DIGITS]
        if not any(marker in line for line in lines):
            return Fence(marker)
    raise AssertionError("a thousand digests do not all stand in one text")


def one_line(value: Any) -> str:
    """`value` as one line of JSON in which nothing is markup and nothing is hidden."""
    try:
        text = json_bytes(value).decode()
    except (ValueError, RecursionError):  # not from one of our files: half of a surrogate pair, a huge number
        text = json_bytes(plain(value, "a value of the trace")).decode()
    text = _MARKUP.sub(lambda found: _by_code(found[0]), text)
    if text.isascii():
        return text
    hidden = {ord(character): _by_code(character) for character in set(text) if not _is_shown(character)}
    return text.translate(hidden) if hidden else text


def _is_shown(character: str) -> bool:
    return character.isascii() or unicodedata.category(character) not in _HIDDEN


def _by_code(character: str) -> str:
    """A character as JSON writes it by its code point (two, beyond the first 65,536)."""
    if character.isascii():
        return f"\\u{ord(character):04x}"
    return json.dumps(character)[1:-1]
