"""The values of an order or an administration of a drug: its doses, and the strengths in its names and texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any

from ehr.verify.claims.fhir import dict_of, list_of, local, quantity_of, times_of
from ehr.verify.claims.reading import Name, Reading
from ehr.verify.claims.words import Phrase, phrase
from ehr.verify.spellings import ucum_of

_STRENGTH = re.compile(
    r"(?<![\w.])(\d{1,7}(?:\.\d{1,4})?)\s?(mg/ml|mcg/ml|mg|mcg|µg|ug|g|meq|mmol|iu|units?|unt|ml|%)(?![\w/])",
    re.IGNORECASE,
)


def drug_readings(
    resource: Mapping[str, Any], call: int, series: int, reference: str, medications: Mapping[str, Any]
) -> Iterator[Reading]:
    """The readings of a resource about a drug. `medications` are those that the same result shows, by reference."""
    times, patient = times_of(resource), local(resource.get("subject"))
    path, concept = "medicationCodeableConcept", resource.get("medicationCodeableConcept")
    if not isinstance(concept, dict):
        path, referred = "medicationReference", dict_of(resource.get("medicationReference"))
        target = str(referred.get("reference", ""))
        key = f"Medication/{resource.get('id')}{target}" if target.startswith("#") else local(referred) or ""
        concept = {"text": referred.get("display"), **dict_of(medications.get(key))}
    codes = frozenset(
        f"{coding.get('system')}|{coding.get('code')}"
        for coding in map(dict_of, list_of(concept.get("coding")))
        if coding.get("code")
    )
    shown: list[tuple[str, Any]] = [(f"{path}.text", concept.get("text"))]
    shown += [
        (f"{path}.coding[{n}].display", dict_of(c).get("display")) for n, c in enumerate(list_of(concept.get("coding")))
    ]
    texts = [(place, text) for place, text in shown if isinstance(text, str) and text]
    names = tuple(dict.fromkeys(Name(words) for _, text in texts for words in _drug_names(text)))

    def reading(place: str, value: Decimal, unit: str | None, own: tuple[Name, ...] = ()) -> Reading:
        return Reading(call, series, reference, place, codes, own or names, None, patient, value, unit, times, "drug")

    for place, text in texts:
        strengths = [(Name(words) if words else None, value, unit) for words, value, unit in _strengths(text)]
        ingredients = [ingredient for ingredient, _, _ in strengths if ingredient]
        common = [name for name in names[:1] if name not in ingredients]  # not the first of several ingredients
        for ingredient, value, unit in strengths:
            yield reading(place, value, unit, tuple(dict.fromkeys((*common, ingredient))) if ingredient else names)
    doses = list_of(resource.get("dosageInstruction")) or list_of(resource.get("dosage"))
    if isinstance(resource.get("dosage"), dict):
        doses = [resource["dosage"]]
        found = quantity_of(dict_of(doses[0].get("dose")))
        if found:
            yield reading("dosage.dose", *found)
    for number, dose in enumerate(map(dict_of, doses)):
        for n, rate in enumerate(map(dict_of, list_of(dose.get("doseAndRate")))):
            found = quantity_of(dict_of(rate.get("doseQuantity")))
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
