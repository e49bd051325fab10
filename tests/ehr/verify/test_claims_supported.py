"""What supports a claim, and what does not: each rule with what passes it and what fails it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ehr.verify.claims.claim import MOST
from ehr.verify.claims.concepts import MEASURES
from harness.trace import Call
from tests.ehr.verify.claim_traces import (
    ASKED,
    bundle,
    call,
    create,
    judged,
    observation,
    only,
    order,
    outcome,
    patient,
    pressure,
    read,
    search,
)

LAB = search(
    observation("potassium", 4.1),
    observation("potassium", 3.8, "2026-01-13T08:00:00+00:00"),
    observation("sodium", 140),
    observation("glucose", 151),
    observation("weight", 81.62),
)


def test_one_observation_of_the_measure_supports_a_value() -> None:
    one = only("The potassium was 4.1 mmol/L.", LAB)
    (support,) = one.support
    assert (one.outcome, support.call, support.how, support.rule) == ("pass", 1, "observed", None)
    assert (support.resource, support.path) == ("Observation/2823-3-4-1-01-14T0930", "valueQuantity")


@pytest.mark.parametrize(
    "answer",
    [
        "Potassium: 4.1",
        "4.1 mmol/L",
        "4.1",
        "K 4.1, Na 140",
        "sodium 140 mmol/L and potassium 4.1 mmol/L",
        "4.1 mmol/L potassium, 140 mmol/L sodium",
        "A potassium of 4.1 and a sodium of 140 were found.",
        "LOINC 2823-3: 4.1",
        "Potassium [Moles/volume] in Serum or Plasma: 4.1 mmol/L",
        "Potassium: 4.1 and 3.8 mmol/L",
        "Results of the potassium:\n- 4.1 mmol/L\n- 3.8 mmol/L",
        "Sodium:\n\n- 140 mmol/L\n- 140 mmol/L",
        "Sodium:\n\n- 140 mmol/L\n\n4.1 mmol/L",
        "sodium 140 mmol/L (potassium normal)",
        "Results of the potassium:\n- The sodium sample, taken again, came back at 140 mmol/L",
        "potassium 4.1 meq/L",
        "Her blood glucose came back at 151 mg/dL.",
        "weight 81.62 kg",
    ],
)
def test_ways_to_say_what_was_shown(answer: str) -> None:
    assert outcome(answer, LAB) == "pass"


@pytest.mark.parametrize(
    "answer",
    [
        "Potassium: 4.2",
        "potassium 140 mmol/L",
        "sodium 4.1 mmol/L",
        "K 140, Na 4.1",
        "potassium 4.1 and sodium 3.8 mmol/L",
        "140",
        "140 mmol/L",
        "4.1 mg/dL",
        "LOINC 2951-2: 4.1",
        "Potassium: 4.1 and 140 mmol/L",
        "The magnesium was 4.1 mmol/L",
        "Results of the sodium:\n- 4.1 mmol/L",
        "Results of the sodium:\n\n- 4.1 mmol/L",
        "potassium 140 mmol/L (sodium normal)",
        "9.9 mmol/L",
        "potassium 0.3 mmol/L",
        "potassium 2823 mmol/L",
        "potassium 17 mmol/L",
    ],
)
def test_a_wrong_value_fails_wherever_it_stands(answer: str) -> None:
    """Other measures' values, numbers of links, ids and codes, and the difference of two values are in the JSON."""
    assert outcome(answer, LAB) == "fail"


def test_what_fails_says_why() -> None:
    assert only("potassium 4.2", LAB).why == "none of the 2 values shown of what is named is equal"
    assert only("potassium 4.2").why == "no tool result shows a value"
    assert only("INR 4.1", LAB).why == "no tool result shows a value of what is named"
    nameless = only("9.9 mmol/L", LAB, asked="Tell me about her.")
    assert nameless.why == "no value of such a unit in any tool result is equal, and what was measured is not said"
    assert only("Potassium 3.8 on 2026-01-14", LAB).why == "the value that is equal was taken at another time"


