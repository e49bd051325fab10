"""Searches: HAPI's rules one by one, and every answer against a plain scan, through creates, updates and deletes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ehr.sandbox.definitions import Parameter, parameters, resource_types
from ehr.sandbox.files.load import load
from ehr.sandbox.overlay import Overlay
from ehr.sandbox.record import Record
from ehr.sandbox.searching.ranges import check_ranges
from ehr.sandbox.searching.search import SearchError, search
from tests.ehr.sandbox import randomfhir
from tests.ehr.sandbox.randomfhir import random_resource
from tests.ehr.sandbox.scan import below, extract, in_order, rows, scan
from tests.support import shared

CLOCK = "2026-01-15T10:15:00+00:00"
Json = dict[str, Any]


def bytes_of(resource: Json) -> bytes:
    return json.dumps(resource).encode()


# type: ignore[assignment]
def view(base: list[Json], written: list[Json] = (), removed: list[tuple[str, str]] = ()) -> Overlay:
    """A record of `base`, with writes over it."""
    overlay = Overlay(Record.build(map(bytes_of, base), clock=CLOCK, synthetic=True))
    for resource in written:
        overlay.put(resource["resourceType"], resource["id"], bytes_of(resource))
    for type, id in removed:
        overlay.remove(type, id)
    return overlay


def found(overlay: Overlay, query: str) -> list[str]:
    """The ids that `Type?name=value&...` finds, in order."""
    type, _, text = query.partition("?")
    parameters = [tuple(part.split("=", 1)) for part in text.split("&") if part]
    result = search(overlay, type, parameters)  # type: ignore[arg-type]
    ids = [id for _, id in result.matches[:]]
    assert result.total == len(ids) == len(set(ids))
    return ids


def hits(overlay: Overlay, query: str) -> list[str]:
    return sorted(found(overlay, query))


def both(resources: list[Json]) -> list[Overlay]:
    """The same resources three times: in the record, written over it, and half and half."""
    half = len(resources) // 2
    return [view(resources), view([], resources), view(resources[:half], resources[half:])]


# ---- one rule at a time


PATIENTS = [
    {"resourceType": "Patient", "id": "A", "gender": "female", "birthDate": "1980-05-17", "active": True,
     "name": [{"family": "Müller", "given": ["Éva", "Maria"]}], "telecom": [{"system": "phone", "value": "+4912345"}],
     "identifier": [{"system": "urn:mrn", "value": "7"}]},
    {"resourceType": "Patient", "id": "B", "gender": "male", "birthDate": "1980",
     "name": [{"family": "MULLER", "given": ["Eva"]}], "identifier": [{"value": "7"}]},
    {"resourceType": "Patient", "id": "C", "birthDate": "1981-05-17", "name": [{"family": "van der Muller"}]},
]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("family=Müller", "AB"),
        ("family=mulle", "AB"),
        ("family=van der", "C"),
        ("family:exact=MULLER", "B"),
        ("family:exact=Muller", ""),
        ("family:contains=ULLER", "ABC"),
        ("name:text=muller", "AB"),
        ("name=Muller&name=Eva", "AB"),
        ("name=Eva Muller", ""),
        ("name=Muller,van der Muller", "ABC"),
        ("name=Muller\\,x", ""),
        ("name=", "ABC"),
        ("gender=female", "A"),
        ("gender=FEMALE", ""),
        ("gender=http://hl7.org/fhir/administrative-gender|female", "A"),
        ("gender=|female", ""),
        ("gender:not=female", "BC"),
        ("gender:not=male,female", "C"),
        ("gender:missing=true", "C"),
        ("gender:missing=false", "AB"),
        ("gender:exact=male", "B"),
        ("active=true", "A"),
        ("identifier=7", "AB"),
        ("identifier=urn:mrn|7", "A"),
        ("identifier=|7", "B"),
        ("identifier=urn:mrn|", "A"),
        ("phone=+4912345", "A"),
        ("deceased=false", "ABC"),
        ("birthdate=1980", "AB"),
        ("birthdate=1980-05-17", "A"),
        ("birthdate=ne1980-05-17", "BC"),
        ("birthdate=lt1980-05-17", "B"),
        ("birthdate=ge1981", "C"),
        ("birthdate=le1980", "AB"),
        ("birthdate=ge1980&birthdate=le1980", "AB"),
        ("birthdate=sa1980", "C"),
        ("birthdate=eb1981", "AB"),
        ("birthdate:missing=true", ""),
        ("_id=A,C", "AC"),
        ("_id=Patient/A", "A"),
        ("name:nope=Muller", "AB"),
        ("_nope=1", "ABC"),
        ("_count=1&_format=json&_total=accurate", "ABC"),
        ("_list=1", ""),
    ],
)
def test_patients_are_found_as_hapi_finds_them(query: str, expected: str):
    for overlay in both(PATIENTS):
        assert "".join(hits(overlay, f"Patient?{query}")) == expected


def observation(id: str, **more: Any) -> Json:
    return {"resourceType": "Observation", "id": id, "status": "final", "subject": {"reference": "Patient/P"}, **more}


DATED = [
    observation("D0", effectiveDateTime="2020-03-01"),
    observation("D1", effectiveDateTime="2020-03-01T10:00:00Z"),
    observation("D2", effectiveDateTime="2020-03-01T23:30:00-05:00"),
    observation("D3", effectiveDateTime="2020-03-02T00:00:00Z"),
    observation("D4", effectiveDateTime="2020-03"),
    observation("D5", effectiveDateTime="2020-03-01T10:00:00.500Z"),
    observation("DI", effectiveInstant="2020-03-01T10:00:00.000+00:00"),
    observation("DN"),
    observation("DO", effectivePeriod={"start": "2020-02-28"}),
    observation("DP", effectivePeriod={"start": "2020-02-28", "end": "2020-03-01T12:00:00Z"}),
    observation("DT", effectiveTiming={"event": ["2020-03-01T08:00:00Z", "2020-03-05"]}),
]


@pytest.mark.parametrize(
    ("date", "expected"),
    [
        ("2020-03-01", "D0 D1 D2 D5 DI"),
        ("eq2020-03-01", "D0 D1 D2 D5 DI"),
        ("ge2020-03-01", "D0 D1 D2 D3 D4 D5 DI DO DP DT"),
        ("gt2020-03-01", "D3 D4 DO DT"),
        ("le2020-03-01", "D0 D1 D2 D4 D5 DI DO DP DT"),
        ("lt2020-03-01", "DO DP"),
        ("eb2020-03-01", ""),
        ("2020-03-01T10:00:00Z", "D1 D5 DI"),
        ("2020-03-01T10:00Z", "D1 D5 DI"),
        ("2020-03-01T10:00:00", "D1 D5 DI"),
        ("gt2020-03-01T10:00:00Z", "D0 D2 D3 D4 DO DP DT"),
        ("ge2020-03-01T05:00:00-05:00", "D0 D1 D2 D3 D4 D5 DI DO DP DT"),
        ("ge2020-03-02T00:00:00+00:00", "D2 D3 D4 DO DT"),
        ("ge2020-03-02T00:00:00 00:00", "D2 D3 D4 DO DT"),
        ("2020-03", "D0 D1 D2 D3 D4 D5 DI DT"),
        ("ge2020", "D0 D1 D2 D3 D4 D5 DI DO DP DT"),
        ("le2020", "D0 D1 D2 D3 D4 D5 DI DO DP DT"),
        ("gt2020", "DO"),
        (">2020", "DO"),
        ("<=2020-02-28", "DO DP"),
    ],
)
def test_dates_compare_as_ranges_days_as_written_and_times_as_instants(date: str, expected: str):
    for overlay in both(DATED):
        assert " ".join(hits(overlay, f"Observation?date={date}")) == expected


def quantity(value: float, code: str = "mmol/L", **more: Any) -> Json:
    return {"value": value, "unit": code, "system": "http://unitsofmeasure.org", "code": code, **more}


MEASURED = [
    observation("Q1", valueQuantity=quantity(5.4)),
    observation("Q2", valueQuantity=quantity(5.0)),
    observation("Q3", valueQuantity=quantity(5400, "umol/L")),
    observation("Q4", valueQuantity={"value": 5.4, "unit": "mmol/L"}),
    observation("Q5", valueQuantity=quantity(5.44)),
    observation("Q6", valueQuantity=quantity(6, comparator=">")),
    observation("Q7"),
]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("5.4", "Q1 Q4"),
        ("5.40", "Q1 Q4"),
        ("5.4|http://unitsofmeasure.org|mmol/L", "Q1"),
        ("5.4||mmol/L", "Q1"),
        ("5.4||umol/L", ""),
        ("5.4|mg/dL", "Q1 Q4"),
        ("gt5", "Q1 Q3 Q4 Q5 Q6"),
        ("ge5", "Q1 Q2 Q3 Q4 Q5 Q6"),
        ("lt5.4", "Q2"),
        ("le5", "Q2"),
        ("ne5.4", "Q2 Q3 Q5 Q6"),
        ("5.4|http://other|", "Q1 Q4"),
        ("ap5", "Q1 Q2 Q4 Q5"),
        ("~5", "Q1 Q2 Q4 Q5"),
        ("lt5.4,gt100", "Q2 Q3"),
        ("gt5|http://unitsofmeasure.org|mmol/L", "Q1 Q5 Q6"),
    ],
)
def test_quantities_compare_by_number_exactly(value: str, expected: str):
    for overlay in both(MEASURED):
        assert " ".join(hits(overlay, f"Observation?value-quantity={value}")) == expected
        assert hits(overlay, "Observation?value-quantity:missing=true") == ["Q7"]


def test_references_by_id_by_type_and_by_version():
    for overlay in both([*PATIENTS, observation("O1"), observation("O2", subject={"reference": "Group/P"})]):
        assert hits(overlay, "Observation?subject=P") == ["O1", "O2"]
        assert hits(overlay, "Observation?subject=Patient/P") == ["O1"]
        assert hits(overlay, "Observation?subject=Patient/P/_history/1") == ["O1"]
        assert hits(overlay, "Observation?subject:Group=P") == ["O2"]
        assert hits(overlay, "Observation?patient=P") == ["O1"]
        assert hits(overlay, "Observation?patient=Group/P") == []
        assert hits(overlay, "Observation?subject=http://x.example/fhir/Patient/P") == []


def test_a_composite_holds_within_one_component():
    def part(code: str, value: float) -> Json:
        return {"code": {"coding": [{"system": "s", "code": code}]}, "valueQuantity": quantity(value, "mm[Hg]")}

    pressures = [
        observation("high", component=[part("sys", 150), part("dia", 80)]),
        observation("odd", component=[part("sys", 110), part("dia", 150)]),
        observation("plain", code={"coding": [{"system": "s", "code": "sys"}]}, valueQuantity=quantity(150, "mm[Hg]")),
    ]
    for overlay in both(pressures):
        assert hits(overlay, "Observation?component-code-value-quantity=sys$gt140") == ["high"]
        assert hits(overlay, "Observation?component-code-value-quantity=s|dia$gt140,s|sys$lt120") == ["odd"]
        assert hits(overlay, "Observation?combo-code-value-quantity=sys$gt140") == ["high", "plain"]
        assert hits(overlay, "Observation?code-value-quantity=sys$gt140") == ["plain"]


def test_profiles_tags_and_times_of_the_server():
    meta = {"tag": [{"system": "t", "code": "x"}], "profile": ["http://p/a"], "lastUpdated": "2026-01-01T00:00:00.123Z"}
    for overlay in both([{"resourceType": "Patient", "id": "T", "meta": meta}, *PATIENTS]):
        assert hits(overlay, "Patient?_tag=t|x") == hits(overlay, "Patient?_profile=http://p/a") == ["T"]
        assert hits(overlay, "Patient?_lastUpdated=2026-01-01T00:00:00.123Z") == ["T"]
        assert hits(overlay, "Patient?_lastUpdated=gt2026-01-01T00:00:00.123Z") == ["A", "B", "C"], (
            "as old as the record"
        )
        assert hits(overlay, "Patient?_lastUpdated=gt2026-01-15T10:15:00Z") == []
        assert hits(overlay, "Patient?_profile:below=http://p/") == ["T"]


PATIENT_PARAMETERS = (
    "[_id, _lastUpdated, _profile, _security, _source, _tag, active, address, address-city, address-country, "
    "address-postalcode, address-state, address-use, birthdate, death-date, deceased, email, family, gender, "
    "general-practitioner, given, identifier, language, link, name, organization, phone, phonetic, telecom]"
)


@pytest.mark.parametrize(
    ("query", "status", "says"),
    [
        (
            "Patient?nope=1",
            400,
            'HAPI-0524: Unknown search parameter "nope" for resource type "Patient". '
            f"Valid search parameters for this search are: {PATIENT_PARAMETERS}",
        ),
        (
            "Patient?_sort=nope",
            400,
            'HAPI-1194: Unknown _sort parameter value "nope" for resource type "Patient" (Note: sort parameters values '
            f"must use a valid Search Parameter). Valid values for this search are: {PATIENT_PARAMETERS}",
        ),
        ("Observation?date=yesterday", 400, 'HAPI-1940: Invalid date/time/quantity format: "yesterday"'),
        ("Observation?date=2020-02-30", 400, 'HAPI-1882: Invalid date/time format: "2020-02-30"'),
        ("Observation?date=2020-3", 400, 'HAPI-1882: Invalid date/time format: "2020-3"'),
        ("Observation?date=ap2020", 400, "HAPI-1925: Unknown comparator: APPROXIMATE"),
        ("Observation?date=ge 2020", 400, 'HAPI-1941: Invalid prefix: "ge+"'),
        ("Observation?date=xx2020", 400, 'HAPI-1941: Invalid prefix: "xx"'),
        ("Observation?value-quantity=gtabc", 400, 'HAPI-1940: Invalid date/time/quantity format: "gtabc"'),
        ("Observation?value-quantity=sa5", 400, 'HAPI-1235: Unable to handle quantity prefix "sa" for value: sa5||'),
        ("Patient?identifier:of-type=a|b|c", 405, "HAPI-2012: The :of-type modifier is not enabled on this server"),
        ("Observation?subject:identifier=x|y", 400, 'HAPI-2498: Unsupported search modifier(s): "[:identifier]" for'),
        (
            "Patient?_text=x",
            400,
            "HAPI-1192: Fulltext search is not enabled on this service, can not process parameter: _text",
        ),
        ("Patient?_content=x", 400, "HAPI-1192: "),
        (
            "Patient?_tag=t|",
            400,
            "HAPI-1218: Missing _tag parameter (must supply a value/code and not just a system): t|",
        ),
        ("Observation?value-quantity=GT5", 400, 'HAPI-1941: Invalid prefix: "GT"'),
        ("Observation?value-quantity=5.4 ||mmol/L", 400, 'HAPI-1940: Invalid date/time/quantity format: "5.4 "'),
        ("Patient?_source=x", 400, "HAPI-1216: The _source parameter is disabled on this server"),
        (f"Patient?family:exact={'x' * 1000}", 400, "HAPI-1260: "),
        ("Nope?a=b", 404, "HAPI-0302: Unknown resource type 'Nope' - Server knows how to handle: [Account, "),
    ],
)
def test_refusals_say_what_hapi_says(query: str, status: int, says: str):
    with pytest.raises(SearchError) as refused:
        found(view(PATIENTS), query)
    assert refused.value.status == status
    assert refused.value.diagnostics.startswith(says)


RANGES = [
    ("date=2020,2021", "HAPI-1930"), ("date=2020,2020", "HAPI-1930"), ("date=2020,", None),
    ("date=ge2020&date=lt2021", None),
    ("date=ge2020&date=gt2019", "HAPI-1923"), ("date=lt2020&date=eb2021", "HAPI-1924"),
    ("date=2020&date=2020", "HAPI-1922"),
    ("date=2020&date=ge2019", "HAPI-1923"), ("date=ge2019&date=2020", "HAPI-1922"), ("date=&date=ge2019", "HAPI-1923"),
    ("date:missing=false&date=ge2019", "HAPI-1922"), ("date:missing=false", None),
    ("_lastUpdated=ge2019&_lastUpdated=ge2020", "HAPI-1923"),
    ("date=ge2019&patient.birthdate=ge2019&patient.birthdate=ge2018", None), ("code=x&code=x", None),
    ("value-date=ge2019&date=ge2019", None),
]  # fmt: skip


@pytest.mark.parametrize(("query", "says"), RANGES)
def test_the_values_of_one_date_parameter_are_one_range(query: str, says: str | None):
    asked = parse_qsl(query, keep_blank_values=True)
    if says is None:
        check_ranges("Observation", asked)
        return
    with pytest.raises(SearchError, match=says) as refused:
        check_ranges("Observation", asked)
    assert refused.value.status == 400


def test_in_a_condition_only_the_time_of_the_server_must_be_one_range():
    check_ranges("Patient", [("birthdate", "ge2019"), ("birthdate", "ge2020")], {"_lastUpdated"})
    with pytest.raises(SearchError, match="HAPI-1924"):
        check_ranges("Patient", [("_lastUpdated", "le2019"), ("_lastUpdated", "le2020")], {"_lastUpdated"})


# ---- order


SORTED = [
    {"resourceType": "Patient", "id": "S1", "name": [{"family": "b"}], "birthDate": "1990-01-01"},
    {"resourceType": "Patient", "id": "S2", "name": [{"family": "A"}], "birthDate": "1991-01-01"},
    {"resourceType": "Patient", "id": "S3", "birthDate": "1990-01-01"},
    {"resourceType": "Patient", "id": "S4", "name": [{"family": "a"}]},
    {"resourceType": "Patient", "id": "S5", "name": [{"family": "Ä"}, {"family": "z"}], "birthDate": "1989-01-01"},
]


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("family,_id", "S2 S4 S5 S1 S3"),
        ("-family,_id", "S5 S1 S2 S4 S3"),
        ("-birthdate,_id", "S2 S1 S3 S5 S4"),
        ("birthdate,-family", "S5 S1 S3 S2 S4"),
        ("-birthdate,family", "S2 S1 S3 S5 S4"),
        ("-_id", "S5 S4 S3 S2 S1"),
        ("_id", "S1 S2 S3 S4 S5"),
    ],
)
def test_sorting_by_several_keys_with_nulls_last(sort: str, expected: str):
    for overlay in both(SORTED):
        assert found(overlay, f"Patient?_sort={sort}") == expected.split()


def test_dates_are_sorted_by_their_start_in_both_directions():
    for overlay in both(DATED):
        down = "D2 D3 D5 D1 DI DT D0 D4 DO DP DN"
        assert found(overlay, "Observation?_sort=-date,_id") == down.split()
        up = "DO DP D0 D4 DT D1 DI D5 D3 D2 DN"
        assert found(overlay, "Observation?_sort=date,_id") == up.split()


def test_values_of_writes_are_sorted_between_those_of_the_record():
    def named(id: str, family: str) -> Json:
        return {"resourceType": "Patient", "id": id, "name": [{"family": family}]}

    overlay = view(
        [named("1", "b"), named("3", "d"), named("2", "f")], [named("w3", "e"), named("w1", "a"), named("w2", "c")]
    )
    overlay.put("Patient", "w4", bytes_of(named("w4", "cc")))
    assert found(overlay, "Patient?_sort=family") == ["w1", "1", "w2", "w4", "3", "w3", "2"]
    assert found(overlay, "Patient?_sort=-family") == ["2", "w3", "3", "w4", "w2", "1", "w1"]
    assert found(overlay, "Patient?_sort=_id") == ["1", "2", "3", "w1", "w2", "w3", "w4"]


def test_pages_of_many_hits_make_up_the_whole_order():
    random = Random(3)
    many = [
        observation(
            f"m{n}",
            effectiveDateTime=f"20{random.randint(10, 12)}-01-0{random.randint(1, 3)}",
            valueQuantity=quantity(random.choice([1, 2, 3])),
        )
        for n in range(9000)
    ]
    overlay = view(many[:8000], many[8000:])
    for query in ("", "&_sort=date", "&_sort=-date,value-quantity", "&_sort=status,-value-quantity,date"):
        # type: ignore[misc]
        result = search(overlay, "Observation", [tuple(p.split("=")) for p in query.split("&") if p])
        pages = [hit for start in range(0, 200, 20) for hit in result.matches[start : start + 20]]
        # type: ignore[misc]
        again = search(overlay, "Observation", [tuple(p.split("=")) for p in query.split("&") if p])
        assert again.matches[:200] == pages
        assert again.matches[0:9000][:200] == pages, query


def test_without_a_sort_the_order_tells_nothing_of_time_and_mixes_writes_in():
    rows = [observation(f"o{n:03}", effectiveDateTime=f"2020-01-01T00:{n // 60:02}:{n % 60:02}Z") for n in range(200)]
    overlay = view(rows[:150], rows[150:])
    order = found(overlay, "Observation?")
    assert order != sorted(order)
    assert {"o15", "o16", "o17", "o18", "o19"} & {id[:3] for id in order[:40]}, "writes are not all at the end"
    assert order == found(overlay, "Observation?")


def test_hits_stay_what_they_were_when_found():
    overlay = view(PATIENTS)
    result = search(overlay, "Patient", [("_sort", "_id")])
    overlay.remove("Patient", "A")
    overlay.put("Patient", "0", bytes_of({"resourceType": "Patient", "id": "0"}))
    assert result.total == 3
    assert [id for _, id in result.matches[:]] == ["A", "B", "C"]
    assert found(overlay, "Patient?_sort=_id") == ["0", "B", "C"]


# ---- against the scan


def escaped(text: str) -> str:
    return "".join("\\" + c if c in ",|$\\" else c for c in text)


def a_query(random: Random, type: str, resources: list[Json]) -> tuple[str, str]:
    """A random parameter of a type with a value that may well be found: of the few there are, or out of a resource."""
    candidates = [
        p for p in parameters(type).values()
        if p.code not in ("_id", "_text", "_content", "_query", "_source", "near", "relationship") and p.expression
    ]  # fmt: skip
    parameter = random.choice(candidates)
    if random.random() < 0.15:
        parameter = random.choice([p for p in candidates if p.kind == "composite"] or candidates)
    if random.random() < 0.1 and parameter.kind != "composite":
        return f"{parameter.code}:missing", random.choice(["true", "false"])
    modifier, text = a_value(random, parameter)
    if random.random() < 0.6 and (known := a_known_value(random, parameter, random.choice(resources))):
        text = known if modifier in ("", ":not") else text
    if random.random() < 0.2 and parameter.kind != "composite":
        text += "," + a_value(random, parameter, modifier)[1]
    return parameter.code + modifier, text


def a_known_value(random: Random, parameter: Parameter, resource: Json) -> str | None:
    """A value that a resource has, for tokens and composites, which would be met too rarely by chance."""
    values = extract(resource, parameter.expression)
    if parameter.kind == "token" and parameter.code != "deceased":
        pairs = rows(parameter, values, resource)
        system, code = random.choice(pairs) if pairs else ("", "")
        return random.choice([f"{escaped(system)}|{escaped(code)}", escaped(code)]) if code else None
    if parameter.kind == "composite" and values:
        item = random.choice(values)
        parts = []
        for component in parameter.components:
            one = Parameter(parameter.type, component.code, component.kind, "", "", (), (), "")
            found = rows(one, below(item, component.expression, resource), resource)
            if not found:
                return None
            value = random.choice(found)
            parts.append(
                escaped(value[1])
                if component.kind == "token"
                else random.choice(["", "ge", "lt"]) + str(value[0])
                if component.kind in ("quantity", "number")
                else a_value(random, one, "")[1]
            )
        return "$".join(parts)
    return None


def a_value(random: Random, parameter: Parameter, modifier: str | None = None) -> tuple[str, str]:
    kind = parameter.kind
    if kind == "token":
        modifier = random.choice(["", "", "", ":not", ":text"]) if modifier is None else modifier
        if modifier == ":text":
            return modifier, escaped(random.choice(randomfhir.WORDS)[:3])
        code = random.choice([*randomfhir.CODES, "true", "final", "active", "male", *randomfhir.WORDS])
        system = random.choice(["", *randomfhir.SYSTEMS, "http://hl7.org/fhir/administrative-gender", "phone"])
        forms = ["{c}", "{c}", "{s}|{c}", "|{c}"]
        form = random.choice(forms if parameter.code in ("_tag", "_security") else [*forms, "{s}|"])
        text = form.format(c=escaped(code), s=escaped(system))
        return modifier, text if text != "|" else escaped(code)
    if kind == "string":
        modifier = random.choice(["", ":exact", ":contains", ":text"]) if modifier is None else modifier
        word = random.choice([*randomfhir.WORDS, *randomfhir.CODES])
        return modifier, escaped(word if random.random() < 0.5 else word[: random.randint(1, 3)]) or "a"
    if kind == "reference":
        modifier = random.choice(["", "", ":Patient"]) if modifier is None else modifier
        type = random.choice([t for t in parameter.targets if t != "*"] or ["Patient"])
        form = random.choice(["{i}", "{t}/{i}", "{t}/{i}/_history/1"]) if modifier == "" else "{i}"
        return modifier, form.format(t=type, i=random.choice(randomfhir.IDS))
    if kind == "date":
        return "", random.choice(["", "eq", "ne", "gt", "ge", "lt", "le", "sa", "eb"]) + random.choice(randomfhir.DATES)
    if kind in ("number", "quantity"):
        text = random.choice(["", "eq", "ne", "gt", "ge", "lt", "le", "ap"]) + str(random.choice(randomfhir.NUMBERS))
        unit = random.choice(["", "", "||mg/dL", "|http://unitsofmeasure.org|mg/dL", "|http://other|", "|mg/dL"])
        return "", text + (unit if kind == "quantity" else "")
    if kind == "uri":
        modifier = random.choice(["", "", ":below"]) if modifier is None else modifier
        return modifier, escaped(random.choice(randomfhir.URIS))
    parts = [
        a_value(random, Parameter(parameter.type, c.code, c.kind, "", "", (), (), ""), "")[1]
        for c in parameter.components
    ]
    return "", "$".join(parts)


SORTABLE = ("token", "string", "reference", "uri", "date", "number", "quantity")
UNSORTABLE = ("_text", "_content", "_query", "_source")
COMMON = ["Observation", "Observation", "Patient", "Encounter", "MedicationRequest", "MolecularSequence"]


def dated(resource: Json) -> Json:
    """The resource with the time it counts as written."""
    meta = {"lastUpdated": CLOCK, **resource.get("meta", {})}
    return {**resource, "meta": meta}


def check_searches(seed: int, type: str, queries: int, sorts: int) -> None:
    """Random resources of a type, some written over and some removed: every answer is the scan's."""
    random = Random(seed)
    resources = [random_resource(random, type, f"{'abc'[n % 3]}{n}") for n in range(12)]
    written = [random_resource(random, type, random.choice([f"w{n}", resources[n]["id"]])) for n in range(5)]
    removed = [resource["id"] for resource in random.sample(resources, 2)]
    overlay = view(resources, written, [(type, id) for id in removed])
    standing = {r["id"]: r for r in [*resources, *written]}
    for id in removed:
        standing.pop(id, None)
    for _ in range(queries):
        query = [a_query(random, type, resources) for _ in range(random.choice([1, 1, 2]))]
        ours = sorted(id for _, id in search(overlay, type, query).matches[:])
        assert ours == scan([dated(r) for r in standing.values()], type, query), query
    sortable = [c for c, p in parameters(type).items() if p.kind in SORTABLE and c not in UNSORTABLE]
    for _ in range(sorts):
        sort = ",".join(random.choice(["", "-"]) + random.choice(sortable) for _ in range(random.choice([1, 1, 2, 3])))
        ordered = [dated(standing[id]) for _, id in search(overlay, type, [("_sort", sort)]).matches[:]]
        assert len(ordered) == len(standing)
        assert in_order(ordered, sort), sort


