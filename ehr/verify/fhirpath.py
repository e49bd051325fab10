"""FHIRPath, strictly: an expression that cannot be parsed or evaluated says so instead of answering something.

fhirpathpy recovers from syntax errors in silence (it answers true to `status = = 'active'`), stops reading at the first
token it does not expect, and answers `single()` on two items with an error object among the results. Here each of these
raises `PathError`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

Resource = Mapping[str, Any]

_LONGEST = 4_000
_CLOCKS = re.compile(r"\b(now|today|timeOfDay)\s*\(\s*\)")
_STRINGS = re.compile(r"'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`|//[^\n]*|/\*.*?\*/", re.DOTALL)
_NAMES = re.compile(r"[A-Za-z_]\w*")


class PathError(ValueError):
    """The expression cannot be parsed or evaluated. `of_path` is false where only this resource's content is to blame.

    An agent must not be able to turn its failure into an unscored verdict by writing a resource on which a sound
    expression breaks (two items where `single()` wants one), so the two cases are kept apart.
    """

    def __init__(self, message: str, *, of_path: bool) -> None:
        super().__init__(message)
        self.of_path = of_path


def check(expression: str) -> None:
    """Raise `PathError` where the expression cannot be parsed, reads the wall clock, or names an unknown function."""
    _evaluate(_compiled(expression), expression, {"resourceType": "Basic"})


def evaluate(expression: str, resource: Resource) -> list[Any]:
    """The items that the expression finds, as they stand in the resource (the same objects, not copies).

    Raises `PathError`: with `of_path` where it works on no resource of this type, without it where not on this one.
    """
    run = _compiled(expression)
    try:
        return _evaluate(run, expression, resource)
    except PathError as error:
        works = _works_on_some(run, expression, str(resource["resourceType"]))
        raise PathError(str(error), of_path=not works) from None


def names(expression: str) -> frozenset[str]:
    """The names that stand in the expression, outside of its string literals and comments: what it mentions."""
    return frozenset(_NAMES.findall(_STRINGS.sub(" ", expression)))


def _evaluate(run: Callable[..., Any], expression: str, resource: Resource) -> list[Any]:
    try:
        found = run(resource, {})
    except RecursionError:
        raise PathError(f"{expression!r} nests too deeply to be evaluated", of_path=True) from None
    except Exception as error:  # fhirpathpy raises bare exceptions of every kind
        raise PathError(f"{expression!r} cannot be evaluated: {_first_line(error)}", of_path=True) from None
    items = [getattr(item, "data", item) for item in (found if isinstance(found, list) else [found])]
    for item in items:
        if isinstance(item, dict) and item.get("$status") == "error":
            raise PathError(f"{expression!r} cannot be evaluated: {item.get('$error')}", of_path=True)
    return items


def _works_on_some(run: Callable[..., Any], expression: str, type_name: str) -> bool:
    from ehr.verify.samples import samples

    for sample in samples(type_name):
        try:
            _evaluate(run, expression, sample)
        except PathError:
            continue
        return True
    return False


@lru_cache(maxsize=4096)
def _compiled(expression: str) -> Callable[..., Any]:
    from fhirpathpy import compile as compile_path
    from fhirpathpy.models import models

    _parse(expression)
    run: Callable[..., Any] = compile_path(expression, models["r4"], {"returnRawData": True})
    return run


def _parse(expression: str) -> None:
    from antlr4 import CommonTokenStream, InputStream
    from antlr4.error.ErrorListener import ErrorListener
    from fhirpathpy.parser.generated.FHIRPathLexer import FHIRPathLexer
    from fhirpathpy.parser.generated.FHIRPathParser import FHIRPathParser

    class Strict(ErrorListener):  # type: ignore[misc]
        def syntaxError(self, _recognizer, _symbol, _line, column, message, _error):  # type: ignore[no-untyped-def]  # noqa: N802
            raise PathError(f"{expression!r} is no FHIRPath: at column {column + 1}, {message}", of_path=True)

    if len(expression) > _LONGEST:
        raise PathError(f"a FHIRPath of {len(expression)} characters is longer than {_LONGEST}", of_path=True)
    if _CLOCKS.search(_STRINGS.sub(" ", expression)):
        raise PathError(f"{expression!r} reads the wall clock; write the task's clock out instead", of_path=True)
    lexer = FHIRPathLexer(InputStream(expression))
    parser = FHIRPathParser(CommonTokenStream(lexer))
    for part in (lexer, parser):
        part.removeErrorListeners()
        part.addErrorListener(Strict())
    try:
        parser.entireExpression()  # type: ignore[no-untyped-call]
    except RecursionError:
        raise PathError(f"{expression[:80]!r}... nests too deeply", of_path=True) from None


def _first_line(error: Exception) -> str:
    text = str(error).split("\n", 1)[0]
    return (text or type(error).__name__)[:200]
