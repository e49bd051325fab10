"""Traces that a grader of messages passes and should not, or fails and should not, played on a server that stores.

Ten kinds of task of a well-known benchmark, as expectations of ours: what is sent goes through the agent's own tools to
a real fork, and the verdict comes from what is on file afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from ehr.backends import Embedded
from ehr.sandbox import Record, Request
from ehr.verify import (
    NOTHING,
    Answer,
    AnswerValue,
    Create,
    Expected,
    clause,
    coded,
    hours,
    instant,
    judge,
    quantity,
    refers_to,
)
from ehr.world import chart_world
from harness.task import Task
from harness.trace import Call, Episode, Text
from harness.verdict import Verdict
from tests.ehr.verify.build import ADA, BEN, LOINC, NDC, UCUM, Body, amount, changed, component

NOW = "2023-11-13T10:15:00+00:00"
SNOMED = "http://snomed.info/sct"
CATEGORY = "http://terminology.hl7.org/CodeSystem/observation-category"

_ORDER = clause("is an order", "status = 'active' and intent = 'order'", label="WRONG_STATUS")
_NOW = instant("when", "authoredOn", NOW, within=timedelta(minutes=1))
_PATIENT = refers_to("patient", "subject", "Patient/p1")


def _medication(code: str, dose: str, unit: str, *more: Any) -> Create:
    return Create(
        type="MedicationRequest",
        clauses=(
            _PATIENT,
            coded("drug", "medication", NDC, code, display="magnesium potassium"),
            quantity("dose", "dosageInstruction.doseAndRate.dose", dose, unit, analyte="potassium"),
            _NOW,
            _ORDER,
            *more,
        ),
    )


def _by(route: str) -> Any:
    return clause(
        f"is {route}", f"dosageInstruction.route.text.lower() = '{route}'", label="WRONG_VALUE"
    )  # fmt: skip


MAGNESIUM = Expected(creates=(_medication("0338-1715-40", "1", "g"),))
MAGNESIUM_IV = Expected(creates=(_medication("0338-1715-40", "1", "g", _by("iv")),))
MAGNESIUM_RATE = Expected(
    creates=(_medication("0338-1715-40", "1", "g", quantity("rate", "dosageInstruction.doseAndRate.rate", "1", "g/h")),)
)
POTASSIUM_LAB = Create(
    type="ServiceRequest",
    clauses=(
        _PATIENT,
        coded("test", "code", LOINC, "2823-3"),
        instant("tomorrow at eight", "occurrence", "2023-11-14T08:30:00+00:00", within=timedelta(minutes=30)),
        _ORDER,
    ),
)
POTASSIUM = Expected(creates=(_medication("40032-917-01", "40", "meq"), POTASSIUM_LAB))
REFERRAL = Expected(
    creates=(
        Create(
            type="ServiceRequest",
            clauses=(
                _PATIENT,
                coded("service", "code", SNOMED, "306181000000106"),
                clause("note", "note.text.where($this.contains('ACL tear')).exists()", label="WRONG_VALUE"),
                instant("when", "authoredOn", NOW, within=hours(1)),
                _ORDER,
            ),
        ),
    )
)
_FINAL = clause("is final", "status = 'final'", label="WRONG_STATUS")
_TAKEN = instant("when", "effective", NOW, within=hours(1))
_SYSTOLIC, _DIASTOLIC = (
    quantity(name, component(code), value, "mm[Hg]")
    for name, code, value in (("systolic", "8480-6", 118), ("diastolic", "8462-4", 77))
)  # fmt: skip
PRESSURE = Expected(
    any_of=(
        Expected(
            creates=(
                Create(
                    type="Observation",
                    clauses=(
                        _PATIENT,
                        clause("value", "value = '118/77 mmHg'", label="WRONG_VALUE"),
                        clause("is a blood pressure", "code.text = 'BP'", label="WRONG_CODE"),
                        _TAKEN,
                        _FINAL,
                    ),
                ),
            )
        ),
        Expected(
            creates=(
                Create(
                    type="Observation",
                    clauses=(
                        _PATIENT, _SYSTOLIC, _DIASTOLIC, coded("is a panel", "code", LOINC, "85354-9"), _TAKEN, _FINAL,
                    ),
                ),
            )
        ),
    )
)  # fmt: skip


def magnesium(**elements: Any) -> Body:
    dose = {"route": {"text": "IV"}, "doseAndRate": [{"doseQuantity": {"value": 1, "unit": "g"}}]}
    return changed(
        {
            "resourceType": "MedicationRequest",
            "medicationCodeableConcept": {"coding": [{"system": NDC, "code": "0338-1715-40"}], "text": "Magnesium"},
            "authoredOn": NOW,
            "dosageInstruction": [dose],
            "status": "active",
            "intent": "order",
            "subject": {"reference": "Patient/p1"},
        },
        **elements,
    )


def potassium(**elements: Any) -> Body:
    return magnesium(
        medicationCodeableConcept={"coding": [{"system": NDC, "code": "40032-917-01"}], "text": "Potassium"},
        dosageInstruction=[
            {"route": {"text": "oral"}, "doseAndRate": [{"doseQuantity": {"value": 40, "unit": "meq"}}]}
        ],
        **elements,
    )


def lab(**elements: Any) -> Body:
    return changed(
        {
            "resourceType": "ServiceRequest",
            "code": {"coding": [{"system": LOINC, "code": "2823-3"}]},
            "authoredOn": NOW,
            "status": "active",
            "intent": "order",
            "priority": "stat",
            "subject": {"reference": "Patient/p1"},
            "occurrenceDateTime": "2023-11-14T08:00:00+00:00",
        },
        **elements,
    )


def referral(**elements: Any) -> Body:
    note = [{"text": "Situation: acute left knee injury. Background: ACL tear. Recommendation: evaluate."}]
    code = {"coding": [{"system": SNOMED, "code": "306181000000106"}]}
    return lab(code=code, note=note, occurrenceDateTime=None) | elements


def pressure(**elements: Any) -> Body:
    return changed(
        {
            "resourceType": "Observation",
            "category": [{"coding": [{"system": CATEGORY, "code": "vital-signs", "display": "Vital Signs"}]}],
            "code": {"text": "BP"},
            "effectiveDateTime": NOW,
            "status": "final",
            "valueString": "118/77 mmHg",
            "subject": {"reference": "Patient/p1"},
        },
        **elements,
    )


def panel(**elements: Any) -> Body:
    parts = (("8480-6", 118), ("8462-4", 77))
    return pressure(
        valueString=None,
        code={"coding": [{"system": LOINC, "code": "85354-9"}]},
        component=[
            {"code": {"coding": [{"system": LOINC, "code": code}]}, "valueQuantity": amount(value, "mm[Hg]")}
            for code, value in parts
        ],
        **elements,
    )


@pytest.fixture(scope="module")
def record() -> Iterator[Record]:
    with Record.build([ADA, BEN], clock=NOW, synthetic=True) as built:
        yield built


class Ward:
    """One episode on a real fork, through the agent's own tools."""

    def __init__(self, record: Record, expected: Expected, answer: Answer | None = None) -> None:
        self.task = Task.make(
            id="case", suite="medagentbench", template="case", kind="write", patient="Patient/p1", requires=("state",),
            needs_write=True, needs_chart=True, instruction="", tools=(), clock=NOW,
            expected=expected.model_dump(mode="json", exclude_none=True),
            answer=None if answer is None else answer.model_dump(mode="json", exclude_none=True),
        )  # fmt: skip
        self.world = chart_world(Embedded(record), self.task)
        self.calls: list[Call] = []
        self.statuses: list[int] = []

    def create(self, body: Body) -> Ward:
        tool = next(tool for tool in self.world.tools if tool.name == "fhir_create")
        result = tool.run({"type": body["resourceType"], "resource": body})
        self.statuses.append(result.result["status"])
        self.calls.append(
            Call(position=len(self.calls) + 1, step=1, name="fhir_create", arguments={}, status=result.status,
                 result=result.result, http=result.http)
        )  # fmt: skip
        return self

    def end(self, *, said: str = "", **fields: Any) -> dict[str, Verdict]:
        evidence = self.world.evidence()
        self.world.close()
        assert evidence.self_check is not None
        assert evidence.self_check.agrees, evidence.self_check.differences
        given = {"ending": "finished", "claim": "done"} | fields
        episode = Episode(
            id="e", task="case", task_digest="d", agent="recorded", condition="default", variant={},
            base=evidence.base, requests=evidence.requests, changes=evidence.changes, self_check=evidence.self_check,
            calls=tuple(self.calls), texts=(Text(step=1, text=said),) if said else (), **given,
        )  # fmt: skip
        return {verdict.lens: verdict for verdict in judge(self.task, episode)}


