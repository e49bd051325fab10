"""Which names of a repository are renamed in its counterfactual, and to what. The rule:

Renamed are the repository's own name (and what it is imported by), its modules and packages, and its public functions,
classes and methods, wherever the word stands: code, strings, comments, documents, names of files. A word is kept
- if Python itself has taken it: keywords, builtins, `__dunder__` names, top-level modules of the standard library;
- if the code uses it from outside: imported from, an attribute of, a keyword given to, or defined in a class derived
  from something that is not the repository's (see `uses.py`);
- if it is an attribute of some class of Python or its standard library, and the code uses it as an attribute (`get`);
- if it is a parameter of some function of those, and the code uses it as the keyword of a call (`encoding`);
- if it is shorter than three letters, or a method's and one plain word (`run`, `close`).
So equal words change together, in whatever scope they stand, and what the words mean to each other stays as it was.

A module whose word must be kept (`types.py`) is renamed all the same, but only where it is the module: its file, the
imports of it, attributes of its package, dotted names and paths in strings and documents. In longer identifiers
(`_parse_config`, `TestFooParser`, `visit_Output`) an old name that is recognisable on its own is replaced, too; the
repository's name in any of its spellings (`mock-edi`, `MOCK_EDI_HOME`, `MockEdi`) is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from harness.values import digest
from repoqa.counterfactual.spelling import PIECE, lower_pieces, new_words, pieces, respelled
from repoqa.counterfactual.uses import Tree, Uses, read_uses
from repoqa.counterfactual.vocabulary import vocabulary
from repoqa.layout import Layout
from repoqa.symbols import Index, Symbol, parse

WORD = re.compile(r"[^\W\d]\w*")
VERSION = 1
"""Of the rule: other rules give other trees."""

_SHORTEST = 3
_FIXED_MODULES = frozenset({"__init__", "__main__", "conftest", "setup"})
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|_+|[^\W\d_]+")


@dataclass(frozen=True)
class Names:
    """Old names and new ones. `words` change wherever they stand, `modules` (dotted name -> new last part) in place.

    `outside` are words that are never touched; `aliases` are spellings of the repository's name without separators, in
    lower case, each with its new parts.
    """

    repository: str
    new_repository: str
    words: Mapping[str, str]
    modules: Mapping[str, str]
    aliases: Mapping[str, tuple[str, ...]]
    outside: frozenset[str]
    tree: Tree = field(repr=False)
    _known: dict[str, str] = field(default_factory=dict, repr=False, compare=False)

    def word(self, old: str) -> str:
        """What becomes of a word. Words that nothing is to become of come back as they are."""
        new = self._known.get(old)
        if new is None:
            new = self._known[old] = self._renamed(old)
        return new

    @cached_property
    def digest(self) -> str:
        """The digest of all names: two trees with one digest were renamed alike."""
        return digest({"version": VERSION, "words": dict(self.words), "modules": dict(self.modules),
                       "repository": self.new_repository})  # fmt: skip

    @cached_property
    def contextual(self) -> Mapping[str, str]:
        """Words of modules that change only where they are the module: word -> new word."""
        last = {name.rpartition(".")[2]: new for name, new in self.modules.items()}
        return {old: new for old, new in last.items() if old not in self.words and old != new}

    def is_name_of_repository(self, word: str) -> bool:
        """Whether an alias of the repository's name stands in this word as a part of its own."""
        return word not in self.outside and any(True for _ in self._aliases_in(word))

    def _renamed(self, old: str) -> str:
        if old in self.words:
            return self.words[old]
        if old in self.outside or old in vocabulary().taken:
            return old
        return self._respelt_aliases(self._compound(old))

    def _compound(self, old: str) -> str:
        """Old names within a longer identifier: between underscores, or as several pieces of a CamelCase one."""
        parts = re.split(r"(_+)", old)
        for length in range(len(parts), 0, -1):
            for start in range(len(parts) - length + 1):
                run = "".join(parts[start : start + length])
                if run != old and run in self.words and self._stands_alone(run):
                    left, right = "".join(parts[:start]), "".join(parts[start + length :])
                    return self._compound(left) + self.words[run] + self._compound(right)
        return "".join(self._camel(part) for part in parts)

    def _camel(self, part: str) -> str:
        found = [match.span() for match in PIECE.finditer(part)]
        for length in range(len(found) - 1, 1, -1):
            for start in range(len(found) - length + 1):
                left, right = found[start][0], found[start + length - 1][1]
                run = part[left:right]
                if run in self.words and run[0].isupper():
                    return self._camel(part[:left]) + self.words[run] + self._camel(part[right:])
        return part

    @staticmethod
    def _stands_alone(name: str) -> bool:
        """Whether a name is recognisable inside of another one: more than one plain word."""
        return "_" in name.strip("_") or len(pieces(name)) > 1 or name[0].isupper()

    def _aliases_in(self, word: str) -> Iterator[tuple[int, int, str]]:
        found = [match.span() for match in _PARTS.finditer(word)]
        start = 0
        while start < len(found):
            for end in range(len(found), start, -1):
                left, right = found[start][0], found[end - 1][1]
                run = word[left:right]
                if run[0] != "_" and run[-1] != "_" and run.replace("_", "").lower() in self.aliases:
                    yield left, right, run
                    start = end - 1
                    break
            start += 1

    def _respelt_aliases(self, word: str) -> str:
        if not self.aliases or word in vocabulary().all:
            return word
        out, last = [], 0
        for left, right, run in self._aliases_in(word):
            out += [word[last:left], self.alias(run)]
            last = right
        return "".join([*out, word[last:]])

    def alias(self, spelt: str) -> str:
        """The new name of the repository in the style of an old spelling, separators included."""
        separators = re.findall(r"[-_. ]+", spelt)
        parts = self.aliases[re.sub(r"[-_. ]", "", spelt).lower()]
        joint = separators[0] if separators else ""
        if spelt.isupper():
            return joint.join(parts).upper()
        if spelt.islower():
            return joint.join(parts)
        if joint and not spelt.split(joint)[-1][:1].isupper():
            return joint.join([parts[0].capitalize(), *parts[1:]])
        return joint.join(part.capitalize() for part in parts)


