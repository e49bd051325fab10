"""What a trace showed: values under their codes, people, and nothing else that stands in the JSON.

Rules for counting:

- A call counts if its status is ok, the server answered with 2xx, and it is no write. Of its result, resources count:
  the one that was read, or those in a Bundle's entries (matches and includes), and what they contain. An
  OperationOutcome, links, full addresses, search parameters, headers, totals and texts never count.
- Each call counts by itself: a retry after a failed call counts, the failed one does not, and a row that was shown
  twice is one row.
- A resource that the agent wrote supports nothing from that write on, whoever's it was before: neither the answer to
  the write nor a later read. So does a row that says what a body says that the agent sent, where the server did not
  tell its id. What was read before the write counts.
- A value is a Quantity or a whole number: of an Observation and of its components, under their codes; a dose of an
  order or an administration of a drug, and a strength or dose in the names and texts of it, under the drug's. A value
  with a comparator (`<5`) is none, nor is one that is entered in error or cancelled.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any, Literal

from ehr.verify.claims.concepts import Measure, measure_of
from ehr.verify.claims.words import Phrase, phrase
from ehr.verify.spellings import ucum_of
from ehr.verify.units import Amount, decimal

LOINC = "http://loinc.org"

_DRUGS = frozenset({"MedicationRequest", "MedicationStatement", "MedicationAdministration", "MedicationDispense"})
_VOID = frozenset({"entered-in-error", "cancelled"})
_DEEPEST = 4
_TIMES = {
    "Observation": ("effectiveDateTime", "effectiveInstant", "issued"),
    "MedicationRequest": ("authoredOn",),
    "MedicationStatement": ("effectiveDateTime", "dateAsserted"),
    "MedicationAdministration": ("effectiveDateTime",),
    "MedicationDispense": ("whenHandedOver", "whenPrepared"),
}
_SPECIMENS = frozenset({"urine", "stool", "csf", "fluid", "saliva"})
_STRENGTH = re.compile(
    r"(?<![\w.])(\d{1,7}(?:\.\d{1,4})?)\s?(mg/ml|mcg/ml|mg|mcg|µg|ug|g|meq|mmol|iu|units?|unt|ml|%)(?![\w/])",
    re.IGNORECASE,
)
_CUT = re.compile(
    r"\s*\[| in (?:serum|plasma|blood|platelet|urine|stool|arterial|venous|capillary|cord|body|cerebral|saliva|bone)\b"
    r"| of (?:blood|urine|serum)\b| by | - |\s*\(",
    re.IGNORECASE,
)
_IN_BRACKETS = re.compile(r"\(([A-Za-z0-9]{2,8})\)")
_UNSEEN = dict.fromkeys([0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0xAD])


@dataclass(frozen=True, slots=True)
class Name:
    """What a chart calls what it measures: words, and the specimen without which they mean something else."""

    words: Phrase
    specimen: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """One value that a call showed, with its code and place.

    `codes` are those of LOINC (of a drug, whatever they are), `names` what the chart calls it, `measure` the measure of
    the table that a code belongs to. `times` are when it was taken, as they are written; `series` is the search that
    it came by, `group` what parts of one resource (the components of a panel) have in common.
    """

    call: int
    series: int
    resource: str
    path: str
    codes: frozenset[str]
    names: tuple[Name, ...]
    measure: Measure | None
    patient: str | None
    value: Decimal
    unit: str | None
    times: tuple[str, ...]
    kind: Literal["observation", "drug"]

    @property
    def what(self) -> str | frozenset[str]:
        """What it is a value of: one measure, or one set of codes or names."""
        if self.measure is not None:
            return self.measure.key
        return self.codes or frozenset(" ".join(name.words) for name in self.names)


@dataclass(frozen=True, slots=True)
class Person:
    """A patient whom a call showed."""

    call: int
    reference: str
    birth_date: str | None
    identifiers: tuple[str, ...]
    names: tuple[Phrase, ...]


@dataclass
class Showing:
    """What the calls of a trace showed. `void` are values that were entered in error, `totals` those of searches."""

    readings: list[Reading] = field(default_factory=list)
    people: list[Person] = field(default_factory=list)
    void: list[Reading] = field(default_factory=list)
    totals: list[int] = field(default_factory=list)


def show(into: Showing, body: Any, call: int, series: int, hidden: Hidden) -> None:
    """Add what a result's body shows."""
    medications: dict[str, Any] = {}
    resources = list(resources_in(body, hidden.references))
    for resource in resources:
        reference = reference_of(resource)
        if resource.get("resourceType") == "Medication" and reference:
            medications[reference] = resource.get("code")
    for resource in resources:
        kind, reference = resource["resourceType"], reference_of(resource)
        if kind == "Patient":
            into.people.append(_person(resource, call, reference))
        elif kind == "Observation" or kind in _DRUGS:
            found = (
                _observed(resource, call, series, reference)
                if kind == "Observation"
                else _drug(resource, call, series, reference, medications)
            )
            is_void = str(resource.get("status")) in _VOID
            (into.void if is_void else into.readings).extend(each for each in found if not hidden.says(each))


