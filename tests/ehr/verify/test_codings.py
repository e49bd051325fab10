from __future__ import annotations

from typing import Any

import pytest

from ehr.verify import Create, Expected, clause, coded
from tests.ehr.verify.build import (
    BASE,
    LOINC,
    MAGNESIUM,
    NDC,
    ORDER,
    WARFARIN,
    Body,
    Chart,
    changed,
    finding,
    labels,
    order,
    potassium,
    state,
)

RIGHT = {"system": NDC, "code": MAGNESIUM}
LOCAL = {"system": "http://hospital.example/drugs", "code": "MG2"}


def _drug(*codings: Any, **members: Any) -> Body:
    return order(medicationCodeableConcept={"coding": list(codings), **members})


@pytest.mark.parametrize(
    "body",
    [
        _drug(RIGHT),
        _drug(LOCAL, RIGHT),  # any coding of the concept
        _drug(RIGHT, LOCAL),
        _drug(RIGHT, RIGHT),
        _drug({**RIGHT, "version": "2026", "userSelected": True}),
        _drug(RIGHT, {"display": "magnesium"}),
        _drug(RIGHT, "nonsense", 7, None),
    ],
)
def test_any_coding_of_the_concept_satisfies(body: Body) -> None:
    assert labels(ORDER, body) == ()


@pytest.mark.parametrize(
    "body",
    [
        _drug({"system": NDC, "code": "0000-0000-00"}),
        _drug({"system": LOCAL["system"], "code": MAGNESIUM}),  # the same code of another system
        _drug({"code": MAGNESIUM}),
        _drug({"system": NDC}),
        _drug({"system": NDC, "code": MAGNESIUM.lower() + " "}),
        _drug(RIGHT, {"system": NDC, "code": "0000-0000-00"}),  # and another code of the same system
        _drug({"system": NDC, "code": "0000-0000-00"}, RIGHT),
        _drug(RIGHT, {"system": NDC}),
        _drug(text="magnesium sulfate"),  # words only
        _drug(),
        order(medicationCodeableConcept=None),
        order(medicationCodeableConcept={"coding": RIGHT}),
        order(medicationCodeableConcept="magnesium"),
    ],
)
def test_another_code_another_system_two_of_one_system_and_words_alone_are_wrong_code(body: Body) -> None:
    assert labels(ORDER, body) == ("WRONG_CODE",)


def test_the_drug_may_stand_in_a_contained_medication() -> None:
    def contained(code: Body, reference: str = "#m") -> Body:
        return order(
            medicationCodeableConcept=None,
            medicationReference={"reference": reference},
            contained=[
                {"resourceType": "Practitioner", "id": "d"},
                {"resourceType": "Medication", "id": "m", "code": code},
            ],
        )

    assert labels(ORDER, contained({"coding": [RIGHT]})) == ()
    assert labels(ORDER, contained({"coding": [LOCAL]})) == ("WRONG_CODE",)
    assert labels(ORDER, contained({"coding": [RIGHT]}, "#x")) == ("WRONG_CODE",)
    assert labels(ORDER, contained({"coding": [RIGHT]}, "#d")) == ("WRONG_CODE",)
    assert labels(ORDER, contained({"reference": "#m"})) == ("WRONG_CODE",)  # and no circle is walked
    assert labels(ORDER, order(medicationCodeableConcept=None, medicationReference={"reference": "#m"})) == (
        "WRONG_CODE",
    )


@pytest.mark.parametrize("form", ["{}", "{}/_history/1", BASE + "/{}"])
def test_the_drug_may_stand_in_a_medication_written_in_this_episode(form: str) -> None:
    expected = Expected(
        creates=(
            *ORDER.creates,
            Create(type="Medication", clauses=(clause("is coded", "code.coding.exists()", label="WRONG_CODE"),)),
        )
    )
    for coding, outcome in ((RIGHT, ()), (LOCAL, ("WRONG_CODE",))):
        chart = Chart()
        medication = chart.create({"resourceType": "Medication", "code": {"coding": [coding]}})
        chart.create(order(medicationCodeableConcept=None, medicationReference={"reference": form.format(medication)}))
        assert state(chart, expected).labels == outcome


def test_a_medication_that_stood_elsewhere_before_is_not_followed() -> None:
    chart = Chart({"resourceType": "Medication", "id": "m1", "code": {"coding": [RIGHT]}})
    chart.create(order(medicationCodeableConcept=None, medicationReference={"reference": "Medication/m1"}))
    assert state(chart, ORDER).labels == ("WRONG_CODE",)


def test_a_medication_of_another_writer_is_not_followed() -> None:
    chart = Chart()
    medication = chart.create({"resourceType": "Medication", "code": {"coding": [RIGHT]}}, by="other")
    chart.create(order(medicationCodeableConcept=None, medicationReference={"reference": medication}))
    assert state(chart, ORDER).labels == ("WRONG_CODE",)


def test_a_concept_and_a_reference_side_by_side_are_two_drugs() -> None:
    assert labels(ORDER, order(medicationReference={"reference": "Medication/m1"})) == ("WRONG_CODE",)


def test_among_several_concepts_one_must_hold() -> None:
    expected = Expected(
        creates=(Create(type="Observation", clauses=(coded("kind", "category", "http://c.example", "lab"),)),)
    )
    lab = {"coding": [{"system": "http://c.example", "code": "lab"}]}
    vital = {"coding": [{"system": "http://c.example", "code": "vital"}]}
    assert labels(expected, potassium(category=[vital, lab])) == ()
    assert labels(expected, potassium(category=[vital])) == ("WRONG_CODE",)
    assert labels(expected, potassium(category=[{"coding": [*lab["coding"], *vital["coding"]]}])) == ("WRONG_CODE",)