def names_of(repository: str, layout: Layout, index: Index, seed: int, *, check: bool = True) -> Names:
    """The names of a repository's counterfactual. The same tree and seed give the same names.

    Raises `ValueError` where two words would become one, unless only what is renamed is asked for (`check`).
    """
    files = _parsed(layout)
    tree = Tree(layout.modules, _bound(files, layout))
    uses = _uses(files, layout, tree)
    words = _words(layout)
    giver = _Giver(f"{seed}:{repository}", words)
    kept = _Kept(uses, tree)
    aliases = _aliases(repository, giver)
    modules = _modules(layout, tree, lambda name: _new_symbol(name, uses, giver, aliases))
    renamed = {
        symbol.name: _new_symbol(symbol.name, uses, giver, aliases)
        for symbol in sorted(index.public, key=lambda symbol: symbol.name)
        if not kept.symbol(symbol)
    }
    for name, new in modules.items():
        word = name.rpartition(".")[2]
        if word not in renamed and word != new and not kept.word(word):
            renamed[word] = new
    for name, last in modules.items():  # tests and examples that are called like a module
        modules[name] = renamed.get(last, last)
    outside = frozenset(uses.outside - set(renamed))
    parts = aliases[_plain(repository)]
    new_repository = "-".join(parts) if re.search(r"[-_.]", repository) else "".join(parts)
    names = Names(repository, new_repository, renamed, modules, aliases, outside, tree)
    if check:
        _refuse_collisions(names, words)
    return names


class _Giver:
    """Gives each piece its one new word."""

    def __init__(self, seed: str, words: Iterable[str]) -> None:
        self._words = new_words(seed, lower_pieces(words) | lower_pieces(vocabulary().all))
        self._given: dict[str, str] = {}

    def __call__(self, piece: str) -> str:
        if piece not in self._given:
            self._given[piece] = next(self._words)
        return self._given[piece]


class _Kept:
    """The rule at the top of this module."""

    def __init__(self, uses: Uses, tree: Tree) -> None:
        self._uses, self._tree, self._known = uses, tree, vocabulary()

    def symbol(self, symbol: Symbol) -> bool:
        """Whether a public symbol keeps its name."""
        plain = symbol.name.islower() and "_" not in symbol.name.strip("_")
        return self.word(symbol.name) or (symbol.kind == "method" and plain)

    def word(self, word: str) -> bool:
        """Whether a word is kept wherever it stands."""
        known, uses = self._known, self._uses
        return (
            len(word) < _SHORTEST
            or not PIECE.search(word)
            or (word.startswith("__") and word.endswith("__"))
            or word in known.taken
            or word in uses.outside
            or (word in known.attributes and word in uses.attributes)
            or (word in known.parameters and word in uses.keywords)
        )


def _parsed(layout: Layout) -> dict[str, ast.Module]:
    """The files that parse."""
    found = {}
    for path in layout.python:
        try:
            found[path] = parse(layout.files[path])
        except (SyntaxError, ValueError):
            continue
    return found


def _uses(files: Mapping[str, ast.Module], layout: Layout, tree: Tree) -> Uses:
    """What the code uses from outside. Tests are read, but not followed: they name more than they use."""
    uses = Uses()
    for path, module in files.items():
        read_uses(module, path, tree, uses, follow=layout.roles[path] != "test")
    return uses


