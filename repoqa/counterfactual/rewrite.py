"""Applies the new names to a file: Python code token by token, any other text word by word.

In code, `tokenize` tells names, strings and comments apart, and `ast` says which names are modules; positions are taken
from both, and everything between them stays as it is, blank for blank. In strings, an escape (`\\n`) is no part of the
word behind it. A file that does not parse is rewritten as text.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from typing import NamedTuple

from repoqa.counterfactual.names import WORD, Names
from repoqa.counterfactual.uses import Binding, bindings_of, module_at
from repoqa.symbols import parse

_ESCAPED = re.compile(r"\\(?:N\{[^}]*\}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{1,3}|.)", re.DOTALL)
_STRING = re.compile(r"^([A-Za-z]*)('''|\"\"\"|'|\")", re.DOTALL)
_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)+")
_KEBAB = re.compile(r"(?<![\w-])[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)+(?![\w-])")
_SLASHED = re.compile(r"[\w.*-]*(?:/[\w.*-]+)+/?")
_FILE = re.compile(r"(?<![\w./-])([^\W\d]\w*)\.(pyi?|pyc)\b")


class Edit(NamedTuple):
    """`text` instead of the characters from `start` to `end`."""

    start: int
    end: int
    text: str


class Rewriter:
    """Rewrites the files of one repository."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._kebab = {
            old.replace("_", "-"): new.replace("_", "-")
            for old, new in names.words.items()
            if "_" in old.strip("_") and not old.startswith("_")
        }
        aliases = sorted(
            {r"[-_. ]?".join(map(re.escape, parts)) for parts in _spelt_parts(names)}, key=len, reverse=True
        )
        several = [alias for alias in aliases if "[-_. ]?" in alias]
        self._alias = re.compile(rf"(?i)(?<![^\W_])(?:{'|'.join(several)})(?![^\W_])") if several else None
        self._tops = {name for name in names.modules if "." not in name}

    def path(self, path: str) -> str:
        """The new path of a file."""
        names = self._names
        folders = path.split("/")
        dotted = names.tree.by_path.get(path)
        new = [self.text(part) for part in folders]
        if dotted:
            last = len(folders) - 1 if not path.endswith("__init__.py") else len(folders) - 2
            parts = dotted.split(".")
            for up in range(len(parts)):
                name = ".".join(parts[: len(parts) - up])
                if name in names.modules:
                    end = ".py" if folders[last - up].endswith(".py") else ""
                    new[last - up] = names.modules[name] + end
        else:
            new = self._folders(folders, new)
        return "/".join(new)

    def code(self, content: bytes, path: str) -> bytes:
        """A Python file with the new names."""
        try:
            encoding = tokenize.detect_encoding(io.BytesIO(content).readline)[0]
            text = content.decode(encoding)
            tree = parse(content)
            edits = self._of_tokens(text, self._of_modules(text, tree, path))
        except (SyntaxError, ValueError, LookupError, tokenize.TokenError, IndentationError):
            return self.plain(content)
        return _applied(text, edits).encode(encoding)

    def plain(self, content: bytes) -> bytes:
        """Any other text with the new names. Bytes that are no UTF-8 stay as they are."""
        try:
            return self.text(content.decode("utf-8")).encode("utf-8")
        except UnicodeDecodeError:
            return self.text(content.decode("latin-1")).encode("latin-1")

    def text(self, text: str) -> str:
        """Prose, a comment, or the inside of a string."""
        names = self._names
        text = _SLASHED.sub(lambda match: self._slashed(match.group()), text)
        text = _DOTTED.sub(lambda match: self._dotted(match.group()), text)
        if names.contextual:
            text = _FILE.sub(lambda match: f"{names.contextual.get(match[1], match[1])}.{match[2]}", text)
        if self._alias is not None:
            text = self._alias.sub(lambda match: names.alias(match.group()), text)
        if self._kebab:
            text = _KEBAB.sub(lambda match: self._hyphened(match.group()), text)
        return self._words(text)

    def _words(self, text: str) -> str:
        names = self._names

        def one(match: re.Match[str]) -> str:
            word = match.group()
            new = names.word(word)
            if new == word and match.start() and text[match.start() - 1] == "\\" and len(word) > 1:
                return word[0] + names.word(word[1:])  # an escape, and a word
            return new

        return WORD.sub(one, text)

    def _string(self, source: str) -> str:
        """A string literal: prefix and quotes stay, escapes are no part of words."""
        start = _STRING.match(source)
        if start is None:
            return self.text(source)
        head, tail = start.group(), start.group(2)
        body = source[len(head) : len(source) - len(tail)] if source.endswith(tail) else source[len(head) :]
        end = source[len(head) + len(body) :]
        if "r" in start.group(1).lower() or "\\" not in body:
            return head + self.text(body) + end
        out, last = [], 0
        for match in _ESCAPED.finditer(body):
            out += [self.text(body[last : match.start()]), match.group()]
            last = match.end()
        return "".join([head, *out, self.text(body[last:]), end])

    def _of_tokens(self, text: str, modules: list[Edit]) -> list[Edit]:
        taken = {edit.start for edit in modules}
        edits = list(modules)
        for kind, start, end in _tokens(text):
            old = text[start:end]
            if kind == tokenize.NAME:
                if start not in taken and (new := self._names.word(old)) != old:
                    edits.append(Edit(start, end, new))
                continue
            new = self._string(old) if kind == tokenize.STRING else self.text(old)
            if new != old:
                edits.append(Edit(start, end, new))
        return edits

    def _of_modules(self, text: str, tree: ast.Module, path: str) -> list[Edit]:
        """Where the code names modules whose words do not change everywhere."""
        names = self._names
        if not names.contextual:
            return []
        place = _Places(text)
        bindings = bindings_of(tree, path, names.tree)
        edits: list[Edit] = []
        skipped = _inside_f_strings(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                edits += self._of_import(node, path, text, place)
            elif isinstance(node, ast.Attribute) and node not in skipped:
                edits += self._of_attribute(node, bindings, place)
        return sorted(set(edits))

    def _of_import(self, node: ast.Import | ast.ImportFrom, path: str, text: str, place: _Places) -> Iterator[Edit]:
        names = self._names
        start, end = place.of(node)
        words = [(match.group(), start + match.start()) for match in WORD.finditer(_without_comments(text[start:end]))]
        if isinstance(node, ast.ImportFrom):
            module = names.tree.absolute(path, node.level, node.module)
            if module is None or not (node.level or names.tree.is_inside(module)):
                return
            given = (node.module or "").split(".") if node.module else []
            above = module.split(".")[: len(module.split(".")) - len(given)] if module else []
            yield from self._parts(given, above, words[1 : 1 + len(given)])
            rest = words[1 + len(given) + 1 :]
        else:
            module, rest = None, words[1:]
        for alias in node.names:
            if alias.name == "*":
                return
            parts = alias.name.split(".")
            here, rest = rest[: len(parts)], rest[len(parts) :]
            if alias.asname:
                rest = rest[2:]
            if isinstance(node, ast.Import):
                if names.tree.is_inside(alias.name):
                    yield from self._imported(parts, here, alias.asname)
                continue
            dotted = f"{module}.{alias.name}" if module else alias.name
            if names.tree.is_module(dotted) and alias.name in names.contextual and dotted in names.modules:
                word, at = here[0]
                keep = "" if alias.asname else f" as {names.word(word)}"
                yield Edit(at, at + len(word), names.modules[dotted] + keep)

    def _imported(self, parts: list[str], here: list[tuple[str, int]], asname: str | None) -> Iterator[Edit]:
        """`import a.b`: it binds `a`, whose word stays as a name where it must."""
        edits = list(self._parts(parts, [], here))
        first = parts[0]
        if len(parts) == 1 and not asname and edits and first in self._names.contextual:
            yield Edit(edits[0].start, edits[0].end, f"{edits[0].text} as {first}")
            return
        yield from edits

    def _parts(self, parts: list[str], above: list[str], here: list[tuple[str, int]]) -> Iterator[Edit]:
        for number, (word, at) in enumerate(here):
            dotted = ".".join([*above, *parts[: number + 1]])
            new = self._names.modules.get(dotted)
            if new is not None and new != self._names.word(word):
                yield Edit(at, at + len(word), new)

    def _of_attribute(self, node: ast.Attribute, bindings: dict[str, Binding], place: _Places) -> Iterator[Edit]:
        if node.attr not in self._names.contextual:
            return
        module = module_at(node, bindings, self._names.tree)
        if module is not None and module in self._names.modules:
            _, end = place.of(node)
            yield Edit(end - len(node.attr), end, self._names.modules[module])

    def _dotted(self, text: str) -> str:
        """`pkg.types.X` in a text: the parts that are modules."""
        names = self._names
        parts = text.split(".")
        if parts[0] not in self._tops:
            return text
        out: list[str] = []
        dotted = ""
        for number, part in enumerate(parts):
            dotted = f"{dotted}.{part}" if dotted else part
            if dotted not in names.modules:
                return ".".join([*out, *parts[number:]])
            out.append(names.modules[dotted])
        return ".".join(out)

    def _slashed(self, text: str) -> str:
        """`src/pkg/types.py` in a text: folders and files that are modules, behind one that is the repository's."""
        parts = text.split("/")
        top = next((i for i, part in enumerate(parts) if part in self._tops), None)
        if top is None:
            return text
        new = list(parts)
        dotted = ""
        for number in range(top, len(parts)):
            stem, dot, end = parts[number].partition(".")
            dotted = f"{dotted}.{stem}" if dotted else stem
            if dotted not in self._names.modules:
                break
            if end in ("", "py", "pyi", "pyc"):
                new[number] = f"{self._names.modules[dotted]}{dot}{end}"
        return "/".join(new)

    def _hyphened(self, text: str) -> str:
        if text in self._kebab:
            return self._kebab[text]
        # `--no-parse-config`, `test-parse-config`: a run of parts.
        parts = text.split("-")
        for length in range(len(parts) - 1, 1, -1):
            for start in range(len(parts) - length + 1):
                run = "-".join(parts[start : start + length])
                if run in self._kebab:
                    return "-".join([*parts[:start], self._kebab[run], *parts[start + length :]])
        return text

    def _folders(self, old: list[str], new: list[str]) -> list[str]:
        """A file that is no module, in folders that are packages."""
        changed = self._slashed("/".join(old)).split("/")
        return [after if after != before else word for before, after, word in zip(old, changed, new, strict=True)]


def _spelt_parts(names: Names) -> list[list[str]]:
    """The repository's name in its parts, as it is written with separators."""
    return [[part for part in re.split(r"[-_.]+", names.repository) if part]]


def _applied(text: str, edits: list[Edit]) -> str:
    out, last = [], 0
    for edit in sorted(edits):
        if edit.start < last:
            continue
        out += [text[last : edit.start], edit.text]
        last = edit.end
    return "".join([*out, text[last:]])


def _tokens(text: str) -> Iterator[tuple[int, int, int]]:
    """Names, strings and comments: kind, start, end in characters. An f-string is one string, nested ones included."""
    place = _Places(text)
    depth = begin = 0
    starts = getattr(tokenize, "FSTRING_START", None)
    ends = getattr(tokenize, "FSTRING_END", None)
    for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
        if starts is not None and token.type == starts:
            if not depth:
                begin = place.at(*token.start)
            depth += 1
        elif ends is not None and token.type == ends:
            depth -= 1
            if not depth:
                yield tokenize.STRING, begin, place.at(*token.end)
        elif not depth and token.type in (tokenize.NAME, tokenize.STRING, tokenize.COMMENT):
            yield token.type, place.at(*token.start), place.at(*token.end)


class _Places:
    """Rows and columns as places in a text."""

    def __init__(self, text: str) -> None:
        self._lines = io.StringIO(text, newline="").readlines()
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def at(self, row: int, column: int) -> int:
        """A token's place: column in characters."""
        return self._starts[row - 1] + column

    def of(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """A node's places: columns in bytes of UTF-8."""
        return self._bytes(node.lineno, node.col_offset), self._bytes(node.end_lineno or 0, node.end_col_offset or 0)

    def _bytes(self, row: int, column: int) -> int:
        line = self._lines[row - 1]
        if not line.isascii():
            column = len(line.encode("utf-8")[:column].decode("utf-8", "ignore"))
        return self._starts[row - 1] + column


def _inside_f_strings(tree: ast.Module) -> set[ast.AST]:
    return {inner for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for inner in ast.walk(node)}


def _without_comments(text: str) -> str:
    """An import statement with its comments blanked, character for character."""
    return re.sub(r"#[^\r\n]*", lambda match: " " * len(match.group()), text)