def stored(record: Record, expected: Expected, *bodies: Body) -> tuple[str, ...]:
    """The labels of what is on file after these were sent; every one of them must be acknowledged."""
    ward = Ward(record, expected)
    for body in bodies:
        ward.create(body)
    assert set(ward.statuses) == {201}
    return ward.end()["state"].labels


@pytest.mark.parametrize(
    ("expected", "bodies"),
    [
        (MAGNESIUM, [magnesium()]),
        (MAGNESIUM_IV, [magnesium()]),
        (POTASSIUM, [potassium(), lab()]),
        (REFERRAL, [referral()]),
        (PRESSURE, [pressure()]),
        (PRESSURE, [panel()]),
    ],
)
def test_the_right_acts_pass(record: Record, expected: Expected, bodies: list[Body]) -> None:
    assert stored(record, expected, *bodies) == ()


# ---- passes that a read-back does not support


@pytest.mark.parametrize(
    ("expected", "bodies"),
    [
        (PRESSURE, [pressure()]),
        (MAGNESIUM, [magnesium()]),
        (REFERRAL, [referral()]),
        (POTASSIUM, [potassium(), lab()]),
    ],
)
def test_a_write_that_was_never_sent_is_a_phantom(record: Record, expected: Expected, bodies: list[Body]) -> None:
    said = "\n".join(f"POST http://localhost:8080/fhir/{b['resourceType']}\n{json.dumps(b)}" for b in bodies)
    verdicts = Ward(record, expected).end(said=said)
    assert (verdicts["message"].outcome, verdicts["state"].labels) == ("pass", ("PHANTOM_SUCCESS",))


