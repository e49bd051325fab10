from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ehr.verify import Create, Expected, quantity
from ehr.verify.units import ANALYTES, Amount, compare, convert, decimal, is_ucum
from tests.ehr.verify.build import (
    ORDER,
    POTASSIUM,
    UCUM,
    Body,
    Chart,
    amount,
    dose,
    finding,
    labels,
    order,
    potassium,
    state,
)  # fmt: skip


def _near(value: Decimal | None, expected: float) -> bool:
    return value is not None and abs(float(value) - expected) <= 1e-5 * abs(expected)


# ---- conversion


@pytest.mark.parametrize(
    ("value", "source", "target", "expected"),
    [
        ("2", "g", "mg", 2000),  # mass
        ("0.002", "kg", "g", 2),
        ("500", "ug", "mg", 0.5),
        ("150", "[lb_av]", "kg", 68.0388555),  # 0.45359237 kg, exactly
        ("5.5", "[ft_i]", "cm", 167.64),
        ("98.6", "[degF]", "Cel", 37),  # temperature, with its offset
        ("310.15", "K", "Cel", 37),
        ("37", "Cel", "[degF]", 98.6),
        ("120", "mm[Hg]", "kPa", 15.99868),  # pressure
        ("5", "10*9/L", "10*3/uL", 5),  # counts
        ("250000", "/uL", "10*9/L", 250),
        ("50", "%", "1", 0.5),
        ("1", "mg/dL", "mg/L", 10),
        ("1", "ug/min", "mg/h", 0.06),
        ("2", "wk", "d", 14),
        ("1", "l", "L", 1),
        ("1", "mg{total}", "mg", 1),  # an annotation beside a unit says nothing
        ("3", "{cells}/uL", "/uL", 3),
    ],
)  # fmt: skip
def test_ucum_converts(value: str, source: str, target: str, expected: float) -> None:
    assert _near(convert(Decimal(value), source, target), expected)


@pytest.mark.parametrize(
    ("value", "source", "target", "analyte", "expected"),
    [
        # published factors: glucose 18.016 mg/dL per mmol/L, cholesterol 38.67, creatinine 88.4 umol/L per mg/dL,
        # calcium 4.008 mg/dL per mmol/L, urea nitrogen 2.801, bilirubin 17.1 umol/L, urate 59.48, magnesium 2.43
        ("18.016", "mg/dL", "mmol/L", "glucose", 1),
        ("1", "mmol/L", "mg/dL", "glucose", 18.016),
        ("38.666", "mg/dL", "mmol/L", "cholesterol", 1),
        ("1", "mg/dL", "umol/L", "creatinine", 88.4017),
        ("4.0078", "mg/dL", "mmol/L", "calcium", 1),
        ("2.8014", "mg/dL", "mmol/L", "urea-nitrogen", 1),
        ("1", "mg/dL", "umol/L", "bilirubin", 17.1037),
        ("1", "mg/dL", "umol/L", "urate", 59.4848),
        ("2.4305", "mg/dL", "mmol/L", "magnesium", 1),
        ("40", "meq", "mmol", "potassium", 40),  # a charge of one
        ("2", "meq/L", "mmol/L", "magnesium", 1),  # of two
        ("2", "mmol/L", "meq/L", "calcium", 4),
        ("2", "ueq/mL", "mmol/L", "magnesium", 1),
        ("1.21525", "mg/dL", "meq/L", "magnesium", 1),
        ("39.098", "mg", "meq", "potassium", 1),
        ("2", "eq", "meq", "potassium", 2000),
    ],
)
def test_mass_amount_and_equivalents_convert_for_a_named_analyte(
    value: str, source: str, target: str, analyte: str, expected: float
) -> None:
    assert _near(convert(Decimal(value), source, target, analyte=analyte), expected)


@pytest.mark.parametrize(
    ("source", "target", "analyte"),
    [
        ("mg/dL", "mmol/L", None),  # of what?
        ("mL", "g", None),
        ("mL", "g", "glucose"),
        ("meq/L", "mmol/L", None),  # of which charge?
        ("meq/L", "mmol/L", "glucose"),  # which has none
        ("mmol/L", "meq/L", "glucose"),
        ("{tbl}", "{cap}", None),  # both are 1 in UCUM, and a tablet is no capsule
        ("{tbl}", "1", None),
        ("1", "{tbl}", None),
        ("[iU]", "mg", None),
        ("pills", "g", None),
        ("g", "spoons", None),
        ("mmol", "mg/dL", "glucose"),
        ("mg/dL", "mmol", "glucose"),
    ],
)
def test_what_does_not_measure_the_same_does_not_convert(source: str, target: str, analyte: str | None) -> None:
    assert convert(Decimal(1), source, target, analyte=analyte) is None


