"""A text in a known language that was read, asked about names. Only what a question needs is parsed.

Most questions are about one name, most texts that hold it only use it, and most files are long. So a glance says
whether a text may define a name at all (`grounding.languages.glance`); of a file that is known from its beginning only
the parts that may define it are parsed (`grounding.parts`), and of any other text all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from grounding.cache import Cache
from grounding.languages import Definition, Language
from grounding.parts import Parts, read_parts
from grounding.sources import Source, folded, is_whole, read_source


class Code:
    """One text. `first_line` is the file's line that it begins with, where known. Names and owners are folded."""

    def __init__(self, text: str, language: Language, first_line: int | None, cache: Cache) -> None:
        self._text = text
        self._language = language
        self._first_line = first_line
        self._cache = cache

    def defined(self, name: str, owner: str | None, *, assigned: bool) -> Iterator[Definition]:
        """The definitions whose name begins with `name`, classes and functions of just this name first.

        With an `owner` some of them may be left out that stand in no class of this name and not in an unknown one.
        Without `assigned` only classes and functions are asked for.
        """
        if not self._may_define(name, owner, assigned=assigned):
            return
        # Most questions end with the first answer, and fewer parts hold the head of a class or function.
        heads = [each for each in self._beginning_with(name, owner, assigned=False) if _is_head(each, name)]
        yield from heads
        yield from (each for each in self._beginning_with(name, owner, assigned=assigned) if each not in heads)

    def _beginning_with(self, name: str, owner: str | None, *, assigned: bool) -> list[Definition]:
        """What those parts define that may define the name, by name and place."""
        sources = self._sources(name, owner, assigned=assigned)
        found = [each for source in sources for each in source.beginning_with(name)]
        return sorted(found, key=lambda each: (folded(each.name), each.start))

    def uncertain(self, name: str, *, assigned: bool) -> Mapping[str, int]:
        """The places of what may be a definition, by name, where `name` may be defined."""
        if not self._may_define(name, None, assigned=assigned):
            return {}
        return {
            defined: place
            for source in self._sources(name, None, assigned=assigned)
            for defined, place in source.uncertain.items()
        }

    def says(self, name: str) -> bool:
        """Whether the name stands anywhere in the text."""
        return name in self._folded

    def shows_class(self, name: str) -> bool:
        """Whether the head of a class of this name may stand in the text."""
        return name in self._folded and self._language.has_class(self._folded, name)

    def _may_define(self, name: str, owner: str | None, *, assigned: bool) -> bool:
        """Whether the text may define a name; in a class whose head is not in it only if it is not all of a file."""
        if name not in self._folded or not self._language.may_define(self._folded, name, assigned=assigned):
            return False
        return owner is None or self.shows_class(owner) or not self._is_whole

    def _sources(self, name: str, owner: str | None, *, assigned: bool) -> list[Source]:
        """What the parts define that may define the name; all of the text where one of them cannot be parsed alone."""
        if self._parts is None:
            return [self._whole]
        sources: list[Source] = []
        for at, part in self._parts_holding(self._parts, name):
            if owner is not None and not self._language.has_class(part, owner):
                continue
            if self._language.may_define(part, name, assigned=assigned):
                source = self._parts.source(at, self._text, self._language)
                if source is None:
                    return [self._whole]
                sources.append(source)
        return sources

    def _parts_holding(self, parts: Parts, name: str) -> Iterator[tuple[int, str]]:
        """The parts in which the name stands, each with its text, folded."""
        if self._text.isascii():
            yield from parts.holding(name, self._folded)
        else:
            yield from ((at, part) for at, part in enumerate(self._folded_parts) if name in part)

    @cached_property
    def _whole(self) -> Source:
        return read_source(self._text, self._language, self._first_line, self._cache)

    @cached_property
    def _folded(self) -> str:
        return folded(self._text)

    @cached_property
    def _parts(self) -> Parts | None:
        return read_parts(self._text, self._language, self._cache) if self._first_line == 1 else None

    @cached_property
    def _folded_parts(self) -> list[str]:
        return [] if self._parts is None else [folded(part) for part in self._parts.texts(self._text)]

    @cached_property
    def _is_whole(self) -> bool:
        """Whether the text is known to begin its file and nothing is left out in it."""
        return self._first_line == 1 and is_whole(self._text, self._cache)


def _is_head(definition: Definition, name: str) -> bool:
    return definition.kind in ("class", "function") and folded(definition.name) == name
