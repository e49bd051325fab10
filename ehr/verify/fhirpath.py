"""FHIRPath, strictly: an expression that cannot be parsed or evaluated says so instead of answering something.

fhirpathpy recovers from syntax errors in silence (it answers true to `status = = 'active'`), stops reading at the first
token it does not expect, finds out about an unknown function only where it gets that far, answers `single()` on two
items with an error object that goes on as if it were found (`note.single().exists()` is true), and compares only the
first items of two collections. Here the first four raise `PathError`, and equality is that of all items.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any

from ehr.verify.samples import samples

Resource = Mapping[str, Any]

_LONGEST = 4_000
_DEEPEST = 200
_CLOCKS = re.compile(r"\b(now|today|timeOfDay)\s*\(\s*\)")
_STRINGS = re.compile(r"'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`|//[^\n]*|/\*.*?\*/", re.DOTALL)
_RESOURCE = re.compile(r"(\$this|%resource|%context|[A-Z]\w*)$")
_CHOOSING = frozenset({"where", "exists", "all"})
_NAMES = re.compile(r"[A-Za-z_]\w*")


class PathError(ValueError):
    """The expression cannot be parsed or evaluated. `of_path` is false where only this resource's content is to blame.

    An agent must not be able to turn its failure into an unscored verdict by writing a resource on which a sound
    expression breaks (two items where `single()` wants one), so the two cases are kept apart: `check` says beforehand
    whether the expression works on any resource of its type at all.
    """

    def __init__(self, message: str, *, of_path: bool) -> None:
        super().__init__(message)
        self.of_path = of_path


@lru_cache(maxsize=4096)
def check(expression: str, type_name: str) -> None:
    """Raise `PathError` where the expression is broken, whatever resource of the type it is put to.

    It cannot be parsed, reads the wall clock, names an unknown function, or breaks on every full sample of the type.
    """
    run = _compiled(expression)
    _evaluate(run, expression, {"resourceType": type_name})
    broken = None
    for sample in samples(type_name):
        try:
            _evaluate(run, expression, sample)
        except PathError as error:
            broken = error
        else:
            return
    if broken is not None:
        raise broken


def evaluate(expression: str, resource: Resource) -> list[Any]:
    """The items that the expression finds, as they stand in the resource (the same objects, not copies).

    Raises `PathError`: with `of_path` where the expression does not parse, without it where it breaks on the resource.
    """
    run = _compiled(expression)
    try:
        return _evaluate(run, expression, resource)
    except PathError as error:
        raise PathError(str(error), of_path=False) from None


def names(expression: str) -> frozenset[str]:
    """The names that stand in the expression, outside of its string literals and comments: what it mentions."""
    return frozenset(_NAMES.findall(_STRINGS.sub(" ", expression)))


@lru_cache(maxsize=4096)
def members(expression: str) -> frozenset[tuple[str, str]]:
    """The elements that the expression goes to, each with the expression it goes there from (`""`: the resource).

    `component.where(code = 'x').value` goes to `("", "component")`, and from `component.where(code = 'x')` to `code`
    and `value`. What stands in the brackets of a function that does not choose among items is left out, unless the
    function is called on the resource itself.
    """
    return frozenset(_members(_parse(expression), expression, ""))


def _members(node: Any, expression: str, focus: str | None) -> Iterator[tuple[str, str]]:
    kind = type(node).__name__.removesuffix("Context")
    if kind == "InvocationExpression":
        left = node.expression()
        yield from _members(left, expression, focus)
        text = expression[left.start.start : left.stop.stop + 1]
        yield from _members(node.invocation(), expression, _joined(focus, text))
    elif kind == "FunctionInvocation" and focus:
        function = node.functn()
        given, chosen = function.paramList(), None
        if given is not None and function.identifier().getText() in _CHOOSING:
            chosen = f"{focus}.where({expression[given.start.start : given.stop.stop + 1]})"
        yield from _members(given, expression, chosen)
    elif kind == "MemberInvocation":
        name = node.getText().strip("`")
        if focus is not None and not (focus == "" and name[:1].isupper()):
            yield focus, name
    else:
        for child in getattr(node, "children", None) or ():
            yield from _members(child, expression, focus)


def _joined(focus: str | None, text: str) -> str | None:
    """The expression that leads to where `text` leads from `focus`; None where nobody can say."""
    if focus is None:
        return None
    if _RESOURCE.match(text):
        return focus if text == "$this" else ""
    return f"{focus}.{text}" if focus else text


def _evaluate(run: Callable[[Resource], Any], expression: str, resource: Resource) -> list[Any]:
    try:
        found = run(resource)
    except Exception as error:  # fhirpathpy raises bare exceptions of every kind
        raise PathError(f"{expression!r} cannot be evaluated: {_first_line(error)}", of_path=True) from None
    items = [getattr(item, "data", item) for item in (found if isinstance(found, list) else [found])]
    # fhirpathpy gives the extensions of a primitive without value as an item of its own
    return [item for item in items if not (isinstance(item, dict) and list(item) == ["extension"])]


@lru_cache(maxsize=4096)
def _compiled(expression: str) -> Callable[[Resource], Any]:
    from fhirpathpy.models import models
    from fhirpathpy.parser import parse

    try:
        _refuse_unknown(_parse(expression), expression)
        node = parse(expression)["children"][0]  # type: ignore[no-untyped-call]
    except RecursionError:
        raise PathError(f"{expression[:80]!r}... nests too deeply", of_path=True) from None
    return partial(_run, node, models["r4"])


def _run(node: dict[str, Any], model: Any, resource: Resource) -> Any:
    from fhirpathpy.engine import do_eval

    variables = {"context": resource, "resource": resource, "ucum": "http://unitsofmeasure.org"}
    root = [resource]
    context = {
        "dataRoot": root,
        "vars": variables,
        "model": model,
        "userInvocationTable": _CORRECTED,
        "traceFn": lambda _label, _items: None,  # it would print
    }
    return do_eval(context, root, node)  # type: ignore[no-untyped-call]


def _single(_context: Any, items: list[Any]) -> list[Any]:
    if len(items) > 1:
        raise ValueError("Expected single")
    return items


def _equal(context: Any, left: Any, right: Any) -> list[Any]:
    from fhirpathpy.engine.invocations.equality import equal

    if len(left) != len(right):
        return [False]
    answers = [equal(context, [a], [b]) for a, b in zip(left, right, strict=True)]  # type: ignore[no-untyped-call]
    return [False] if [False] in answers else [] if [] in answers else [True]


def _unequal(context: Any, left: Any, right: Any) -> list[Any]:
    return [not answer for answer in _equal(context, left, right)]


_CORRECTED: Mapping[str, Mapping[str, Any]] = {
    "single": {"fn": _single},
    "=": {"fn": _equal, "arity": {2: ["Any", "Any"]}, "nullable": True},
    "!=": {"fn": _unequal, "arity": {2: ["Any", "Any"]}, "nullable": True},
}


def _refuse_unknown(tree: Any, expression: str) -> None:
    """Raise `PathError` for a function or variable that nothing here knows, also where evaluation may never get to."""
    from fhirpathpy.engine.invocations import invocation_registry

    kind = type(tree).__name__
    if kind == "FunctnContext" and (name := tree.identifier().getText()) not in invocation_registry:
        raise PathError(f"{expression!r} cannot be evaluated: there is no function {name!r}", of_path=True)
    if kind == "ExternalConstantContext" and (name := tree.getText()) not in ("%context", "%resource", "%ucum"):
        raise PathError(f"{expression!r} cannot be evaluated: there is no variable {name!r}", of_path=True)
    for child in getattr(tree, "children", None) or ():
        _refuse_unknown(child, expression)


def _parse(expression: str) -> Any:
    """The parse tree. Raises `PathError` where the parser has anything to say, `RecursionError` at too many levels."""
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
    tree = parser.entireExpression()  # type: ignore[no-untyped-call]
    _check_depth(tree)
    return tree


def _check_depth(tree: Any) -> None:
    level = [tree]
    for _ in range(_DEEPEST):
        level = [child for node in level for child in getattr(node, "children", None) or ()]
        if not level:
            return
    raise RecursionError


def _first_line(error: Exception) -> str:
    text = str(error).split("\n", 1)[0]
    return (text or type(error).__name__)[:200]
