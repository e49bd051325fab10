"""Claims in the words and signs that clinicians and their tools write, each with a right and a wrong value."""

from __future__ import annotations

import pytest

from tests.ehr.verify.claim_traces import claims, found, observation, order, outcome, patient, pressure, search

CHART = search(
    observation("potassium", 3.2, "2026-01-15T08:00:00+00:00"),
    observation("potassium", 4.1),
    observation("magnesium", 1.7),
    observation("heart rate", 72),
    observation("temperature", 37.2),
    observation("inr", 2.4),
    observation("platelets", 250),
    pressure(140, 90),
    {**observation("potassium", 5.2), "code": {"coding": [{"system": "http://loinc.org", "code": "1988-5"}]}, "id": "c"}
    | {"valueQuantity": {"value": 5.2, "unit": "mg/L", "system": "http://unitsofmeasure.org", "code": "mg/L"}},
    observation("codfish", 40, code={"coding": [{"code": "x"}], "text": "Gamma-glutamyl transferase"}, unit="U/L"),
)
WHO = search(patient())


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("2823-3: 3.2", "2823-3: 3.3"),
        ("Potassium **3.2 mmol/L**", "Potassium **3.3 mmol/L**"),
        ("Potassium: **3.2** mmol/L", "Potassium: **3.3** mmol/L"),
        ("**Potassium:** *3.2 mmol/L*", "**Potassium:** *3.3 mmol/L*"),
        ("Potassium `3.2` mmol/L", "Potassium `3.3` mmol/L"),
        ("Latest K: 3.2 mmol/L @ 08:00", "Latest K: 3.3 mmol/L @ 08:00"),
        ("Result # K ~ 3.2", "Result # K ~ 3.3"),
        ("K\u207a 3.2", "K\u207a 3.3"),
        ("C-reactive protein 5.2 mg/L", "C-reactive protein 9.2 mg/L"),
        ("Gamma-glutamyl transferase 40 U/L", "Gamma-glutamyl transferase 41 U/L"),
        ("Potassium fell from 4.1 to 3.2", "Potassium fell from 4.8 to 3.2"),
        ("INR rose to 2.4", "INR rose to 3.1"),
        ("Mg 1.7 mg/dL", "Mg 2.1"),
        ("Platelets 250,000", "Platelets 25,000"),
        ("Blood pressure 140 over 90", "Blood pressure 150 over 90"),
        ("Her BP is above goal at 140/90 mmHg", "Her BP is above goal at 160/95 mmHg"),
        ("Potassium 3.2 mmol/L; normal is 3.5 to 5.0 mmol/L", "Potassium 3.3 mmol/L; normal is 3.5 to 5.0 mmol/L"),
        ("Potassium 3.2 [normal: 3.5-5.0]", "Potassium 3.3 [normal: 3.5-5.0]"),
        ("INR is 2.4 (goal INR 2.0-3.0)", "INR is 2.5 (goal INR 2.0-3.0)"),
        ("45F with potassium 3.2", "45F with potassium 3.3"),
    ],
)
def test_what_clinicians_write(right: str, wrong: str) -> None:
    asked = "Tell me about the patient with MRN 40965198."
    assert (outcome(right, WHO, CHART, asked=asked), outcome(wrong, WHO, CHART, asked=asked)) == ("pass", "fail")


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("The answer is 3.2.", "The answer is 4.9."),
        ("It is 3.2", "It is 3.3"),
        ("| 2026-01-15 | 3.2 |", "| 2026-01-15 | 4.1 |"),
        (
            "| Date | Potassium |\n|---|---|\n| 2026-01-14 | 4.1 |",
            "| Date | Potassium |\n|---|---|\n| 2026-01-14 | 4.8 |",
        ),
    ],
)
def test_an_item_in_a_sentence_or_a_row(right: str, wrong: str) -> None:
    assert (outcome(right, WHO, CHART), outcome(wrong, WHO, CHART)) == ("pass", "fail")


def test_an_age_in_a_sentence() -> None:
    asked = "How old is the patient with MRN 40965198?"
    assert (outcome("She is 32.", WHO, asked=asked), outcome("She is 33.", WHO, asked=asked)) == ("pass", "fail")


def test_goals_and_conditions_are_no_claims() -> None:
    for answer in (
        "The goal INR is 2.0-3.0",
        "target SpO2 92-96%",
        "If the potassium is 3.0 mmol/L, give 40 mEq",
        "Do not give it unless the potassium is 4.0 mmol/L",
    ):
        assert found(answer) == [], answer
    assert found("The potassium is 3.0 mmol/L if the chart is right") == [("value", "3.0 mmol/L")]


def test_a_temperature_is_not_of_another_measure_that_stands_near() -> None:
    """`T` is no word of the table; the heart rate behind it is not given in degrees."""
    asked = "Tell me about the patient with MRN 40965198."
    assert outcome("T 37.2 °C, HR 72", WHO, CHART, asked=asked) == "unscored"
    assert outcome("T 38.2 °C, HR 72", WHO, CHART, asked=asked) == "fail"


def test_signs_that_are_no_emphasis_stay() -> None:
    assert [claim.units for claim in claims("platelets 250 10*3/uL")] == [("10*3/uL",)]
    assert found("98.6F") == [("value", "98.6F")]
    assert found("101F") == [("value", "101F")]


def test_a_drug_keeps_its_dose() -> None:
    shown = search(order("furosemide 40 MG Oral Tablet", 20))
    asked = "What is the dose of furosemide?"
    assert outcome("Furosemide **20 mg** daily", shown, asked=asked) == "pass"
    assert outcome("Furosemide **80 mg** daily", shown, asked=asked) == "fail"


def test_what_a_resource_without_an_id_contains_is_read() -> None:
    report = {"resourceType": "DiagnosticReport", "contained": [observation("potassium", 4.1, id="#k")]}
    assert outcome("potassium 4.1", search(report)) == "pass"
    assert outcome("potassium 4.2", search(report)) == "fail"


def test_dates_with_hyphens_and_without_a_year() -> None:
    assert outcome("15-Jan-2026: potassium 3.2 mmol/L", CHART) == outcome("K 3.2 on 1/15", CHART) == "pass"
    assert outcome("14-Jan-2026: potassium 3.2 mmol/L", CHART) == outcome("K 3.2 on 1/14", CHART) == "fail"


def test_signs_around_an_item() -> None:
    for answer in ("Answer: {}", "Final answer: {}", "['{}']", "[{}]", "\\boxed{{{}}}", "<b>{}</b>", "${}$"):
        assert outcome(answer.format(3.2), CHART) == "pass", answer
        assert outcome(answer.format(3.3), CHART) == "fail", answer


def test_what_the_agent_changed_or_plans_and_grades_are_no_claims() -> None:
    for answer in (
        "I increased furosemide from 20 mg to 80 mg",
        "Plan: KCl 40 mEq.",
        "KCl 40 mEq has been ordered",
        "pulse 2+ bilaterally",
    ):
        assert found(answer) == [], answer
    assert found("Her potassium has increased to 5.5") == [("value", "5.5")]
    assert found("Potassium increased to 5.5 mmol/L") == [("value", "5.5 mmol/L")]


def test_a_symbol_that_is_a_marker_s_name_is_none() -> None:
    assert found("Ca 8.9") == [("value", "8.9")]
    assert found("CA 19-9, Ca 125 and CA 15-3 were not measured") == []
