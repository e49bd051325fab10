"""The R4 definitions as plain tables: what elements a type has, which codes are allowed, what can be searched.

    elements("Patient")["gender"]         Element(name='gender', types=('code',), many=False, required=False, ...)
    field("Observation", "valueQuantity") Field(key='valueQuantity', element=..., type='Quantity'), None if no such key
    fields("Observation")                 every JSON key of the type in the order of the specification -> Field
    codes(url)                            a value set's closed list: code -> system, None where the list is open
    parameters("Observation")             code -> Parameter, with those of Resource and DomainResource
    compartment()                         type -> parameters that place a resource in a Patient compartment
    resource_types()                      the 146 resource types, sorted
    primitive("decimal")                  Primitive(name='decimal', json='number', pattern=...), None for a complex type

Types are named as the specification names them. A backbone element is a type of its own, named by its path
(`Patient.contact`, with `Questionnaire.item` as the type of `Questionnaire.item.item`), so that a whole body can be
walked: for every key take `field(type, key)`, go on with its `type`. `Resource` is the type of contained resources and
of entries: go on with their `resourceType`.

The tables (`*.txt`, one line a type, value set or parameter) are written by `generate.py`, which names their source.
They are read on first use, a type's line when it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal

__all__ = [
    "Component",
    "Element",
    "Field",
    "Parameter",
    "Primitive",
    "base_type",
    "codes",
    "compartment",
    "element_types",
    "elements",
    "field",
    "fields",
    "parameters",
    "primitive",
    "resource_types",
]

Kind = Literal["string", "token", "reference", "date", "number", "quantity", "uri", "composite", "special"]


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a type. `name` is without `[x]`; `types` are the types it may have (several for a choice)."""

    name: str
    types: tuple[str, ...]
    choice: bool
    """Written `value[x]`: the JSON key is the name with the type (`valueQuantity`)."""
    many: bool
    """A list in JSON."""
    required: bool
    """The specification asks for at least one (HAPI does not check it)."""
    summary: bool
    modifier: bool
    targets: Mapping[str, tuple[str, ...]]
    """For `Reference` and `canonical`: the resource types it may refer to. What is not a key may refer to anything."""
    value_set: str | None
    """Canonical address of the value set of a required binding; see `codes`."""
    binding: str | None
    """The name of that binding (`AdministrativeGender`), as HAPI's messages have it."""


@dataclass(frozen=True, slots=True)
class Field:
    """A JSON key of a type: the element it stands for and the type of its value."""

    key: str
    element: Element
    type: str


@dataclass(frozen=True, slots=True)
class Primitive:
    """A primitive type: how JSON writes its value, and the regular expression of the specification (may be empty)."""

    name: str
    base: str
    json: Literal["boolean", "number", "string"]
    pattern: str


@dataclass(frozen=True, slots=True)
class Component:
    """One part of a composite parameter: the parameter it stands for, and its value's place below the composite's."""

    code: str
    kind: Kind
    expression: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """One search parameter on one resource type. `expression` holds only the terms for this type; it may be empty."""

    type: str
    code: str
    kind: Kind
    id: str
    """The definition is `http://hl7.org/fhir/SearchParameter/` and this."""
    expression: str
    targets: tuple[str, ...]
    """For references: the resource types; `("*",)` is any."""
    components: tuple[Component, ...]
    documentation: str


@cache
def resource_types() -> tuple[str, ...]:
    """The 146 resource types of R4, sorted."""
    lines = _lines("elements.txt")
    return tuple(sorted(n for n in lines if n not in ("Resource", "DomainResource") and _is_resource(n, lines)))


@cache
def element_types() -> frozenset[str]:
    """Every complex type, backbone elements by their path, abstract ones too."""
    return frozenset(_lines("elements.txt"))


def base_type(type: str) -> str | None:
    """The type whose elements come first: `DomainResource` for `Patient`, `Element` for `Timing.repeat`."""
    base = _lines("elements.txt")[type].split("\t", 1)[0]
    return None if base == "-" else base


@cache
def elements(type: str) -> Mapping[str, Element]:
    """The elements of a complex type by name, in the order of the specification, inherited ones first.

    Raises `KeyError` for a primitive or unknown type.
    """
    base, *columns = _lines("elements.txt")[type].split("\t")
    result = {} if base == "-" else dict(elements(base))
    result |= {element.name: element for element in map(_element, columns)}
    return MappingProxyType(result)


