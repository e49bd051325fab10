"""The entities of an answer: file paths, function signatures and identifiers, by regular expressions alone.

Rules for counting (an entity is counted once, where it stands first):

- `path`: a name that ends in a known extension, with or without folders. `./`, backslashes, quotes, code marks, a line
  number or anchor behind it and the sentence's full stop are no part of it. Addresses (`https://...`) are no paths, and
  neither are patterns (`*.py`, `{name}.py`) or a method of that spelling (`response.json()`). In a Markdown link the
  target counts, and the label beside it where it is no shorter form of the target.
- `signature`: `name(` or `Class.method(`, the bracket right behind the name. `self.`, modules and variables before a
  name are no class, so `session.get(` is `get(`. A plural such as `file(s)` is none.
- `identifier`: a word with an underscore inside (`max_redirects`, `MAX_SIZE`), or with a second capital
  (`HTTPAdapter`, `getName`), of three characters or more. A capitalised word (`Session`) counts where it is marked as
  inline code, or called a class (`class Session`, `the Session class`), and so does `_word` where it is marked. Plain
  words never count, in code marks neither.
  A dotted name counts as one: as its last part if that or its class is an identifier, else as its last part that is.
- Numbers are none, and neither are the words of the block list (`blocked.toml`).
- Letters are compared as they are: a name with a look-alike letter of another script is another name.
"""

from __future__ import annotations

import posixpath
import unicodedata
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import regex  # type: ignore[import-untyped]

from grounding.answer import Answer
from grounding.blocked import blocked
from grounding.sources import folded

EntityKind = Literal["path", "signature", "identifier"]

_SHORTEST = 3
_WORD = r"\p{Lu}\p{Ll}\p{Lt}\p{Lm}\p{M}\p{Nd}_\p{Cf}"
_NAME = rf"(?!\p{{Nd}})(?:[{_WORD}]|\\(?=_))++"
_CHAIN = rf"{_NAME}(?:\.{_NAME})*+"
_IN_PATH = rf"{_WORD}.+@~%\-∕⁄／＼․．‐‑"
_PLURAL = regex.compile(r"(?:s|es|ies)\)")
_CODE = regex.compile(
    r"""
    ^[ \t]*(?:`{3,}|~{3,}) .*? (?:^[ \t]*(?:`{3,}|~{3,})[ \t]*$|\Z)
    | (?P<marks>`++) (?P<inline>[^`\n]++) (?P=marks)
    """,
    regex.VERBOSE | regex.MULTILINE | regex.DOTALL,
)
_SIMPLE_CODE = regex.compile(
    rf"\W{{0,3}}(?:(?:class|raise|import|except|def)\s+)?(?P<chain>{_CHAIN})\s*(?:[(\[:,|=].*)?\W*", regex.DOTALL
)
_LINK = regex.compile(r"\[(?P<label>[^\]\n]{1,500})\]\((?P<target>[^()\s]{1,1000})[^()\n]{0,200}\)")
_RUN = regex.compile(rf"[{_IN_PATH}/\\:]++")
_KIND_OF_CLASS = "(?:class|exception|dataclass|enum|mixin|metaclass|protocol)"
_CLASS_BEFORE = regex.compile(rf"\b{_KIND_OF_CLASS}\s+[`*\"']*\Z")
_ARTICLE_BEFORE = regex.compile(r"\b(?:[Tt]he|[Aa]n?)\s+[`*\"']*\Z")
_CLASS_AFTER = regex.compile(rf"[`*\"']*\s+{_KIND_OF_CLASS}\b")
_NEAR = 20
"""Characters before a word in which it may be called a class."""
_OWN = frozenset({"self", "cls", "super", "this"})
_NEVER_FILES = _OWN | {"args", "kwargs", "opts", "request", "response", "req", "resp", "res", "r"}


@dataclass(frozen=True, slots=True)
class Entity:
    """One entity of an answer. `text` is its words there, `span` their place.

    `name` is what is looked for: the path in its normal form, or the last name. `owner` is the class before the last
    name, if one stands there; `parts` are the names up to it.
    """

    text: str
    kind: EntityKind
    span: tuple[int, int]
    name: str
    owner: str | None = None
    parts: tuple[str, ...] = ()