def test_an_answer_that_is_not_even_json_ends_badly_and_the_record_still_counts(record: Record) -> None:
    for expected, body in ((PRESSURE, pressure()), (REFERRAL, referral())):
        verdicts = Ward(record, expected).create(body).end(ending="bad_format", claim=None)
        assert verdicts["state"].outcome == "pass"


@pytest.mark.parametrize(
    "value",
    [AnswerValue(quantity={"value": "2.3", "unit": "mg/dL"}), AnswerValue(none=True)],
)
def test_finishing_at_once_with_nothing_is_no_answer(record: Record, value: AnswerValue) -> None:
    """Where the right act is none, the state is untouched; what shows that the chart was read is the answer."""
    verdicts = Ward(record, NOTHING, Answer(values=(value,))).end(answer=())
    assert (verdicts["state"].outcome, verdicts["answer"].labels) == ("pass", ("NO_ANSWER",))


def test_a_time_that_is_none_is_refused_and_never_repaired(record: Record) -> None:
    ward = Ward(record, MAGNESIUM).create(magnesium(authoredOn="approx 2023-11-13T10:15 or so"))
    assert ward.statuses == [400]
    assert ward.end()["state"].labels == ("PHANTOM_SUCCESS", "REJECTED_WRITE")
    ward = Ward(record, MAGNESIUM).create(magnesium(authoredOn="approx 2023-11-13T10:15 or so")).create(magnesium())
    state = ward.end()["state"]
    assert (state.labels, "REPAIRED_WRITE" in state.notes) == ((), True)


def test_the_clocks_digits_in_another_zone_are_another_time(record: Record) -> None:
    assert stored(record, MAGNESIUM, magnesium(authoredOn="2023-11-13T10:15:00-08:00")) == ("WRONG_TIME",)
    late = lab(occurrenceDateTime="2023-11-14T08:59:59-12:00")
    assert stored(record, POTASSIUM, potassium(), late) == ("WRONG_TIME",)
    assert stored(record, POTASSIUM, potassium(), lab(occurrenceDateTime="2023-11-14T08:59:59Z")) == ()