def test_an_element_of_type_coding_is_a_coding() -> None:
    expected = Expected(
        creates=(
            Create(type="Encounter", clauses=(coded("class", "class", "http://act.example", "AMB"),)),
            Create(type="Observation", clauses=(coded("tag", "meta.tag", "http://t.example", "t"),)),
        )
    )
    encounter = {"resourceType": "Encounter", "class": {"system": "http://act.example", "code": "AMB"}}
    observation = potassium(meta={"tag": [{"system": "http://t.example", "code": "t"}]})
    assert labels(expected, encounter, observation) == ()
    assert labels(expected, changed(encounter, **{"class": {"code": "AMB"}}), observation) == ("WRONG_CODE",)
    assert labels(expected, encounter, potassium(meta={"tag": [{"system": "http://t.example", "code": "u"}]})) == (
        "WRONG_CODE",
    )


def test_a_plain_code_has_no_system_and_never_satisfies_a_coding() -> None:
    expected = Expected(
        creates=(Create(type="Observation", clauses=(coded("status", "status", "http://s.example", "final"),)),)
    )
    assert labels(expected, potassium()) == ("WRONG_CODE",)
    as_clause = Expected(
        creates=(Create(type="Observation", clauses=(clause("status", "status = 'final'", label="WRONG_CODE"),)),)
    )
    assert labels(as_clause, potassium()) == ()


@pytest.mark.parametrize(
    ("concept", "noted"),
    [
        ({"coding": [{**RIGHT, "display": "Magnesium sulfate in water"}]}, False),
        ({"coding": [RIGHT], "text": "2 g MAGNESIUM now"}, False),
        ({"coding": [RIGHT]}, False),
        ({"coding": [{**RIGHT, "display": ""}], "text": " "}, False),
        ({"coding": [{**RIGHT, "display": 7}]}, False),
        ({"coding": [{**RIGHT, "display": "Warfarin 5 mg"}]}, True),
        ({"coding": [RIGHT], "text": "warfarin"}, True),
        ({"coding": [{**RIGHT, "display": "Magnesium sulfate"}], "text": "warfarin"}, True),
    ],
)
def test_a_contradicting_display_is_a_note_and_no_failure(concept: Body, noted: bool) -> None:
    drug = coded("drug", "medication", NDC, MAGNESIUM, display="magnesium sulfate")
    chart = Chart()
    chart.create(order(medicationCodeableConcept=concept))
    verdict = state(chart, Expected(creates=(Create(type="MedicationRequest", clauses=(drug,)),)))
    assert verdict.outcome == "pass"
    assert ("CONTRADICTING_DISPLAY" in verdict.notes) == noted


@pytest.mark.parametrize(("text", "noted"), [("Warfarin 5 g in 2 mL", True), ("Magnesium 5 g in 2 mL", False)])
def test_small_words_and_numbers_in_common_do_not_make_a_text_speak_of_the_same(text: str, noted: bool) -> None:
    drug = coded("drug", "medication", NDC, MAGNESIUM, display="magnesium sulfate 5 g in 2 mL")
    chart = Chart()
    chart.create(order(medicationCodeableConcept={"coding": [RIGHT], "text": text}))
    verdict = state(chart, Expected(creates=(Create(type="MedicationRequest", clauses=(drug,)),)))
    assert (verdict.outcome, "CONTRADICTING_DISPLAY" in verdict.notes) == ("pass", noted)


def test_a_reference_may_contradict_the_drug_it_leads_to() -> None:
    drug = coded("drug", "medication", NDC, MAGNESIUM, display="magnesium sulfate")
    chart = Chart()
    chart.create(
        order(
            medicationCodeableConcept=None,
            medicationReference={"reference": "#m", "display": "warfarin"},
            contained=[{"resourceType": "Medication", "id": "m", "code": {"coding": [RIGHT]}}],
        )
    )
    verdict = state(chart, Expected(creates=(Create(type="MedicationRequest", clauses=(drug,)),)))
    assert (verdict.outcome, "CONTRADICTING_DISPLAY" in verdict.notes) == ("pass", True)


def test_where_the_expectation_says_no_words_no_display_contradicts() -> None:
    chart = Chart()
    chart.create(_drug({**RIGHT, "display": "warfarin"}))
    assert "CONTRADICTING_DISPLAY" not in state(chart, ORDER).notes


@pytest.mark.parametrize(
    ("body", "actual"),
    [
        (_drug(LOCAL, {"system": NDC, "code": "1"}), f"http://hospital.example/drugs|MG2, {NDC}|1"),
        (_drug(text="magnesium"), "text 'magnesium'"),
        (order(medicationCodeableConcept={"text": "magnesium"}), "text 'magnesium'"),
        (_drug(), "no coding"),
        (order(medicationCodeableConcept=None), "nothing"),
    ],
)
def test_the_finding_says_what_was_found(body: Body, actual: str) -> None:
    chart = Chart()
    chart.create(body)
    found = finding(state(chart, ORDER), "creates[0].drug")
    assert (found.label, found.expected, found.actual) == ("WRONG_CODE", f"{NDC}|{MAGNESIUM}", actual)


def test_a_clause_fails_under_its_own_label() -> None:
    stopped = coded("status", "code", LOINC, "2823-3", label="WRONG_STATUS")
    expected = Expected(creates=(Create(type="Observation", clauses=(stopped,)),))
    assert labels(expected, potassium(code=WARFARIN["medicationCodeableConcept"])) == ("WRONG_STATUS",)
