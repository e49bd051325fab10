"""What a repository's code uses from outside of itself, told from the code alone: those words are not to be renamed.

Counted as from outside, file by file:
- what is imported from a module that is not the repository's, and the parts of that module's name;
- every attribute of a name that is bound to something from outside, at any depth: `np.linalg.norm`, `Path(x).open`;
  for what is not the standard library's (whose attributes are known) also of names that are assigned it, opened as it
  or annotated with it: `env = Environment()`, `env.loader`;
- the keywords of a call to something from outside;
- what is defined in a class that has a base from outside which is not the standard library's: it may override.

Besides: which attributes and keywords the code uses at all (see `names.py`), and with which beginnings it makes up
names (`getattr(self, f"visit_{kind}")`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from repoqa.counterfactual.vocabulary import vocabulary

_BEGINNING = re.compile(r"^[A-Za-z_]\w*_$")


@dataclass(slots=True)
class Uses:
    """`outside`: words that mean something elsewhere; `attributes`, `keywords`: words used as such; `beginnings` of
    names that the code makes up.
    """

    outside: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    keywords: set[str] = field(default_factory=set)
    beginnings: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Binding:
    """What a name of a file stands for: a module of the repository by its dotted name, or (None) what is from outside.

    `foreign`: from outside, and not the standard library's.
    """

    module: str | None
    foreign: bool = False


class Tree:
    """The modules of a repository: dotted names, and which of their names are other things than modules."""

    def __init__(self, modules: Mapping[str, str], bound: Mapping[str, Collection[str]]) -> None:
        self.by_path = modules
        self.names = {name for name in modules.values() if name}
        for name in list(self.names):  # packages without a file of their own
            parts = name.split(".")
            self.names |= {".".join(parts[: i + 1]) for i in range(len(parts) - 1)}
        self.tops = {name.partition(".")[0] for name in self.names}
        self._bound = bound

    def is_module(self, name: str) -> bool:
        """Whether a dotted name is a module here, and not something that its package binds under that name."""
        above, dot, last = name.rpartition(".")
        return name in self.names and not (dot and last in self._bound.get(above, ()))

    def absolute(self, path: str, level: int, module: str | None) -> str | None:
        """The dotted name that an import in the file at `path` means; None where it leads out of the repository."""
        if level == 0:
            return module
        here = self.by_path[path].split(".")
        package = here if path.endswith("__init__.py") else here[:-1]
        above = package[: len(package) - (level - 1)] if level > 1 else package
        if level - 1 > len(package):
            return None
        return ".".join([*above, *(module.split(".") if module else [])])

    def is_inside(self, name: str | None) -> bool:
        """Whether the first part of a dotted name is the repository's. The standard library comes first."""
        top = (name or "").partition(".")[0]
        return top in self.tops and top not in vocabulary().taken


def read_uses(tree: ast.Module, path: str, repository: Tree, uses: Uses, *, follow: bool) -> None:
    """Add what one file uses. `follow`: also through names that are assigned."""
    bindings = bindings_of(tree, path, repository)
    outside = {name for name, binding in bindings.items() if binding.module is None}
    nodes = list(ast.walk(tree))
    _imports(nodes, repository, uses)
    if follow:
        foreign = {name for name, binding in bindings.items() if binding.foreign}
        _follow(nodes, foreign)
        outside |= foreign
    for node in nodes:
        if isinstance(node, ast.Attribute):
            if _root(node) in outside:
                uses.outside.add(node.attr)
            elif module_at(node, bindings, repository) is None:
                uses.attributes.add(node.attr)
        elif isinstance(node, ast.Call):
            words = {keyword.arg for keyword in node.keywords if keyword.arg}
            uses.keywords |= words
            if _root(node.func) in outside:
                uses.outside |= words
        elif isinstance(node, ast.ClassDef):
            _overrides(node, outside, uses)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _BEGINNING.match(node.value):
            uses.beginnings.add(node.value)


def bindings_of(tree: ast.Module, path: str, repository: Tree) -> dict[str, Binding]:
    """What imports bind, anywhere in the file. A name bound both ways counts as from outside."""
    found: dict[str, Binding] = {}

    def bind(name: str, module: str | None, top: str = "") -> None:
        before = found.get(name)
        foreign = module is None and top not in vocabulary().taken
        if before is not None and before.module != module:
            found[name] = Binding(None, foreign or before.foreign)
        else:
            found[name] = Binding(module, foreign)

    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                inside = repository.is_inside(alias.name)
                top = alias.name.partition(".")[0]
                bind(alias.asname or top, (alias.name if alias.asname else top) if inside else None, top)
        elif isinstance(node, ast.ImportFrom):
            module = repository.absolute(path, node.level, node.module)
            inside = module is not None and (bool(node.level) or repository.is_inside(module))
            for alias in node.names:
                dotted = f"{module}.{alias.name}" if module else alias.name
                if not inside:
                    bind(alias.asname or alias.name, None, (module or "").partition(".")[0])
                elif repository.is_module(dotted):
                    bind(alias.asname or alias.name, dotted)
    return found


