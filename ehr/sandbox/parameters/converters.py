"""From the values in a resource to the rows of an index, for each kind of search parameter and each type of value.

    shape     a row
    keys      (value, qualifier): token (code, system), string (folded, as written), reference (id, type), uri (uri, "")
    dates     Span(start, end, first_day, last_day)
    numbers   (number, system, code)
    points    (latitude, longitude)

A qualifier that is not there is empty. Values that do not fit their type are passed over: a record may hold anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from ehr.sandbox.definitions import Element, codes, primitive
from ehr.sandbox.parameters.expressions import Path
from ehr.sandbox.parameters.values import (
    EARLIEST,
    FIRST_DAY,
    LAST_DAY,
    LATEST,
    Span,
    folded,
    split_reference,
    stored_date,
)

__all__ = ["Convert", "Rows", "Shape", "converter", "shape", "words"]

Rows = list[Any]
Shape = Literal["keys", "dates", "numbers", "points", "items"]
Convert = Callable[[Any, Rows], None]


def shape(kind: str) -> Shape:
    """The shape of the rows of a kind of parameter."""
    return _CONVERTERS[kind][0]


def converter(kind: str, path: Path) -> Convert | None:
    """What turns a value at `path` into rows for a parameter of this kind; `None` where it has no meaning there."""
    return _CONVERTERS[kind][1](path)


def words(path: Path) -> Convert | None:
    """What a token's `:text` looks in: a concept's text and a coding's display."""
    return _TOKEN_TEXT.get(path.type)


# ---- tokens


def _token(path: Path) -> Convert | None:
    if path.type in ("CodeableConcept", "Coding"):
        return _codeable_concept if path.type == "CodeableConcept" else _coding
    if path.type in ("Identifier", "ContactPoint"):
        return _identified
    if path.type == "code":
        return _code(path.element)
    if primitive(path.type) is not None:
        return _plain_token
    return None


def _codeable_concept(value: Any, rows: Rows) -> None:
    codings = value.get("coding") if type(value) is dict else None
    if type(codings) is list:
        for coding in codings:
            _coding(coding, rows)


def _coding(value: Any, rows: Rows) -> None:
    if type(value) is dict:
        _pair(value.get("code"), value.get("system"), rows)


def _identified(value: Any, rows: Rows) -> None:
    if type(value) is dict:
        _pair(value.get("value"), value.get("system"), rows)


def _pair(value: Any, system: Any, rows: Rows) -> None:
    if type(value) is not str:
        value = ""
    if type(system) is not str:
        system = ""
    if value or system:
        rows.append((value, system))


def _code(element: Element | None) -> Convert:
    """A code stands with the system of its required binding, as HAPI indexes it."""
    listed = (codes(element.value_set) if element and element.value_set else None) or {}

    def convert(value: Any, rows: Rows) -> None:
        if type(value) is str and value:
            rows.append((value, listed.get(value, "")))

    return convert


def _plain_token(value: Any, rows: Rows) -> None:
    if type(value) is str:
        if value:
            rows.append((value, ""))
    elif type(value) is bool:
        rows.append(("true" if value else "false", ""))
    elif type(value) is int or type(value) is float:
        rows.append((str(value), ""))


def _text_of_concept(value: Any, rows: Rows) -> None:
    if type(value) is dict:
        _words(value.get("text"), rows)
        codings = value.get("coding")
        if type(codings) is list:
            for coding in codings:
                _text_of_coding(coding, rows)


def _text_of_coding(value: Any, rows: Rows) -> None:
    if type(value) is dict:
        _words(value.get("display"), rows)


_TOKEN_TEXT: Mapping[str, Convert] = {
    "CodeableConcept": _text_of_concept,
    "Coding": _text_of_coding,
}


def _words(value: Any, rows: Rows) -> None:
    if type(value) is str and value:
        rows.append((folded(value), value))


# ---- strings


def _string(path: Path) -> Convert | None:
    if path.type in _STRING_PARTS:
        return _parts(_STRING_PARTS[path.type])
    return _words if primitive(path.type) is not None else None


_STRING_PARTS: Mapping[str, tuple[str, ...]] = {
    "HumanName": ("family", "given", "text", "prefix", "suffix"),
    "Address": ("line", "city", "district", "state", "country", "postalCode", "text"),
    "ContactPoint": ("value",),
    "CodeableConcept": ("text",),
    "Annotation": ("text",),
}


def _parts(keys: tuple[str, ...]) -> Convert:
    def convert(value: Any, rows: Rows) -> None:
        if type(value) is dict:
            for key in keys:
                part = value.get(key)
                if type(part) is list:
                    for text in part:
                        _words(text, rows)
                else:
                    _words(part, rows)

    return convert


