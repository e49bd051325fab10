"""The block list: words that are no entity, from `blocked.toml`, where each group says why."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from harness.values import digest


@dataclass(frozen=True, slots=True)
class Group:
    """Blocked words that have one reason. `prose_only` ones count where they are marked as code."""

    name: str
    reason: str
    prose_only: bool
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class Blocked:
    """All blocked words: `everywhere`, and in prose beside those. `digest` stands for them in a policy's digest."""

    groups: tuple[Group, ...]
    everywhere: frozenset[str]
    in_prose: frozenset[str]
    digest: str

    def blocks(self, word: str, *, is_code: bool) -> bool:
        """Whether a word is no entity where it stands."""
        return word in self.everywhere or (not is_code and word in self.in_prose)


@cache
def blocked() -> Blocked:
    """The block list of the package."""
    text = files("grounding").joinpath("blocked.toml").read_text("utf-8")
    groups = tuple(
        Group(group["name"], group["reason"], group.get("prose_only", False), frozenset(group["words"].split()))
        for group in tomllib.loads(text)["group"]
    )
    everywhere, in_prose = (
        frozenset[str]().union(*(group.words for group in groups if group.prose_only is prose_only))
        for prose_only in (False, True)
    )
    return Blocked(groups, everywhere, in_prose, digest([sorted(everywhere), sorted(in_prose)]))
