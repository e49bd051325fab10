"""Planted rows: ids, copies, times and values like the record's own; people who are not in the record."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ehr.sandbox import Record
from ehr.tasks import synthetic, truth
from ehr.tasks.clone import clone, elements, leads_elsewhere, scrambled, written_like
from ehr.tasks.idshape import IdShape, storage_place
from ehr.tasks.measures import MAGNESIUM, POTASSIUM
from ehr.tasks.newcomer import namesake_of, newcomer
from ehr.tasks.planting import Row, new_ids, places, results
from ehr.tasks.synthetic.draw import Draw
from ehr.tasks.template import CannotDrawError, Drawing
from ehr.tasks.ward import Ward
from tests.ehr.tasks.playing import CLOCK, PEOPLE, a_world, callables, result


def drawing(ward: Ward, index: int = 0) -> Drawing:
    return Drawing(ward, "any", index, 1)


@pytest.mark.parametrize(
    "ids",
    [
        [f"{n:08x}-0000-4000-8000-{n * 7919:012x}" for n in range(0, 90_000, 311)],
        [str(n) for n in range(10_000, 10_500)],
        [f"obs-{n * 7919 % 1000:03d}" for n in range(0, 300, 3)],
    ],
)
def test_new_ids_have_the_shape_of_those_that_are_there_and_are_free(ids: list[str]) -> None:
    shape = IdShape.of(ids)
    found = shape.several(20, Draw("x"), set(ids).__contains__)
    assert len(set(found)) == 20
    assert not set(found) & set(ids)
    assert all(shape.matches(id) for id in found)
    assert found == sorted(found, key=storage_place)


def test_a_record_whose_ids_leave_no_room_gets_longer_ones() -> None:
    taken = {f"p{n}" for n in range(10)}
    found = IdShape.of(sorted(taken)).several(30, Draw("x"), taken.__contains__)
    assert len(set(found)) == 30
    assert all(id.startswith("p") and id[1:].isdigit() and len(id) > 2 for id in found)


def test_a_shape_needs_ids_to_be_learnt_from() -> None:
    with pytest.raises(ValueError, match="no ids to learn a shape from"):
        IdShape.of([])


def test_storage_order_is_the_order_in_which_the_server_lists() -> None:
    rows = [result(f"row{n}", f"2026-01-10T08:{n:02d}:00+00:00", 4) for n in range(30)]
    with a_world(rows) as world:
        tools = callables(world)
        found = tools["fhir_search"](type="Observation", parameters={"patient": "p1", "_count": "50"})
        listed = [entry["resource"]["id"] for entry in found["body"]["entry"]]
    assert listed == sorted(listed, key=storage_place)
    assert len(listed) == 30


@pytest.mark.parametrize(
    ("example", "written"),
    [
        ("2019-05-06T07:08:00+00:00", "2026-01-15T09:08:07+00:00"),
        ("2019-05-06T07:08:00Z", "2026-01-15T09:08:07Z"),
        ("2019-05-06T07:08:00-05:00", "2026-01-15T04:08:07-05:00"),
        ("2019-05-06T07:08:00.123+00:00", "2026-01-15T09:08:07.000+00:00"),
        ("2019-05-06", "2026-01-15"),
        ("2019-05", "2026-01"),
    ],
)
def test_times_are_written_like_the_example(example: str, written: str) -> None:
    assert written_like(example, datetime(2026, 1, 15, 9, 8, 7, tzinfo=UTC)) == written


def test_scrambled_text_keeps_its_form() -> None:
    made = scrambled("AB-1907/x", Draw("x"))
    assert made != "AB-1907/x"
    assert [c if not c.isdigit() else "9" for c in made] == [c if not c.isdigit() else "9" for c in "AB-1907/x"]
    assert scrambled("none", Draw("x")) == "none"


def test_a_copy_leads_into_no_other_chart(ward: Ward) -> None:
    example = next(row for row in ward.examples("DiagnosticReport") if leads_elsewhere(row))
    person = ward.people[3]
    made = clone(example, ward, Draw("x"), person, "new")
    assert made["subject"]["reference"] == person.reference
    assert made["id"] == "new"
    assert not leads_elsewhere(made)
    encounters = {row["id"] for row in ward.chart(person, "Encounter")}
    assert made["encounter"]["reference"].split("/")[1] in encounters


def test_planted_results_are_what_was_asked_for_and_look_like_the_records(ward: Ward) -> None:
    task = drawing(ward)
    person = ward.people[0]
    wanted = [Row(task.ago(hours=5), 3.1), Row(task.ago(days=200), 4.4, status="entered-in-error")]
    made = results(task, person, POTASSIUM, wanted)
    assert [row["valueQuantity"]["value"] for row in made] == [3.1, 4.4]
    assert [row["status"] for row in made] == ["final", "entered-in-error"]
    assert [truth.taken(row) for row in made] == [row.at for row in wanted]
    assert [row["subject"]["reference"] for row in made] == [person.reference] * 2
    assert [row["interpretation"][0]["coding"][0]["code"] for row in made if "interpretation" in row] == ["L"]
    own = [row for row in ward.examples("Observation") if truth.codes(row["code"]) == {"2823-3"}]
    assert all(elements(row) in {elements(other) for other in own} for row in made)
    loaded = datetime.fromisoformat(made[1]["meta"]["lastUpdated"])
    assert loaded - (truth.taken(made[1]) or loaded) > timedelta(days=1)  # what is old came in one night


def test_a_result_that_the_record_has_not_looks_like_others_of_its_category(ward: Ward) -> None:
    task = drawing(ward)
    made = results(task, ward.people[0], MAGNESIUM, [Row(task.ago(hours=5), 0.58, MAGNESIUM.other)])[0]
    assert made["valueQuantity"] == {
        "value": 0.58, "unit": "mmol/L", "system": "http://unitsofmeasure.org", "code": "mmol/L",
    }  # fmt: skip
    assert "2601-3" in truth.codes(made["code"])
    assert truth.codes(made["category"][0]) == {"laboratory"}
    assert made["referenceRange"][0]["low"]["value"] == pytest.approx(0.70, abs=0.01)
    assert truth.codes(made["interpretation"][0]) == {"L"}


def test_values_have_as_many_decimals_as_the_records(ward: Ward) -> None:
    assert places(drawing(ward), POTASSIUM, POTASSIUM.unit) == 1
    long = [result(f"o{n}", f"2026-01-10T08:{n:02d}:11+00:00", 3.1 + n / 7) for n in range(9)]
    with Record.build([*PEOPLE, *long], clock=CLOCK, synthetic=True) as record:
        task = drawing(Ward(record))
        made = results(task, task.ward.people[0], POTASSIUM, [Row(task.ago(hours=1), 3.5)])[0]
    value = made["valueQuantity"]["value"]
    assert 3.5 <= value < 3.55
    assert len(str(value)) > 6


def test_the_same_dice_plant_the_same_rows(ward: Ward) -> None:
    def made() -> object:
        task = drawing(ward)
        return results(task, ward.people[0], POTASSIUM, [Row(task.ago(hours=5), 3.1)])

    assert made() == made()


def test_a_namesake_has_the_name_and_nothing_else(ward: Ward) -> None:
    person = next(one for one in ward.people if ward.has_own_name(one))
    other = namesake_of(person, ward, Draw("x"))
    assert (other.name, other.double) == (person.name, person)
    assert other.birth_date != person.birth_date
    assert other.mrn != person.mrn
    assert not {contact["value"] for contact in other.resource["telecom"]} & {
        contact["value"] for contact in person.resource["telecom"]
    }
    assert {row["resourceType"] for row in other.planted} == {"Patient", "Encounter"}


def test_a_newcomer_has_a_name_of_their_own_and_the_birth_date_asked_for(ward: Ward) -> None:
    person = newcomer(ward, Draw("x"), ward.people, born="1964-02-29")
    assert person.birth_date == "1964-02-29"
    assert ward.has_own_name(person)
    assert person.name not in {other.name for other in ward.people}


def test_nobody_twice_while_there_are_others(ward: Ward) -> None:
    used: set[str] = set()
    people = [Drawing(ward, "any", n, 1, used).person().id for n in range(10)]
    assert len(set(people)) == 10


def test_a_record_without_people_cannot_be_drawn_from() -> None:
    nobody = [{"resourceType": "Organization", "id": "o1"}]
    with (
        Record.build(nobody, clock=CLOCK, synthetic=True) as record,
        pytest.raises(CannotDrawError, match="no living patient"),
    ):
        drawing(Ward(record)).person()


def test_ids_are_drawn_in_storage_order(ward: Ward) -> None:
    ids = new_ids(drawing(ward), "Observation", 12)
    assert ids == sorted(ids, key=storage_place)
    assert not any(ward.is_taken("Observation", id) for id in ids)


def test_the_dead_and_those_without_a_record_number_are_nobody_to_speak_of() -> None:
    people = [
        {**PEOPLE[0], "deceasedDateTime": "2025-01-01"},
        {key: value for key, value in PEOPLE[1].items() if key != "identifier"},
        {**PEOPLE[2], "birthDate": "1961"},
    ]
    with Record.build(people, clock=synthetic.CLOCK, synthetic=True) as record:
        assert Ward(record).people == []