# ---- references and addresses


def _reference(path: Path) -> Convert | None:
    if path.type == "Reference":
        return _reference_value
    if path.type in ("canonical", "uri", "url"):
        return _canonical
    return _resource_itself if path.type == "Resource" else None


def _reference_value(value: Any, rows: Rows) -> None:
    if type(value) is dict:
        text = value.get("reference")
        if type(text) is str and text and text[0] != "#":
            pair = split_reference(text)
            rows.append((text, "") if pair is None else (pair[1], pair[0]))


def _canonical(value: Any, rows: Rows) -> None:
    if type(value) is str and value:
        rows.append((value, ""))
        plain, bar, _ = value.partition("|")
        if bar:
            rows.append((plain, ""))


def _resource_itself(value: Any, rows: Rows) -> None:
    if type(value) is dict and type(value.get("id")) is str and type(value.get("resourceType")) is str:
        rows.append((value["id"], value["resourceType"]))


def _uri(path: Path) -> Convert | None:
    return _plain_uri if primitive(path.type) is not None else None


def _plain_uri(value: Any, rows: Rows) -> None:
    if type(value) is str and value:
        rows.append((value, ""))


# ---- dates


def _date(path: Path) -> Convert | None:
    if path.type == "Period":
        return _period
    if path.type == "Timing":
        return _timing
    return _plain_date if path.type in ("date", "dateTime", "instant") else None


def _plain_date(value: Any, rows: Rows) -> None:
    if type(value) is str:
        span = stored_date(value)
        if span is not None:
            rows.append(span)


def _period(value: Any, rows: Rows) -> None:
    if type(value) is dict:
        start = stored_date(value["start"]) if type(value.get("start")) is str else None
        end = stored_date(value["end"]) if type(value.get("end")) is str else None
        if start or end:
            rows.append(
                Span(
                    start.start if start else EARLIEST,
                    end.end if end else LATEST,
                    start.first_day if start else FIRST_DAY,
                    end.last_day if end else LAST_DAY,
                )
            )


def _timing(value: Any, rows: Rows) -> None:
    """From the first to the last moment that the timing names, in its events and in the bounds of its repetition."""
    if type(value) is not dict:
        return
    spans: list[Span] = []
    for event in value.get("event") or ():
        _plain_date(event, spans)
    repeat = value.get("repeat")
    if type(repeat) is dict:
        _period(repeat.get("boundsPeriod"), spans)
    if spans:
        rows.append(
            Span(
                min(s.start for s in spans),
                max(s.end for s in spans),
                min(s.first_day for s in spans),
                max(s.last_day for s in spans),
            )
        )


# ---- numbers and places


def _number(path: Path) -> Convert | None:
    if path.type in ("decimal", "integer", "positiveInt", "unsignedInt"):
        return _plain_number
    return _quantity(path)


def _plain_number(value: Any, rows: Rows) -> None:
    if type(value) is int or type(value) is float:
        rows.append((float(value), "", ""))


def _quantity(path: Path) -> Convert | None:
    if path.type in ("Quantity", "Age", "Count", "Distance", "Duration", "SimpleQuantity"):
        return _quantity_value
    if path.type == "Money":
        return _money
    return _range if path.type == "Range" else None


def _quantity_value(value: Any, rows: Rows) -> None:
    if type(value) is dict:
        number = value.get("value")
        if type(number) is int or type(number) is float:
            system, code = value.get("system"), value.get("code")
            rows.append((float(number), system if type(system) is str else "", code if type(code) is str else ""))


def _money(value: Any, rows: Rows) -> None:
    if type(value) is dict:
        number, currency = value.get("value"), value.get("currency")
        if type(number) is int or type(number) is float:
            rows.append((float(number), "urn:iso:std:iso:4217", currency if type(currency) is str else ""))


def _range(value: Any, rows: Rows) -> None:
    if type(value) is dict:
        _quantity_value(value.get("low"), rows)
        _quantity_value(value.get("high"), rows)


def _point(path: Path) -> Convert | None:
    return _position if path.type == "Location.position" else None


def _position(value: Any, rows: Rows) -> None:
    if type(value) is dict:
        latitude, longitude = value.get("latitude"), value.get("longitude")
        if isinstance(latitude, int | float) and isinstance(longitude, int | float):
            rows.append((float(latitude), float(longitude)))


_CONVERTERS: Mapping[str, tuple[Shape, Callable[[Path], Convert | None]]] = {
    "token": ("keys", _token),
    "string": ("keys", _string),
    "reference": ("keys", _reference),
    "uri": ("keys", _uri),
    "date": ("dates", _date),
    "number": ("numbers", _number),
    "quantity": ("numbers", _quantity),
    "special": ("points", _point),
}
