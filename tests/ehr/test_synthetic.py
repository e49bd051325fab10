"""The default synthetic record: the same bytes for a seed, valid, whole, and full of what makes reading necessary."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from functools import cache
from itertools import islice, pairwise
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ehr.tasks import synthetic
from ehr.tasks.synthetic import codes
from ehr.tasks.synthetic.draw import Draw
from ehr.tasks.synthetic.ids import Ids
from ehr.tasks.synthetic.rows import interpretation

Json = dict[str, Any]
CLOCK = datetime.fromisoformat(synthetic.CLOCK)


@cache
def bodies() -> tuple[bytes, ...]:
    return tuple(synthetic.generate())


@cache
def record() -> tuple[Json, ...]:
    return tuple(orjson.loads(body) for body in bodies())


def of(resource_type: str) -> list[Json]:
    return [row for row in record() if row["resourceType"] == resource_type]


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "reference":
                yield inner
            else:
                yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def texts(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, str):
                yield key, inner
            else:
                yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)


def owner(row: Json) -> str | None:
    whose = row.get("subject") or row.get("patient")
    return whose["reference"] if whose else None


def code(row: Json) -> str:
    return str(row["code"]["coding"][-1]["code"])


# the same arguments, the same bytes


def digest(rows: Iterator[bytes]) -> str:
    whole = hashlib.sha256()
    for row in rows:
        whole.update(row + b"\n")
    return whole.hexdigest()


def test_the_same_seed_gives_the_same_bytes_in_another_process() -> None:
    program = (
        "import hashlib; from ehr.tasks.synthetic import generate\n"
        "print(hashlib.sha256(b''.join(row + b'\\n' for row in generate(patients=12, seed=5))).hexdigest())"
    )
    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "7"}
    )
    assert told.stdout.strip() == digest(synthetic.generate(patients=12, seed=5))


def test_another_seed_gives_other_people_ids_and_values() -> None:
    one, other = (list(synthetic.generate(patients=5, seed=seed)) for seed in (1, 2))
    assert not {orjson.loads(row)["id"] for row in one} & {orjson.loads(row)["id"] for row in other}
    names = [
        {row["identifier"][0]["value"] for row in map(orjson.loads, rows) if row["resourceType"] == "Patient"}
        for rows in (one, other)
    ]
    assert not names[0] & names[1]


def test_the_first_patients_are_written_without_the_last() -> None:
    assert len(list(islice(synthetic.generate(patients=5000), 40))) == 40


@pytest.mark.parametrize(("arguments", "word"), [({"patients": 0}, "0"), ({"clock": "2026-01-15T10:15:00"}, "zone")])
def test_nonsense_is_refused_by_name(arguments: Json, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        list(synthetic.generate(**arguments))


def test_an_unknown_preset_names_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"'mimic'.*default, medagentbench"):
        synthetic.preset("mimic")


def test_the_preset_default_is_what_generate_gives() -> None:
    assert list(islice(synthetic.preset("default"), 50)) == list(bodies()[:50])
    assert synthetic.PRESETS["default"] == synthetic.CLOCK


# valid and whole


def test_every_resource_is_valid_r4b() -> None:
    from fhir.resources.R4B import get_fhir_model_class

    for body, row in zip(bodies(), record(), strict=True):
        get_fhir_model_class(row["resourceType"]).model_validate_json(body)


def test_required_codes_are_those_of_the_standard() -> None:
    from ehr.sandbox.definitions import codes as allowed_codes
    from ehr.sandbox.definitions import elements

    for row in record():
        for name, element in elements(row["resourceType"]).items():
            allowed = allowed_codes(element.value_set) if element.required and element.value_set else None
            value = row.get(name)
            if allowed and isinstance(value, str):
                assert value in allowed, (row["resourceType"], name, value)


def test_every_reference_is_resolved() -> None:
    known = {f"{row['resourceType']}/{row['id']}" for row in record()}
    missing = {target for row in record() for target in references(row)} - known
    assert not missing


def test_rows_of_one_patient_refer_to_that_patient_only() -> None:
    whose = {f"{row['resourceType']}/{row['id']}": owner(row) for row in record()}
    for row in record():
        for target in references(row):
            if owner(row) and whose.get(target):
                assert whose[target] == owner(row)


def test_ids_are_unique_opaque_and_never_all_digits() -> None:
    ids = [row["id"] for row in record()]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z][a-z0-9]{7}", logical_id) for logical_id in ids)


@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_ids_never_repeat(seed: int) -> None:
    ids = Ids(seed)
    assert len({ids.give() for _ in range(3000)}) == 3000


def test_a_logical_id_is_never_an_identifier() -> None:
    ids = {row["id"] for row in record()}
    assert not ids & {identifier["value"] for row in record() for identifier in row.get("identifier", [])}


def test_invariants_that_the_models_do_not_check() -> None:
    for row in record():
        verification = row.get("verificationStatus", {}).get("coding", [{}])[0].get("code")
        if verification == "entered-in-error":
            assert "clinicalStatus" not in row  # con-5, ait-2
        elif row["resourceType"] in ("Condition", "AllergyIntolerance"):
            assert "clinicalStatus" in row  # con-3, ait-1
        if "abatementDateTime" in row:
            assert row["clinicalStatus"]["coding"][0]["code"] == "resolved"  # con-4
        if "dataAbsentReason" in row:
            assert "valueQuantity" not in row  # obs-6


def test_ucum_codes_are_ucum() -> None:
    from ehr.verify.units import is_ucum

    units = {lab.unit for lab in codes.LABS.values()} | {vital.unit for vital in codes.VITALS.values()}
    units |= {drug.unit for drug in codes.DRUGS.values()} | {lab.molar[2] for lab in codes.LABS.values() if lab.molar}
    assert not [unit for unit in units if not is_ucum(unit)]


def test_molar_factors_agree_with_the_molar_masses() -> None:
    from ehr.verify.units import convert

    for lab in codes.LABS.values():
        if lab.molar:
            converted = convert(Decimal(1), lab.unit, lab.molar[2], analyte=lab.key)
            assert converted is not None and float(converted) == pytest.approx(lab.molar[3], rel=2e-3), lab.key


# time


def test_nothing_happened_after_the_clock_but_orders_may_look_ahead() -> None:
    for row in record():
        for key, text in texts(row):
            if re.fullmatch(r"\d{4}-\d\d-\d\dT.*", text) and key != "occurrenceDateTime":
                assert datetime.fromisoformat(text) <= CLOCK, (row["resourceType"], key, text)
    ahead = [row for row in of("ServiceRequest") if "occurrenceDateTime" in row]
    assert ahead and all(datetime.fromisoformat(row["occurrenceDateTime"]) > CLOCK for row in ahead)


def test_measurements_span_about_five_years_up_to_the_clock() -> None:
    times = [datetime.fromisoformat(row["effectiveDateTime"]) for row in of("Observation")]
    assert 4.8 * 365 < (CLOCK - min(times)).days < 5.1 * 365
    assert (CLOCK - max(times)).total_seconds() < 3 * 3600


@pytest.mark.parametrize("clock", ["2019-07-01T23:40:00-05:00", "2024-02-29T08:00:00+02:00", "2033-12-31T00:05:00Z"])
def test_another_clock_moves_the_whole_record(clock: str) -> None:
    now = datetime.fromisoformat(clock)
    rows = [orjson.loads(row) for row in synthetic.generate(patients=12, seed=4, clock=clock)]
    times = [
        datetime.fromisoformat(row[key]) for row in rows for key in ("effectiveDateTime", "authoredOn") if key in row
    ]
    assert max(times) <= now and (now - max(times)).total_seconds() < 86400
    assert max(datetime.fromisoformat(row["meta"]["lastUpdated"]) for row in rows) <= now


def test_a_result_is_issued_after_the_sample() -> None:
    for row in of("Observation"):
        assert datetime.fromisoformat(row["issued"]) >= datetime.fromisoformat(row["effectiveDateTime"])


def test_neither_id_nor_place_nor_entry_tells_the_time() -> None:
    rows = [row for row in of("Observation") if code(row) == "2823-3"]
    times = [datetime.fromisoformat(row["effectiveDateTime"]).timestamp() for row in rows]
    by_id = [time for _, time in sorted(zip([row["id"] for row in rows], times, strict=True))]
    by_entry = [time for _, time in sorted(zip([row["meta"]["lastUpdated"] for row in rows], times, strict=True))]
    old = [time for time in by_entry if CLOCK.timestamp() - time > 80 * 86400]
    for order in (times, by_id, old):
        rising = sum(later > earlier for earlier, later in pairwise(order)) / (len(order) - 1)
        assert 0.4 < rising < 0.6


def test_minutes_are_ordinary_minutes() -> None:
    minutes = Counter(row["effectiveDateTime"][14:16] for row in of("Observation"))
    assert len(minutes) == 60 and max(minutes.values()) < 2.5 * sum(minutes.values()) / 60


def test_nothing_is_done_to_the_dead_or_before_birth() -> None:
    people = {f"Patient/{row['id']}": row for row in of("Patient")}
    died = {reference: row["deceasedDateTime"] for reference, row in people.items() if "deceasedDateTime" in row}
    assert 2 <= len(died) <= 20
    for row in record():
        person = owner(row)
        for key in ("effectiveDateTime", "authoredOn", "performedDateTime", "occurrenceDateTime", "recordedDate"):
            if person and key in row:
                assert row[key][:10] >= people[person]["birthDate"]
                if person in died:
                    assert row[key][:10] <= died[person]
    assert not [row for row in of("MedicationRequest") if owner(row) in died and row["status"] == "active"]


# people who are mistaken for each other


def names(row: Json) -> tuple[str, str]:
    name = row["name"][0]
    return name["given"][0], name["family"]


def test_some_share_a_name_some_a_birthday_some_almost_a_name() -> None:
    people = of("Patient")
    same_name = Counter(names(row) for row in people)
    assert same_name["Maria", "García"] == 3 and sum(number > 1 for number in same_name.values()) >= 4
    births = defaultdict(set)
    for row in people:
        births[row["birthDate"]].add(names(row)[1])
    assert any(len(families) > 1 for families in births.values())
    assert {("Katherine", "Nolan"), ("Catherine", "Nolan"), ("Stephen", "Clarke"), ("Steven", "Clark")} <= set(
        same_name
    )
    assert [row for row in people if len(row["name"][0]["given"]) > 1] and [
        row for row in people if len(row["name"][0]["given"]) == 1
    ]
    assert [row for row in people if any(name["use"] == "maiden" for name in row["name"])]
    assert [row for row in people if row["birthDate"].endswith("-02-29")]
    ages = [(CLOCK.date() - datetime.fromisoformat(row["birthDate"]).date()).days / 365.25 for row in people]
    assert min(ages) < 18 and max(ages) > 90


def test_name_with_birth_date_names_one_person_and_so_does_the_record_number() -> None:
    people = of("Patient")
    assert len({(*names(row), row["birthDate"]) for row in people}) == len(people)
    numbers = [
        identifier["value"] for row in people for identifier in row["identifier"] if identifier["system"] == codes.MRN
    ]
    assert len(set(numbers)) == len(numbers) == len(people)
    assert all(re.fullmatch(r"\d{8}", number) for number in numbers)


@pytest.mark.parametrize("patients", [1, 2, 7, 30])
def test_a_small_record_is_whole_too(patients: int) -> None:
    rows = [orjson.loads(row) for row in synthetic.generate(patients=patients, seed=3)]
    known = {f"{row['resourceType']}/{row['id']}" for row in rows}
    assert sum(row["resourceType"] == "Patient" for row in rows) == patients
    assert {target for row in rows for target in references(row)} <= known


# what makes reading necessary


def test_every_type_occurs_and_the_size_is_a_hospitals() -> None:
    counts = Counter(row["resourceType"] for row in record())
    assert set(counts) == {
        "AllergyIntolerance", "Condition", "DiagnosticReport", "Encounter", "Immunization", "MedicationRequest",
        "Observation", "Organization", "Patient", "Practitioner", "Procedure", "ServiceRequest",
    }  # fmt: skip
    assert counts["Patient"] == 120 and 30_000 < len(record()) < 45_000


def test_some_searches_need_several_pages_of_twenty() -> None:
    series = Counter((owner(row), code(row)) for row in of("Observation"))
    long = [whose for (whose, what), number in series.items() if what == "2823-3" and number > 20]
    assert len(long) >= 5
    assert max(Counter(owner(row) for row in of("Observation")).values()) > 600


def test_each_status_that_a_careless_reader_overlooks_occurs() -> None:
    statuses = Counter((row["resourceType"], row.get("status")) for row in record())
    for kind, status in (
        ("Observation", "entered-in-error"), ("Observation", "cancelled"), ("Observation", "corrected"),
        ("MedicationRequest", "active"), ("MedicationRequest", "completed"), ("MedicationRequest", "stopped"),
        ("MedicationRequest", "entered-in-error"), ("ServiceRequest", "active"), ("ServiceRequest", "completed"),
        ("Immunization", "not-done"), ("Procedure", "not-done"), ("Encounter", "in-progress"),
    ):  # fmt: skip
        assert statuses[kind, status] > 0, (kind, status)
    assert statuses["Observation", "entered-in-error"] < 0.01 * len(of("Observation"))
    verifications = Counter(row["verificationStatus"]["coding"][0]["code"] for row in of("Condition"))
    assert verifications["entered-in-error"] and verifications["refuted"]


def test_a_few_values_are_in_other_units_under_the_same_code() -> None:
    units = Counter(
        row["valueQuantity"]["code"] for row in of("Observation") if code(row) == "2345-7" and "valueQuantity" in row
    )
    assert set(units) == {"mg/dL", "mmol/L"} and 5 < units["mmol/L"] < 0.1 * units["mg/dL"]
    outside = next(
        row
        for row in of("Observation")
        if row.get("valueQuantity", {}).get("code") == "mmol/L" and code(row) == "2345-7"
    )
    assert [coding["code"] for coding in outside["code"]["coding"]] == ["14749-6", "2345-7"]
    assert outside["effectiveDateTime"].endswith("-05:00")


def test_blood_pressure_is_a_panel_with_two_components() -> None:
    rows = [row for row in of("Observation") if code(row) == "85354-9"]
    assert len(rows) > 1000
    for row in rows:
        systolic, diastolic = (part["valueQuantity"] for part in row["component"])
        assert [part["code"]["coding"][0]["code"] for part in row["component"]] == ["8480-6", "8462-4"]
        assert systolic["code"] == diastolic["code"] == "mm[Hg]" and systolic["value"] > diastolic["value"]


def test_at_most_one_order_of_a_lasting_drug_is_active() -> None:
    active = Counter(
        (owner(row), row["medicationCodeableConcept"]["coding"][0]["code"], row["reasonReference"][0]["reference"])
        for row in of("MedicationRequest")
        if row["status"] == "active" and "dispenseRequest" in row and row["dispenseRequest"]["numberOfRepeatsAllowed"]
    )
    assert set(active.values()) == {1}
    renewed = Counter((owner(row), row["medicationCodeableConcept"]["text"]) for row in of("MedicationRequest"))
    assert max(renewed.values()) >= 3


def test_values_are_plausible_and_written_as_a_laboratory_prints_them() -> None:
    for body in bodies():
        found = re.search(rb'"code":"2823-3".*"valueQuantity":\{"value":([0-9.]+)', body)
        if found and b'"resourceType":"Observation"' in body:
            assert re.fullmatch(rb"\d\.\d|\d\d\.\d", found.group(1)), found.group(1)
    usual = {
        ("2823-3", "mmol/L"): (3.9, 4.5), ("2951-2", "mmol/L"): (138, 142), ("19123-9", "mg/dL"): (1.7, 2.1),
        ("718-7", "g/dL"): (12.5, 15.5), ("4548-4", "%"): (5.3, 7.5), ("2160-0", "mg/dL"): (0.8, 1.1),
    }  # fmt: skip
    final = [row for row in of("Observation") if row["status"] == "final" and "valueQuantity" in row]
    for (loinc, unit), (low, high) in usual.items():
        quantities = [row["valueQuantity"] for row in final if code(row) == loinc]
        values = sorted(quantity["value"] for quantity in quantities if quantity["code"] == unit)
        assert low <= values[len(values) // 2] <= high, loinc


def test_a_patient_keeps_their_own_level() -> None:
    series: dict[str | None, list[float]] = defaultdict(list)
    for row in of("Observation"):
        if code(row) == "718-7" and row["status"] == "final":
            series[owner(row)].append(row["valueQuantity"]["value"])
    long = [values for values in series.values() if len(values) >= 6]
    means = [sum(values) / len(values) for values in long]
    grand = sum(means) / len(means)
    between = sum((mean - grand) ** 2 for mean in means) / len(means)
    within = sum(sum((v - m) ** 2 for v in values) / len(values) for values, m in zip(long, means, strict=True)) / len(
        long
    )
    assert between > within


def test_what_is_computed_agrees_with_what_it_is_computed_from() -> None:
    moments: dict[tuple[str | None, str], dict[str, float]] = defaultdict(dict)
    for row in of("Observation"):
        if row["status"] == "final" and "valueQuantity" in row:
            moments[owner(row), row["effectiveDateTime"]][code(row)] = row["valueQuantity"]["value"]
    checked = 0
    for values in moments.values():
        if {"2093-3", "2571-8", "2085-9", "13457-7"} <= set(values):
            checked += 1
            assert values["2093-3"] == pytest.approx(values["13457-7"] + values["2085-9"] + values["2571-8"] / 5, abs=2)
        if {"39156-5", "29463-7", "8302-2"} <= set(values):
            assert values["39156-5"] == pytest.approx(values["29463-7"] / (values["8302-2"] / 100) ** 2, abs=0.11)
    assert checked > 100


def test_rows_are_flagged_as_the_public_function_says() -> None:
    sexes = {f"Patient/{row['id']}": row["gender"] for row in of("Patient")}
    flagged = 0
    for row in of("Observation"):
        quantity = row.get("valueQuantity")
        lab = next((lab for lab in codes.LABS.values() if lab.code == code(row)), None)
        if lab and quantity and quantity["code"] == lab.unit:
            assert row.get("interpretation") == interpretation(lab.code, quantity["value"], sexes[owner(row) or ""])
            flagged += "interpretation" in row
    assert flagged > 500


def test_rows_of_a_kind_have_few_sets_of_elements() -> None:
    shapes: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
    for row in of("Observation"):
        if row["status"] == "final":
            optional = {"interpretation", "note", "referenceRange"}
            shapes[row["category"][0]["coding"][0]["code"]][tuple(sorted(set(row) - optional))] += 1
    assert {category: len(counter) for category, counter in shapes.items()} == {
        "laboratory": 1,
        "vital-signs": 2,
        "social-history": 1,
    }


def test_allergies_are_some_confirmed_some_refuted_and_some_said_to_be_none() -> None:
    rows = of("AllergyIntolerance")
    assert {row["verificationStatus"]["coding"][0]["code"] for row in rows} >= {"confirmed", "refuted", "unconfirmed"}
    assert any(row["code"]["coding"][0]["code"] == "716186003" for row in rows)
    nobody = {f"Patient/{row['id']}" for row in of("Patient")} - {owner(row) for row in rows}
    assert len(nobody) > 20


# draws


@given(st.integers(0, 10**9), st.integers(1, 50))
def test_draws_stay_inside_their_bounds(seed: int, size: int) -> None:
    draw = Draw(seed)
    assert 0 <= draw.below(size) < size
    assert -size <= draw.whole(-size, size) <= size
    assert sorted(draw.shuffled(range(size))) == list(range(size))
    assert draw.weighted(range(size), [1.0] * size) in range(size)


def test_draws_have_the_distributions_that_they_name() -> None:
    draw = Draw("law")
    normal = [draw.normal(10, 2) for _ in range(20_000)]
    mean = sum(normal) / len(normal)
    assert mean == pytest.approx(10, abs=0.06)
    assert sum((value - mean) ** 2 for value in normal) / len(normal) == pytest.approx(4, rel=0.05)
    assert sum(draw.count(1.7) for _ in range(20_000)) / 20_000 == pytest.approx(1.7, abs=0.05)
    picked = Counter(draw.weighted("abc", (1, 2, 7)) for _ in range(20_000))
    assert picked["c"] / 20_000 == pytest.approx(0.7, abs=0.02)


# the published size


def test_the_medagentbench_preset_has_the_published_counts() -> None:
    from ehr.tasks.synthetic.dense import COUNTS

    counts: Counter[str] = Counter()
    sample: list[bytes] = []
    for number, body in enumerate(synthetic.preset("medagentbench")):
        counts[body[17 : body.index(b'"', 17)].decode()] += 1
        if number % 997 == 0:
            sample.append(body)
    assert counts == {**COUNTS, "Patient": 695}
    assert sum(COUNTS.values()) == 785_207

    from fhir.resources.R4B import get_fhir_model_class

    for body in sample:
        get_fhir_model_class(orjson.loads(body)["resourceType"]).model_validate_json(body)