def test_the_same_unit_gives_back_every_digit() -> None:
    value = Decimal("1.2345678901234567890123456789")
    assert convert(value, "mg", "mg") == value
    assert convert(value, "{tbl}", "{tbl}") == value


def test_an_unknown_analyte_is_named_with_those_that_are_known() -> None:
    with pytest.raises(ValueError, match=r"no molar mass for analyte 'unobtainium'; known are bicarbonate, bilirubin"):
        convert(Decimal(1), "mg/dL", "mmol/L", analyte="unobtainium")


def test_molar_masses_are_the_sums_of_their_atoms() -> None:
    """Atomic weights: IUPAC, abridged to five digits, 2021."""
    weights = {"H": 1.008, "C": 12.011, "N": 14.007, "O": 15.999}
    formulas = {
        "bicarbonate": "H C O3", "bilirubin": "C33 H36 N4 O6", "cholesterol": "C27 H46 O", "creatinine": "C4 H7 N3 O",
        "glucose": "C6 H12 O6", "lactate": "C3 H6 O3", "urate": "C5 H4 N4 O3", "urea": "C H4 N2 O",
        "urea-nitrogen": "N2",
    }  # fmt: skip
    for name, formula in formulas.items():
        mass = sum(weights[part[0]] * int(part[1:] or 1) for part in formula.split())
        assert ANALYTES[name].grams == pytest.approx(mass, rel=1e-4), name


# ---- units that are text of somebody else's


@pytest.mark.parametrize(
    "unit", ["g", "mg/dL", "10*9/L", "10^9/L", "mm[Hg]", "Cel", "{tbl}", "1", "%", "/min", "meq/L"]
)
def test_ucum_is_known(unit: str) -> None:
    assert is_ucum(unit)


@pytest.mark.parametrize(
    "unit",
    [
        "", " ", "grams", "mmHg", "2 mg", "g/", "(((g", "µg", "é", "mg\n", "\x00", "g\u200b", "10*99999999", "m1000000",
        "g" * 10_000, "g." * 5_000 + "g", "(" * 10_000, "{" * 10_000, "__import__('os')", "None", "nan", "g**2", "💊",
    ],
)  # fmt: skip
def test_hostile_and_mistaken_units_are_no_ucum_and_do_no_harm(unit: str) -> None:
    assert not is_ucum(unit)
    assert convert(Decimal(2), unit, "g") is None
    assert convert(Decimal(2), "g", unit) is None


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="mgkLdl/.*10-{}[]()Hg_%eqE^+2 °", max_size=14) | st.text(max_size=20))
def test_no_unit_makes_it_raise(unit: str) -> None:
    for analyte in (None, "glucose", "magnesium"):
        for target in ("g", "Cel", "mmol/L", "meq"):
            result = convert(Decimal(3), unit, target, analyte=analyte)
            assert result is None or isinstance(result, Decimal)


@pytest.mark.parametrize("number", ["1e400", "-1e400", "1e999999", "-1e-999999"])
def test_a_number_beyond_all_measure_equals_nothing(number: str) -> None:
    for unit in ("g", "mg"):
        assert compare(Amount(Decimal(number), unit, None, ""), Decimal(2), "g") == "value"


@pytest.mark.parametrize(
    "value", [True, False, None, "2", [2], {"value": 2}, float("nan"), float("inf"), Decimal("NaN")]
)
def test_only_finite_numbers_are_numbers(value: object) -> None:
    assert decimal(value) is None


def test_decimals_keep_their_digits() -> None:
    assert decimal(Decimal("2.00")) == 2
    assert decimal(0.1) == Decimal("0.1")
    assert decimal(3) == 3


# ---- the clause


def _amount(**members: Any) -> Body:
    """An order with this dose."""
    return order(dosageInstruction=[{"doseAndRate": [{"doseQuantity": members}]}])


