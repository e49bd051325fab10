"""What the files of a repository are: its own code, tests, examples, vendored or generated code, and module names.

Rules, by name and by a file's first lines; a folder's rule holds for everything below it:
- tests: a folder `test`, `tests`, `testsuite`, ..., a file `test_*.py`, `*_test.py`, `tests.py`, `conftest.py`;
- support: documents, examples, benchmarks, tools and scripts beside the code, and `setup.py` and its like at the top;
- vendored: a folder `vendor`, `_vendor`, `third_party`, `extern`, ...;
- generated: a file that says so in its first lines, and names that only generators give (`*_pb2.py`, `_version.py`).
Everything else that ends in `.py` is the repository's own code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Literal

Role = Literal["own", "test", "support", "vendored", "generated"]

_TESTS = frozenset({"test", "tests", "testsuite", "testsuites", "_tests", "test_suite", "unittests"})
_SUPPORT = frozenset(
    {"doc", "docs", "example", "examples", "sample", "samples", "demo", "demos", "benchmark", "benchmarks", "bench",
     "perf", "script", "scripts", "tool", "tools", "misc", "contrib", "tutorial", "tutorials", "notebooks", ".github",
     "build", "dist", "requirements", "artwork", "fuzz"}
)  # fmt: skip
_VENDORED = frozenset(
    {"vendor", "_vendor", "vendored", "_vendored", "vendored_packages", "third_party", "thirdparty", "3rdparty",
     "extern", "external", "externals", "node_modules", "site-packages"}
)  # fmt: skip
_TOP_FILES = frozenset(
    {"setup.py", "noxfile.py", "tasks.py", "conftest.py", "fabfile.py", "hatch_build.py", "build.py"}
)
_TEST_FILE = re.compile(r"^(test_.*|.*_tests?|tests?|conftest)\.py$")
_GENERATED_FILE = re.compile(r"^(.*_pb2(_grpc)?|_version|version|lextab|parsetab|.*_tab)\.py$")
_GENERATED = re.compile(
    r"(?i)@generated\b|\b(auto-?\s?generated|automatically generated|generated (by|from|automatically))\b.*"
    r"|do not (edit|modify)( this file)?\b"
)
_HEAD_LINES = 6


class Layout:
    """The Python files of a repository and what each is. Paths are relative to the root, with `/`."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files
        self.python = tuple(sorted(path for path in files if path.endswith(".py")))

    @classmethod
    def read(cls, root: Path) -> Layout:
        """The layout of a folder. Links are passed over."""
        return cls(dict(read_files(root)))

    @cached_property
    def roles(self) -> Mapping[str, Role]:
        """Each Python file's role."""
        return {path: role_of(path, self.files[path]) for path in self.python}

    @cached_property
    def modules(self) -> Mapping[str, str]:
        """Each Python file's dotted module name, counted from the folder above its outermost package."""
        packages = {path.rpartition("/")[0] for path in self.python if path.endswith("__init__.py")}
        return {path: _module_name(path, packages) for path in self.python}

    @cached_property
    def own(self) -> tuple[str, ...]:
        """The files of the repository's own code."""
        return tuple(path for path in self.python if self.roles[path] == "own")

    @cached_property
    def packages(self) -> tuple[str, ...]:
        """The names that the repository's own code is imported by."""
        tops = {self.modules[path].partition(".")[0] for path in self.own}
        return tuple(sorted(top for top in tops if top and top != "__init__"))


def read_files(root: Path) -> Iterable[tuple[str, bytes]]:
    """Every file below `root` with its bytes, in the order of the paths."""
    for path in sorted(root.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield path.relative_to(root).as_posix(), path.read_bytes()


def role_of(path: str, content: bytes) -> Role:
    """What this Python file is."""
    *folders, name = path.split("/")
    lower = [folder.lower() for folder in folders]
    if any(folder in _VENDORED for folder in lower):
        return "vendored"
    if any(folder in _TESTS or folder.startswith("test_") for folder in lower) or _TEST_FILE.match(name):
        return "test"
    # `tools` may be a package's own; beside the code it is no package of the code.
    if (lower and lower[0] in _SUPPORT) or (not folders and name in _TOP_FILES):
        return "support"
    if _GENERATED_FILE.match(name) or _says_generated(content):
        return "generated"
    return "own"


def _says_generated(content: bytes) -> bool:
    """Whether a comment, or the docstring's first lines, say that a program wrote the file."""
    head = content[:2_000].decode("utf-8", "replace").splitlines()[:_HEAD_LINES]
    return any(_GENERATED.search(line) for line in head if line.lstrip().startswith(("#", '"""', "'''")))


def _module_name(path: str, packages: set[str]) -> str:
    *folders, name = path.split("/")
    above = ["/".join(folders[: depth + 1]) for depth in range(len(folders))]
    first = next((depth for depth, folder in enumerate(above) if folder in packages), len(folders))
    return ".".join((*folders[first:], *([name.removesuffix(".py")] if name != "__init__.py" else ())))