def test_without_a_claim_it_is_vacuous() -> None:
    assert outcome("none", LAB) == outcome("", LAB) == outcome("No potassium was found.") == "vacuous"
    said = judged("I cannot answer this from the record.", LAB)
    assert (said.outcome, said.labels) == ("vacuous", ("REFUSAL",))


def test_what_nobody_names() -> None:
    """Nothing says what was measured: where no value is equal it fails; where one is, nobody can say."""
    assert outcome("It was 4.1 mmol/L.", LAB, asked="Well?") == "unscored"
    assert outcome("It was 4.2 mmol/L.", LAB, asked="Well?") == "fail"
    assert outcome("The potassium was 4.1 mmol/L.", LAB, asked="Well?") == "pass"


# Numbers


def test_rounding() -> None:
    assert only("weight 81.62 kg", LAB).support[0].rule is None
    assert only("weight 81.6 kg", LAB).support[0].rule == "rounded"
    assert only("weight 82 kg", LAB).support[0].rule == "rounded"
    assert (
        outcome("weight 81.7 kg", LAB) == outcome("weight 81 kg", LAB) == outcome("weight 81.620001 kg", LAB) == "fail"
    )
    assert outcome("weight 80 kg", LAB) == "fail"
    half = search(observation("weight", 80.25))
    assert outcome("weight 80.2 kg", half) == outcome("weight 80.3 kg", half) == "pass"


def test_a_rounded_place_is_worth_at_most_a_fifth() -> None:
    assert outcome("potassium 4", LAB) == "fail"
    assert outcome("potassium 5", search(observation("potassium", 5.2))) == "pass"
    assert outcome("potassium 0", search(observation("potassium", 0.4))) == "fail"


def test_more_decimals_than_shown_are_no_other_value() -> None:
    assert outcome("potassium 4.10 mmol/L", LAB) == "pass"
    assert outcome("potassium 4.11 mmol/L", LAB) == "fail"


def test_conversion() -> None:
    molar = search(observation("magnesium-molar", 0.9), observation("temperature", 100.4, unit="[degF]"))
    assert only("magnesium 2.19 mg/dL", molar).support[0].rule == "converted"
    assert only("temperature 38 °C", molar).support[0].rule == "converted"
    assert only("temperature 100.4 °F", molar).support[0].rule is None
    assert outcome("magnesium 2.18745 mg/dL", molar) == "pass"
    assert outcome("magnesium 2.3 mg/dL", molar) == outcome("magnesium 0.9 mg/dL", molar) == "fail"
    assert outcome("temperature 38.0 °C", molar) == outcome("temperature 38 °C", molar) == "pass"
    assert outcome("temperature 38.1 °C", molar) == outcome("temperature 100.4 °C", molar) == "fail"
    pounds = search(observation("weight", 180, unit="[lb_av]"))
    assert outcome("81.6 kg", pounds, asked="What is the weight?") == "pass"
    assert outcome("81.8 kg", pounds, asked="What is the weight?") == "pass", "180 / 2.2"
    assert outcome("82.2 kg", pounds, asked="What is the weight?") == "fail"
    assert outcome("platelets 250 x10^9/L", search(observation("platelets", 250))) == "pass"


def test_a_bare_number_is_in_the_unit_asked_for() -> None:
    molar = search(observation("magnesium-molar", 0.9))
    assert outcome("2.2", molar, asked="What is the magnesium, in mg/dL?") == "pass"
    assert outcome("0.9", molar, asked="What is the magnesium, in mg/dL?") == "fail"
    assert outcome("0.9", molar, asked="What is the magnesium?") == "pass"


def test_two_scales_of_one_measure_do_not_convert() -> None:
    a1c = search(observation("a1c", 6.5))
    assert outcome("HbA1c 6.5 %", a1c) == outcome("A1c of 6.5%", a1c) == "pass"
    assert outcome("HbA1c 65 mmol/mol", a1c) == "fail"


# Names