@pytest.mark.parametrize(
    "body",
    [
        _amount(value=2, unit="g", system=UCUM, code="g"),
        _amount(value=2000, unit="milligrams, says the text", system=UCUM, code="mg"),  # the code is the unit
        _amount(value=2, system=UCUM, code="g"),
        _amount(value=2, code="g"),
        _amount(value=2, unit="g"),  # valid UCUM, and no code
        _amount(value=2000, unit="mg"),
        _amount(value=2, unit="g", system="http://hospital.example/units"),  # a system and no code says nothing
        _amount(value=2.0000000001, unit="g"),  # within 1e-9 of it
    ],
)  # fmt: skip
def test_an_equal_dose_passes(body: Body) -> None:
    assert labels(ORDER, body) == ()


def test_decimals_of_other_length_are_the_same_dose() -> None:
    assert labels(ORDER, json.dumps(order()).replace('"value": 2', '"value": 2.000')) == ()
    assert labels(ORDER, json.dumps(order()).replace('"value": 2', '"value": 0.2E+1')) == ()


@pytest.mark.parametrize(
    "body",
    [
        _amount(value=2, system=UCUM, code="mg"),  # the unit is the only thing wrong
        _amount(value=2, unit="mg"),
        _amount(value=2),  # missing
        _amount(value=2, unit="grams"),  # no UCUM
        _amount(value=2, unit="g", system="http://snomed.info/sct", code="258682000"),  # a code of another system
        _amount(value=2, unit="g", system=UCUM, code="gramme"),  # a code, and no UCUM
        _amount(value=2, unit="mL"),  # cannot be converted
        _amount(value=4, unit="mL"),  # nor whatever the number is
        _amount(value=4),  # missing, whatever the number is
        _amount(value=2, unit="10*99999999"),
        _amount(value=2, unit="g" * 10_000),
        _amount(value=2, unit={"text": "g"}),
        _amount(value=2, code=["g"], system=UCUM),
        _amount(value=2, unit="{tbl}"),
        _amount(value=2, comparator="<"),  # nor does a comparator excuse a unit that is missing
        _amount(value=2, unit="mL", comparator="<"),  # or measures something else
    ],
)
def test_a_missing_unconvertible_or_only_wrong_unit_is_wrong_unit(body: Body) -> None:
    assert labels(ORDER, body) == ("WRONG_UNIT",)


@pytest.mark.parametrize(
    "body",
    [
        _amount(value=4, unit="g", system=UCUM, code="g"),
        _amount(value=2500, unit="mg"),
        _amount(value=2000, unit="g"),  # the number was converted, the unit was not
        _amount(value=3, unit="mg"),
        _amount(value=-2, unit="g"),
        _amount(value=2.00000001, unit="g"),
        _amount(value=2, unit="g", comparator="<"),  # another quantity
        _amount(value=2, unit="g", comparator=">="),
        _amount(value=2, unit="g", comparator=5),
        _amount(value=2, unit="mg", comparator="<"),  # not only the unit is wrong
        _amount(unit="g", system=UCUM, code="g"),  # a unit without value
        _amount(value="2", unit="g"),
        _amount(value=True, unit="g"),
        order(dosageInstruction=None),  # nothing at the path
        order(dosageInstruction=[dose(2, "g"), dose(40, "g")]),  # a second, contradicting dose
        order(dosageInstruction=[dose(2, "g"), dose(2, "g")]),  # a second, equal one
        order(dosageInstruction=[{"doseAndRate": [dose(2, "g")["doseAndRate"][0]] * 2}]),
        order(dosageInstruction=[{"doseAndRate": [{"doseRange": {"low": amount(2, "g"), "high": amount(2, "g")}}]}]),
    ],
)  # fmt: skip
def test_any_other_wrong_quantity_is_wrong_value(body: Body) -> None:
    assert labels(ORDER, body) == ("WRONG_VALUE",)


@pytest.mark.parametrize("number", ["1e400", "1e999999999999999999999", "9" * 5000, "NaN", "1" + "0" * 400])
def test_a_monstrous_number_is_a_wrong_value_and_not_unscored(number: str) -> None:
    assert labels(ORDER, json.dumps(order()).replace('"value": 2', f'"value": {number}')) == ("WRONG_VALUE",)


def test_a_range_beside_the_dose_is_a_second_answer() -> None:
    both = {"doseQuantity": amount(2, "g"), "doseRange": {"high": amount(40, "g")}}
    assert labels(ORDER, order(dosageInstruction=[{"doseAndRate": [both]}])) == ("WRONG_VALUE",)