@cache
def fields(type: str) -> Mapping[str, Field]:
    """Every JSON key of a complex type, in the order of the specification. Keys with `_` in front are not listed."""
    result = {}
    for element in elements(type).values():
        for code in element.types:
            key = element.name + code[0].upper() + code[1:] if element.choice else element.name
            result[key] = Field(key, element, code)
    return MappingProxyType(result)


def field(type: str, key: str) -> Field | None:
    """What a JSON key means in a type; `None` where the type has no such key."""
    return fields(type).get(key)


@cache
def primitive(name: str) -> Primitive | None:
    """A primitive type, or `None` for a complex one."""
    line = _lines("primitives.txt").get(name)
    if line is None:
        return None
    base, json, pattern = line.split("\t")
    return Primitive(name, base, json, pattern)  # type: ignore[arg-type]  # the table holds only the three words


@cache
def codes(value_set: str) -> Mapping[str, str] | None:
    """A value set's codes, each with its system; `None` for an open list (media types) or an unknown set."""
    line = _lines("codes.txt").get(value_set)
    if not line:
        return None
    result: dict[str, str] = {}
    for column in line.split("\t"):
        system, *listed = column.split(" ")
        for code in listed:
            result.setdefault(code, system)
    return MappingProxyType(result)


@cache
def parameters(type: str) -> Mapping[str, Parameter]:
    """The search parameters of a resource type by code, sorted; with those that every resource has (`_id`, `_tag`).

    Raises `KeyError` for an unknown resource type.
    """
    base = base_type(type)
    result = {} if base is None else dict(parameters(base))
    result |= {p.code: p for p in map(_parameter, _grouped("parameters.txt").get(type, ()))}
    return MappingProxyType(dict(sorted(result.items())))


@cache
def compartment() -> Mapping[str, tuple[str, ...]]:
    """Resource type -> the reference parameters that place a resource in a Patient's compartment."""
    return MappingProxyType({type: tuple(line.split(" ")) for type, line in _lines("compartment.txt").items()})


# ---- reading


@cache
def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


@cache
def _lines(name: str) -> dict[str, str]:
    """First column -> the rest of the line."""
    result = {}
    for line in _text(name).splitlines():
        if not line.startswith("#"):
            key, _, rest = line.partition("\t")
            result[key] = rest
    return result


@cache
def _grouped(name: str) -> dict[str, list[str]]:
    """First column -> the lines that begin with it."""
    result: dict[str, list[str]] = {}
    for line in _text(name).splitlines():
        if not line.startswith("#"):
            result.setdefault(line.partition("\t")[0], []).append(line)
    return result


def _is_resource(name: str, lines: Mapping[str, str]) -> bool:
    while name not in ("Resource", "-"):
        name = lines[name].partition("\t")[0]
    return name == "Resource"


def _element(column: str) -> Element:
    """An element from `name cardinality flags types [value set, binding]`."""
    name, cardinality, flags, types, *binding = column.split(" ")
    targets = {}
    plain = []
    for type in types.split("|"):
        code, bracket, allowed = type.partition("(")
        plain.append(code)
        if bracket:
            targets[code] = tuple(allowed[:-1].split(","))
    if "Meta" in plain and name.endswith("[x]"):  # of any type: HAPI takes an Extension there too
        plain.append("Extension")
    return Element(
        name=name.removesuffix("[x]"),
        types=tuple(plain),
        choice=name.endswith("[x]"),
        many=not cardinality.endswith("..1"),
        required=not cardinality.startswith("0"),
        summary="S" in flags,
        modifier="M" in flags,
        targets=MappingProxyType(targets),
        value_set=binding[0] if binding else None,
        binding=binding[1] if binding and binding[1] != "-" else None,
    )


def _parameter(line: str) -> Parameter:
    type, code, kind, id, expression, targets, components, documentation = line.split("\t")
    return Parameter(
        type=type,
        code=code,
        kind=kind,  # type: ignore[arg-type]  # the table holds only the words of Kind
        id=id,
        expression=expression,
        targets=tuple(targets.split()),
        components=tuple(Component(*part.split(":", 2)) for part in components.split(";") if part),  # type: ignore[arg-type]
        documentation=documentation,
    )