def test_the_chart_s_own_names_are_known() -> None:
    shown = search(observation("codfish", 0.31), observation("fev1/fvc", 78.4))
    assert outcome("Codfish IgE Ab was 0.31 kU/L", shown) == "pass"
    assert outcome("Latex IgE Ab was 0.31 kU/L", shown) == "fail"
    assert outcome("What is the FEV1/FVC? 78.4", shown) == "vacuous", "no measure of the table, no unit"


def test_a_longer_name_is_not_its_last_word() -> None:
    shown = search(observation("cholesterol", 180), observation("ldl", 100))
    assert outcome("LDL cholesterol 100 mg/dL", shown) == outcome("cholesterol 180 mg/dL", shown) == "pass"
    assert outcome("LDL cholesterol 180 mg/dL", shown) == outcome("cholesterol 100 mg/dL", shown) == "fail"
    assert outcome("Hemoglobin 6.5 g/dL", search(observation("a1c", 6.5))) == "fail"


def test_another_specimen_must_be_named() -> None:
    shown = search(observation("urine glucose", 250))
    assert outcome("urine glucose 250 mg/dL", shown) == "pass"
    assert outcome("glucose 250 mg/dL", shown) == "fail"


def test_a_code_of_its_own_with_a_known_name() -> None:
    local = observation("potassium", 4.4, code={"coding": [{"system": "urn:lab", "code": "K1"}], "text": "Potassium"})
    assert outcome("potassium 4.4 mmol/L", search(local)) == "pass"
    assert outcome("sodium 4.4 mmol/L", search(local)) == "fail"


def test_a_drug_named_like_a_measure_is_none() -> None:
    assert outcome("Potassium chloride 4.1 mmol/L", LAB) == "fail"


def test_a_measure_that_only_stands_somewhere_in_the_sentence() -> None:
    """It is what the number is of where its unit allows it, else what is asked for is."""
    assert outcome("The sodium, as the night nurse wrote, is 4.1 mmol/L", LAB) == "fail"
    assert outcome("The potassium, as the night nurse wrote, is 4.1 mmol/L", LAB) == "pass"
    assert outcome("The weight was not checked by anyone, and the result is 4.1 mmol/L", LAB) == "pass"


def test_a_dose_is_one_of_the_drug_that_is_asked_about() -> None:
    shown = search(order("furosemide 40 MG Oral Tablet", 20), order("carvedilol 6.25 MG Oral Tablet", 6.25, id="o2"))
    asked = "What is the dose of furosemide?"
    assert outcome("The dose is 20 mg", shown, asked=asked) == "pass"
    assert outcome("The dose is 6.25 mg", shown, asked=asked) == "fail"
    assert outcome("At her weight the current dose is 20 mg", shown, asked=asked) == "pass"


# Times


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Potassium 4.1 on 2026-01-14", "pass"),
        ("Potassium 4.1 on 2026-01-13", "fail"),
        ("Potassium 3.8 on 13 January 2026 at 08:00", "pass"),
        ("Potassium 3.8 on 13 January 2026 at 08:01", "fail"),
        ("Potassium 3.8 on Jan 13", "pass"),
        ("Potassium 3.8 yesterday", "fail"),
        ("Potassium 4.1 yesterday", "pass"),
        ("4.1 mmol/L\n2026-01-14T09:30:00+00:00", "pass"),
        ("4.1 mmol/L\n2026-01-14T04:30:00-05:00", "pass"),
        ("4.1 mmol/L\n2026-01-14T09:30:00-05:00", "fail"),
        ("4.1 mmol/L\n2026-01-13T08:00:00+00:00", "fail"),
        ("2026-01-14T09:30:00Z: 4.1 mmol/L", "pass"),
    ],
)
def test_a_time_is_that_of_the_value(answer: str, expected: str) -> None:
    assert outcome(answer, LAB) == expected


# Whose


