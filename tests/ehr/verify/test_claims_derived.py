"""Derived numbers: each rule over one homogeneous series, with every operand; and against plain formulas."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ehr.verify.claims import CLINICAL
from grounding import judge_grounding
from harness.trace import Episode
from tests.ehr.verify.claim_traces import bundle, call, observation, only, outcome, patient, search

NOW = datetime(2026, 1, 15, 10, 15, tzinfo=UTC)
ASKED = "What about the glucose of the patient with MRN 40965198?"


def ago(hours: float) -> str:
    return (NOW - timedelta(hours=hours)).isoformat()


def glucose(value: float, hours: float, **fields: Any) -> dict[str, Any]:
    return observation("glucose", value, ago(hours), **fields)


SERIES = search(glucose(150, 30), glucose(170, 20), glucose(190, 10), glucose(130, 1), observation("potassium", 4.1))


def said(answer: str, *calls: Any, asked: str = ASKED) -> str:
    return outcome(answer, *(calls or (SERIES,)), asked=asked)


def test_a_mean_lists_its_operands() -> None:
    one = only("The mean glucose was 160 mg/dL.", SERIES, asked=ASKED)
    assert (one.kind, one.outcome, {support.rule for support in one.support}) == ("mean", "pass", {"mean"})
    assert [support.call for support in one.support] == [1, 1, 1, 1]
    assert len({support.resource for support in one.support}) == 4
    assert said("The mean glucose was 161 mg/dL.") == "fail"
    assert said("The glucose was 160 mg/dL.") == "fail", "nothing says that it is a mean"
    assert said("The mean glucose was 170 mg/dL.") == "fail", "a value, and not the mean"
    assert said("160 mg/dL", asked="What was the average glucose?") == "pass"
    assert said("170 mg/dL", asked="What was the average glucose?") == "fail"


def test_a_mean_over_a_window_that_is_named() -> None:
    assert said("Over the last 24 hours the mean glucose was 163.3 mg/dL") == "pass"
    assert said("163.3 mg/dL", asked="What was the mean glucose over the past 24 hours?") == "pass"
    assert said("163 mg/dL", asked="What was the mean glucose over the past day?") == "pass"
    assert said("163.3 mg/dL", asked="What was the mean glucose?") == "fail"
    assert said("160 mg/dL", asked="What was the mean glucose of the last 20 hours?") == "pass", "all that was shown"
    assert said("163.3 mg/dL", asked="What was the mean glucose of the last 20 hours?") == "pass", "both ends"
    assert said("160 mg/dL", asked="What was the mean glucose of the last 19 hours?") == "pass"
    assert said("163.3 mg/dL", asked="What was the mean glucose of the last 19 hours?") == "fail"


def test_a_series_is_one_search_or_all() -> None:
    first, second = search(glucose(100, 5), glucose(120, 4)), search(glucose(200, 3), glucose(220, 2))
    assert said("mean glucose 110 mg/dL", first, second) == "pass"
    assert said("mean glucose 210 mg/dL", first, second) == "pass"
    assert said("mean glucose 160 mg/dL", first, second) == "pass"
    assert said("mean glucose 150 mg/dL", first, second) == "fail", "of 100 and 200, which no search has"


def test_pages_of_one_search_are_one_series() -> None:
    first = search(glucose(100, 5), glucose(120, 4), following="_getpages=1&_offset=2")
    second = call(
        "fhir_next_page", {"url": "http://fhir.hospital.example/fhir?_getpages=1&_offset=2"}, bundle(glucose(200, 3))
    )
    other = search(glucose(90, 2))
    assert said("mean glucose 140 mg/dL", first, second, other) == "pass"
    assert said("mean glucose 200 mg/dL", first, second, other) == "fail", "a page alone"


def test_rows_without_an_id_are_rows_of_their_own() -> None:
    rows = [{key: value for key, value in glucose(each, 5).items() if key != "id"} for each in (100, 100, 160)]
    assert said("mean glucose 120 mg/dL", search(*rows)) == said("3 glucose readings", search(*rows)) == "pass"


def test_a_row_counts_once() -> None:
    assert said("mean glucose 160 mg/dL", SERIES, SERIES, SERIES) == "pass"
    assert said("4 glucose readings", SERIES, SERIES) == "pass"


def test_a_series_is_of_one_measure_one_patient_and_units_that_convert() -> None:
    mixed = search(glucose(100, 5), observation("glucose-molar", 10, ago(4)))
    assert said("mean glucose 140.1 mg/dL", mixed) == "pass", "(100 + 180.16) / 2"
    assert said("mean glucose 55 mg/dL", mixed) == "fail", "of numbers without their units"
    others = search(glucose(100, 5), glucose(200, 4, subject={"reference": "Patient/p18"}))
    assert said("mean glucose 150 mg/dL", others) == "fail"
    assert said("mean glucose 100 mg/dL", search(patient()), others) == "pass"
    assert said("mean glucose 200 mg/dL", search(patient()), others) == "fail"
    urine = search(glucose(100, 5), observation("urine glucose", 300, ago(4)))
    assert said("mean glucose 200 mg/dL", urine) == "fail"
    assert said("mean potassium 4.1 mmol/L, mean glucose 160 mg/dL") == "pass"


def test_void_rows_are_no_operands_and_future_ones_need_not_be() -> None:
    shown = search(glucose(100, 5), glucose(120, 4), glucose(400, 3, status="entered-in-error"), glucose(300, -5))
    assert said("mean glucose 110 mg/dL", shown) == "pass"
    assert said("highest glucose 120 mg/dL", shown) == "pass"
    assert said("highest glucose 400 mg/dL", shown) == "fail"


def test_extremes() -> None:
    one = only("The highest glucose was 190 mg/dL", SERIES, asked=ASKED)
    assert (one.outcome, len(one.support)) == ("pass", 4)
    assert said("Glucose peaked; the peak glucose was 190 mg/dL, the lowest 130 mg/dL") == "pass"
    assert said("The highest glucose was 170 mg/dL") == said("The lowest glucose was 150 mg/dL") == "fail"
    assert said("lowest glucose 130 mg/dL, highest 170 mg/dL") == "fail"
    asked = "What was the highest glucose in the last 24 hours, and when?"
    assert said(f"190 mg/dL\n{ago(10)}", asked=asked) == "pass"
    assert said(f"190 mg/dL\n{ago(20)}", asked=asked) == "fail"
    assert said("10.55 mmol/L", asked="What was the highest glucose?") == "pass", "converted"
    assert said("10.6 mmol/L", asked="What was the highest glucose?") == "fail"


def test_counts() -> None:
    assert said("There are 4 glucose readings") == "pass"
    assert said("There are 3 glucose readings in the last 24 hours") == "pass"
    assert said("3 glucose readings") == "fail"
    assert said("1 potassium result") == "pass"
    assert said("4", asked="How many glucose results are there?") == "pass"
    assert said("5", asked="How many glucose results are there?") == "unscored", "the Bundle has a total of 5"
    assert said("6", asked="How many glucose results are there?") == "fail"


def test_differences() -> None:
    one = only("Glucose fell by 20 mg/dL", SERIES, asked=ASKED)
    assert (one.outcome, [support.rule for support in one.support]) == ("pass", ["difference", "difference"])
    assert said("Glucose dropped by 60 mg/dL") == "pass", "the last two, and the extremes"
    assert said("Glucose rose by 40 mg/dL") == "fail", "of two rows that nothing names"
    assert said("From 150 to 190 mg/dL, a rise of 40 mg/dL in glucose") == "pass", "both are stated"
    assert said("Glucose fell by 146 mg/dL") == "fail", "150 - 4.1"
    assert said("A glucose of 20 mg/dL") == "fail"


def test_of_several_rules_that_are_asked_for_each_may_be_meant() -> None:
    asked = "Give me the lowest and the highest glucose."
    assert said("130 mg/dL\n190 mg/dL", asked=asked) == "pass"
    assert said("150 mg/dL\n190 mg/dL", asked=asked) == "fail"
    assert said("160 mg/dL\n130 mg/dL", asked="The latest glucose, and the mean?") == "pass"


values = st.lists(st.integers(40, 400), min_size=1, max_size=12)


@settings(deadline=None, max_examples=200)
@given(values, st.integers(40, 400), st.integers(0, 2))
def test_it_agrees_with_plain_formulas(numbers: list[int], guess: int, places: int) -> None:
    """Over one search of one measure without windows, the series is what was shown: the formulas tell it all."""
    shown = search(*(glucose(number, hours, id=f"g{hours}") for hours, number in enumerate(numbers)))
    mean = sum(map(Decimal, numbers)) / len(numbers)
    step = Decimal(1).scaleb(-places)
    for stated in {mean.quantize(step), Decimal(guess)}:
        right = abs(stated - mean) <= Decimal(1).scaleb(stated.as_tuple().exponent) / 2  # type: ignore[operator]
        assert said(f"The mean glucose was {stated} mg/dL", shown) == ("pass" if right else "fail")
    for word, extreme in (("highest", max(numbers)), ("lowest", min(numbers))):
        for number in (extreme, guess):
            assert (said(f"The {word} glucose was {number} mg/dL", shown) == "pass") == (number == extreme)
    assert said(f"{len(numbers)} glucose readings", shown) == "pass"
    # Newest first: the row of hour 0 is the last one taken.
    differences = {abs(numbers[0] - numbers[-1]), max(numbers) - min(numbers)}
    differences |= {abs(numbers[0] - numbers[1])} if len(numbers) > 1 else set()
    assume(len(numbers) > 1)
    assert (said(f"Glucose changed by {guess} mg/dL", shown) == "pass") == (guess in differences)


def test_each_operand_is_in_the_verdict() -> None:
    episode = Episode(
        id="e", task="t", task_digest="d", agent="m", condition="default", variant={}, ending="finished",
        answer=("160 mg/dL",), calls=(SERIES,),
    )  # fmt: skip
    verdict = judge_grounding(episode, CLINICAL, given=("What was the mean glucose?",))
    (clause,) = verdict.clauses
    assert (clause.name, clause.outcome) == ("mean 160 mg/dL", "pass")
    told = clause.actual or ""
    assert told.startswith("mean from Observation/") and told.endswith(" (call 1)") and told.count("Observation/") == 4
    assert clause.evidence is not None and clause.evidence.path == "valueQuantity"
