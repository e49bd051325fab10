"""What a repository defines: functions, classes and methods, from Python's own `ast`. The ground truth of questions.

What is counted, and how:
- A definition is a `class`, `def` or `async def`, wherever it stands. The overloads of a function (`@overload`,
  `@f.register` and the setters of a property) and the function itself are one definition, at the last of them.
- A definition in a branch (`if`, `try`, `with`, `for`) is a definition, and marked `conditional`; two branches that
  define one name are two.
- A name is defined once if the whole tree, tests, examples and vendored code included, has one definition of it, and
  nothing else binds it outside a function: no assignment, no import from outside of the repository. An import of it
  from the repository itself (a re-export) is no definition. Where a file does not parse, lines that begin like one
  count. A stub (`.pyi`) is asked about nothing, and what it defines it defines once more.
- Public is what neither its own name nor a class around it begins with an underscore. `exported` says that its
  module's `__all__` names it, or a module above it imports it.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from repoqa.layout import Layout, Role

Kind = Literal["function", "class", "method"]
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

MAX_FILE = 4 * 2**20
"""Bytes of a file that is parsed; a larger one is listed as not parsed."""

_DEFINITION_LINE = re.compile(r"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+([^\W\d]\w*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Symbol:
    """One definition. `line` is that of its `def` or `class`, from 1; `qualname` has the classes around it.

    `bases` are a class's, `signature` a function's or a class's `__init__`, as written. `calls` are not here: see
    `Index.called`.
    """

    name: str
    qualname: str
    kind: Kind
    path: str
    module: str
    role: Role
    line: int
    end_line: int
    bases: tuple[str, ...] = ()
    signature: str | None = None
    conditional: bool = False
    overloads: int = 0
    nested: bool = False

    @property
    def is_public(self) -> bool:
        """Whether no part of its name begins with an underscore."""
        return not any(part.startswith("_") for part in self.qualname.split("."))


@dataclass(frozen=True, slots=True)
class Unparsed:
    """A Python file that is no Python for this interpreter, and why."""

    path: str
    why: str


class Index:
    """All definitions of a repository."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.symbols: list[Symbol] = []
        self.unparsed: list[Unparsed] = []
        self.calls: dict[str, set[str]] = {}
        """Name called -> the paths of the files in which it is called."""
        self._bound: Counter[str] = Counter()
        self._imports: list[tuple[str, str]] = []
        self._exports: dict[str, frozenset[str]] = {}
        for path in layout.python:
            self._read(path)
        for path, content in layout.files.items():
            if path.endswith(".pyi"):
                self._bound.update(_defined_in_stub(content))

    @cached_property
    def definitions(self) -> Mapping[str, int]:
        """Name -> how often it is defined or bound, anywhere in the tree."""
        return Counter(symbol.name for symbol in self.symbols) + self._bound

    @cached_property
    def exported(self) -> frozenset[str]:
        """Names that an `__all__` names, or that a package's `__init__` imports."""
        named = {name for names in self._exports.values() for name in names}
        return frozenset(named | {name for path, name in self._imports if path.endswith("__init__.py")})

    @cached_property
    def public(self) -> tuple[Symbol, ...]:
        """Public functions, classes and methods of the repository's own code, in the order of the tree."""
        return tuple(
            symbol for symbol in self.symbols if symbol.role == "own" and symbol.is_public and not symbol.nested
        )

    @cached_property
    def once(self) -> tuple[Symbol, ...]:
        """Public functions and classes of modules that are defined exactly once in the tree.

        A module that says in `__all__` what is public is believed.
        """
        return tuple(
            symbol
            for symbol in self.public
            if symbol.kind != "method" and self.definitions[symbol.name] == 1 and self._is_offered(symbol)
        )

    def _is_offered(self, symbol: Symbol) -> bool:
        names = self._exports.get(symbol.path)
        return names is None or symbol.name in names or symbol.name in self.exported

    def _read(self, path: str) -> None:
        content = self.layout.files[path]
        tree = _parsed(content)
        if isinstance(tree, str):
            self.unparsed.append(Unparsed(path, tree))
            self._bound.update(_DEFINITION_LINE.findall(content[:MAX_FILE].decode("utf-8", "replace")))
            return
        reader = _Reader(self.layout, path)
        reader.read(tree)
        self.symbols += reader.symbols
        self._bound.update(reader.bound)
        self._imports += [(path, name) for name in reader.imported]
        if reader.exports is not None:
            self._exports[path] = frozenset(reader.exports)
        for name in reader.called:
            self.calls.setdefault(name, set()).add(path)


