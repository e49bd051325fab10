"""Reading `_sort`."""

from __future__ import annotations

from dataclasses import replace

from ehr.sandbox.definitions import Parameter, parameters
from ehr.sandbox.parameters.expressions import compiled
from ehr.sandbox.searching.query import parts
from ehr.sandbox.searching.refusals import HIDDEN, SearchError, valid_codes
from ehr.sandbox.searching.sorting import Kind, SortKey

__all__ = ["sort_keys"]

_KINDS: dict[str, Kind] = {
    "token": "keys",
    "string": "keys",
    "reference": "keys",
    "uri": "keys",
    "date": "dates",
    "number": "numbers",
    "quantity": "numbers",
}


def sort_keys(type: str, modifier: str, text: str) -> list[SortKey]:
    """The keys that `_sort` (or `_sort:desc`) names. Raises `SearchError` (400) for one that cannot be sorted by."""
    found: list[SortKey] = []
    for part in parts(text, ","):
        if part:
            code = part.removeprefix("-")
            keys = _chained(type, code) if "." in code else _plain(type, code)
            descending = part.startswith("-") or modifier == "desc"
            found += [replace(key, descending=descending) for key in keys]
    return found


def _plain(type: str, text: str) -> list[SortKey]:
    code = text.rpartition(":")[2]
    parameter = parameters(type).get(text)
    if parameter is None or text in HIDDEN:
        raise SearchError(400, _unknown("HAPI-1194", type, code))
    if parameter.kind == "composite":
        return [key for component in parameter.components for key in _plain(type, component.code)]
    if parameter.kind == "special":
        raise SearchError(
            400,
            f'HAPI-2307: Can not sort on coordinate parameter "{text}" unless this parameter is also specified as a '
            "search parameter with a latitude/longitude value",
        )
    return [SortKey(text, _kind(parameter), False)]


def _kind(parameter: Parameter) -> Kind:
    return "id" if parameter.code == "_id" else _KINDS[parameter.kind]


def _chained(type: str, text: str) -> list[SortKey]:
    """A key of what a reference names: `service-provider.name`."""
    code, _, beyond = text.partition(".")
    parameter = parameters(type).get(code)
    if parameter is None:
        raise SearchError(400, _unknown("HAPI-1194", type, code.rpartition(":")[2]))
    if "." in beyond:
        raise SearchError(
            400, f"HAPI-2286: Invalid _sort expression, can not chain more than once in a sort expression: {text}"
        )
    if parameter.kind != "reference":
        raise SearchError(400, f"HAPI-2285: Invalid chain, {code} is not a reference SearchParameter")
    targets = _targets(parameter)
    if len(targets) != 1:
        raise SearchError(
            400,
            f"HAPI-2287: Unable to sort on a chained parameter from '{code}' as this parameter has multiple target "
            "types. Please specify the target type.",
        )
    inner = parameters(targets[0]).get(beyond)
    if inner is None or beyond in HIDDEN:
        raise SearchError(400, _unknown("HAPI-2289", targets[0], beyond))
    if inner.kind not in ("string", "date", "token"):
        raise SearchError(
            400,
            f"HAPI-2290: Unable to sort on a chained parameter {text} as this parameter. Can not sort on chains of "
            f"target type: {inner.kind.upper()}",
        )
    return [SortKey(code, "keys", False, targets[0], beyond, _kind(inner))]


def _targets(parameter: Parameter) -> list[str]:
    """The types that the elements behind a reference parameter may name, whatever the parameter itself keeps of
    them.
    """
    found: dict[str, None] = {}
    for path in compiled(parameter.expression, parameter.type):
        if path.element is not None and path.type == "Reference":
            found |= dict.fromkeys(path.element.targets.get("Reference", ("*", "*any")))
    return list(found)


_LONGEST = 500
"""Characters that HAPI keeps of what went wrong while it searched."""


def _unknown(number: str, type: str, code: str) -> str:
    return (
        f'{number}: Unknown _sort parameter value "{code}" for resource type "{type}" (Note: sort parameters values '
        f"must use a valid Search Parameter). Valid values for this search are: {valid_codes(type)}"
    )[:_LONGEST]
