"""Laws of the clinical claims, for records and answers of every shape; and a plain second implementation."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ehr.verify.claims import CLINICAL
from grounding import Answer
from harness.trace import Call
from tests.ehr.verify.claim_traces import (
    CODES,
    NOW,
    call,
    create,
    judged,
    observation,
    order,
    outcome,
    patient,
    pressure,
    read,
    search,
)

MEASURES = ("potassium", "sodium", "glucose", "weight", "heart rate", "cholesterol", "ldl")
OTHERS = ("temperature", "platelets", "magnesium", "codfish")
NAMES = {"ldl": "LDL cholesterol", "cholesterol": "total cholesterol"}
DAYS = tuple(f"2026-01-{day:02}T{hour:02}:30:00+00:00" for day in (3, 9, 14) for hour in (6, 18))
ASKED = "Tell me about the patient."

values = st.sampled_from((4.1, 4.2, 5.02, 40, 41.5))  # few, so that many an answer is right
Row = tuple[str, Any, str]
rows = st.tuples(st.sampled_from(MEASURES), values, st.sampled_from(DAYS))


def shown(found: Sequence[Row]) -> Call:
    """A search that found these."""
    return search(*(observation(what, value, at) for what, value, at in found))


@st.composite
def answers(draw: st.DrawFn) -> tuple[str, tuple[Row | None, ...]]:
    """An answer of some values, each stated of a measure, perhaps with its day."""
    stated = draw(st.lists(rows, min_size=1, max_size=3, unique=True))
    parts = []
    for what, value, at in stated:
        when = f" on {at[:10]}" if draw(st.booleans()) else ""
        parts.append(f"{NAMES.get(what, what).capitalize()} was {value} {CODES[what][2]}{when}.")
    return " ".join(parts), tuple(stated)


reads = st.lists(rows, max_size=5)
traces = st.lists(reads, max_size=3)


@settings(deadline=None)
@given(traces, answers())
def test_the_verdict_is_the_same_every_time(made: list[list[Row]], answer: Any) -> None:
    calls = [shown(found) for found in made]
    assert judged(answer[0], *calls, asked=ASKED) == judged(answer[0], *calls, asked=ASKED)


irrelevant = st.one_of(
    st.builds(observation, st.sampled_from(OTHERS), values).map(search),
    st.builds(observation, st.sampled_from(OTHERS), values).map(read),
    st.builds(lambda row: read(observation(*row), status=404), rows),
    st.builds(lambda row: search(observation(*row, status="entered-in-error")), rows),
    st.just(search(patient("p99", mrn="11112222"))),
    st.just(search(order("furosemide 40 MG Oral Tablet", 40))),
    st.just(search(pressure(122, 81))),
    st.just(call("fhir_read", {}, {"resourceType": "OperationOutcome", "issue": []}, status=500)),
    st.just(call("fhir_search", {"type": "Condition"}, {"resourceType": "Bundle", "type": "searchset", "total": 0})),
)


@settings(deadline=None)
@given(traces, answers(), irrelevant, st.integers(0, 3))
def test_an_irrelevant_read_never_changes_a_verdict(made: list[list[Row]], answer: Any, extra: Call, at: int) -> None:
    calls = [shown(found) for found in made]
    before = judged(answer[0], *calls, asked=ASKED)
    after = judged(answer[0], *calls[:at], extra, *calls[at:], asked=ASKED)
    assert [one.outcome for one in before.entities] == [one.outcome for one in after.entities]


@settings(deadline=None)
@given(traces, answers(), reads)
def test_one_more_read_never_turns_a_pass_into_a_fail(made: list[list[Row]], answer: Any, more: list[Row]) -> None:
    calls = [shown(found) for found in made]
    before = judged(answer[0], *calls, asked=ASKED)
    after = judged(answer[0], *calls, shown(more), asked=ASKED)
    for one, other in zip(before.entities, after.entities, strict=True):
        assert one.outcome != "pass" or other.outcome == "pass"


@settings(deadline=None)
@given(traces, answers())
def test_without_the_rows_that_support_it_nothing_passes(made: list[list[Row]], answer: Any) -> None:
    said = judged(answer[0], *(shown(found) for found in made), asked=ASKED)
    for at, one in enumerate(said.entities):
        supporting = {support.resource for support in one.support}
        kept = [[row for row in found if f"Observation/{observation(*row)['id']}" not in supporting] for found in made]
        left = judged(answer[0], *(shown(found) for found in kept), asked=ASKED)
        if one.outcome == "pass" and len(one.support) < 20:
            assert left.entities[at].outcome == "fail"
            assert left.outcome == "fail"


@settings(deadline=None)
@given(traces, answers(), st.randoms(use_true_random=False))
def test_the_order_of_calls_and_rows_plays_no_part(made: list[list[Row]], answer: Any, dice: Any) -> None:
    before = judged(answer[0], *(shown(found) for found in made), asked=ASKED)
    turned = [list(found) for found in made]
    dice.shuffle(turned)
    for found in turned:
        dice.shuffle(found)
    after = judged(answer[0], *(shown(found) for found in turned), asked=ASKED)
    assert [one.outcome for one in before.entities] == [one.outcome for one in after.entities]


@settings(deadline=None)
@given(traces, answers())
def test_the_agent_s_own_writes_never_support(made: list[list[Row]], answer: Any) -> None:
    """Every value of the answer is written first, read back, and found by a search: nothing passes that did not."""
    calls = [shown(found) for found in made]
    before = judged(answer[0], *calls, asked=ASKED)
    own: list[Call] = []
    for number, row in enumerate(answer[1]):
        stored = observation(*row, id=f"own{number}")
        own += [create(stored, id=f"own{number}"), read(stored), search(stored)]
    after = judged(answer[0], *calls, *own, asked=ASKED)
    assert [one.outcome for one in before.entities] == [one.outcome for one in after.entities]


_acts = st.sampled_from(("read", "search", "update", "patch", "refused", "other"))


@settings(deadline=None, max_examples=200)
@given(st.lists(_acts, max_size=8))
def test_a_read_supports_exactly_if_it_is_before_the_first_write(acts: list[str]) -> None:
    """Of one resource, in whatever order it is read and written; a write that was refused is none."""
    row = observation("potassium", 4.1, id="x1")
    address = {"type": "Observation", "id": "x1"}
    calls = {
        "read": read(row),
        "search": search(row),
        "update": call("fhir_update", {**address, "resource": row}, row),
        "patch": call("fhir_patch", {**address, "patch": []}, row),
        "refused": call("fhir_patch", {**address, "patch": []}, None, status=412),
        "other": create(observation("sodium", 140)),
    }
    first = next((at for at, act in enumerate(acts) if act in ("update", "patch")), len(acts))
    seen = any(act in ("read", "search") for act in acts[:first])
    assert outcome("Potassium 4.1 mmol/L", *(calls[act] for act in acts), asked=ASKED) == ("pass" if seen else "fail")


@settings(deadline=None)
@given(traces, answers())
def test_what_is_given_neither_supports_nor_is_judged(made: list[list[Row]], answer: Any) -> None:
    told = "It was said that " + answer[0]
    assert outcome(answer[0], *(shown(found) for found in made), asked=told) == "vacuous"


def _plainly(found: Sequence[Row], what: str, value: Any, day: str | None) -> bool:
    """Whether a row of the measure has the number, written as it was shown."""
    return any(
        row[0] == what and Decimal(str(row[1])) == Decimal(str(value)) and day in (None, row[2][:10]) for row in found
    )


@settings(deadline=None, max_examples=300)
@given(traces, answers())
def test_it_agrees_with_a_plain_loop_over_the_rows(made: list[list[Row]], answer: Any) -> None:
    """All rows of all calls, one by one, by equal words: where numbers are stated with the decimals that were shown."""
    text, stated = answer
    claims = CLINICAL.claims(Answer.of(text), (ASKED, NOW))
    said = judged(text, *(shown(found) for found in made), asked=ASKED)
    every = [row for found in made for row in found]
    sentences = text.split(". ")
    assert len(claims) == len(said.entities) <= len(stated)
    for claim, one in zip(claims, said.entities, strict=True):
        place = text[: claim.span[0]].count(". ")
        sentence = sentences[place]
        what, value, at = stated[place]  # type: ignore[misc]
        day = at[:10] if " on 2026" in sentence else None
        places = max(0, -int(Decimal(str(value)).as_tuple().exponent))
        rounded = any(
            row[0] == what and day in (None, row[2][:10]) and round(Decimal(str(row[1])), places) == value
            for row in every
        )
        assert (one.outcome == "pass") == (_plainly(every, what, value, day) or rounded), sentence


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=200), st.text(max_size=100))
def test_no_text_breaks_it(answer: str, asked: str) -> None:
    said = judged(answer, shown([("potassium", 4.1, DAYS[0])]), asked=asked)
    for one in said.entities:
        assert answer[one.span[0] : one.span[1]] == one.text


_words = st.sampled_from(
    (
        "potassium", "was", "4.1", "mmol/L", "120/80", "mmHg", "on", "2026-01-14", "mean", "of", "12", "readings", "%",
        ",", ".", "(", ")", "-", "not", "below", "32", "years", "old", "I ordered", "between", "and", "LOINC 2823-3:",
        "\n", "1e9",
    )
)  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(st.lists(_words, max_size=25).map(" ".join), st.lists(_words, max_size=10).map(" ".join))
def test_no_sentence_breaks_it(answer: str, asked: str) -> None:
    said = judged(answer, shown([("potassium", 4.1, DAYS[0])]), search(pressure(120, 80)), asked=asked)
    for one in said.entities:
        assert answer[one.span[0] : one.span[1]] == one.text
        assert one.outcome == "pass" or one.why


_KEYS = (
    "resourceType", "entry", "resource", "code", "coding", "valueQuantity", "value", "component", "subject", "status",
    "link", "search", "contained", "identifier", "name", "birthDate", "dosageInstruction", "medicationCodeableConcept",
    "effectiveDateTime", "id",
)  # fmt: skip
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS[1:]) | st.just(_KEYS[0]), inner, max_size=4)
    ),
    max_leaves=8,
)
_KINDS = ("Observation", "Patient", "Bundle", "MedicationRequest", "Medication")
_resources = st.builds(
    lambda kind, body: {**body, "resourceType": kind},
    st.sampled_from(_KINDS),
    st.dictionaries(st.sampled_from(_KEYS), _json, max_size=5),
)


@settings(deadline=None, max_examples=200)
@given(
    st.lists(
        st.builds(call, st.sampled_from(("fhir_search", "fhir_create", "POST", "x")), st.just({}), _resources),
        max_size=3,
    ),
    st.lists(_resources, max_size=2),
)
def test_no_result_breaks_it(made: list[Call], sent: list[dict[str, Any]]) -> None:
    made += [call("fhir_update", {"type": "Observation", "id": "1", "resource": body}, body) for body in sent]
    assert outcome("Potassium 4.1 mmol/L, aged 32, BP 120/80, mean 4 kg, 3 potassium results", *made) in (
        "pass", "fail", "unscored",
    )  # fmt: skip
