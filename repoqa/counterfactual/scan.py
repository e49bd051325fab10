"""Proves that no old name is left in a counterfactual: reads every word of every file and path, knowing only the names.

It shares nothing with the rewriting but the list of names: a word is a run of letters, digits and underscores, and,
behind a backslash, also that run without its first letter. Left over is
- a word that was to change everywhere;
- a word in which the repository's name stands as a part of its own (words that the code uses from outside apart);
- the dotted name or the path of a module under its old name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from repoqa.counterfactual.names import Names
from repoqa.counterfactual.vocabulary import vocabulary

_WORD = re.compile(r"\w+")
_BEHIND = re.compile(r"\\\w(\w+)")


class Leftover(NamedTuple):
    """An old name, the file that it is left in, and the line (0 in the path itself)."""

    path: str
    line: int
    name: str


def leftovers(files: Mapping[str, bytes], names: Names) -> Iterator[Leftover]:
    """Every old name that is left."""
    known = vocabulary().all
    suspects: dict[str, bool] = {}

    def is_old(word: str) -> bool:
        if word not in suspects:
            suspects[word] = word in names.words or (word not in known and names.is_name_of_repository(word))
        return suspects[word]

    dotted = _dotted_pattern(names)
    for path, content in files.items():
        for text, line in ((path, 0), *_lines(content)):
            words = {*_WORD.findall(text), *(word for word in _BEHIND.findall(text))}
            yield from (Leftover(path, line, word) for word in sorted(words) if is_old(word))
            if dotted is not None:
                yield from (Leftover(path, line, found.group()) for found in dotted.finditer(text))


def _lines(content: bytes) -> Iterator[tuple[str, int]]:
    """The lines of a text; of what is no text, all of its bytes as one."""
    if b"\0" in content:
        yield content.decode("latin-1"), 1
        return
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    for number, line in enumerate(text.split("\n"), 1):
        yield line, number


def _dotted_pattern(names: Names) -> re.Pattern[str] | None:
    """Old names of modules behind the (new) name of their package, with dots or slashes."""
    forms = []
    for dotted, new in names.modules.items():
        above, dot, last = dotted.rpartition(".")
        if not dot or new == last:
            continue
        renamed = [names.modules[".".join(above.split(".")[: i + 1])] for i in range(above.count(".") + 1)]
        forms += [re.escape(joint.join([*renamed, last])) for joint in (".", "/")]
    # Behind an old module name may stand what its package binds under it, so a dotted name ends there or goes on.
    return re.compile(rf"(?<![\w.])(?:{'|'.join(sorted(forms, key=len, reverse=True))})(?=/|\.py\b)") if forms else None