def test_another_patient_s_value_is_none_once_it_is_known_who_is_meant() -> None:
    other = observation("potassium", 5.5, subject={"reference": "Patient/p18"})
    who = search(patient(), patient("p18", mrn="11112222"))
    assert outcome("potassium 5.5", who, search(other), search(observation("potassium", 4.1))) == "fail"
    assert outcome("potassium 4.1", who, search(other), search(observation("potassium", 4.1))) == "pass"
    assert (
        only("potassium 5.5", who, search(other)).why == "no tool result shows a value of this patient of what is named"
    )
    assert outcome("potassium 5.5", search(other)) == "pass", "nothing showed whose it is"


def test_who_is_meant_by_reference() -> None:
    both = search(observation("potassium", 4.1), observation("potassium", 5.5, subject={"reference": "Patient/p18"}))
    for asked in ("Potassium of Patient/p17?", "What is the potassium of patient p17?"):
        assert (outcome("4.1", both, asked=asked), outcome("5.5", both, asked=asked)) == ("pass", "fail")
    assert outcome("5.5", both, asked="Potassium of patient p1?") == "pass", "nobody of that id was shown"


def test_who_is_meant_by_name_and_birth() -> None:
    asked = "What is the potassium of Angela Baker (born 4 May 1993)?"
    namesake = patient("p18", mrn="1", born="1990-01-01")
    mine = observation("potassium", 4.1)
    other = observation("potassium", 5.5, subject={"reference": "Patient/p18"})
    who = search(patient(), namesake)
    assert outcome("4.1", who, search(mine, other), asked=asked) == "pass"
    assert outcome("5.5", who, search(mine, other), asked=asked) == "fail"
    someone = search(patient("p18", name=[{"family": "Russell", "given": ["Scott"]}]), patient(mrn="1"))
    assert outcome("5.5", someone, search(mine, other), asked="What is the potassium of Angela Baker?") == "fail"
    assert outcome("5.5", someone, search(mine, other), asked="What is the potassium of Scott Russell?") == "pass"


# What counts


def test_a_panel_s_components_are_values_under_their_own_codes() -> None:
    shown = search(pressure(122, 81))
    assert only("systolic 122 mmHg", shown).support[0].path == "component[0].valueQuantity"
    assert outcome("diastolic blood pressure 81", shown) == "pass"
    assert outcome("diastolic 122 mmHg", shown) == outcome("heart rate 81 mmHg", shown) == "fail"


def test_a_pressure_is_of_one_measurement() -> None:
    both = search(pressure(122, 81), pressure(140, 90, "2026-01-15T08:00:00+00:00"))
    one = only("BP 122/81 mmHg", both)
    assert [support.path for support in one.support] == ["component[0].valueQuantity", "component[1].valueQuantity"]
    assert outcome("BP 140/90", both) == "pass"
    assert outcome("BP 122/90", both) == outcome("BP 140/81 mmHg", both) == outcome("BP 81/122", both) == "fail"
    assert outcome("BP 140/90 on 2026-01-14", both) == "fail"
    beside = search(pressure(120, 70), observation("heart rate", 80))
    assert outcome("BP 120/70", beside) == "pass"
    assert outcome("BP 120/80", beside) == "fail", "80 is the heart rate"
    separate = search(
        {**observation("heart rate", 122, unit="mm[Hg]"), "code": {"coding": [{"code": "8480-6"}]}, "id": "s"},
        {**observation("heart rate", 81, unit="mm[Hg]"), "code": {"coding": [{"code": "8462-4"}]}, "id": "d"},
    )
    assert outcome("BP 122/81", separate) == "pass"


def test_dose_and_strength_of_a_drug() -> None:
    shown = search(order("furosemide 40 MG Oral Tablet", 20), order("carvedilol 6.25 MG Oral Tablet", 6.25, id="o2"))
    assert outcome("furosemide 40 mg", shown) == outcome("furosemide 20 mg", shown) == "pass"
    assert outcome("20 mg", shown, asked="What is the dose of furosemide?") == "pass"
    assert outcome("6.25 mg", shown, asked="What is the dose of furosemide?") == "fail"
    assert outcome("furosemide 6.25 mg", shown) == outcome("furosemide 80 mg", shown) == "fail"
    assert only("carvedilol 6.25 mg", shown).support[0].how == "ordered"


