"""Where the outermost statements of a Python file begin: each part from one to the next can be parsed by itself.

A file is read from its beginning, past strings and comments, and parts begin at lines without an indent that say
`class`, `def` or `async`, or at the decorator above. No such line stands inside of a string then; one inside of
brackets leaves parts that cannot be parsed, and nobody takes them for the file's statements.
"""

from __future__ import annotations

import regex  # type: ignore[import-untyped]  # whose possessive groups are right; those of `re` only from 3.11.5 on

_UP_TO_A_HEAD = regex.compile(
    r"""(?: [^"'#\n]++
        | "{3}(?:[^\\"]++|\\.|"(?!""))*+"{3}
        | '{3}(?:[^\\']++|\\.|'(?!''))*+'{3}
        | "(?!"")(?:[^\\"\n]++|\\.)*+"
        | '(?!'')(?:[^\\'\n]++|\\.)*+'
        | \#[^\n]*+
        | \n(?!(?:class|def|async)\b|@)
    )*+""",
    regex.VERBOSE | regex.DOTALL,
)


def outline(text: str) -> tuple[int, ...]:
    """The places in a file, given from its beginning, at which its parts begin, the first at 0.

    Where a string does not end, the rest of the text belongs to the part in which it begins.
    """
    starts = [0]
    at, below_decorator = 0, text[:1] == "@"
    while (at := _end_of_part(text, at)) < len(text):
        if text[at] != "\n":
            break
        at += 1
        if not below_decorator:
            starts.append(at)
        below_decorator = text[at] == "@"
    return tuple(starts)


def _end_of_part(text: str, at: int) -> int:
    found = _UP_TO_A_HEAD.match(text, at)
    return at if found is None else found.end()