class Hidden:
    """What the agent wrote so far: references, and what the bodies that it sent say."""

    def __init__(self) -> None:
        self.references: set[str] = set()
        self._said: set[tuple[Any, ...]] = set()

    def wrote(self, body: Any) -> None:
        """The agent sent this body (a resource, or a Bundle of them)."""
        for resource in resources_in(body):
            kind = resource["resourceType"]
            if kind == "Observation":
                self._said |= {_saying(each) for each in _observed(resource, 0, 0, "")}
            elif kind in _DRUGS:
                self._said |= {_saying(each) for each in _drug(resource, 0, 0, "", {})}

    def says(self, reading: Reading) -> bool:
        """Whether a body that the agent sent says what this row says."""
        return bool(self._said) and _saying(reading) in self._said


def _saying(reading: Reading) -> tuple[Any, ...]:
    return reading.codes, reading.value, reading.unit, reading.patient, reading.times[:1], reading.path


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
        for entry in _list(body.get("entry")):
            mode = _dict(_dict(entry).get("search")).get("mode")
            if mode != "outcome":
                yield from resources_in(_dict(entry).get("resource"), hidden, depth - 1)
        return
    if reference_of(body) in hidden:
        if kind == "Patient":
            yield {key: body.get(key) for key in ("resourceType", "id", "identifier", "name")}
        return
    yield body
    for contained in _list(body.get("contained")):
        inner = dict(_dict(contained))
        if "id" in inner and reference_of(body):
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
    text = _dict(reference).get("reference") if isinstance(reference, dict) else reference
    if not isinstance(text, str) or not text:
        return None
    parts = text.split("/_history/")[0].rstrip("/").split("/")
    return "/".join(parts[-2:])


def _observed(resource: Mapping[str, Any], call: int, series: int, reference: str) -> Iterator[Reading]:
    times = _times(resource)
    patient = local(resource.get("subject"))
    parts = [("", resource)]
    parts += [(f"component[{n}].", _dict(part)) for n, part in enumerate(_list(resource.get("component")))]
    for place, part in parts:
        amount = _amount(part)
        if amount is None:
            continue
        value, unit, element = amount
        codes, names, measure = _concept(part.get("code"))
        yield Reading(
            call,
            series,
            reference,
            f"{place}{element}",
            codes,
            names,
            measure,
            patient,
            value,
            unit,
            times,
            "observation",
        )


def _amount(part: Mapping[str, Any]) -> tuple[Decimal, str | None, str] | None:
    quantity = part.get("valueQuantity")
    if isinstance(quantity, dict):
        found = _quantity(quantity)
        return (*found, "valueQuantity") if found else None
    whole = part.get("valueInteger")
    if isinstance(whole, int) and not isinstance(whole, bool):
        value = _number(whole)
        return (value, None, "valueInteger") if value is not None else None
    return None


def _quantity(quantity: Mapping[str, Any]) -> tuple[Decimal, str | None] | None:
    value = _number(quantity.get("value"))
    if value is None or quantity.get("comparator"):
        return None
    return value, _unit(quantity.get("code"), quantity.get("system"), quantity.get("unit"))


@lru_cache(maxsize=2048)
def _unit_of(code: str | None, system: str | None, unit: str | None) -> str | None:
    amount = Amount.of({"code": code, "system": system, "unit": unit})
    if amount.unit is not None:
        return amount.unit
    spelled = ucum_of(unit) if unit else []
    return spelled[-1] if spelled else None


def _unit(code: Any, system: Any, unit: Any) -> str | None:
    texts = [part if isinstance(part, str) and len(part) <= 64 else None for part in (code, system, unit)]
    return _unit_of(*texts)


def _number(value: Any) -> Decimal | None:
    """The number as the stored trace has it: through binary floating point, whoever read it."""
    number = decimal(value)
    if number is None:
        return None
    try:
        return decimal(float(number))
    except OverflowError:
        return None


def _drug(
    resource: Mapping[str, Any], call: int, series: int, reference: str, medications: Mapping[str, Any]
) -> Iterator[Reading]:
    times, patient = _times(resource), local(resource.get("subject"))
    path, concept = "medicationCodeableConcept", resource.get("medicationCodeableConcept")
    if not isinstance(concept, dict):
        path, referred = "medicationReference", _dict(resource.get("medicationReference"))
        target = str(referred.get("reference", ""))
        key = f"Medication/{resource.get('id')}{target}" if target.startswith("#") else local(referred) or ""
        concept = {"text": referred.get("display"), **_dict(medications.get(key))}
    codes = frozenset(
        f"{coding.get('system')}|{coding.get('code')}"
        for coding in map(_dict, _list(concept.get("coding")))
        if coding.get("code")
    )
    shown: list[tuple[str, Any]] = [(f"{path}.text", concept.get("text"))]
    shown += [
        (f"{path}.coding[{n}].display", _dict(c).get("display")) for n, c in enumerate(_list(concept.get("coding")))
    ]
    texts = [(place, text) for place, text in shown if isinstance(text, str) and text]
    names = tuple(dict.fromkeys(Name(words) for _, text in texts for words in _drug_names(text)))

    def reading(place: str, value: Decimal, unit: str | None, own: tuple[Name, ...] = ()) -> Reading:
        return Reading(call, series, reference, place, codes, own or names, None, patient, value, unit, times, "drug")

    for place, text in texts:
        for ingredient, value, unit in _strengths(text):
            yield reading(
                place, value, unit, tuple(dict.fromkeys((*names[:1], Name(ingredient)))) if ingredient else names
            )
    doses = _list(resource.get("dosageInstruction")) or _list(resource.get("dosage"))
    if isinstance(resource.get("dosage"), dict):
        doses = [resource["dosage"]]
        for key in ("dose",):
            found = _quantity(_dict(doses[0].get(key)))
            if found:
                yield reading(f"dosage.{key}", *found)
    for number, dose in enumerate(map(_dict, doses)):
        for n, rate in enumerate(map(_dict, _list(dose.get("doseAndRate")))):
            found = _quantity(_dict(rate.get("doseQuantity")))
            if found:
                yield reading(f"dosageInstruction[{number}].doseAndRate[{n}].doseQuantity", *found)
        if isinstance(dose.get("text"), str):
            for _, value, unit in _strengths(dose["text"]):
                yield reading(f"dosageInstruction[{number}].text", value, unit)