def test_whole_numbers_count_and_comparators_do_not() -> None:
    score = observation("heart rate", 0)
    score.pop("valueQuantity")
    assert outcome("heart rate 71", search({**score, "valueInteger": 71})) == "pass"
    below = observation("potassium", 3.0)
    below["valueQuantity"]["comparator"] = "<"
    assert outcome("potassium 3.0 mmol/L", search(below)) == "fail"


@pytest.mark.parametrize("status", ["entered-in-error", "cancelled"])
def test_what_is_void_supports_nothing(status: str) -> None:
    one = only("potassium 4.1", search(observation("potassium", 4.1, status=status)))
    assert (one.outcome, one.why) == ("fail", "the value that is equal is entered in error or cancelled")
    assert outcome("potassium 4.1", search(observation("potassium", 4.1, status="preliminary"))) == "pass"


def test_contained_and_included_resources_count() -> None:
    report = {"resourceType": "DiagnosticReport", "id": "r1", "contained": [observation("potassium", 4.1)]}
    assert only("potassium 4.1", read(report)).support[0].resource == "Observation/r1#2823-3-4-1-01-14T0930"
    included = bundle(observation("potassium", 4.1))
    included["entry"][0]["search"] = {"mode": "include"}
    assert outcome("potassium 4.1", call("fhir_search", {}, included)) == "pass"


def test_text_of_a_report_does_not_count() -> None:
    report = {"resourceType": "DiagnosticReport", "id": "r1", "conclusion": "Potassium 4.1 mmol/L"}
    assert outcome("potassium 4.1 mmol/L", read(report)) == "fail"


# Which calls count


def test_errors_never_support() -> None:
    shown = observation("potassium", 4.1)
    assert outcome("potassium 4.1", read(shown, status=404)) == "fail"
    assert outcome("potassium 4.1", call("fhir_read", {}, shown, status=500)) == "fail"
    assert outcome("potassium 4.1", read(shown).model_copy(update={"status": "timeout"})) == "fail"
    problem = {"resourceType": "OperationOutcome", "issue": [{"diagnostics": "potassium 4.1 mmol/L"}]}
    assert outcome("potassium 4.1 mmol/L", call("fhir_read", {}, problem)) == "fail"
    lied = read(shown).model_copy(update={"result": {"status": 410, "body": shown}, "http": None})
    assert outcome("potassium 4.1", lied) == "fail"
    outcome_entry = bundle(shown)
    outcome_entry["entry"][0]["search"] = {"mode": "outcome"}
    assert outcome("potassium 4.1", call("fhir_search", {}, outcome_entry)) == "fail"


def test_a_retry_counts_for_itself() -> None:
    shown = observation("potassium", 4.1)
    again = judged("potassium 4.1", read(shown, status=503), read(shown), read(shown))
    assert again.outcome == "pass"
    assert [support.call for support in again.entities[0].support] == [2, 3]


def test_links_and_echoes_never_support() -> None:
    """The searchset's own link says value-quantity=9.9; the search's arguments are an echo as well."""
    asked_for = {"type": "Observation", "parameters": {"code": "2823-3", "value-quantity": "9.9"}}
    assert outcome("potassium 9.9", call("fhir_search", asked_for, bundle(observation("potassium", 4.1)))) == "fail"


def test_the_agent_s_own_write_never_supports() -> None:
    made = observation("potassium", 6.6)
    assert outcome("potassium 6.6", create(made)) == "fail"
    stored = {**made, "id": "new1"}
    assert outcome("potassium 6.6", create(made), read(stored), search(stored)) == "fail"
    update = call("fhir_update", {"type": "Observation", "id": "x1", "resource": made}, {**made, "id": "x1"})
    assert outcome("potassium 6.6", update, read({**made, "id": "x1"})) == "fail"
    patch = call("fhir_patch", {"type": "Observation", "id": "x1", "patch": []}, {**made, "id": "x1"})
    assert outcome("potassium 6.6", patch, read({**made, "id": "x1"})) == "fail"