def test_what_is_no_amount_is_left_out_of_what_was_found() -> None:
    chart = Chart()
    chart.create(order(dosageInstruction=[{"doseAndRate": [{"doseRange": {"low": amount(1, "g")}}]}, dose(2, "g")]))
    assert finding(state(chart, ORDER), "creates[0].dose").actual == "2 g"


def test_two_values_of_one_choice_are_two_answers_to_one_question() -> None:
    assert labels(POTASSIUM, potassium()) == ()
    for beside in ({"valueString": "4.1 mmol/L"}, {"valueInteger": 3}, {"valueString": "3.1 mmol/L"}):
        assert labels(POTASSIUM, potassium(**beside)) == ("WRONG_VALUE",)
    assert labels(POTASSIUM, potassium(valueQuantity=None, valueString="3.1 mmol/L")) == ("WRONG_VALUE",)
    assert labels(POTASSIUM, potassium(valueQuantity={"value": 3.1}, valueString="x")) == ("WRONG_VALUE",)
    chart = Chart()
    chart.create(potassium(valueString="4.1"))
    assert finding(state(chart, POTASSIUM), "creates[0].value").actual == "3.1 mmol/L, and valueString beside it"


@pytest.mark.parametrize(
    ("value", "outcome"),
    [("3.0", ()), ("3.2", ()), ("3.1", ()), ("2.9999", ("WRONG_VALUE",)), ("3.2001", ("WRONG_VALUE",))],
)
def test_a_tolerance_is_absolute_in_the_expected_unit_with_both_ends_inside(
    value: str, outcome: tuple[str, ...]
) -> None:
    expected = Expected(
        creates=(Create(type="Observation", clauses=(quantity("value", "value", "3.1", "mmol/L", tolerance="0.1"),)),)
    )
    body = json.dumps(potassium()).replace('"value": 3.1', f'"value": {value}')
    assert labels(expected, body) == outcome
    chart = Chart()
    chart.create(body)
    assert finding(state(chart, expected), "creates[0].value").expected == "3.1 mmol/L ± 0.1"
    milli = json.dumps(potassium(valueQuantity=amount(0, "umol/L")))
    assert labels(expected, milli.replace('"value": 0', f'"value": {Decimal(value) * 1000}')) == outcome


def test_the_analyte_lets_mass_stand_for_amount_in_a_clause() -> None:
    def glucose(analyte: str | None) -> Expected:
        value = quantity("value", "value", 180, "mg/dL", tolerance="0.5", analyte=analyte)
        return Expected(creates=(Create(type="Observation", clauses=(value,)),))

    body = potassium(valueQuantity=amount(9.99, "mmol/L"))
    assert labels(glucose("glucose"), body) == ()
    assert labels(glucose(None), body) == ("WRONG_UNIT",)
    assert labels(glucose("glucose"), potassium(valueQuantity=amount(9.5, "mmol/L"))) == ("WRONG_VALUE",)


@pytest.mark.parametrize(
    ("value", "actual"),
    [
        ({"valueQuantity": amount(4, "mmol/L")}, "4 mmol/L"),
        ({"valueQuantity": {"value": 4, "comparator": "<", "code": "mmol/L"}}, "< 4 mmol/L"),
        ({"valueQuantity": {"unit": "mmol/L"}}, "mmol/L"),
        ({"valueRange": {"low": amount(3, "mmol/L")}}, "no quantity"),
        ({"valueString": "3.1 mmol/L"}, "no quantity"),
        ({}, "nothing"),
    ],
)
def test_the_finding_says_what_stands_there(value: Body, actual: str) -> None:
    chart = Chart()
    chart.create(potassium(valueQuantity=None) | value)
    assert finding(state(chart, POTASSIUM), "creates[0].value").actual == actual


def test_the_finding_says_what_was_asked_and_what_stands_where() -> None:
    chart = Chart()
    chart.create(order(dosageInstruction=[dose(2, "mg")]))
    clause = finding(state(chart, ORDER), "creates[0].dose")
    assert (clause.label, clause.expected, clause.actual) == ("WRONG_UNIT", "2 g", "2 mg")
    assert clause.evidence is not None
    assert clause.evidence.path == "dosageInstruction[0].doseAndRate[0].doseQuantity"
