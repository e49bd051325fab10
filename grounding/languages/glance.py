"""A glance at a text: may it define a name at all? Most texts that hold a name only use it, and need no parsing.

The answer is never wrongly no where Python can be parsed: each occurrence of the name is looked at with what stands
around it, and only what can stand around no definition is passed over. Line numbers may stand before the lines.
"""

from __future__ import annotations

import re

_NEAR = 200
_BLANKS = " \t\f\r\n\\"
_BEFORE_NAMES = ("def", "class", "type")
_BEFORE_TARGETS = ",([=;:*"
_BEGINS_LINE = re.compile(r"[ \t\f]*(?:l|line )?[\d \t|│:→).\\]*")
_WORD_END = re.compile(r"\w*")
_BEHIND_TARGETS = re.compile(r"[\s\\]*(?:[:,#]|=(?!=)|[)\]][\s)\]\\]*(?:[,#]|=(?!=)))")
_QUOTES = ("'", '"')


def may_define(text: str, name: str, *, assigned: bool) -> bool:
    """Whether a text of Python may define a name, or one that begins with it; both folded.

    Without `assigned` only classes and functions count, else also assigned names, attributes, aliases and the strings
    of `__all__`.
    """
    at = text.find(name)
    while at >= 0:
        if not (at and _is_word(text[at - 1])) and _may_be_defined(text, at, len(name), assigned):
            return True
        at = text.find(name, at + 1)
    return False


def has_class(text: str, name: str) -> bool:
    """Whether the head of a class of this name may stand in the text; both folded."""
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if not _is_word(text[end : end + 1]) and _may_follow_class(text[max(0, at - _NEAR) : at]):
            return True
        at = text.find(name, end)
    return False


def _may_follow_class(around: str) -> bool:
    before = around.rstrip(_BLANKS)
    if len(before) == len(around):
        return False
    return not before or (before.endswith("class") and not _is_word(before[-6:-5]))


def _may_be_defined(text: str, at: int, length: int, assigned: bool) -> bool:
    around = text[max(0, at - _NEAR) : at]
    before = around.rstrip(_BLANKS)
    if not before:
        return True  # the text begins here, or nobody can say from here what stands before
    if before.endswith(_BEFORE_NAMES) and len(before) < len(around):
        return True
    if not assigned:
        return False
    if before.endswith(_QUOTES) or (before[-1] == "." and before[:-1].rstrip(_BLANKS).endswith("self")):
        return True
    line = around.replace("\r", "\n").rpartition("\n")[2]
    if before[-1] not in _BEFORE_TARGETS and not _BEGINS_LINE.fullmatch(line):
        return False
    end = _WORD_END.match(text, at + length)
    return end is not None and _BEHIND_TARGETS.match(text, end.end()) is not None


def _is_word(character: str) -> bool:
    return character == "_" or character.isalnum()