def test_what_was_read_before_it_was_written_supports() -> None:
    shown = observation("potassium", 4.1, id="x1")
    patch = call("fhir_patch", {"type": "Observation", "id": "x1", "patch": []}, shown)
    assert outcome("potassium 4.1", read(shown), patch) == "pass"
    assert outcome("potassium 4.1", patch, read(shown)) == "fail"


def test_what_the_agent_s_own_resource_contains_and_says_of_a_birth_never_supports() -> None:
    report = {"resourceType": "DiagnosticReport", "id": "r1", "contained": [observation("potassium", 6.6)]}
    update = call("fhir_update", {"type": "DiagnosticReport", "id": "r1", "resource": {"resourceType": "X"}}, None)
    assert outcome("potassium 6.6", update, read(report)) == "fail"
    assert outcome("potassium 6.6", read(report)) == "pass"
    born = call("fhir_update", {"type": "Patient", "id": "p17", "resource": patient()}, patient())
    assert outcome("She is 32 years old", born, read(patient()), asked="Who?") == "fail"
    assert outcome("She is 32 years old", read(patient()), born, asked="Who?") == "pass"


def test_a_write_whose_answer_was_lost_never_supports() -> None:
    made = observation("potassium", 6.6)
    lost = call("fhir_create", {"type": "Observation", "resource": made}, None, status=504)
    assert outcome("potassium 6.6", lost, search({**made, "id": "who-knows"})) == "fail"
    refused = call("fhir_create", {"type": "Observation", "resource": made}, None, status=422)
    assert outcome("potassium 6.6", refused, search({**made, "id": "theirs"})) == "pass", "it was not stored"


def test_a_transaction_is_a_write() -> None:
    made = observation("potassium", 6.6)
    sent = {
        "resourceType": "Bundle",
        "type": "transaction",
        "entry": [{"resource": made, "request": {"method": "POST"}}],
    }
    reply = {"resourceType": "Bundle", "entry": [{"response": {"location": "Observation/t1/_history/1"}}]}
    wrote = call("POST", {"path": "/", "body": sent}, reply)
    assert outcome("potassium 6.6", wrote, call("GET", {"path": "/Observation/t1"}, {**made, "id": "t1"})) == "fail"
    asks = {"resourceType": "Bundle", "type": "batch", "entry": [{"request": {"method": "GET", "url": "Observation"}}]}
    shown = {"resourceType": "Bundle", "entry": [{"resource": bundle(observation("potassium", 4.1))}]}
    assert outcome("potassium 4.1", call("POST", {"path": "/", "body": asks}, shown)) == "pass"


def test_requests_of_an_outside_agent_count_as_calls() -> None:
    shown = bundle(observation("potassium", 4.1))
    assert outcome("potassium 4.1", call("GET", {"path": "/Observation?patient=p17"}, shown)) == "pass"
    assert (
        outcome("potassium 4.1", call("POST", {"path": "/Observation/_search", "body": "patient=p17"}, shown)) == "pass"
    )


@pytest.mark.parametrize(
    "wrap", [lambda body: body, json.dumps, lambda body: [{"type": "text", "text": json.dumps(body)}]]
)
def test_results_in_other_forms(wrap: Any) -> None:
    shown = Call(
        position=1, step=1, name="search", arguments={}, status="ok", result=wrap(bundle(observation("potassium", 4.1)))
    )
    assert outcome("potassium 4.1", shown) == "pass"
    assert outcome("potassium 4.2", shown) == "fail"


# Doubt


def test_what_the_recorder_cut_is_in_doubt() -> None:
    cut = LAB.model_copy(update={"cut_by": "recorder"})
    assert outcome("potassium 4.1", cut) == "pass"
    said = judged("potassium 4.2", cut)
    assert said.outcome == "unscored"
    assert said.reason is not None and said.reason.startswith("call 1 (fhir_search) was cut by the recorder")