def parse(content: bytes) -> ast.Module:
    """The tree of a Python file. Raises `SyntaxError` or `ValueError` (its encoding), and nothing else."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes and the like are the file's own affair
        try:
            return ast.parse(content)
        except (RecursionError, MemoryError) as problem:
            raise SyntaxError(f"too deeply nested ({type(problem).__name__})") from None


def _parsed(content: bytes) -> ast.Module | str:
    if len(content) > MAX_FILE:
        return f"larger than {MAX_FILE:,} bytes"
    try:
        return parse(content)
    except SyntaxError as problem:
        return f"line {problem.lineno}: {problem.msg}" if problem.lineno else str(problem.msg)
    except ValueError as problem:
        return str(problem)


def _defined_in_stub(content: bytes) -> set[str]:
    """The names of functions, classes and methods in a stub, each once however many overloads it has."""
    tree = _parsed(content)
    if isinstance(tree, str):
        return set(_DEFINITION_LINE.findall(content[:MAX_FILE].decode("utf-8", "replace")))
    return {node.name for node in ast.walk(tree) if isinstance(node, Definition)}


class _Reader:
    """Reads one file. Walks without recursion: nothing that a file holds can exhaust the stack."""

    def __init__(self, layout: Layout, path: str) -> None:
        self._path, self._module, self._role = path, layout.modules[path], layout.roles[path]
        self._tops = {name.partition(".")[0] for name in layout.modules.values()}
        self.symbols: list[Symbol] = []
        self.bound: set[str] = set()
        self.imported: set[str] = set()
        self.called: set[str] = set()
        self.exports: set[str] | None = None

    def read(self, tree: ast.Module) -> None:
        todo: list[tuple[ast.stmt, tuple[str, ...], bool, bool, bool]] = []
        # Statement, qualifying names, inside a class, inside a function, inside a branch.
        self._block(tree.body, (), False, False, False, todo)
        while todo:
            statement, above, in_class, in_function, branch = todo.pop()
            if isinstance(statement, Definition):
                inside = isinstance(statement, ast.ClassDef)
                self._block(
                    statement.body, (*above, statement.name), inside and not in_function,
                    in_function or not inside, branch, todo,
                )  # fmt: skip
                continue
            for block in _blocks(statement):
                self._block(block, above, in_class, in_function, True, todo)
        self.symbols.sort(key=lambda symbol: symbol.line)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                name = _called_name(node.func)
                if name:
                    self.called.add(name)

    def _block(
        self,
        body: list[ast.stmt],
        above: tuple[str, ...],
        in_class: bool,
        in_function: bool,
        branch: bool,
        todo: list[tuple[ast.stmt, tuple[str, ...], bool, bool, bool]],
    ) -> None:
        """Note what one block defines: the overloads of one name are merged within it."""
        last: dict[str, int] = {}
        for statement in body:
            todo.append((statement, above, in_class, in_function, branch))
            if not isinstance(statement, Definition):
                if not in_function and not in_class:
                    self._bind(statement)
                continue
            symbol = self._symbol(statement, above, in_class, in_function, branch)
            before = last.get(symbol.name)
            if before is not None and _continues(self.symbols[before], statement, body):
                earlier = self.symbols[before]
                self.symbols[before] = _with_overload(symbol, earlier.overloads + 1)
            else:
                self.symbols.append(symbol)
                last[symbol.name] = len(self.symbols) - 1

    def _symbol(
        self, node: Definition, above: tuple[str, ...], in_class: bool, in_function: bool, branch: bool
    ) -> Symbol:
        is_class = isinstance(node, ast.ClassDef)
        kind: Kind = "class" if is_class else "method" if in_class else "function"
        return Symbol(
            name=node.name,
            qualname=".".join((*above, node.name)),
            kind=kind,
            path=self._path,
            module=self._module,
            role=self._role,
            line=node.lineno,
            end_line=node.end_lineno or node.lineno,
            bases=tuple(ast.unparse(base) for base in node.bases) if isinstance(node, ast.ClassDef) else (),
            signature=_signature(node),
            conditional=branch,
            nested=in_function or (is_class and in_class),
        )

    def _bind(self, statement: ast.stmt) -> None:
        """What else binds a name of the module: an assignment, an import from outside."""
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, ast.AnnAssign | ast.AugAssign):
            targets = [statement.target]
        elif isinstance(statement, ast.ImportFrom):
            own = bool(statement.level) or (statement.module or "").partition(".")[0] in self._tops
            names = {alias.asname or alias.name for alias in statement.names}
            (self.imported if own else self.bound).update(names - {"*"})
            return
        elif isinstance(statement, ast.Import):
            self.bound.update(
                alias.asname or top
                for alias in statement.names
                if (top := alias.name.partition(".")[0]) not in self._tops
            )
            return
        else:
            return
        names = {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
        if "__all__" in names:
            value = getattr(statement, "value", None)
            self.exports = (self.exports or set()) | set(_texts(value))
        self.bound |= names


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a statement that is no definition."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if isinstance(block, list):
            yield block
    for handler in getattr(statement, "handlers", ()):
        yield handler.body
    for case in getattr(statement, "cases", ()):
        yield case.body


def _continues(earlier: Symbol, statement: Definition, body: list[ast.stmt]) -> bool:
    """Whether this definition and the earlier one of its name in this block are one, said in several parts."""
    if isinstance(statement, ast.ClassDef):
        return False
    before = next(
        (one for one in body if isinstance(one, Definition) and one.lineno == earlier.line), None
    )  # fmt: skip
    overloaded = before is not None and "overload" in _decorators(before)
    return overloaded or bool({"setter", "getter", "deleter", "register"} & _decorators(statement))


def _decorators(node: Definition) -> set[str]:
    """The last names of a definition's decorators."""
    found = set()
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(target, ast.Attribute):
            found.add(target.attr)
        elif isinstance(target, ast.Name):
            found.add(target.id)
    return found


def _with_overload(symbol: Symbol, overloads: int) -> Symbol:
    from dataclasses import replace

    return replace(symbol, overloads=overloads)


def _signature(node: Definition) -> str | None:
    if isinstance(node, ast.ClassDef):
        init = next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
        return ast.unparse(init.args) if init is not None else None
    return ast.unparse(node.args)


def _texts(node: ast.AST | None) -> Iterator[str]:
    if node is not None:
        for part in ast.walk(node):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield part.value


def _called_name(function: ast.expr) -> str | None:
    if isinstance(function, ast.Name):
        return function.id
    return function.attr if isinstance(function, ast.Attribute) else None
