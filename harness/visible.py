"""Untrusted text made visible: what would hide, reorder or overwrite what a reader sees is shown by its code point."""

from __future__ import annotations

import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Zl", "Zp", "Co", "Cs", "Cn"})
"""Controls, bidirectional and other format characters, tags, separators, unassigned ones. Joiners belong to words."""

_SHOWN = frozenset("\n\t\u200c\u200d")


def visible(text: str) -> str:
    """`text` with every character that has no picture of its own as `‹U+202E›`; new lines and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n")
    hidden = {
        ord(character): f"‹U+{ord(character):04X}›"
        for character in set(text)
        if unicodedata.category(character) in _HIDDEN and character not in _SHOWN
    }
    return text.translate(hidden) if hidden else text


def in_line(text: str) -> str:
    """`visible(text)` on one line."""
    return visible(text).replace("\n", "⏎").replace("\t", " ")
