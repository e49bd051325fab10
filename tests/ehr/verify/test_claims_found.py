"""What is a claim of an answer, and what is none."""

from __future__ import annotations

import pytest

from tests.ehr.verify.claim_traces import claims, found


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Potassium was 4.1 mmol/L.", [("value", "4.1 mmol/L")]),
        ("potassium 4.1", [("value", "4.1")]),
        ("K+ of 4.1", [("value", "4.1")]),
        ("Potassium (LOINC 2823-3): 4.1", [("value", "4.1")]),
        ("LOINC 2823-3 = 4.1", [("value", "4.1")]),
        ("The INR is 2.4 today.", [("value", "2.4")]),
        ("HbA1c 6.5 %", [("value", "6.5 %")]),
        ("SpO2 97%", [("value", "97%")]),
        ("SpO2 was 97 percent", [("value", "97 percent")]),
        ("Temp 37.2 C", [("value", "37.2 C")]),
        ("37.2 °C, 98.9 °F", [("value", "37.2 °C"), ("value", "98.9 °F")]),
        ("eGFR 45 mL/min/1.73 m²", [("value", "45 mL/min/1.73 m²")]),
        ("platelets 250 x10^9/L", [("value", "250 x10^9/L")]),
        ("HR 72 bpm and RR 16/min", [("value", "72 bpm"), ("value", "16/min")]),
        ("weighs 1,200.5 g", [("value", "1,200.5 g")]),
        ("Kalium 4,1 mmol/L", [("value", "4,1 mmol/L")]),
        ("glucose 5.1 mmol/l", [("value", "5.1 mmol/l")]),
        ("T-score of -2.5 kg", [("value", "-2.5 kg")]),
        ("40mg furosemide", [("value", "40mg")]),
        ("200 µg/L", [("value", "200 µg/L")]),
        ("pain 3/10", [("value", "3/10")]),
    ],
)
def test_a_number_with_a_unit_or_beside_a_measure_is_a_claim(answer: str, expected: list[tuple[str, str]]) -> None:
    assert found(answer) == expected


@pytest.mark.parametrize(
    "answer",
    [
        "No results found.",
        "There is no potassium on the chart.",
        "Done.",
        "",
        "The patient is allergic to penicillin.",
        "She has 3 problems and 2 tablets.",
        "A 12-lead ECG, stage 3, type 2 diabetes, grade 2, the 3rd",
        "B12, T4, CO2 and SpO2 were not measured",
        "MRN 40965198, id 123, RxNorm 310429, SNOMED CT 44054006",
        "Observation/123, http://fhir.example/Observation/4.1 mmol",
        "+1-737-555-0151, 555-0123, (737) 555-0151",
        "on 2026-01-14 at 09:30, 14 January 2026, Jan 14, 14.01.2026, 01/14/2026, 09:30, 9:30 am",
        "1. first\n2) second",
        "in the last 24 hours, for 3 days, every 12 hours, 2 weeks ago, for 3 years, 24h, 5 min",
        "half of it, 50 % of the doses",
        "1 mg per kg, 5 mg/day",
        '{"resourceType": "Observation", "valueQuantity": {"value": 4.1, "unit": "mmol/L"}, "note": "4.1 mmol/L"}',
    ],
)
def test_what_only_looks_like_a_quantity_is_no_claim(answer: str) -> None:
    assert found(answer) == []


def test_percentages_are_claims_only_of_what_is_measured_in_percent() -> None:
    assert found("Oxygen saturation: 97 %") == [("value", "97 %")]
    assert found("Potassium fell by 20 %") == []
    assert found("97 % of the oxygen saturation values") == []


