"""The parts of FHIR resources that claims are judged by, read from JSON of any shape."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any

from ehr.verify.spellings import ucum_of
from ehr.verify.units import Amount, decimal

_DEEPEST = 4
_TIMES = {
    "Observation": ("effectiveDateTime", "effectiveInstant", "issued"),
    "MedicationRequest": ("authoredOn",),
    "MedicationStatement": ("effectiveDateTime", "dateAsserted"),
    "MedicationAdministration": ("effectiveDateTime",),
    "MedicationDispense": ("whenHandedOver", "whenPrepared"),
}


def resources_in(
    body: Any, hidden: Collection[str] = (), depth: int = _DEEPEST
) -> Iterator[Mapping[str, Any]]:  # fmt: skip
    """The resources of a body: itself, the entries of a Bundle, and what is contained in them.

    Of those whose references are `hidden` nothing is shown, but who a patient is.
    """
    kind = body.get("resourceType") if isinstance(body, dict) else None
    if not isinstance(kind, str) or kind == "OperationOutcome" or depth == 0:
        return
    if kind == "Bundle":
        for entry in list_of(body.get("entry")):
            mode = dict_of(dict_of(entry).get("search")).get("mode")
            if mode != "outcome":
                yield from resources_in(dict_of(entry).get("resource"), hidden, depth - 1)
        return
    if reference_of(body) in hidden:
        if kind == "Patient":
            yield {key: body.get(key) for key in ("resourceType", "id", "identifier", "name")}
        return
    yield body
    for contained in list_of(body.get("contained")):
        inner = dict(dict_of(contained))
        if "id" in inner and body.get("id"):
            inner["id"] = f"{body['id']}#{str(inner['id']).lstrip('#')}"
        yield from resources_in(inner, hidden, depth - 1)


def reference_of(resource: Mapping[str, Any]) -> str:
    """`Type/id`, or the type alone where it has no id."""
    id_ = resource.get("id")
    return (
        f"{resource.get('resourceType')}/{id_}" if isinstance(id_, str) and id_ else str(resource.get("resourceType"))
    )


def local(reference: Any) -> str | None:
    """The last two parts of a reference, without a version: `Patient/p1`."""
    text = dict_of(reference).get("reference") if isinstance(reference, dict) else reference
    if not isinstance(text, str) or not text:
        return None
    parts = text.split("/_history/")[0].rstrip("/").split("/")
    return "/".join(parts[-2:])


def quantity_of(quantity: Mapping[str, Any]) -> tuple[Decimal, str | None] | None:
    """The value of a Quantity and its unit in UCUM, if it names one; None where there is no value, or only a limit."""
    value = number_of(quantity.get("value"))
    if value is None or quantity.get("comparator"):
        return None
    return value, _unit_in(quantity.get("code"), quantity.get("system"), quantity.get("unit"))


@lru_cache(maxsize=2048)
def _unit_of(code: str | None, system: str | None, unit: str | None) -> str | None:
    amount = Amount.of({"code": code, "system": system, "unit": unit})
    if amount.unit is not None:
        return amount.unit
    spelled = ucum_of(unit) if unit else []
    return spelled[-1] if spelled else None


def _unit_in(code: Any, system: Any, unit: Any) -> str | None:
    texts = [part if isinstance(part, str) and len(part) <= 64 else None for part in (code, system, unit)]
    return _unit_of(*texts)


def number_of(value: Any) -> Decimal | None:
    """The number as the stored trace has it: through binary floating point, whoever read it."""
    number = decimal(value)
    if number is None:
        return None
    try:
        return decimal(float(number))
    except OverflowError:
        return None


def times_of(resource: Mapping[str, Any]) -> tuple[str, ...]:
    """When a resource says that its value is of, as it is written, the first the most telling."""
    found = [resource.get(key) for key in _TIMES[str(resource["resourceType"])]]
    period = dict_of(resource.get("effectivePeriod"))
    found[1:1] = [period.get("start"), period.get("end")]
    return tuple(time for time in found if isinstance(time, str) and len(time) <= 40)


def dict_of(value: Any) -> dict[str, Any]:
    """A JSON object; empty for anything else."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """A JSON list; empty for anything else."""
    return value if isinstance(value, list) else []
