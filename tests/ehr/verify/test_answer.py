"""The answer lens: a multiset or a list of values, each compared by what it means."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from ehr.verify import NOTHING, Answer, AnswerValue, judge
from ehr.verify.answer import judge_answer
from harness.verdict import Verdict
from tests.ehr.verify.build import Body, Chart, finding, task


def _verdict(given_: Any, *values: Body, order: str = "any") -> Verdict:
    answer = Answer(values=tuple(AnswerValue.model_validate(v) for v in values), order=order)
    wanted = task(NOTHING, answer=answer.model_dump(mode="json", exclude_none=True))
    return {v.lens: v for v in judge(wanted, Chart().episode(answer=tuple(given_)))}["answer"]


def _holds(given_: Any, value: Body) -> bool:
    verdict = _verdict([given_], value)
    assert verdict.labels == (() if verdict.outcome == "pass" else ("WRONG_ANSWER",))
    return verdict.outcome == "pass"


# ---- text


@pytest.mark.parametrize("given_", ["S1000017", " s1000017 ", "S1000017\n"])
def test_text_is_trimmed_and_case_folded(given_: str) -> None:
    assert _holds(given_, {"text": "S1000017"})


@pytest.mark.parametrize(
    ("wanted", "given_"),
    [("Ada  Okafor", "ada okafor"), ("STRASSE", "straße"), ("4", 4), ("yes", True), ("True", True), ("no", False)],
)
def test_text_folds_blanks_letters_numbers_and_booleans(wanted: str, given_: Any) -> None:
    assert _holds(given_, {"text": wanted})


@pytest.mark.parametrize(
    ("wanted", "given_"),
    [
        ("S1000017", "S1000018"),
        ("S1000017", "MRN S1000017"),
        ("Ada Okafor", "AdaOkafor"),
        ("1", True),  # a boolean is no number
        ("yes", 1),
        ("yes", False),
        ("no", True),
        ("4", 4.5),
        ("", "x"),
        ("S1000017", ["S1000017"]),
        ("S1000017", {"text": "S1000017"}),
        ("S1000017", None),
    ],
)
def test_other_text_is_wrong(wanted: str, given_: Any) -> None:
    assert not _holds(given_, {"text": wanted})


# ---- quantity

LEVEL = {"quantity": {"value": "1.8", "unit": "mg/dL"}}


@pytest.mark.parametrize(
    "given_",
    ["1.8 mg/dL", "1.80mg/dL", " 1.8  mg/dl ", "1.8 mg/dL.", "18 mg/L", "0.018 g/L", "+1.8 mg/dL", "1800 ug/dL",
     "1.8 MG/DL", "18e-1 mg/dL"],
)  # fmt: skip
def test_a_quantity_is_compared_in_its_unit(given_: str) -> None:
    verdict = _verdict([given_], LEVEL)
    assert (verdict.outcome, verdict.notes) == ("pass", ())


@pytest.mark.parametrize("given_", [1.8, "1.8", "1.80", " 1.8 ", "1.8."])
def test_a_bare_number_is_in_the_unit_asked_for_and_noted(given_: Any) -> None:
    verdict = _verdict([given_], LEVEL)
    assert (verdict.outcome, verdict.notes) == ("pass", ("NO_UNIT",))


@pytest.mark.parametrize(
    "given_",
    [
        "1.8 mmol/L",  # another unit
        "1.8 mg",
        "1.8 g/dL",
        "1.8 somethings",
        "1.9 mg/dL",
        "1.81 mg/dL",
        1.80001,
        "<1.8 mg/dL",
        "about 1.8 mg/dL",
        "the level is 1.8 mg/dL",
        "1.8-1.9 mg/dL",
        "1,8 mg/dL",
        "mg/dL",
        "",
        "1.8 " + "m" * 10_000,
        "1" * 10_000 + " mg/dL",
        "1e99999 mg/dL",
        "1e99 mg/dL",
        True,
        None,
        [1.8],
        {"value": 1.8, "unit": "mg/dL"},
        float("inf"),
    ],
)
def test_another_quantity_is_wrong(given_: Any) -> None:
    assert not _holds(given_, LEVEL)


def test_true_is_not_1_and_1_is_not_true() -> None:
    assert not _holds(True, {"quantity": {"value": "1", "unit": "1"}})
    assert _holds(1, {"quantity": {"value": "1", "unit": "1"}})
    assert _holds("1", {"quantity": {"value": "1.0", "unit": "1"}})


def test_a_pure_number_needs_no_unit() -> None:
    assert _verdict([3], {"quantity": {"value": "3", "unit": "1"}}).notes == ()


@pytest.mark.parametrize(
    ("given_", "holds"),
    [("1.75 mg/dL", True), ("1.85 mg/dL", True), (1.8, True), ("18.5 mg/L", True), ("1.74 mg/dL", False),
     ("1.8501 mg/dL", False), ("18.6 mg/L", False)],
)  # fmt: skip
def test_the_tolerance_is_absolute_with_both_ends_inside(given_: Any, holds: bool) -> None:
    assert _holds(given_, {**LEVEL, "tolerance": "0.05"}) == holds


def test_the_analyte_lets_amount_stand_for_mass() -> None:
    glucose = {"quantity": {"value": "180", "unit": "mg/dL"}, "tolerance": "1"}
    assert _holds("9.99 mmol/L", {**glucose, "analyte": "glucose"})
    assert not _holds("9.99 mmol/L", glucose)


@pytest.mark.parametrize(
    ("unit", "given_"),
    [
        ("mm[Hg]", "120 mmHg"),
        ("mm[Hg]", "120 mm Hg"),
        ("Cel", "120 °C"),
        ("Cel", "120 C"),  # no coulomb, where degrees are asked for
        ("Cel", "248 °F"),
        ("Cel", "248 F"),
        ("/min", "120 bpm"),
        ("/min", "120 beats/min"),
        ("kg", "264.554715 lb"),
        ("a", "120 years"),
        ("a", "120 y"),
        ("a", "120 years old"),
        ("%", "120 percent"),
        ("%", "120%"),
        ("10*9/L", "120 x10^9/L"),
        ("10*9/L", "120 10^9/L"),
        ("ug", "120 mcg"),
        ("ug", "120 \u00b5g"),
        ("umol/L", "120 \u03bcmol/L"),
        ("cm", "47.2440945 inches"),
        ("meq", "120 mEq"),
        ("meq/L", "120 mEq/L"),
        ("kg", "120 kilograms"),
        ("Cel", "120  Degrees\n C"),
        ("mL/min/{1.73_m2}", "120 mL/min/1.73  m2"),
    ],
)
def test_common_spellings_are_read(unit: str, given_: str) -> None:
    assert _holds(given_, {"quantity": {"value": "120", "unit": unit}, "tolerance": "0.00001"})


def test_a_spelling_that_measures_something_else_is_wrong() -> None:
    assert not _holds("120 mmHg", {"quantity": {"value": "120", "unit": "kPa"}})
    assert not _holds("37 C", {"quantity": {"value": "37", "unit": "kg"}})
    assert _holds("37 C", {"quantity": {"value": "37", "unit": "C"}})


# ---- date


@pytest.mark.parametrize(
    ("wanted", "given_"),
    [
        ("2026-01-15", "2026-01-15"),
        ("2026-01-15", " 2026-01-15 "),
        ("2026-01-15", "2026-01-15T23:59:00Z"),
        ("2026-01-15T10:15:00+00:00", "2026-01-15T10:15:00Z"),
        ("2026-01-15T10:15:00+00:00", "2026-01-15T11:15:00.000+01:00"),
    ],
)
def test_a_date_is_the_same_day_and_an_instant_the_same_moment(wanted: str, given_: str) -> None:
    assert _holds(given_, {"date": wanted})


@pytest.mark.parametrize(
    ("wanted", "given_"),
    [
        ("2026-01-15", "2026-01-16"),
        ("2026-01-15", "15.01.2026"),
        ("2026-01-15", "2026-01"),
        ("2026-01-15", "2026-01-15 10:15"),
        ("2026-01-15", "2026-01-15T10:15:00"),  # without zone
        ("2026-01-15", 20260115),
        ("2026-01-15T10:15:00+00:00", "2026-01-15"),
        ("2026-01-15T10:15:00+00:00", "2026-01-15T10:15:00"),
        ("2026-01-15T10:15:00+00:00", "2026-01-15T10:15:01Z"),
        ("2026-01-15T10:15:00+00:00", "2026-01-15T10:15:00-08:00"),
        ("2026-01-15T10:15:00+00:00", None),
    ],
)
def test_another_time_or_one_without_zone_is_wrong(wanted: str, given_: Any) -> None:
    assert not _holds(given_, {"date": wanted})


# ---- code, none

CODE = {"code": {"system": "http://loinc.org", "code": "2823-3"}}


@pytest.mark.parametrize("given_", ["2823-3", " 2823-3 ", "http://loinc.org|2823-3"])
def test_a_code_stands_with_or_without_its_system(given_: str) -> None:
    assert _holds(given_, CODE)


@pytest.mark.parametrize(
    "given_", ["2823-4", "http://snomed.info/sct|2823-3", "|2823-3", "2823-3 potassium", 2823, None]
)
def test_another_code_is_wrong(given_: Any) -> None:
    assert not _holds(given_, CODE)


@pytest.mark.parametrize("given_", ["none", "None", "not found", "No such patient.", "nobody", "N/A", " Nothing "])
def test_none_is_said_in_a_word(given_: str) -> None:
    assert _holds(given_, {"none": True})


@pytest.mark.parametrize("given_", ["no", "0", 0, -1, "", False, "none found today", "S1000017"])
def test_another_word_is_not_none(given_: Any) -> None:
    assert not _holds(given_, {"none": True})


def test_none_where_something_was_asked_for_is_wrong() -> None:
    assert not _holds("none", LEVEL)
    assert not _holds("not found", {"text": "S1000017"})


# ---- several values

A, B = {"text": "a"}, {"text": "b"}


def test_a_multiset_has_no_order_and_a_list_has() -> None:
    assert _verdict(["b", "a"], A, B).outcome == "pass"
    assert _verdict(["b", "a"], A, B, order="listed").outcome == "fail"
    assert _verdict(["a", "b"], A, B, order="listed").outcome == "pass"


@pytest.mark.parametrize("order", ["any", "listed"])
def test_there_must_be_exactly_as_many(order: str) -> None:
    assert _verdict(["a"], A, B, order=order).labels == ("WRONG_ANSWER",)
    assert _verdict(["a", "b", "b"], A, B, order=order).labels == ("WRONG_ANSWER",)
    assert _verdict(["a", "a"], A, B, order=order).labels == ("WRONG_ANSWER",)
    assert _verdict(["a", "a"], A, A, order=order).labels == ()
    assert _verdict(["a"], A, A, order=order).labels == ("WRONG_ANSWER",)


def test_values_that_fit_twice_are_shared_out_the_best_way() -> None:
    near = {"quantity": {"value": "2", "unit": "g"}, "tolerance": "1"}
    exact = {"quantity": {"value": "2", "unit": "g"}}
    for values in ((near, exact), (exact, near)):
        for given_ in (["2 g", "3 g"], ["3 g", "2 g"]):
            assert _verdict(given_, *values).outcome == "pass"
    assert _verdict(["3 g", "3 g"], near, exact).outcome == "fail"


@pytest.mark.parametrize("order", ["any", "listed"])
def test_no_answer_is_a_label_of_its_own(order: str) -> None:
    for value in (A, LEVEL, {"none": True}):
        verdict = _verdict([], value, order=order)
        assert (verdict.outcome, verdict.labels) == ("fail", ("NO_ANSWER",))


def test_no_answer_names_all_that_was_asked_for() -> None:
    clauses = _verdict([], A, CODE).clauses
    assert [(c.name, c.label, c.expected, c.actual) for c in clauses] == [
        ("answer[0]", "NO_ANSWER", "a", "nothing"),
        ("answer[1]", "NO_ANSWER", "http://loinc.org|2823-3", "nothing"),
    ]


def test_the_clauses_say_what_was_expected_and_given() -> None:
    verdict = _verdict(["a", "c"], A, {**LEVEL, "tolerance": "0.05"}, CODE, {"none": True}, order="listed")
    told = [(c.name, c.outcome, c.expected, c.actual) for c in verdict.clauses]
    assert told == [
        ("answer[0]", "pass", "a", "a"),
        ("answer[1]", "fail", "1.8 mg/dL ± 0.05", "c"),
        ("answer[2]", "fail", "http://loinc.org|2823-3", "nothing"),
        ("answer[3]", "fail", "none", "nothing"),
    ]
    assert finding(_verdict(["c"], LEVEL), "answer[0]").expected == "1.8 mg/dL"
    assert [c.label for c in verdict.clauses] == [None, "WRONG_ANSWER", "NO_ANSWER", "NO_ANSWER"]
    surplus = finding(_verdict(["a", "x" * 1000], A), "nothing else")
    assert (surplus.label, surplus.actual) == ("WRONG_ANSWER", "x" * 500)


def test_where_no_answer_is_expected_the_lens_does_not_apply() -> None:
    judged = judge(task(NOTHING), Chart().episode(answer=("anything",)))
    assert [v.lens for v in judged] == ["state", "message", "grounding"]


def test_asked_directly_it_says_so() -> None:
    with pytest.raises(ValueError, match="task 'ehr/case' expects no answer"):
        judge_answer(task(NOTHING), Chart().episode())


def test_an_expected_value_is_of_one_kind() -> None:
    for bad in ({}, {"text": "a", "none": True}):
        with pytest.raises(ValidationError, match="needs exactly one of text, quantity, code, date, none"):
            AnswerValue.model_validate(bad)
    with pytest.raises(ValidationError):
        Answer(values=())
    with pytest.raises(ValidationError):
        Answer(values=(AnswerValue(text="a"),), order="sorted")


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=4), below, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(_json, max_size=4), st.sampled_from(["any", "listed"]))
def test_no_answer_makes_it_raise_or_unscored(given_: list[Any], order: str) -> None:
    verdict = _verdict(given_, A, LEVEL, CODE, {"date": "2026-01-15"}, {"none": True}, order=order)
    assert verdict.outcome == "fail"