@pytest.mark.parametrize(
    "answer",
    [
        "potassium below 3.5 mmol/L",
        "potassium is under the 3.5 mmol/L",
        "potassium > 5.0 mmol/L",
        "potassium ≥ 5.0 mmol/L",
        "at 1.9 mg/dL or more",
        "3.5 mmol/L or above",
        "less than 4 mmol/L, at least 3 mmol/L, at most 5 mmol/L",
        "reference range 3.5-5.1 mmol/L",
        "(normal 3.5 - 5.1 mmol/L)",
        "a target of 4.0 mmol/L",
        "normal 3.5 to 5.1 mmol/L",
    ],
)
def test_limits_are_no_claims(answer: str) -> None:
    assert found(answer) == []


def test_a_value_beside_a_limit_is_a_claim() -> None:
    assert found("Potassium is 4.1 mmol/L (normal range 3.5-5.1 mmol/L), not below 3.5") == [("value", "4.1 mmol/L")]
    assert found("Potassium was normal at 4.1 mmol/L") == [("value", "4.1 mmol/L")]
    assert found("Potassium was not low at 4.1 mmol/L") == [("value", "4.1 mmol/L")]


@pytest.mark.parametrize(
    "answer",
    [
        "It was not 4.1 mmol/L",
        "There is no potassium of 4.1 mmol/L",
        "The value isn't 4.1 mmol/L",
        "never 4.1 mmol/L",
        "rather than 4.1 mmol/L",
        "a result without 4.1 mmol/L",
    ],
)
def test_what_is_denied_is_no_claim(answer: str) -> None:
    assert found(answer) == []


@pytest.mark.parametrize(
    "answer",
    [
        "Ordered 40 mg furosemide.",
        "I ordered 2 g magnesium sulfate",
        "I have recorded a weight of 81.6 kg",
        "The potassium is low, and I placed an order for 40 mEq.",
        "Successfully updated to 18.75 mg",
    ],
)
def test_what_the_agent_says_it_did_is_no_claim(answer: str) -> None:
    assert found(answer) == []


@pytest.mark.parametrize(
    "answer",
    ["I would give 20 mEq of potassium", "I recommend 40 mg furosemide", "She should get 2 g", "I will order 40 mg"],
)
def test_what_the_agent_advises_is_no_claim(answer: str) -> None:
    assert found(answer) == []
    assert found("I would repeat it, as the potassium is 3.2 mmol/L") == [("value", "3.2 mmol/L")]


def test_what_is_recorded_is_a_claim() -> None:
    assert found("The last recorded weight is 81.6 kg") == [("value", "81.6 kg")]
    assert found("Potassium 2.9 mmol/L, so I ordered 40 mEq") == [("value", "2.9 mmol/L")]


def test_ranges_and_lists_are_a_claim_for_each_number() -> None:
    assert found("between 3.9 and 4.5 mmol/L") == [("value", "3.9"), ("value", "4.5 mmol/L")]
    assert found("3.9-4.5 mmol/L") == [("value", "3.9"), ("value", "4.5 mmol/L")]
    assert found("3.9–4.5 mmol/L") == [("value", "3.9"), ("value", "4.5 mmol/L")]
    assert found("Potassium 4.1 -> 4.3 → 4.0 mmol/L") == [("value", "4.1"), ("value", "4.3"), ("value", "4.0 mmol/L")]
    listed = claims("Potassium: 4.1, 4.3 and 4.0 mmol/L")
    assert [(claim.text, claim.units) for claim in listed] == [
        ("4.1", ("mmol/L",)), ("4.3", ("mmol/L",)), ("4.0 mmol/L", ("mmol/L",)),
    ]  # fmt: skip
    other = claims("INR 2.4 and potassium 4.1 mmol/L")  # no list: another measure stands between
    assert [(claim.text, claim.units) for claim in other] == [("2.4", ()), ("4.1 mmol/L", ("mmol/L",))]