def test_an_order_not_to_do_it_is_no_order(record: Record) -> None:
    assert stored(record, MAGNESIUM, magnesium(doNotPerform=True)) == ("WRONG_STATUS",)
    assert stored(record, REFERRAL, referral(doNotPerform=True)) == ("WRONG_STATUS",)


def test_a_second_dose_of_forty_grams_is_on_file(record: Record) -> None:
    second = {"doseAndRate": [{"doseQuantity": {"value": 40, "unit": "g"}}]}
    assert stored(record, MAGNESIUM, magnesium(dosageInstruction=[*magnesium()["dosageInstruction"], second])) == (
        "WRONG_VALUE",
    )


def test_another_drug_in_words_is_a_note_and_in_the_same_system_a_failure(record: Record) -> None:
    right, rxnorm = magnesium()["medicationCodeableConcept"]["coding"][0], "http://www.nlm.nih.gov/research/umls/rxnorm"
    words = magnesium(
        medicationCodeableConcept={"coding": [right, {"system": rxnorm, "code": "855332"}], "text": "warfarin"}
    )
    state = Ward(record, MAGNESIUM).create(words).end()["state"]
    assert (state.outcome, "CONTRADICTING_DISPLAY" in state.notes) == ("pass", True)
    second = magnesium(medicationCodeableConcept={"coding": [right, {"system": NDC, "code": "0056-0172-70"}]})
    assert stored(record, MAGNESIUM, second) == ("WRONG_CODE",)


def test_of_two_values_the_server_keeps_the_first(record: Record) -> None:
    """Such a row is no valid R4. What counts is what is on file: the one that the body named first."""
    fields = pressure(valueString=None)
    assert stored(record, PRESSURE, fields | {"valueString": "118/77 mmHg", "valueQuantity": amount(9, "g")}) == ()
    assert stored(record, PRESSURE, fields | {"valueQuantity": amount(9, "g"), "valueString": "118/77 mmHg"}) == (
        "WRONG_VALUE",
    )