def _words(layout: Layout) -> set[str]:
    """Every word of the tree, paths included."""
    words: set[str] = set()
    for path, content in layout.files.items():
        words |= set(WORD.findall(path))
        if b"\0" not in content:
            words |= set(WORD.findall(content.decode("utf-8", "replace")))
    return words


def _bound(files: Mapping[str, ast.Module], layout: Layout) -> dict[str, set[str]]:
    """What packages bind themselves, other than modules of theirs: package -> names."""
    plain = Tree(layout.modules, {})
    bound: dict[str, set[str]] = {}
    for path, module in files.items():
        if not path.endswith("__init__.py"):
            continue
        names = bound.setdefault(layout.modules[path], set())
        for node in module.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.ImportFrom):
                above = plain.absolute(path, node.level, node.module)
                names |= {
                    alias.asname or alias.name
                    for alias in node.names
                    if not (above and plain.is_module(f"{above}.{alias.name}"))
                }
    return bound


def _modules(layout: Layout, tree: Tree, new_name: Callable[[str], str]) -> dict[str, str]:
    """Dotted name of each module and package of the repository's own -> the new last part."""
    own = {layout.modules[path] for path in layout.python if layout.roles[path] in ("own", "generated")}
    own |= {".".join(name.split(".")[: i + 1]) for name in own for i in range(name.count("."))}
    found = {}
    for name in sorted(tree.names):
        last = name.rpartition(".")[2]
        if name in own:
            found[name] = last if last in _FIXED_MODULES else new_name(last)
        else:
            found[name] = last
    stems = {name.rpartition(".")[2]: new for name, new in found.items() if name in own}
    for name, last in found.items():
        for start, end in (("test_", ""), ("", "_test"), ("tests_", ""), ("", "_tests")):
            stem = last.removeprefix(start).removesuffix(end)
            if name not in own and last == f"{start}{stem}{end}" != stem and stems.get(stem, stem) != stem:
                found[name] = f"{start}{stems[stem]}{end}"
    return found


def _new_symbol(name: str, uses: Uses, giver: _Giver, aliases: Mapping[str, tuple[str, ...]]) -> str:
    """A symbol's new name. The beginning that the code makes names up with is kept."""
    beginning = max((one for one in uses.beginnings if name.startswith(one) and name != one), key=len, default="")
    return beginning + _new_name(name[len(beginning) :], giver, aliases)


def _new_name(name: str, giver: _Giver, aliases: Mapping[str, tuple[str, ...]]) -> str:
    """A new name; what in it is the repository's name becomes the repository's new name."""
    plain = _plain(name)
    if plain in aliases:
        return _spelt(aliases[plain], name)
    whole = "|".join(sorted(map(re.escape, aliases), key=len, reverse=True))
    if not whole:
        return respelled(name, giver)
    # Within a longer name only where it is a piece of its own.
    out, last = [], 0
    for match in re.finditer(rf"(?i)(?<![a-z0-9])(?:{whole})(?![a-z0-9])", name):
        out += [respelled(name[last : match.start()], giver), _spelt(aliases[match.group().lower()], match.group())]
        last = match.end()
    rest = name[last:]
    return "".join([*out, respelled(rest, giver) if PIECE.search(rest) else rest])


def _spelt(parts: tuple[str, ...], like: str) -> str:
    separators = re.findall(r"[-_.]+", like.strip("_"))
    joint = separators[0] if separators else ""
    lead, tail = re.match(r"_*", like).group(), re.search(r"_*$", like).group()  # type: ignore[union-attr]
    body = joint.join(parts)
    if like.isupper():
        body = body.upper()
    elif not like.islower():
        body = joint.join(part.capitalize() for part in parts)
    return lead + body + tail


def _aliases(repository: str, giver: _Giver) -> dict[str, tuple[str, ...]]:
    """Spellings of the repository's name without separators -> the new name's parts. `jinja2` is also `Jinja`."""
    parts = [part for part in re.split(r"[-_.]+", repository) if part]
    plain = _plain(repository)
    digits = re.search(r"\d*$", plain)
    end = digits.group() if digits else ""
    new = tuple(giver(f"repository {number}") for number, _ in enumerate(parts))
    found = {plain: (*new[:-1], new[-1] + end)}
    if end and len(plain) - len(end) >= _SHORTEST:
        found[plain.removesuffix(end)] = new
    return found


def _plain(name: str) -> str:
    return re.sub(r"[-_.]", "", name).lower()


def _refuse_collisions(names: Names, words: set[str]) -> None:
    """Two old words never become one, and no new word was there before."""
    new_of: dict[str, str] = {}
    for word in sorted(words):
        new = names.word(word)
        before = new_of.setdefault(new, word)
        if before != word or (new != word and new in words):
            raise ValueError(f"{word!r} would become {new!r}, as {before!r} does or as a word that is there already")