def test_a_range_that_a_stated_value_lies_in_is_a_limit() -> None:
    assert found("Potassium 3.2 mmol/L is between 3.0 and 3.5 mmol/L") == [("value", "3.2 mmol/L")]
    assert found("Potassium 3.2 (3.5-5.1)") == found("Potassium 3.2 [3.5-5.1]") == [("value", "3.2")]
    assert found("Potassium 3.2 mmol/L (3.5-5.1 mmol/L)") == [("value", "3.2 mmol/L")]
    assert found("| Potassium | 3.2 | L | 3.5-5.1 | mmol/L |") == [("value", "3.2")]
    assert found("| Potassium | 3.2-3.8 mmol/L |") == [("value", "3.2"), ("value", "3.8 mmol/L")]
    assert found("Potassium was between 3.0 and 3.5 mmol/L") == [("value", "3.0"), ("value", "3.5 mmol/L")]


def test_a_unit_in_brackets_before_the_number() -> None:
    for answer in ("Potassium (mmol/L): 4.1", "Potassium [mmol/L] = 4.1", "Potassium (mmol/L) was 4.1"):
        (claim,) = claims(answer)
        assert (claim.text, claim.units) == ("4.1", ("mmol/L",))
    for answer in ("Potassium (latest): 4.1", "Beside potassium (mmol/L) the INR: 2.4"):
        (claim,) = claims(answer)
        assert claim.units == (), answer


def test_a_blood_pressure_is_one_claim() -> None:
    for answer in ("BP 120/80", "120/80 mmHg", "blood pressure of 120 / 80 mm Hg", "Blood pressure: 120/80"):
        (claim,) = claims(answer)
        assert (claim.kind, claim.value, claim.second) == ("pressure", 120, 80)
    assert found("ratio 120/80") == []
    assert found("120/80", "What is the blood pressure?") == [("pressure", "120/80")]


def test_ages() -> None:
    for answer in (
        "She is 32 years old.",
        "a 32-year-old woman",
        "aged 32",
        "age: 32",
        "32 y/o",
        "32 y.o.",
        "32yo",
        "32 years of age",
    ):
        (claim,) = claims(answer)
        assert (claim.kind, claim.value, claim.units) == ("age", 32, ("a",)), answer
    assert [claim.units for claim in claims("8 months old, 3 weeks old, 5 days old")] == [("mo",), ("wk",), ("d",)]
    assert found("32 years", "How old is she?") == [("age", "32 years")]
    assert found("32", "How old is she?") == [("age", "32")]
    assert found("She smoked for 32 years") == []
    assert found("32", "Tell me about her.") == []


def test_counts_of_values() -> None:
    assert found("12 glucose readings") == [("count", "12")]
    assert found("Based on 12 bedside glucose measurements") == [("count", "12")]
    assert found("mean potassium 4.2 mmol/L (n = 3)") == [("mean", "4.2 mmol/L"), ("count", "3")]
    assert found("12", "How many glucose readings are there?") == [("count", "12")]
    assert found("the first 10 potassium results; 3 results of something") == []


def test_derived_numbers_are_those_that_words_call_so() -> None:
    answer = (
        "The mean glucose is 168 mg/dL, highest 250 mg/dL, lowest 80 mg/dL; it rose by 12 mg/dL. Glucose was 151 mg/dL."
    )
    assert found(answer) == [
        ("mean", "168 mg/dL"), ("maximum", "250 mg/dL"), ("minimum", "80 mg/dL"), ("difference", "12 mg/dL"),
        ("value", "151 mg/dL"),
    ]  # fmt: skip
    assert found("From 150 mg/dL to 190 mg/dL (a rise of 40 mg/dL), down 5 mg/dL") == [
        ("value", "150 mg/dL"), ("value", "190 mg/dL"), ("difference", "40 mg/dL"), ("difference", "5 mg/dL"),
    ]  # fmt: skip
    assert found("168 mg/dL on average") == [("mean", "168 mg/dL")]
    assert found("168 mg/dL", "What was the mean glucose?") == [("mean", "168 mg/dL")]
    assert found("168 mg/dL", "How many readings are there, and what was the mean?") == [("mean", "168 mg/dL")]
    assert found("168 mg/dL", "I mean the last glucose, do I not?") == [("value", "168 mg/dL")]
    assert found("mean arterial pressure 93 mmHg") == [("value", "93 mmHg")]


