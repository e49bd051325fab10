'''A tool from a plain typed function: its schema from the signature and docstring, its arguments checked.

    def add(a: int, b: int = 1) -> int:
        """Add two whole numbers.

        Args:
            a: The first.
            b: The second.
        """
        return a + b

    tool(add).run({"a": 2})          # ToolResult("ok", 3)
    tool(add).run({"a": "two"})      # ToolResult("error", {"error": "add: argument 'a' must be a whole number, ..."})

Annotations may be `str`, `int`, `float`, `bool`, `Any`, `None`, `Literal`, `list[...]`, `dict[str, ...]` and unions of
them. Nothing is guessed: the text "5" is no number. Only 5.0 passes for the whole number 5, as JSON has one number.
'''

from __future__ import annotations

import inspect
import math
import re
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints
from weakref import WeakKeyDictionary

from harness.plain import shown
from harness.tool import ToolResult

Check = Callable[[Any, str], Any]
"""Gives the value a function is called with, or raises `ArgumentsError`; the second argument says where it stands."""


class ArgumentsError(ValueError):
    """Arguments that a function does not take; the message is one clause about the first thing that is wrong."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a tool: how its value is checked, what it may be in words, and whether it must be there."""

    check: Check
    words: str
    required: bool


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a function says about itself: name, description, the JSON schema of its arguments, and their checks."""

    name: str
    description: str
    parameters: dict[str, Any]
    arguments: dict[str, Argument]

    def checked(self, given: dict[str, Any]) -> dict[str, Any]:
        """The arguments to call the function with. Raises `ArgumentsError`, naming everything that is wrong."""
        problems, values = [], {}
        for name, value in given.items():
            argument = self.arguments.get(name)
            if argument is None:
                problems.append(f"there is no argument {name!r} (it takes {', '.join(self.arguments) or 'none'})")
                continue
            try:
                values[name] = argument.check(value, name)
            except ArgumentsError as problem:
                problems.append(str(problem))
        for name, argument in self.arguments.items():
            if argument.required and name not in given:
                problems.append(f"argument {name!r} is missing ({argument.words})")
        if problems:
            raise ArgumentsError("; ".join(problems))
        return values


@dataclass(frozen=True, slots=True)
class FunctionTool:
    """A tool that calls a function. See `harness.tool.Tool`."""

    declaration: Declaration
    function: Callable[..., Any]

    @property
    def name(self) -> str:
        """The function's name."""
        return self.declaration.name

    @property
    def description(self) -> str:
        """The docstring above its `Args:`."""
        return self.declaration.description

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON schema of the arguments, an object."""
        return self.declaration.parameters

    def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Call the function. Arguments that it does not take are an `error` result; what it raises, it raises."""
        try:
            values = self.declaration.checked(arguments)
        except ArgumentsError as problem:
            return ToolResult("error", {"error": f"{self.name}: {problem}."})
        result = self.function(**values)
        return result if isinstance(result, ToolResult) else ToolResult("ok", result)


_declared: WeakKeyDictionary[Any, Declaration] = WeakKeyDictionary()


def tool(function: Callable[..., Any]) -> FunctionTool:
    """A tool from a function or bound method. It returns a `ToolResult`, or any JSON value, which is an `ok` result.

    The schema is made once for a function (once for a method, whatever it is bound to). Raises `TypeError` where the
    function is not annotated or documented as it must be: a docstring, and each argument under `Args:`.
    """
    key = getattr(function, "__func__", function)
    declaration = _declared.get(key)
    if declaration is None:
        declaration = _declared[key] = declare(function)
    return FunctionTool(declaration, function)


