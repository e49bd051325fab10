"""JSON Patch (RFC 6902) as HAPI applies it: to the body as it stands, and the result is read strictly.

A fault in the patch is HAPI-1272, a result that is no valid body (an unknown element too) HAPI-1271.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from ehr.sandbox.body import Number, Tree, parse
from ehr.sandbox.intake.body import mend
from ehr.sandbox.intake.syntax import HIDDEN, fault, no_object
from ehr.sandbox.outcome import RefusedError

_OPERATIONS = ("add", "copy", "move", "remove", "replace", "test")
_NO_PATH = "no such path in target JSON document"
MOST_OPERATIONS = 10_000
LARGEST_GROWTH = 4 * 1024 * 1024
"""Characters that `copy` may add to a body in all: copies of copies double, and take a second for a few of these."""


def json_patch(body: bytes) -> Callable[[Tree], Tree]:
    """What a patch does to a resource. Raises `RefusedError` for a patch that cannot be read."""
    operations = _read(body)

    def apply(tree: Tree) -> Tree:
        result = _apply(tree, operations)
        try:
            if not isinstance(result, dict):
                raise no_object(json.dumps(result)[0])
            return mend(result, tree["resourceType"], strict=True)
        except RefusedError as error:
            reason = error.diagnostics.removeprefix(
                "HAPI-0450: Failed to parse request body as JSON resource. Error was: "
            )
            named = f"{tree['resourceType']}/{tree['id']}"
            raise RefusedError(400, f"HAPI-1271: Failed to apply JSON patch to {named}: {reason}") from None

    return apply


def _faulty(reason: str) -> RefusedError:
    return RefusedError(400, f"HAPI-1272: {reason}")


def _read(body: bytes) -> list[Tree]:
    text = body.decode("utf-8", "replace")
    try:
        operations = parse(text)
    except json.JSONDecodeError as error:
        raise _faulty(fault(text, error, HIDDEN)) from None
    except (ValueError, RecursionError) as error:
        raise _faulty(str(error)) from None
    if not isinstance(operations, list):
        raise _faulty(f"a JSON Patch is a list of operations, not {_kind(operations)}")
    if len(operations) > MOST_OPERATIONS:
        raise _faulty(f"a JSON Patch may have {MOST_OPERATIONS} operations, this one has {len(operations)}")
    for position, operation in enumerate(operations):
        _check(operation, position)
    return operations


def _check(operation: Any, position: int) -> None:
    at = f"(operation {position})"
    if not isinstance(operation, dict):
        raise _faulty(f"an operation is an object, not {_kind(operation)} {at}")
    name = operation.get("op")
    if name is None:
        raise _faulty(f"missing type id property 'op' {at}")
    if name not in _OPERATIONS:
        known = ", ".join(_OPERATIONS)
        raise _faulty(f"Could not resolve type id '{name}' as an operation: known type ids = [{known}] {at}")
    for key in ("path", "from") if name in ("copy", "move") else ("path",):
        pointer = operation.get(key)
        if not isinstance(pointer, str):
            raise _faulty(f"operation '{name}' has no '{key}' {at}")
        if pointer and not pointer.startswith("/"):
            raise _faulty(f"illegal pointer: expected a slash to separate tokens {at}")
    if name in ("add", "replace", "test") and "value" not in operation:
        raise _faulty(f"operation '{name}' has no 'value' {at}")


def _kind(value: Any) -> str:
    return "an object" if isinstance(value, dict) else "a list" if isinstance(value, list) else "a scalar"


# ---- applying


def _apply(tree: Tree, operations: list[Tree]) -> Any:
    document: Any = copy.deepcopy(tree)
    growth = 0
    for operation in operations:
        name, path = operation["op"], _tokens(operation["path"])
        if name in ("copy", "move"):
            source = _tokens(operation["from"])
            value = _get(document, source)
            if name == "move":
                if path[: len(source)] == source and len(path) > len(source):
                    raise _faulty("a node cannot be moved into itself")
                document = _remove(document, source)
            else:
                growth += len(json.dumps(value))
                if growth > LARGEST_GROWTH:
                    raise _faulty("the copies make the body too large")
                value = copy.deepcopy(value)
            document = _add(document, path, value)
        elif name == "test":
            if not _equal(_get(document, path), operation["value"]):
                raise _faulty("value differs from expectations")
        elif name == "remove":
            document = _remove(document, path)
        elif name == "replace":
            _get(document, path)
            document = _replace(document, path, copy.deepcopy(operation["value"]))
        else:
            document = _add(document, path, copy.deepcopy(operation["value"]))
    return document


def _tokens(pointer: str) -> list[str]:
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


def _index(token: str, size: int) -> int | None:
    """The place in a list that a token names, if there is one."""
    if not re.fullmatch(r"\d{1,9}", token, re.ASCII):
        return None
    return int(token) if int(token) < size else None


def _get(document: Any, path: list[str]) -> Any:
    for token in path:
        if isinstance(document, dict) and token in document:
            document = document[token]
            continue
        place = _index(token, len(document)) if isinstance(document, list) else None
        if place is None:
            raise _faulty(_NO_PATH)
        document = document[place]
    return document


def _add(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    try:
        parent = _get(document, path[:-1])
    except RefusedError:
        raise _faulty("parent of node to add does not exist") from None
    if isinstance(parent, dict):
        parent[path[-1]] = value
    elif isinstance(parent, list):
        place = len(parent) if path[-1] == "-" else _index(path[-1], len(parent) + 1)
        if place is None:
            raise _faulty("no such index in target array")
        parent.insert(place, value)
    else:
        raise _faulty("parent of path to add to is not a container")
    return document


def _replace(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    parent = _get(document, path[:-1])
    parent[int(path[-1]) if isinstance(parent, list) else path[-1]] = value
    return document


def _remove(document: Any, path: list[str]) -> Any:
    _get(document, path)
    if not path:
        return None
    parent = _get(document, path[:-1])
    del parent[int(path[-1]) if isinstance(parent, list) else path[-1]]
    return document


def _equal(one: Any, other: Any) -> bool:
    """JSON equality: numbers by value, keys in any order."""
    if isinstance(one, Number) or isinstance(other, Number):
        both = isinstance(one, Number) and isinstance(other, Number)
        return both and Decimal(one) == Decimal(other)
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(_equal(one[k], other[k]) for k in one)
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(_equal, one, other))
    return type(one) is type(other) and bool(one == other)