def entities_of(answer: Answer, extensions: Sequence[str], given: Collection[str] = ()) -> list[Entity]:
    """The entities of an answer, in order, each once. `extensions` are the ends of names that make a path.

    A `given` name (the repository's) is no identifier.
    """
    known: set[tuple[str, str, str | None]] = set()
    found = []
    skipped = {folded(name) for name in given}
    for entity in _Scan(answer.text, extensions).entities():
        key = entity.kind, entity.name, entity.owner
        is_given = entity.kind == "identifier" and (folded(entity.name) in skipped or folded(entity.text) in skipped)
        if key not in known and not is_given:
            known.add(key)
            found.append(entity)
    return found


def normal_path(path: str) -> str:
    """A path in the one form in which paths are compared: `/` between names, no `./`, no `name/..`."""
    path = unicodedata.normalize("NFC", path.strip()).replace("\\", "/")
    return posixpath.normpath(path) if path else ""


class _Scan:
    """One answer, with what must be known about a place before a word there can be judged."""

    def __init__(self, text: str, extensions: Sequence[str]) -> None:
        self._text = text
        self._pattern = _pattern(tuple(extensions))
        self._blocked = blocked()
        self._code: list[tuple[int, int]] = []
        self._labels = [
            (*link.span("label"), normal_path(link["target"].partition("#")[0]))
            for link in _LINK.finditer(text)
            if "://" not in link["target"]
        ]
        self._marked: set[int] = set()
        for code in _CODE.finditer(text):
            self._code.append(code.span())
            if code["inline"] is not None and (simple := _SIMPLE_CODE.fullmatch(text, *code.span("inline"))):
                self._marked.add(simple.start("chain"))

    def entities(self) -> Iterator[Entity]:
        """The entities in order."""
        done = 0
        for run in _RUN.finditer(self._text):
            while done < run.end() and not (done <= run.start() and self._is_plain(run)):
                match = self._pattern.search(self._text, max(done, run.start()))
                if match is None:
                    return
                done = match.end()
                found = self._entity(match)
                if found is not None:
                    yield found

    def _is_plain(self, run: regex.Match[str]) -> bool:
        """Whether what stands between two blanks is a word of prose. Most are, and need no closer look."""
        word = run[0].rstrip(".:-")
        if not (word.isascii() and word.isalpha()) or self._text[run.end() : run.end() + 1] == "(":
            return False
        if word.islower() or word.isupper():
            return True
        return word[1:].islower() and not self._is_marked(run.start(), run.start() + len(word))

    def _is_marked(self, start: int, end: int) -> bool:
        """Whether a word is inline code by itself, or is called a class."""
        text = self._text
        if start in self._marked or _CLASS_BEFORE.search(text, max(0, start - _NEAR), start):
            return True
        return bool(_CLASS_AFTER.match(text, end) and _ARTICLE_BEFORE.search(text, max(0, start - _NEAR), start))

    def _entity(self, match: regex.Match[str]) -> Entity | None:
        if match["path"] is not None:
            return self._path(match)
        return self._name(match) if match["chain"] is not None else None  # an address

    def _path(self, match: regex.Match[str]) -> Entity | None:
        text, start = match["path"], match.start("path")
        if self._text[match.end() : match.end() + 1] == "_":  # emphasis: _src/a.py_
            emphasis = len(text) - len(text.lstrip("_"))
            text, start = text[emphasis:], start + emphasis
        if self._blocked.blocks(text, is_code=self._is_code(start)):
            return None
        plain = text if self._is_code(start) else text.replace("\\_", "_")
        path = normal_path(plain)
        return None if self._shortens_a_link(start, path) else Entity(text, "path", (start, start + len(text)), path)

    def _shortens_a_link(self, place: int, path: str) -> bool:
        """Whether a path stands in the label of a link whose target is the same path in full."""
        at = bisect_right(self._labels, (place, len(self._text) + 1, "")) - 1
        return at >= 0 and place < self._labels[at][1] and self._labels[at][2].endswith("/" + path)

    def _name(self, match: regex.Match[str]) -> Entity | None:
        """The signature or identifier that a dotted name is, if any."""
        start, is_code = match.start("chain"), self._is_code(match.start("chain"))
        names = [unicodedata.normalize("NFKC", name.replace("\\", "")) for name in match["chain"].split(".")]
        own = next((at for at, name in enumerate(names) if name not in _OWN), len(names))
        start += sum(len(name) + 1 for name in match["chain"].split(".")[:own])
        names = names[own:]
        if not names or (len(names) > 1 and self._blocked.blocks(names[0], is_code=is_code)):
            return None
        is_call = match["open"] is not None and not _PLURAL.match(self._text, match.end())
        find = self._signature if is_call else self._identifier
        return find(names, start, match, is_code)

    def _signature(self, names: list[str], start: int, match: regex.Match[str], is_code: bool) -> Entity | None:
        owner = names[-2] if len(names) > 1 and _is_class_name(names[-2]) else None
        if owner is not None:
            if self._blocked.blocks(owner, is_code=True):
                return None
        elif len(names[-1]) < _SHORTEST or self._blocked.blocks(names[-1], is_code=is_code):
            return None
        text = self._text[start : match.end()]
        return Entity(text, "signature", (start, match.end()), names[-1], owner, tuple(names))

    def _identifier(self, names: list[str], start: int, match: regex.Match[str], is_code: bool) -> Entity | None:
        is_marked = self._is_marked(match.start("chain"), match.end("chain"))
        written = self._text[start : match.end("chain")].split(".")
        last = len(names) - 1
        owner = None
        if last and (_has_two_capitals(names[-2]) or (is_marked and _is_class_name(names[-2]))):
            owner = names[-2]
        elif not (is_marked and (_is_class_name(names[-1]) or _is_private(names[-1]))):
            last = max((at for at, name in enumerate(names) if _is_identifier(name)), default=-1)
        if last < 0:
            return None
        name = names[last]
        if len(name) < _SHORTEST or any(self._blocked.blocks(word, is_code=is_code) for word in (name, owner) if word):
            return None
        text = ".".join(written[: last + 1])
        return Entity(text, "identifier", (start, start + len(text)), name, owner, tuple(names[: last + 1]))

    def _is_code(self, place: int) -> bool:
        at = bisect_right(self._code, (place, len(self._text) + 1)) - 1
        return at >= 0 and place < self._code[at][1]


