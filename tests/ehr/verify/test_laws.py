"""Laws of the lenses, on made-up episodes."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ehr.verify import Answer, AnswerValue, Create, Expected, Update, clause, coded, judge, quantity, refers_to
from harness.task import Task
from harness.trace import Call, Change, Episode, HttpRequest, Text
from harness.verdict import Verdict
from tests.ehr.verify.build import (
    ADA,
    CLOCK,
    LOINC,
    NDC,
    ORDER,
    WARFARIN,
    Body,
    Chart,
    amount,
    changed,
    potassium,
    state,
    task,
)

PATIENT = refers_to("patient", "subject", "Patient/p1")
SERVICE = Create(
    type="ServiceRequest",
    clauses=(
        PATIENT,
        coded("test", "code", LOINC, "A"),
        clause("is urgent", "priority = 'stat'", label="WRONG_VALUE"),
    ),
)
LAB = Create(type="Observation", clauses=(PATIENT, quantity("value", "value", "3.1", "mmol/L")))
STOP = Update(
    reference="MedicationRequest/mr0",
    may_change=("status", "statusReason"),
    clauses=(clause("stopped", "status = 'stopped'", label="WRONG_STATUS"),),
)


def _service(code: str, patient: str, priority: str | None) -> Body:
    return changed(
        {"resourceType": "ServiceRequest", "status": "active", "intent": "order", "priority": priority},
        code={"coding": [{"system": LOINC, "code": code}]},
        subject={"reference": f"Patient/{patient}"},
        priority=priority,
    )


_services = st.builds(
    _service, st.sampled_from(["A", "B"]), st.sampled_from(["p1", "p2"]), st.sampled_from(["stat", None])
)
_labs = st.builds(
    lambda patient, value, unit: potassium(
        subject={"reference": f"Patient/{patient}"}, valueQuantity=amount(value, unit)
    ),
    st.sampled_from(["p1", "p2"]),
    st.sampled_from([3.1, 4]),
    st.sampled_from(["mmol/L", "mg/dL"]),
)
_patches = st.builds(lambda status: {"patch": status}, st.sampled_from(["stopped", "completed"]))
_acts: st.SearchStrategy[Body] = st.one_of(_services, _labs, _patches)
_expectations = st.builds(
    lambda services, labs, stop: Expected(creates=(SERVICE,) * services + (LAB,) * labs, updates=(STOP,) * stop),
    st.integers(0, 2),
    st.integers(0, 1),
    st.integers(0, 1),
)


def _play(acts: Any) -> Chart:
    chart = Chart()
    for act in acts:
        if "patch" in act:
            chart.patch("MedicationRequest/mr0", status=act["patch"])
        else:
            chart.create(act)
    return chart


def _is_independent(acts: Any) -> bool:
    return sum("patch" in act for act in acts) <= 1


@settings(max_examples=50, deadline=None)
@given(_expectations, st.lists(_acts, max_size=4).filter(_is_independent))
def test_the_order_of_independent_writes_does_not_change_the_outcome(expected: Expected, acts: list[Body]) -> None:
    outcomes = {state(_play(order_), expected).outcome for order_ in permutations(acts)}
    assert len(outcomes) == 1


@settings(max_examples=50, deadline=None)
@given(st.lists(_services, max_size=4))
def test_nor_the_labels_where_no_tie_is_broken_by_it(acts: list[Body]) -> None:
    """Every create satisfies its own number of clauses, so that the best assignment is the only one."""
    expected = Expected(creates=(SERVICE,))

    def score(act: Body) -> tuple[bool, int]:
        right_patient = act["subject"]["reference"] == "Patient/p1"
        return right_patient, right_patient + (act["code"]["coding"][0]["code"] == "A") + ("priority" in act)

    distinct = list({score(act): act for act in acts}.values())
    assert len({state(_play(order_), expected).labels for order_ in permutations(distinct)}) == 1


_unexpected: st.SearchStrategy[Body] = st.sampled_from(
    [
        {"resourceType": "Communication", "status": "completed", "subject": {"reference": "Patient/p1"}},
        {"resourceType": "Practitioner"},
        {"delete": "Patient/p2"},
        {"put": changed(ADA, gender="female")},
        {"put": changed(WARFARIN, id="own")},
    ]
)


@settings(max_examples=150, deadline=None)
@given(_expectations, st.lists(_acts, max_size=3).filter(_is_independent), _unexpected)
def test_a_write_that_no_expectation_can_take_makes_every_outcome_a_fail(
    expected: Expected, acts: list[Body], extra: Body
) -> None:
    chart = _play(acts)
    if "delete" in extra:
        chart.delete(extra["delete"])
    elif "put" in extra:
        chart.put(extra["put"])
    else:
        chart.create(extra)
    assert state(chart, expected).outcome == "fail"


@settings(max_examples=200, deadline=None)
@given(_expectations, st.lists(_acts, max_size=4).filter(_is_independent), _services | _labs)
def test_a_write_of_an_expected_kind_turns_fail_into_pass_only_where_it_is_the_one_that_was_missing(
    expected: Expected, acts: list[Body], extra: Body
) -> None:
    kind = extra["resourceType"]
    wanted = sum(create.type == kind for create in expected.creates)
    written = sum(act.get("resourceType") == kind for act in acts)
    is_right = extra in (_service("A", "p1", "stat"), potassium())
    after = state(_play([*acts, extra]), expected)
    if not is_right or written >= wanted:
        assert after.outcome == "fail"
    assert after.outcome == "fail" or state(_play(acts), expected).outcome == "fail"


@settings(max_examples=100, deadline=None)
@given(_expectations, st.lists(_acts, max_size=4).filter(_is_independent), st.integers(1, 10_000))
def test_other_ids_of_the_server_change_nothing(expected: Expected, acts: list[Body], shift: int) -> None:
    chart = _play(acts)
    episode = chart.episode()
    renamed = episode.model_dump_json()
    for number in reversed(range(1000, 1000 + len(acts))):
        renamed = renamed.replace(str(number), f"x{number + shift}")
    one = judge(task(expected), episode)
    two = judge(task(expected), Episode.model_validate_json(renamed))
    assert [(v.lens, v.outcome, v.labels, v.notes) for v in one] == [
        (v.lens, v.outcome, v.labels, v.notes) for v in two
    ]


@settings(max_examples=100, deadline=None)
@given(_expectations, st.lists(_acts, max_size=3).filter(_is_independent))
def test_task_episode_and_verdict_survive_a_round_trip(expected: Expected, acts: list[Body]) -> None:
    answer = Answer(values=(AnswerValue(text="a"),)).model_dump(mode="json", exclude_none=True)
    asked, played = task(expected, answer=answer), _play(acts).episode(answer=("a",))
    verdicts = judge(asked, played)
    again = judge(Task.read(asked.line()), Episode.read(played.line()))
    assert verdicts == again
    assert [Verdict.read(v.line()) for v in verdicts] == verdicts


# ---- whatever an agent does

_scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.floats(), st.text(max_size=6),
    st.sampled_from(["Patient/p1", "Patient/p2", "#m", "final", "draft", "stat", CLOCK, NDC, LOINC, "A", "g",
                     "mmol/L", "//["]),
)  # fmt: skip
_keys = st.sampled_from(
    ["resourceType", "id", "status", "subject", "reference", "code", "coding", "system", "value", "valueQuantity",
     "valueString", "unit", "priority", "dosageInstruction", "doseAndRate", "doseQuantity", "medicationReference",
     "medicationCodeableConcept", "contained", "modifierExtension", "extension", "participant", "actor", "entry",
     "request", "response", "resource", "method", "url", "location", "meta", "versionId", "telecom", "authoredOn",
     "dataAbsentReason", "component", "text", "display", "comparator", "_status", "type", "ifMatch"]
)  # fmt: skip
_json = st.recursive(
    _scalars, lambda below: st.lists(below, max_size=3) | st.dictionaries(_keys, below, max_size=5), max_leaves=12
)
_types = st.sampled_from(["MedicationRequest", "Observation", "ServiceRequest", "Patient", "Bundle", "Basic", "Drug"])
_resources = st.builds(
    lambda kind, body, id_: {"resourceType": kind, "id": id_} | body,
    _types,
    st.dictionaries(_keys, _json, max_size=8),
    st.sampled_from(["1000", "mr0", "p1"]),
)
_bodies = st.one_of(
    st.none(), st.text(max_size=10), _json.map(lambda v: json.dumps(v)), _resources.map(json.dumps),
    st.lists(_resources, max_size=2).map(
        lambda rs: json.dumps({"resourceType": "Bundle", "type": "batch", "entry": [
            {"resource": r, "request": {"method": "POST", "url": r["resourceType"]}} for r in rs]})),
)  # fmt: skip
_paths = st.one_of(
    st.sampled_from(["", "/", "/Patient", "/Patient/p1", "/MedicationRequest", "/MedicationRequest/mr0", "/Observation",
                     "/ServiceRequest?x=y", "//[", "/Patient/p1/_history/1", "?_getpages=1", "http://[", "/%00"]),
    st.text(max_size=12),
)  # fmt: skip
_requests = st.builds(
    HttpRequest,
    by=st.sampled_from(["agent", "agent", "other"]),
    method=st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "?"]),
    path=_paths,
    headers=st.dictionaries(st.sampled_from(["If-Match", "If-None-Exist", "X"]), st.text(max_size=5), max_size=2),
    body=_bodies,
    status=st.sampled_from([200, 201, 204, 304, 400, 404, 409, 412, 500, 0]),
    response=_bodies,
    response_headers=st.dictionaries(
        st.sampled_from(["Location", "Content-Location"]),
        st.sampled_from(["", "x", "Patient/p1", "http://fhir.hospital.example/fhir/MedicationRequest/1000/_history/1"]),
        max_size=2,
    ),
)
_changes = st.builds(
    lambda reference, before, after: Change(
        verb="create" if before is None else "delete" if after is None else "update",
        reference=reference, before=before, after=after,
    ),
    st.sampled_from(["MedicationRequest/1000", "Observation/1001", "MedicationRequest/mr0", "Patient/p1", "Drug/1"]),
    st.none() | _resources.map(json.dumps),
    st.none() | _resources.map(json.dumps),
)  # fmt: skip
_calls = st.builds(
    Call,
    position=st.integers(1, 5),
    step=st.integers(1, 5),
    name=st.text(max_size=8),
    arguments=st.none() | st.dictionaries(st.text(max_size=4), _json, max_size=2),
    status=st.sampled_from(["ok", "error", "timeout"]),
    result=_json,
    http=st.none() | st.just({"status": 200}),
)
_EVERYTHING = Expected(
    creates=(*ORDER.creates, SERVICE, LAB),
    updates=(STOP, Update(reference="Patient/p1", may_change=("telecom",))),
    deletes=("Observation/1001",),
    any_of=(Expected(), Expected(creates=(SERVICE,))),
)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(_requests, max_size=5),
    st.lists(_changes, max_size=4),
    st.lists(_calls, max_size=3),
    st.lists(_json, max_size=3),
    st.text(max_size=40) | _resources.map(json.dumps),
    st.sampled_from(["done", "not_done", "unclear", None]),
)
def test_whatever_an_agent_does_there_is_a_verdict_and_never_an_unscored_one(
    requests: list[HttpRequest],
    changes: list[Change],
    calls: list[Call],
    answer: list[Any],
    said: str,
    claim: str | None,
) -> None:
    episode = Chart().episode(
        claim=claim, calls=tuple(calls), answer=tuple(answer), note=said, texts=(Text(step=1, text=said),)
    )
    episode = episode.model_copy(update={"requests": tuple(requests), "changes": tuple(changes)})
    wanted = Answer(values=(AnswerValue(text="a"), AnswerValue(quantity={"value": "1", "unit": "g"})))
    asked = task(_EVERYTHING, answer=wanted.model_dump(mode="json", exclude_none=True))
    for verdict in judge(asked, episode):
        assert verdict.outcome in ("pass", "fail") or verdict.lens == "grounding", verdict.reason
        assert (verdict.outcome == "fail") == bool(verdict.labels) or verdict.lens in ("message", "grounding")
        assert Verdict.read(verdict.line()) == verdict


def test_a_stored_body_that_is_no_resource_is_our_fault_and_unscored() -> None:
    """A server stores resources: anything else in the change log cannot be an agent's doing."""
    for after in ("[]", "not json", '"text"', "{" + '"a":{' * 500 + "}" * 500 + "}"):
        chart = Chart()
        chart.now["Observation/1"] = after
        verdict = state(chart, ORDER)
        assert (verdict.outcome, verdict.labels) == ("unscored", ())
        assert (verdict.reason or "").startswith("what is stored as Observation/1 is no resource: ")