def test_what_the_tool_cut_was_not_seen() -> None:
    assert outcome("potassium 4.2", LAB.model_copy(update={"cut_by": "tool"})) == "fail"
    text = json.dumps(bundle(observation("potassium", 4.1), observation("potassium", 3.9)))
    part = text[: text.rindex('"value": 3.9')]
    cut = call("fhir_search", {}, None, cut_by="tool").model_copy(
        update={"result": {"status": 200, "body": None, "cut": "…", "text": part}}
    )
    assert (outcome("potassium 4.1", cut), outcome("potassium 3.9", cut)) == ("pass", "fail")


def test_what_the_source_of_the_trace_lost_is_in_doubt() -> None:
    assert outcome("potassium 4.2", LAB, loss=["half of the calls are missing"]) == "unscored"
    assert outcome("potassium 4.1", LAB, loss=["half of the calls are missing"]) == "pass"


def test_more_values_than_are_judged_leave_an_answer_unscored() -> None:
    right = "".join(f"The n{number}x wrote 4.1 mmol/L. " for number in range(MOST))
    assert len(judged(right, LAB).entities) == MOST
    assert outcome(right, LAB) == "pass"
    assert outcome(right + "The last wrote 1.1 mmol/L.", LAB) == "unscored"
    assert outcome("The first wrote 1.1 mmol/L. " + right, LAB) == "fail"


# Ages


def test_an_age_is_derived_from_a_date_of_birth() -> None:
    asked = "How old is the patient with MRN 40965198?"
    one = only("32 years", search(patient()), asked=asked)
    assert (one.outcome, one.support[0].rule, one.support[0].path) == ("pass", "age", "birthDate")
    assert one.support[0].resource == "Patient/p17"
    assert outcome("33 years", search(patient()), asked=asked) == "fail"
    assert outcome("32", search(patient()), asked=asked) == "pass"
    assert outcome("She is 32 years old", search(patient()), asked="Who is she?") == "pass"
    assert only("32 years", asked=asked).why == "no tool result shows a date of birth"
    two = search(patient(), patient("p18", mrn="11112222", born="1950-01-01"))
    assert outcome("76 years", two, asked=asked) == "fail", "another's"
    assert outcome("8 months old", search(patient(born="2025-05-04")), asked=asked) == "pass"


def test_it_is_the_instruction_that_asks() -> None:
    assert ASKED.startswith("What is the latest serum potassium")


def test_each_ingredient_has_its_own_strength() -> None:
    both = search(order("amlodipine 5 MG / benazepril hydrochloride 10 MG Oral Capsule", 1))
    for answer in ("amlodipine 5 mg", "benazepril hydrochloride 10 mg"):
        assert outcome(answer, both, asked="What is ordered?") == "pass", answer
    for answer in ("amlodipine 10 mg", "benazepril hydrochloride 5 mg"):
        assert outcome(answer, both, asked="What is ordered?") == "fail", answer


@pytest.mark.parametrize("reference", ["#m", "Medication/m"])
def test_a_drug_that_is_referred_to_is_contained_or_beside(reference: str) -> None:
    drug = {"resourceType": "Medication", "id": "m", "code": {"text": "furosemide 40 MG Oral Tablet"}}
    made = {**order("", 1), "medicationReference": {"reference": reference}}
    for key in ("medicationCodeableConcept", "dosageInstruction"):
        del made[key]
    shown = search({**made, "contained": [drug]}) if reference == "#m" else search(made, drug)
    assert outcome("furosemide 40 mg", shown, asked="What is ordered?") == "pass"
    assert outcome("furosemide 20 mg", shown, asked="What is ordered?") == "fail"


def test_units_that_a_measure_may_be_in() -> None:
    potassium, a1c = MEASURES["potassium"], MEASURES["a1c"]
    assert [potassium.may_be_in(unit) for unit in ("mmol/L", "meq/L", "kg", "mm[Hg]")] == [True, True, False, False]
    assert [a1c.may_be_in(unit) for unit in (a1c.unit, "mmol/mol", "1")] == [True, False, False]
