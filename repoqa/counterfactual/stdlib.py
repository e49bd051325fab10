"""Writes `stdlib.txt`: the words that Python and its standard library give a meaning. Run by hand, never at run time.

    python -m repoqa.counterfactual.stdlib [FILE...] > repoqa/counterfactual/stdlib.txt

Each line is a word and what it is: `t` taken by Python itself (a keyword, a builtin, a top-level module), `a` an
attribute of a class, which any object may have, `p` a parameter, which any call may name. What stands in a module is
not among them: it cannot be used without naming the module, and `names.py` sees that. The list is a file so that a
seed gives the same names whichever Python plays it; files of other versions are merged into it.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
import io
import keyword
import pkgutil
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from types import ModuleType

_LEFT_OUT = frozenset(
    {"antigravity", "this", "idlelib", "turtledemo", "test", "lib2to3", "tkinter", "turtle", "distutils", "ensurepip"}
)
_TUPLES = (
    "_asdict", "_fields", "_make", "_replace", "_field_defaults", "_missing_", "_value_", "_name_", "_ignore_",
)  # fmt: skip

_DUNDERS = (
    "__all__ __version__ __author__ __main__ __init__ __path__ __wrapped__ __slots__ __match_args__ __future__ "
    "__post_init__ __getattr__ __dir__ __debug__ __annotations__ __set_name__ __init_subclass__ __class_getitem__ "
    "__mro_entries__ __prepare__ __await__ __aiter__ __anext__ __aenter__ __aexit__ __enter__ __exit__ __fspath__ "
    "__index__ __missing__ __get__ __set__ __delete__ __del__ __copy__ __deepcopy__ __reversed__ __length_hint__ "
    "__bytes__ __html__ __tracebackhide__"
)
"""What Python looks for, or modules have by custom, though no class of the library shows it."""


def words() -> dict[str, set[str]]:
    """Each word with its kinds."""
    found: dict[str, set[str]] = defaultdict(set)
    for word in (*keyword.kwlist, *keyword.softkwlist, *dir(builtins), *sys.stdlib_module_names):
        found[word].add("t")
    for word in _TUPLES:
        found[word].add("a")
    for word in _DUNDERS.split():
        found[word].add("t")
    values = [*vars(builtins).values(), *(value for module in _modules() for value in list(vars(module).values()))]
    for value in values:
        for word, kind in _of(value):
            if word.startswith("__") and word.endswith("__"):
                found[word].add("t")
            elif word.isidentifier() and word[0] != "_":
                found[word].add(kind)
    return found


def _modules() -> Iterator[ModuleType]:
    names = [name for name in sys.stdlib_module_names if name not in _LEFT_OUT and not name.startswith("_")]
    for name in sorted(names):
        with suppress(BaseException), warnings.catch_warnings(), redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            module = importlib.import_module(name)
            yield module
            for below in pkgutil.iter_modules(getattr(module, "__path__", ())):
                if not below.name.startswith(("_", "test")):
                    with suppress(BaseException):
                        yield importlib.import_module(f"{name}.{below.name}")


def _of(value: object) -> Iterator[tuple[str, str]]:
    """Attributes of a class and their parameters, parameters of a function."""
    if inspect.isclass(value):
        for name in list(dir(value)):
            yield name, "a"
            with suppress(BaseException):
                for parameter in inspect.signature(inspect.getattr_static(value, name)).parameters:
                    yield parameter, "p"
    with suppress(BaseException):
        for parameter in inspect.signature(value).parameters:  # type: ignore[arg-type]
            yield parameter, "p"


if __name__ == "__main__":
    with redirect_stderr(io.StringIO()):
        merged = words()
    for file in sys.argv[1:]:
        for line in Path(file).read_text().splitlines():
            merged[line.split()[0]] |= set(line.split()[1])
    sys.stdout.write("".join(f"{word} {''.join(sorted(merged[word]))}\n" for word in sorted(merged)))