def _strengths(text: str) -> Iterator[tuple[Phrase, Decimal, str | None]]:
    """The amounts in a drug's name, each with the words before it: `furosemide 40 MG`."""
    start = 0
    for match in _STRENGTH.finditer(text[:500]):
        units = ucum_of(match[2].lower().replace("unt", "units"))
        ingredient = phrase(text[start : match.start()])
        start = match.end()
        if units:
            yield ingredient[:6], Decimal(match[1]), units[-1]


@lru_cache(maxsize=4096)
def _drug_names(text: str) -> tuple[Phrase, ...]:
    """The words of a drug's name before its first number, and the whole of it."""
    text = text[:200]
    head = re.split(r"\s*\d|\s*\(", text, maxsplit=1)[0]
    return tuple(
        words for words in dict.fromkeys((phrase(head), phrase(text))) if words and any(len(w) > 2 for w in words)
    )


def _concept(concept: Any) -> tuple[frozenset[str], tuple[Name, ...], Measure | None]:
    concept = _dict(concept)
    codings = tuple(
        (str(coding.get("system") or ""), str(coding.get("code") or "")[:64], str(coding.get("display") or "")[:200])
        for coding in map(_dict, _list(concept.get("coding")))
    )
    text = concept.get("text")
    return _concept_of(codings, text[:200] if isinstance(text, str) else "")


@lru_cache(maxsize=4096)
def _concept_of(
    codings: tuple[tuple[str, str, str], ...], text: str
) -> tuple[frozenset[str], tuple[Name, ...], Measure | None]:
    codes = frozenset(code for system, code, _ in codings if code and system in (LOINC, ""))
    if not codes:
        codes = frozenset(f"{system}|{code}" for system, code, _ in codings if code)
    shown = [text, *(display for _, _, display in codings)]
    specimen = next(
        (each for each in sorted(_SPECIMENS) if re.search(rf"\b{each}\b", " ".join(shown), re.IGNORECASE)), None
    )
    names = tuple(dict.fromkeys(name for each in shown if each for name in names_in(each, specimen)))
    measure = next((found for code in sorted(codes) if (found := measure_of(code)) is not None), None)
    return codes, names, measure


def names_in(display: str, specimen: str | None) -> Iterator[Name]:
    """The names in a display: what stands before specimen, method and property, and an abbreviation in brackets."""
    display = display.translate(_UNSEEN)
    head = _CUT.split(display, maxsplit=1)[0]
    before, stroke, behind = head.partition("/")
    if stroke and (behind[:1].isdigit() or behind.split(".")[0].casefold() == before.split(" ")[0].casefold()):
        head = before  # `Hemoglobin A1c/Hemoglobin.total` is no ratio to people, `FEV1/FVC` is one
    for text in (head, display, *_IN_BRACKETS.findall(display)):
        words = phrase(text)
        if words and any(len(each) > 1 for each in words):
            yield Name(words, specimen if specimen not in words else None)


def _person(resource: Mapping[str, Any], call: int, reference: str) -> Person:
    born = resource.get("birthDate")
    identifiers = [_dict(each).get("value") for each in _list(resource.get("identifier"))]
    names = [
        phrase(" ".join([*(str(given) for given in _list(name.get("given"))[:1]), str(name.get("family", ""))]))
        for name in map(_dict, _list(resource.get("name")))
    ]
    return Person(
        call,
        reference,
        born if isinstance(born, str) else None,
        tuple(value for value in identifiers if isinstance(value, str) and value),
        tuple(words for words in names if len(words) > 1),
    )


def _times(resource: Mapping[str, Any]) -> tuple[str, ...]:
    found = [resource.get(key) for key in _TIMES[str(resource["resourceType"])]]
    period = _dict(resource.get("effectivePeriod"))
    found[1:1] = [period.get("start"), period.get("end")]
    return tuple(time for time in found if isinstance(time, str) and len(time) <= 40)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