def module_at(node: ast.expr, bindings: Mapping[str, Binding], repository: Tree) -> str | None:
    """The module of the repository that `a.b.c` is, if it is one."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in bindings:
        return None
    module = bindings[node.id].module
    for part in reversed(parts):
        if module is None or not repository.is_module(f"{module}.{part}"):
            return None
        module = f"{module}.{part}"
    return module


def _imports(nodes: list[ast.AST], repository: Tree, uses: Uses) -> None:
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if not repository.is_inside(alias.name):
                    uses.outside |= set(alias.name.split("."))
        elif isinstance(node, ast.ImportFrom) and not node.level and not repository.is_inside(node.module):
            uses.outside |= set((node.module or "").split("."))
            uses.outside |= {alias.name for alias in node.names} - {"*"}


def _follow(nodes: list[ast.AST], outside: set[str]) -> None:
    """Names that are given, or said to be, something of others are others', too; twice, for names of names."""
    for _ in range(2):
        before = len(outside)
        for node in nodes:
            for target, value in _given(node):
                if isinstance(target, ast.Name) and value is not None and _root(value) in outside:
                    outside.add(target.id)
        if len(outside) == before:
            return


def _given(node: ast.AST) -> Iterator[tuple[ast.AST, ast.expr | None]]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield target, node.value
    elif isinstance(node, ast.AnnAssign):
        yield node.target, node.annotation
        yield node.target, node.value
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield node.optional_vars, node.context_expr
    elif isinstance(node, ast.arg):
        yield ast.Name(node.arg), node.annotation


def _root(node: ast.AST) -> str | None:
    """The name at the beginning of an expression: `a` in `a.b(c)[d].e`."""
    while True:
        if isinstance(node, ast.Attribute | ast.Subscript | ast.Await | ast.Starred):
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        else:
            return node.id if isinstance(node, ast.Name) else None


def _overrides(node: ast.ClassDef, outside: set[str], uses: Uses) -> None:
    if not any(_root(base) in outside and not _is_standard(base) for base in node.bases):
        return
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            uses.outside.add(statement.name)
        elif isinstance(statement, ast.Assign):
            uses.outside |= {target.id for target in statement.targets if isinstance(target, ast.Name)}
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            uses.outside.add(statement.target.id)


_STANDARD = frozenset(
    [
        "ABC",
        "Generic",
        "Protocol",
        "NamedTuple",
        "TypedDict",
        "Enum",
        "IntEnum",
        "StrEnum",
        "Flag",
        "IntFlag",
        "Mapping",
        "MutableMapping",
        "Sequence",
        "MutableSequence",
        "Set",
        "MutableSet",
        "Iterator",
        "Iterable",
        "Callable",
        "Hashable",
        "Sized",
        "Container",
        "Collection",
        "TestCase",
        "Thread",
        "Action",
        "ArgumentParser",
        "HTTPServer",
        "BaseHTTPRequestHandler",
        "Logger",
        "Handler",
        "Formatter",
        "Filter",
        "JSONEncoder",
        "JSONDecoder",
        "NodeVisitor",
        "NodeTransformer",
        "OrderedDict",
        "UserDict",
        "UserList",
        "UserString",
        "deque",
        "defaultdict",
        "Counter",
        "ContextDecorator",
        "AbstractContextManager",
        "HTMLParser",
        "local",
        "Path",
        "PurePath",
        "TextIO",
        "IO",
        "BytesIO",
        "StringIO",
        "RawIOBase",
        "date",
        "datetime",
        "tzinfo",
        "Cookie",
        "CookieJar",
        "ThreadingMixIn",
        "TCPServer",
        "StreamRequestHandler",
    ]
)
"""Bases of the standard library; what they have is in the list of words already."""


def _is_standard(base: ast.expr) -> bool:
    while isinstance(base, ast.Subscript):
        base = base.value
    name = base.attr if isinstance(base, ast.Attribute) else base.id if isinstance(base, ast.Name) else ""
    return name in _STANDARD or name.endswith(("Error", "Exception", "Warning"))
