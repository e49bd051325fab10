"""The compiled search parameters: all of them, against fhirpathpy, and what becomes of values."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ehr.sandbox.definitions import parameters, resource_types
from ehr.sandbox.parameters.expressions import compiled, getter
from ehr.sandbox.parameters.searchparams import DECEASED, program, references
from ehr.sandbox.parameters.values import EARLIEST, LAST_DAY, LATEST, Span, stored_date
from tests.ehr.sandbox.randomfhir import random_resource
from tests.support import shared


def rows(resource: dict[str, Any]) -> dict[str, Any]:
    """Parameter (and `parameter:role`) -> index rows."""
    compiled_type = program(resource["resourceType"])
    return {
        space.code + (f":{space.role}" if space.role else ""): found
        for number, found in compiled_type.rows(resource).items()
        for space in [compiled_type.spaces[number]]
    }


def test_every_parameter_of_every_type_compiles_to_something_that_finds_values():
    for type in resource_types():
        spaces = {space.code for space in program(type).spaces}
        for parameter in parameters(type).values():
            if parameter.code in ("_id", "_text", "_content", "_query", "_source"):
                continue
            if parameter.kind == "composite" and parameter.expression == type:
                continue  # searched by its components
            assert parameter.code in spaces, (type, parameter.code)
            if parameter.expression != DECEASED:
                assert compiled(parameter.expression, type), (type, parameter.code)


def test_an_unknown_construct_is_refused():
    with pytest.raises(ValueError, match="is no expression"):
        compiled("Patient.name.first() + 1", "Patient")
    with pytest.raises(ValueError, match="does not have"):
        compiled("Patient.nope", "Patient")


# ---- against fhirpathpy


@cache
def oracle(term: str) -> Any:
    import fhirpathpy
    from fhirpathpy.models import models

    return fhirpathpy.compile(term, models["r4"])


def plain(values: Any) -> list[str]:
    return sorted(json.dumps(value, sort_keys=True, default=lambda d: float(d)) for value in values)


def terms(type: str) -> Iterator[str]:
    for parameter in parameters(type).values():
        if parameter.expression and parameter.expression != DECEASED:
            yield from (term.strip() for term in parameter.expression.split("|"))


def agree(resource: dict[str, Any]) -> int:
    type = resource["resourceType"]
    compared = 0
    for term in dict.fromkeys(terms(type)):
        ours = [
            value
            for path in compiled(term, type)
            for value in (getter(path.steps)(resource) if path.steps else [resource])
        ]
        resolved = re.search(r"\.where\(resolve\(\) is (\w+)\)", term)
        known = re.sub(r"\.where\(resolve\(\) is \w+\)", "", term).replace("Resource.", f"{type}.", 1)
        known = re.sub(
            r"\(([\w.]+) as (\w+)\)|([\w.]+)\.as\((\w+)\)", r"\1\3.ofType(\2\4)", known
        )  # `as` takes one only
        theirs = oracle(known)(resource)
        if resolved:  # fhirpathpy cannot resolve; every reference here says its type in its address
            theirs = [r for r in theirs if re.search(rf"(^|/){resolved[1]}/", r.get("reference", ""))]
        ours = [float(v) if isinstance(v, Decimal | int) and not isinstance(v, bool) else v for v in ours]
        theirs = [float(v) if isinstance(v, Decimal | int) and not isinstance(v, bool) else v for v in theirs]
        assert plain(ours) == plain(theirs), (term, resource)
        compared += 1
    return compared


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(resource_types()))
def test_compiled_paths_find_what_fhirpathpy_finds_in_random_resources(seed: int, type: str):
    assert agree(random_resource(Random(seed), type, "1")) > 0


def test_compiled_paths_find_what_fhirpathpy_finds_in_synthea():
    bundle = json.loads(gzip.decompress(shared("data", "synthea", "bundle-002.json.gz").read_bytes()))
    seen: dict[str, int] = {}
    for entry in bundle["entry"]:
        type = entry["resource"]["resourceType"]
        if seen.setdefault(type, 0) < 3:
            seen[type] += 1
            text = json.dumps(entry["resource"]).replace("urn:uuid:", "Patient/")
            agree(json.loads(text))
    assert len(seen) > 8


# ---- from values to rows


def test_tokens():
    found = rows(
        {
            "resourceType": "Patient",
            "active": True,
            "gender": "female",
            "identifier": [{"system": "http://mrn", "value": "1", "type": {"text": "MRN"}}, {"value": "2"}],
            "telecom": [{"system": "phone", "value": "+49 1"}, {"system": "email", "value": "a@b"}],
        }
    )
    assert found["active"] == [("true", "")]
    assert found["gender"] == [("female", "http://hl7.org/fhir/administrative-gender")], "with its binding's system"
    assert found["identifier"] == [("1", "http://mrn"), ("2", "")]
    assert "identifier:text" not in found
    assert found["phone"] == [("+49 1", "phone")]
    assert found["telecom"] == [("+49 1", "phone"), ("a@b", "email")]


def test_a_concept_gives_its_codings_and_its_words():
    code = {"coding": [{"system": "s", "code": "c", "display": "Größe"}, {"system": "t"}], "text": "height"}
    found = rows({"resourceType": "Observation", "code": code})
    assert found["code"] == found["combo-code"] == [("c", "s"), ("", "t")]
    assert found["code:text"] == [("HEIGHT", "height"), ("GROSSE", "Größe")]


def test_strings_are_folded_and_kept():
    found = rows(
        {"resourceType": "Patient", "name": [{"family": "Müller", "given": ["Éva", "M."], "text": "Éva Müller"}]}
    )
    assert found["family"] == [("MULLER", "Müller")]
    assert found["name"] == [("MULLER", "Müller"), ("EVA", "Éva"), ("M.", "M."), ("EVA MULLER", "Éva Müller")]


def test_references_lose_their_version_and_contained_ones_are_left_out():
    def subject(text: str) -> Any:
        return rows({"resourceType": "Observation", "subject": {"reference": text}}).get("subject")

    assert subject("Patient/1") == subject("Patient/1/_history/3") == [("1", "Patient")]
    assert subject("#p") is None
    assert subject("http://x/fhir/Patient/1") == [("http://x/fhir/Patient/1", "")]
    assert subject("urn:uuid:1") == [("urn:uuid:1", "")]
    assert "patient" not in rows({"resourceType": "Observation", "subject": {"reference": "Group/1"}})


def test_a_canonical_is_found_with_and_without_its_version():
    found = rows({"resourceType": "CarePlan", "instantiatesCanonical": ["http://x|1"]})
    assert found["instantiates-canonical"] == [("http://x|1", ""), ("http://x", "")]


def test_dates_of_every_kind():
    day = stored_date("2020-03-01")
    assert day is not None
    assert rows({"resourceType": "Patient", "birthDate": "2020-03-01"})["birthdate"] == [day]
    opened = rows({"resourceType": "Observation", "effectivePeriod": {"start": "2020-03-01"}})["date"]
    assert opened == [Span(day.start, LATEST, day.first_day, LAST_DAY)]
    closed = rows({"resourceType": "Observation", "effectivePeriod": {"end": "2020-03-01"}})["date"]
    assert closed[0].start == EARLIEST and closed[0].end == day.end
    timing = {"event": ["2020-03-05", "2020-03-01T08:00:00Z"], "repeat": {"boundsPeriod": {"end": "2020-03-09"}}}
    spans = rows({"resourceType": "Observation", "effectiveTiming": timing})["date"]
    assert len(spans) == 1 and spans[0].last_day == day.first_day + 8
    assert "date" not in rows({"resourceType": "Observation", "effectiveDateTime": "yesterday"})
    assert "date" not in rows({"resourceType": "Observation", "effectivePeriod": {}})


def test_numbers_and_quantities():
    quantity = {"value": 5.4, "unit": "mmol/L", "system": "http://unitsofmeasure.org", "code": "mmol/L"}
    found = rows({"resourceType": "Observation", "valueQuantity": quantity})
    assert found["value-quantity"] == [(5.4, "http://unitsofmeasure.org", "mmol/L")]
    unit_only = rows({"resourceType": "Observation", "valueQuantity": {"value": 5, "unit": "mmol/L"}})
    assert unit_only["value-quantity"] == [(5.0, "", "")]
    money = rows({"resourceType": "Invoice", "totalGross": {"value": 3, "currency": "EUR"}})
    assert money["totalgross"] == [(3.0, "urn:iso:std:iso:4217", "EUR")]
    risk = {"resourceType": "RiskAssessment", "prediction": [{"probabilityDecimal": 0.5}]}
    assert rows(risk)["probability"] == [(0.5, "", "")]


def test_a_composite_pairs_what_stands_in_one_component():
    def part(code: str, value: float) -> Any:
        return {"code": {"coding": [{"code": code}]}, "valueQuantity": {"value": value}}

    pressure = {"resourceType": "Observation", "code": {"text": "bp"}, "component": [part("sys", 120), part("dia", 80)]}
    found = rows(pressure)["component-code-value-quantity"]
    assert found == [([("sys", "")], [(120.0, "", "")]), ([("dia", "")], [(80.0, "", "")])]
    assert "code-value-quantity" not in {s.code for s in program("Observation").spaces}, (
        "searched by its two components"
    )


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        ({}, "false"),
        ({"deceasedBoolean": False}, "false"),
        ({"deceasedBoolean": True}, "true"),
        ({"deceasedDateTime": "2020"}, "true"),
    ],
)
def test_deceased_is_true_for_true_and_for_any_date(element: dict[str, Any], expected: str):
    assert rows({"resourceType": "Patient", **element})["deceased"] == [(expected, "")]


def test_values_that_do_not_fit_are_passed_over():
    broken = {
        "resourceType": "Observation",
        "status": 1,
        "code": "text",
        "subject": ["Patient/1"],
        "effectiveDateTime": {"x": 1},
        "valueQuantity": {"value": "5"},
        "component": [None, 3, {"code": []}],
        "category": [{"coding": {"code": "x"}}],
    }
    assert rows(broken) == {}


def test_references_come_with_their_path():
    observation = {
        "resourceType": "Observation",
        "subject": {"reference": "Patient/1"},
        "hasMember": [{"reference": "Observation/2"}],
        "note": [{"authorReference": {"reference": "Practitioner/9"}}],
    }
    found = [(path, reference["reference"]) for path, reference in references(observation)]
    assert found == [("Observation.hasMember", "Observation/2"), ("Observation.subject", "Patient/1")]


def test_the_paths_of_references_are_plain():
    for type in resource_types():
        for path, _ in references_of(type):
            assert re.fullmatch(r"[A-Z]\w+(\.\w+)+", path), path


def references_of(type: str) -> Any:
    from ehr.sandbox.parameters.searchparams import _reference_paths

    return _reference_paths(type)