def test_an_item_alone_on_its_line_is_a_claim_where_a_measure_is_asked_for() -> None:
    assert found("4.1", "What is the potassium?") == [("value", "4.1")]
    assert found("4.1\nNote: seen.", "What is the potassium?") == [("value", "4.1")]
    assert found("4.1", "Whom shall I call?") == []
    assert found("310429\n197361", "List the drugs by RxNorm code; mind the weight.") == []
    assert found("14774677", "The record number of the man with the high potassium") == []


def test_what_is_given_is_no_claim() -> None:
    asked = "Record a weight of 81.6 kg. If potassium is below 3.5 mmol/L order 2 g. BP 149/92 mmHg, INR 5.0, 32 years."
    assert found("weight 81.6 kg, 81600 g, potassium 3.5 mmol/L, 2000 mg, BP 149/92, INR 5.0", asked) == [
        ("pressure", "149/92")
    ]
    assert found("BP 149/92 mmHg", asked) == []
    assert found("systolic 149 mmHg, diastolic 92 mmHg", asked) == []
    assert found("systolic 92 mmHg, 148 mmHg", asked) == [("value", "148 mmHg")]
    assert found("BP 149/91 mmHg, 92/149 mmHg", asked) == [("pressure", "149/91 mmHg"), ("pressure", "92/149 mmHg")]
    assert found("She is 32 years old", asked) == []
    assert found("She is 48 years old", "In the last 48 hours?") == [("age", "48 years")]
    assert found("weight 179.9 lb, 181 lb", asked) == [("value", "181 lb")]
    assert found("weight 81.7 kg, 82 kg", asked) == [("value", "81.7 kg"), ("value", "82 kg")]
    assert found("weight 81.7 kg, potassium 3.6 mmol/L", asked) == [("value", "81.7 kg"), ("value", "3.6 mmol/L")]
    assert found("INR 3.5", asked) == [("value", "3.5")]


def test_a_claim_knows_where_its_words_stand_and_counts_once() -> None:
    answer = "Potassium 4.1 mmol/L. Yes, potassium was 4.1 mmol/L. Sodium 141 mmol/L."
    made = claims(answer)
    assert [claim.text for claim in made] == ["4.1 mmol/L", "141 mmol/L"]
    assert all(answer[claim.span[0] : claim.span[1]] == claim.text for claim in made)


@pytest.mark.parametrize(
    ("answer", "stated"),
    [
        ("Potassium was 4.1 mmol/L on 2026-01-14", (2026, 1, 14)),
        ("On 2026-01-14 potassium was 4.1 mmol/L", (2026, 1, 14)),
        ("4.1 mmol/L (14 January 2026, 09:30)", (2026, 1, 14)),
        ("- 2026-01-14 09:30: 4.1 mmol/L", (2026, 1, 14)),
        ("Potassium 4.1 mmol/L, measured yesterday", (2026, 1, 14)),
        ("4.1 mmol/L\n2026-01-14T09:30:00+00:00", (2026, 1, 14)),
        ("Potassium 4.1 mmol/L, so a repeat is due on 2026-01-16", None),
        ("Ordered for 2026-01-16 because potassium was 4.1 mmol/L", None),
        ("Potassium 4.1 mmol/L at 09:30", None),
        ("At 09:30 the potassium was 4.1 mmol/L", None),
        ("She was born on 1993-05-04 with a potassium of 4.1 mmol/L", None),
    ],
)
def test_its_time_is_the_one_that_stands_with_it(answer: str, stated: tuple[int, int, int] | None) -> None:
    (claim,) = claims(answer, "What is the potassium?")
    assert (claim.moment.days[0] if claim.moment else None) == stated


def test_each_of_two_values_has_its_own_time() -> None:
    made = claims("Potassium was 4.1 mmol/L on 2026-01-13 and 4.3 mmol/L on 2026-01-14.")
    assert [claim.moment.days[0][2] for claim in made if claim.moment] == [13, 14]