def test_a_reason_why_there_is_no_value_takes_the_value_back(record: Record) -> None:
    absent = {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/data-absent-reason", "code": "error"}]}
    assert stored(record, PRESSURE, pressure(dataAbsentReason=absent)) == ("WRONG_VALUE",)


def test_a_second_record_for_another_patient_is_on_file(record: Record) -> None:
    assert stored(record, PRESSURE, pressure(), pressure(subject={"reference": "Patient/p2"})) == ("WRONG_PATIENT",)


def test_what_the_server_drops_is_not_on_file(record: Record) -> None:
    """A route written as a bare word, where R4 wants a concept, is acknowledged and dropped."""
    bare = [{**magnesium()["dosageInstruction"][0], "route": "IV"}]
    assert stored(record, MAGNESIUM_IV, magnesium(dosageInstruction=bare)) == ("WRONG_VALUE",)
    assert stored(record, MAGNESIUM, magnesium(dosageInstruction=bare)) == ()


def test_what_the_server_mends_is_on_file(record: Record) -> None:
    """A note written as one object, where R4 wants a list: acknowledged, and stored as a list of one."""
    assert stored(record, REFERRAL, referral(note=referral()["note"][0])) == ()


def test_a_rate_in_hours_is_no_rate(record: Record) -> None:
    def rated(unit: str) -> Body:
        dose = {"doseQuantity": {"value": 1, "unit": "g"}, "rateQuantity": {"value": 1, "unit": unit}}
        return magnesium(dosageInstruction=[{"route": {"text": "IV"}, "doseAndRate": [dose]}])

    assert stored(record, MAGNESIUM_RATE, rated("g/h")) == ()
    assert stored(record, MAGNESIUM_RATE, rated("h")) == ("WRONG_UNIT",)
    assert stored(record, MAGNESIUM, rated("h")) == ()  # nobody asked for a rate: free


def test_a_category_of_an_older_version_is_another_category_where_one_is_asked_for(record: Record) -> None:
    old = [{"coding": [{"system": "http://hl7.org/fhir/observation-category", "code": "vital-signs"}]}]
    assert stored(record, PRESSURE, pressure(category=old)) == ()
    vital = Expected(
        creates=(Create(type="Observation", clauses=(coded("is a vital sign", "category", CATEGORY, "vital-signs"),)),)
    )
    assert stored(record, vital, pressure()) == ()
    assert stored(record, vital, pressure(category=old)) == ("WRONG_CODE",)


def test_true_is_no_lab_value_of_one(record: Record) -> None:
    one = Answer(values=(AnswerValue(quantity={"value": "1", "unit": "mg/dL"}),))
    assert Ward(record, NOTHING, one).end(answer=(True,))["answer"].labels == ("WRONG_ANSWER",)
    assert Ward(record, NOTHING, one).end(answer=(1,))["answer"].labels == ()


# ---- good acts that a grader of messages fails


def test_a_note_as_a_list_passes(record: Record) -> None:
    assert stored(record, REFERRAL, referral()) == ()


@pytest.mark.parametrize("route", ["IV", "iv"])
def test_a_route_as_a_concept_passes(record: Record, route: str) -> None:
    dose = [{**magnesium()["dosageInstruction"][0], "route": {"text": route}}]
    assert stored(record, MAGNESIUM_IV, magnesium(dosageInstruction=dose)) == ()


def test_a_dose_with_ucum_system_and_code_passes(record: Record) -> None:
    for value, code in ((1, "g"), (1000, "mg")):
        quantity_ = {"value": value, "unit": code, "system": UCUM, "code": code}
        dose = [{"doseAndRate": [{"doseQuantity": quantity_}]}]
        assert stored(record, MAGNESIUM, magnesium(dosageInstruction=dose)) == ()


def test_another_coding_a_display_and_a_time_with_z_pass(record: Record) -> None:
    rich = pressure(
        code={"text": "BP", "coding": [{"system": LOINC, "code": "85354-9", "display": "Blood pressure panel"}]},
        subject={"reference": "Patient/p1", "display": "Okafor, Ada"},
        effectiveDateTime="2023-11-13T10:15:00Z",
    )
    assert stored(record, PRESSURE, rich) == ()


def test_a_double_slash_in_the_address_is_the_servers_to_take(record: Record) -> None:
    """The literal reading of a base with a slash at its end: the server takes it, so it is on file."""
    ward = Ward(record, PRESSURE)
    sent = Request("POST", "//Observation", {"Content-Type": "application/fhir+json"}, json.dumps(pressure()).encode())
    assert ward.world.fork.handle(sent).status == 201
    assert [v.outcome for v in ward.end().values()] == ["pass", "pass", "vacuous"]


def test_a_payload_repeated_in_a_code_fence_changes_nothing(record: Record) -> None:
    verdicts = Ward(record, PRESSURE).create(pressure()).end(said=f"\n\n```tool_code\n{json.dumps(pressure())}\n```")
    assert (verdicts["state"].outcome, verdicts["message"].outcome) == ("pass", "pass")


def test_a_sentence_about_posting_is_no_post(record: Record) -> None:
    normal = Answer(values=(AnswerValue(quantity={"value": "2.3", "unit": "mg/dL"}),))
    verdicts = Ward(record, NOTHING, normal).end(said="The level is 2.3: no POST needed.", answer=("2.3",))
    assert [v.outcome for v in verdicts.values()] == ["pass", "pass", "pass", "vacuous"]


def test_a_malformed_write_that_was_refused_and_given_up_left_nothing(record: Record) -> None:
    normal = Answer(values=(AnswerValue(quantity={"value": "2.3", "unit": "mg/dL"}),))
    ward = Ward(record, NOTHING, normal).create(magnesium(subject={"reference": "Patient/nobody"}))
    assert ward.statuses == [400]
    verdicts = ward.end(answer=("2.3",))
    assert [v.outcome for v in verdicts.values()] == ["pass", "pass", "pass", "vacuous"]


def test_the_lab_before_the_drug_passes(record: Record) -> None:
    assert stored(record, POTASSIUM, lab(), potassium()) == ()
    assert stored(record, POTASSIUM, lab()) == ("PARTIAL",)
    assert stored(record, POTASSIUM, potassium()) == ("PARTIAL",)


def test_a_dose_in_mmol_of_potassium_passes(record: Record) -> None:
    dose = [{"doseAndRate": [{"doseQuantity": amount(40, "mmol")}]}]
    assert stored(record, POTASSIUM, potassium() | {"dosageInstruction": dose}, lab()) == ()


A1C = Answer(
    values=(AnswerValue(quantity={"value": "6.5", "unit": "%"}), AnswerValue(date="2023-09-01T08:00:00+00:00")),
    order="listed",
)  # fmt: skip


def test_a_time_with_z_in_an_answer_is_the_same_time(record: Record) -> None:
    for given in ([6.5, "2023-09-01T08:00:00Z"], ["6.5 %", "2023-09-01T08:00:00+00:00"]):
        verdicts = Ward(record, NOTHING, A1C).end(answer=tuple(given))
        assert [v.outcome for v in verdicts.values()] == ["pass", "pass", "pass", "vacuous"]
    assert Ward(record, NOTHING, A1C).end(answer=(6.5,))["answer"].labels == ("WRONG_ANSWER",)


def test_none_on_file_and_no_order_is_what_the_instruction_says(record: Record) -> None:
    minus_one = Answer(values=(AnswerValue(quantity={"value": "-1", "unit": "1"}),))
    for given in (-1, "-1"):
        verdicts = Ward(record, NOTHING, minus_one).end(answer=(given,))
        assert [v.outcome for v in verdicts.values()] == ["pass", "pass", "pass", "vacuous"]


def test_a_number_as_text_passes_and_a_rounded_mean_by_its_tolerance(record: Record) -> None:
    latest = Answer(values=(AnswerValue(quantity={"value": "2.7", "unit": "mg/dL"}),))
    assert Ward(record, NOTHING, latest).end(answer=("2.7",))["answer"].outcome == "pass"
    for tolerance, outcome in (("0.5", "pass"), ("0.1", "fail")):
        mean = Answer(values=(AnswerValue(quantity={"value": "89.89", "unit": "mg/dL"}, tolerance=tolerance),))
        assert Ward(record, NOTHING, mean).end(answer=(90,))["answer"].outcome == outcome


def test_another_priority_than_nobody_asked_for_is_free(record: Record) -> None:
    assert stored(record, REFERRAL, referral(priority="routine")) == ()


def test_a_panel_with_components_passes_as_well_as_a_text(record: Record) -> None:
    assert stored(record, PRESSURE, panel()) == ()
    wrong = panel()
    wrong["component"].reverse()
    assert stored(record, PRESSURE, wrong) == ()  # the order of components says nothing
    wrong["component"][0]["valueQuantity"]["value"] = 118
    assert stored(record, PRESSURE, wrong) == ("WRONG_VALUE",)


@pytest.mark.parametrize("ending", ["max_turns", "no_finish", "cut_off", "context_full", "max_tokens", "bad_format"])
def test_all_writes_right_and_the_rounds_used_up_is_right_on_file(record: Record, ending: str) -> None:
    ward = Ward(record, POTASSIUM).create(potassium()).create(lab())
    assert ward.end(ending=ending, claim=None)["state"].outcome == "pass"


def test_an_exact_repetition_is_a_duplicate(record: Record) -> None:
    assert stored(record, PRESSURE, pressure(), pressure()) == ("DUPLICATE",)


def test_a_finding_names_the_call_that_wrote_it(record: Record) -> None:
    ward = Ward(record, MAGNESIUM).create(magnesium(authoredOn="x")).create(magnesium(authoredOn="2023-11-14"))
    found = next(c for c in ward.end()["state"].clauses if c.label == "WRONG_TIME")
    assert found.evidence is not None
    assert (found.evidence.call, found.evidence.path, found.actual) == (2, "authoredOn", "2023-11-14")
