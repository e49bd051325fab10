"""How two versions differ, how far JSON is read, and which elements a path names."""

from __future__ import annotations

from copy import deepcopy
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ehr.verify.difference import (
    check_depth,
    differences,
    is_element,
    is_same,
    parse,
    read_json,
    second_answer,
    shown,
    stems,
)  # fmt: skip

_json: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.decimals(-3, 3, places=2) | st.text(max_size=3),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from("abc"), below, max_size=3),
    max_leaves=10,
)
_resources = st.dictionaries(st.sampled_from(["a", "b", "c"]), _json, max_size=3)


@settings(max_examples=150, deadline=None)
@given(_resources)
def test_nothing_differs_from_itself(resource: dict[str, Any]) -> None:
    assert differences(resource, resource) == []
    assert is_same(resource, deepcopy(resource))


@settings(max_examples=150, deadline=None)
@given(_resources, _resources)
def test_there_is_a_difference_where_the_two_are_not_the_same_and_either_way_round(
    one: dict[str, Any], two: dict[str, Any]
) -> None:
    there, back = differences(one, two), differences(two, one)
    assert bool(there) != is_same(one, two)
    assert {d.path for d in there} == {d.path for d in back}
    for difference in there:
        assert shown(difference.path) == str(difference)


def test_a_reference_without_its_version_is_the_same_one_and_no_other_element_is() -> None:
    versioned, plain = "Patient/p1/_history/2", "Patient/p1"
    assert differences({"subject": {"reference": versioned}}, {"subject": {"reference": plain}}) == []
    for before, after in ((plain, versioned), (versioned, "Patient/p2"), (versioned, ""), (versioned, versioned[:-1])):
        assert differences({"subject": {"reference": before}}, {"subject": {"reference": after}}) != []
    assert differences({"implicitRules": versioned}, {"implicitRules": plain}) != []


def test_numbers_are_read_as_they_are_written() -> None:
    resource = parse('{"a": 1.00, "b": 12345678901234567890.123456789, "c": 7}')
    assert (str(resource["a"]), str(resource["b"])) == ("1.00", "12345678901234567890.123456789")
    assert isinstance(resource["c"], int)
    assert parse(b'{"a": 1}') == {"a": 1}


@pytest.mark.parametrize(
    ("digits", "number"),
    [("1e2000", float("inf")), ("-1e2000", float("-inf")), ("1e-2000", 0.0), ("1e99999999999999999999", float("inf")),
     ("9" * 1000, float("inf")), ("9" * 999, int("9" * 999)), ("1e1000", float("inf")), ("1e-1000", 0.0),
     ("1e999", Decimal("1e999"))],
    ids=range(9),
)  # fmt: skip
def test_numbers_beyond_all_measure_are_infinite_or_nothing(digits: str, number: float | Decimal) -> None:
    assert read_json(digits) == number


@pytest.mark.parametrize("text", ["", "{", "[1,]", "nonsense", '"a', b"\xff", "[" * 100_000, "[" * 500 + "]" * 500])
def test_what_is_no_json_or_too_deep_is_refused(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        read_json(text)


@pytest.mark.parametrize("text", ["[]", "1", '"a"', "null"])
def test_a_resource_is_an_object(text: str) -> None:
    with pytest.raises(ValueError, match="a resource is a JSON object, not "):
        parse(text)


def test_four_hundred_levels_are_enough() -> None:
    def nested(levels: int) -> Any:
        value: Any = 1
        for n in range(levels):
            value = [value] if n % 2 else {"a": value}
        return value

    check_depth(nested(400))
    with pytest.raises(ValueError, match="deeper than 400 levels"):
        check_depth(nested(401))
    assert differences({"a": nested(398)}, {"a": nested(398)}) == []


@pytest.mark.parametrize(
    ("type_name", "path", "names"),
    [
        ("Observation", ("valueQuantity", "value"), ("value", "value")),
        ("Observation", ("component", 0, "valueString"), ("component", "value")),
        ("Patient", ("_birthDate", "extension", 0, "url"), ("birthDate", "extension", "url")),
        ("MedicationRequest", ("dosageInstruction", 1, "doseAndRate", 0, "doseQuantity"),
         ("dosageInstruction", "doseAndRate", "dose")),
        ("Patient", ("contained", 0, "valueQuantity"), ("contained", "valueQuantity")),
        ("Patient", ("nonsense", "valueQuantity"), ("nonsense", "valueQuantity")),
        ("Drug", ("valueQuantity",), ("valueQuantity",)),
        ("Patient", (), ()),
    ],
)  # fmt: skip
def test_a_place_goes_by_the_names_of_the_specification(type_name: str, path: Any, names: tuple[str, ...]) -> None:
    assert stems(type_name, path) == names


def test_an_element_path_is_known_or_not() -> None:
    assert is_element("Observation", "component.value.unit")
    assert is_element("Patient", "contained.whatever.there.is")
    assert not is_element("Patient", "birthDate.value")
    assert not is_element("Observation", "component.valueQuantity")


@pytest.mark.parametrize(
    ("resource", "path", "second"),
    [
        ({"resourceType": "Observation", "valueQuantity": {}, "valueString": "x"}, ("valueQuantity",), "valueString"),
        ({"resourceType": "Observation", "valueQuantity": {}, "effectiveDateTime": "x"}, ("valueQuantity",), None),
        ({"resourceType": "Observation", "component": [{"valueString": "", "valueInteger": 1}]},
         ("component", 0, "valueString"), "valueInteger"),
        ({"resourceType": "Observation", "code": {}, "valueString": "x"}, ("code",), None),
        ({"resourceType": "Observation", "component": [{}, {}]}, ("component", 0), None),
        ({"resourceType": "Observation", "x": {"valueString": "", "valueInteger": 1}}, ("x", "valueString"), None),
        ({"resourceType": "Drug", "valueString": "", "valueInteger": 1}, ("valueString",), None),
        ({"valueString": "", "valueInteger": 1}, ("valueString",), None),
        ({"resourceType": "Observation"}, (), None),
        ({"resourceType": "Observation", "nonsense": "x", "valueString": "y"}, ("nonsense",), None),
        ({"resourceType": ["x"], "valueString": ""}, ("valueString",), None),
    ],
)  # fmt: skip
def test_a_second_answer_stands_beside_a_choice(resource: dict[str, Any], path: Any, second: str | None) -> None:
    assert second_answer(resource, path) == second


def test_a_place_in_words() -> None:
    assert shown(("name", 0, "given", 1)) == "name[0].given[1]"