def _is_identifier(name: str) -> bool:
    """Whether a name is written as no word of prose is."""
    core = name.strip("_")
    return "_" in core or _has_two_capitals(core)


def _has_two_capitals(name: str) -> bool:
    """CamelCase with two humps (`HTTPAdapter`, `OrderedDict`, `getName`), no capitals with a plural s (`URLs`)."""
    return _CAMEL.fullmatch(name if name.isascii() else _INVISIBLE.sub("", name)) is not None


def _is_class_name(name: str) -> bool:
    """A capital, and a small letter after it."""
    return _CLASS_NAME.match(name) is not None


def _is_private(name: str) -> bool:
    """One underscore before a word; the names with two on both sides are the language's own."""
    return name.startswith("_") and not name.endswith("_")


_CAMEL = regex.compile(
    r"""(?!\p{Lu}{2,}s$) (?=.*\p{Ll}) (?:\p{Lu}|\p{Ll}{2}) \w*?
        (?: (?<=[\p{Ll}\p{Nd}])\p{Lu} | (?<=\p{Lu})\p{Lu}\p{Ll} ) \w*""",
    regex.VERBOSE,
)
_INVISIBLE = regex.compile(r"\p{Cf}")
_CLASS_NAME = regex.compile(r"_*\p{Lu}(?=.*\p{Ll})")


@cache
def _pattern(extensions: tuple[str, ...]) -> regex.Pattern[str]:
    """Addresses, paths and dotted names, whichever begins first."""
    ends = "|".join(sorted((regex.escape(end) for end in extensions), key=len, reverse=True))
    never = "|".join(sorted(_NEVER_FILES))
    return regex.compile(
        rf"""
        (?<![a-zA-Z0-9+.\-])(?:[a-zA-Z][a-zA-Z0-9+.\-]*+://|www\.)[^\s<>"'`)\]]++
        | (?<![{_WORD}.+\-])[{_WORD}.+\-]++@[{_WORD}\-]+(?:\.[{_WORD}\-]+)+
        | (?P<path> (?<![{_WORD}./\\~@%+$∕⁄／＼․．‐‑]) (?<![{_WORD}]-)
            (?: [A-Za-z]:(?=[\\/]) | (?<![*>}}\])])(?=[./\\~]) | (?=[{_WORD}]) )
            (?!(?:{never})\.[{_WORD}]++(?![./\\\-]))
            [{_IN_PATH}/\\]* (?<=[{_WORD}+~%\-]\.(?i:{ends}))
            (?!_*+(?!_)[{_WORD}] | \.[a-z0-9_] | [/\\][{_WORD}]) (?:(?<=\.pyi?)|(?!\()) )
        | (?P<chain>(?<![{_WORD}]){_CHAIN})(?P<open>\()?
        """,
        regex.VERBOSE,
    )