@settings(max_examples=150, deadline=None, report_multiple_bugs=False)
@given(st.integers(0, 10**9), st.sampled_from(COMMON) | st.sampled_from(resource_types()))
def test_every_search_finds_what_a_scan_finds(seed: int, type: str):
    check_searches(seed, type, queries=25, sorts=10)


def test_it_does_so_for_every_type():
    for number, type in enumerate(resource_types()):
        check_searches(number, type, queries=8, sorts=2)


@pytest.fixture(scope="module")
def synthea(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Record, list[Json]]]:
    """Three patients of the real data."""
    paths = [shared("data", "synthea", f"bundle-{n:03}.json.gz") for n in (2, 5, 9)]
    loaded = load(paths)
    bodies = list(loaded.resources())
    path: Path = tmp_path_factory.mktemp("record") / "synthea.record"
    with Record.build(bodies, path, clock=CLOCK, synthetic=True) as record:
        yield record, [json.loads(body) for body in bodies]


@pytest.mark.parametrize(
    ("type", "queries"),
    [
        (
            "Observation",
            "code=http://loinc.org|8302-2 date=ge2015 value-quantity=gt100 category=vital-signs code:text=body "
            "component-code-value-quantity=8480-6$gt120 combo-code=8480-6 status:not=final date=lt2012-06 "
            "combo-value-quantity=le20||kg/m2 value-concept:missing=false",
        ),
        ("Condition", "clinical-status=active onset-date=ge2000 code:text=chronic recorded-date=lt2010"),
        ("Encounter", "class=AMB date=ge2016-01-01 type=http://snomed.info/sct|162673000 length:missing=true"),
        ("MedicationRequest", "status=active intent=order authoredon=ge2010"),
        ("Patient", "name=a address-state=massa birthdate=lt1990 deceased=true gender=male language:text=eng"),
        ("Claim", "use=claim created=ge2015 provider:missing=false"),
    ],
)
def test_synthea_is_searched_as_a_scan_searches_it(synthea: tuple[Record, list[Json]], type: str, queries: str) -> None:
    record, resources = synthea
    some = [r for r in resources if r["resourceType"] == type]
    overlay = Overlay(record)
    for query in queries.split():
        pair = query.split("=", 1)
        assert hits(overlay, f"{type}?{query}") == scan(some, type, [(pair[0], pair[1])]), query
    patient = next(r["id"] for r in resources if r["resourceType"] == "Patient")
    if type != "Patient":
        assert hits(overlay, f"{type}?patient={patient}") == scan(some, type, [("patient", patient)])


def test_synthea_is_searched_as_a_scan_searches_it_whatever_is_asked(synthea: tuple[Record, list[Json]]) -> None:
    record, resources = synthea
    overlay, random = Overlay(record), Random(20260115)
    by_type: dict[str, list[Json]] = {}
    for resource in resources:
        by_type.setdefault(resource["resourceType"], []).append(resource)
    for type, some in sorted(by_type.items()):
        for _ in range(40 if len(some) < 300 else 15):
            query = [a_query(random, type, some) for _ in range(random.choice([1, 1, 2]))]
            ours = sorted(id for _, id in search(overlay, type, query).matches[:])
            assert ours == scan([dated(r) for r in some], type, query), (type, query)


def test_a_name_of_marks_only_is_a_name():
    for overlay in both([{"resourceType": "Patient", "id": "a", "name": [{"family": "\u0301"}]}, PATIENTS[1]]):
        assert hits(overlay, "Patient?family:missing=false") == ["B", "a"]
        assert hits(overlay, "Patient?family:contains=x") == []
        assert found(overlay, "Patient?_sort=family") == ["a", "B"]