def declare(function: Callable[..., Any]) -> Declaration:
    """What `function` declares. Raises `TypeError` as `tool` does."""
    name = getattr(function, "__name__", repr(function))
    description, documented = _docstring(function)
    if not description:
        raise TypeError(f"{name} has no docstring; an agent reads it to know what the tool does")
    hints = get_type_hints(function)
    arguments, properties = {}, {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{name}: argument {parameter.name!r} must be one that is passed by its name")
        if parameter.name not in hints or parameter.name not in documented:
            raise TypeError(f"{name}: argument {parameter.name!r} needs a type and a line under 'Args:'")
        schema, words, check = _of_type(hints[parameter.name], f"{name}: argument {parameter.name!r}")
        required = parameter.default is parameter.empty
        default = {} if required else {"default": parameter.default}
        properties[parameter.name] = {**schema, "description": documented.pop(parameter.name), **default}
        arguments[parameter.name] = Argument(check, words, required)
    if documented:
        raise TypeError(f"{name}: 'Args:' describes {sorted(documented)}, which it does not take")
    parameters = {
        "type": "object",
        "properties": properties,
        "required": [key for key, argument in arguments.items() if argument.required],
        "additionalProperties": False,
    }
    return Declaration(name, description, parameters, arguments)


def _docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """The text above `Args:`, and the text of each argument under it."""
    description, _, section = (inspect.getdoc(function) or "").partition("\nArgs:\n")
    arguments: dict[str, str] = {}
    name = ""
    for line in section.splitlines():
        if line and not line.startswith(" "):
            break
        start = re.match(r" {1,4}(\w+): *(.*)", line)
        if start:
            name = start[1]
            arguments[name] = start[2]
        elif name and line.strip():
            arguments[name] += " " + line.strip()
    return description.strip(), arguments


def _of_type(annotation: Any, where: str) -> tuple[dict[str, Any], str, Check]:
    """The JSON schema of a type, the type in words, and the check of a value. Raises `TypeError` for other types."""
    if annotation in _SIMPLE:
        return _SIMPLE[annotation]
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is list:
        schema, words, check = _of_type(inner[0], where)
        return {"type": "array", "items": schema}, f"a list of {words}", _check_list(check, f"a list ({words} each)")
    if origin is dict and inner[0] is str:
        schema, words, check = _of_type(inner[1], where)
        return {"type": "object", "additionalProperties": schema or True}, "an object", _check_object(check)
    if origin is Literal and all(isinstance(choice, str) for choice in inner):
        words = "one of " + ", ".join(inner)
        return {"type": "string", "enum": list(inner)}, words, _check_choice(inner, words)
    if origin in (Union, types.UnionType):
        options = [_of_type(option, where) for option in inner]
        words = " or ".join(words for _, words, _ in options)
        return {"anyOf": [schema for schema, _, _ in options]}, words, _check_any([c for _, _, c in options], words)
    raise TypeError(f"{where} has the type {annotation!r}; see harness.functions for the types that tools may take")


def _must(where: str, words: str, value: Any) -> ArgumentsError:
    return ArgumentsError(f"argument {where!r} must be {words}, not {_in_words(value)}")


def _in_words(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    kind = {str: "the text ", int: "the number ", float: "the number ", list: "the list ", dict: "the object "}
    return next((words for type_, words in kind.items() if isinstance(value, type_)), "") + shown(value)


def _check_exactly(kind: type, words: str) -> Check:
    def check(value: Any, where: str) -> Any:
        if type(value) is not kind:
            raise _must(where, words, value)
        return value

    return check


def _check_whole(value: Any, where: str) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if type(value) is not int:
        raise _must(where, "a whole number", value)
    return value


def _check_number(value: Any, where: str) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise _must(where, "a number", value)
    return float(value) if isinstance(value, float) else value


def _check_list(check: Check, words: str) -> Check:
    def check_all(value: Any, where: str) -> Any:
        if not isinstance(value, list):
            raise _must(where, words, value)
        return [check(item, f"{where}[{place}]") for place, item in enumerate(value)]

    return check_all


def _check_object(check: Check) -> Check:
    def check_all(value: Any, where: str) -> Any:
        if not isinstance(value, dict):
            raise _must(where, "an object", value)
        return {key: check(item, f"{where}.{key}") for key, item in value.items()}

    return check_all


def _check_choice(choices: tuple[str, ...], words: str) -> Check:
    def check(value: Any, where: str) -> Any:
        if value not in choices:
            raise _must(where, words, value)
        return value

    return check


def _check_any(checks: list[Check], words: str) -> Check:
    def check(value: Any, where: str) -> Any:
        for option in checks:
            try:
                return option(value, where)
            except ArgumentsError:
                continue
        raise _must(where, words, value)

    return check


_SIMPLE: dict[Any, tuple[dict[str, Any], str, Check]] = {
    str: ({"type": "string"}, "text", _check_exactly(str, "text")),
    bool: ({"type": "boolean"}, "true or false", _check_exactly(bool, "true or false")),
    int: ({"type": "integer"}, "a whole number", _check_whole),
    float: ({"type": "number"}, "a number", _check_number),
    type(None): ({"type": "null"}, "null", _check_exactly(type(None), "null")),
    Any: ({}, "any value", lambda value, where: value),
}
