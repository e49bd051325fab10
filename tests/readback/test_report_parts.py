"""The report's parts: what an allowance shows, and what a change looks like."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readback.report.allowance import Allowance, Shown
from readback.report.differences import Leaf, differences
from readback.report.page import text_node

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


@given(st.text(max_size=200), st.integers(0, 120), st.integers(0, 120))
def test_what_is_shown_never_costs_more_than_there_is(text: str, size: int, most: int) -> None:
    purse = Allowance(size)
    shown = purse.take(text, most)
    cost = len(str(text_node(shown.text)).encode(errors="replace"))
    assert cost <= min(size, most)
    assert purse.left == size - cost
    assert (shown.more is None) == (shown == Allowance(10_000).take(text, 10_000))


def test_a_cut_says_how_much_is_missing() -> None:
    assert Allowance(100).take("abc", 10) == Shown("abc")
    assert Allowance(100).take("x" * 1500, 10) == Shown("x" * 10, "1,490 more characters")
    assert Allowance(100).take("<<<<", 9) == Shown("<<", "2 more characters")
    assert Allowance(0).take("abc", 10) == Shown("", "3 more characters")


@pytest.mark.parametrize("indent", [True, False])
@given(value=json_values)
def test_json_that_fits_is_the_value(value: object, indent: bool) -> None:
    purse = Allowance(1_000_000)
    shown = purse.take_json(value, 1_000_000, indent=indent)
    assert shown.more is None
    if "‹U+" not in shown.text:
        assert json.loads(shown.text) == value
        if not indent:
            assert shown.text == json.dumps(value, ensure_ascii=False)


def test_json_that_does_not_fit_is_its_beginning() -> None:
    value = {"body": ["x" * 10_000] * 1000, "status": 200}
    shown = Allowance(1000).take_json(value, 100)
    assert shown.more == "more"
    assert json.dumps(value).startswith(shown.text)
    assert len(shown.text) == 100


def test_long_texts_in_json_are_pieced_together_whole() -> None:
    value = ['"' * 5000 + "\\" * 5000]
    assert json.loads(Allowance(10**6).take_json(value, 10**6).text) == value


def test_json_nested_beyond_reason_ends_in_dots() -> None:
    value: object = 1
    for _ in range(500):
        value = [value]
    assert Allowance(10**6).take_json(value, 10**6).text.strip("[]") == "…"


def test_an_allowance_pays_only_what_it_has() -> None:
    purse = Allowance(10)
    assert purse.pays(6) and not purse.pays(6) and purse.pays(4) and purse.left == 0


def leaves(before: object, after: object) -> list[Leaf]:
    def text(value: object) -> str | None:
        return value if value is None or isinstance(value, str) else json.dumps(value)

    return list(differences(text(before), text(after)))


def test_a_created_resource_is_all_after_and_a_deleted_one_all_before() -> None:
    body = {"resourceType": "Patient", "name": [{"given": ["Ada"]}], "active": True}
    assert leaves(None, body) == [
        Leaf("resourceType", None, '"Patient"'),
        Leaf("name[0].given[0]", None, '"Ada"'),
        Leaf("active", None, "true"),
    ]
    assert leaves(body, None)[1] == Leaf("name[0].given[0]", '"Ada"', None)


def test_an_update_shows_the_elements_that_differ_and_digits_as_stored() -> None:
    assert leaves('{"a":1.0,"b":"x","c":2}', '{"a":1.00,"b":"y","d":"2"}') == [
        Leaf("a", "1.0", "1.00"),
        Leaf("b", '"x"', '"y"'),
        Leaf("c", "2", None),
        Leaf("d", None, '"2"'),
    ]
    assert leaves('{"a":2}', '{"a":"2"}') == [Leaf("a", "2", '"2"')]


def test_the_servers_own_meta_is_no_change_and_other_meta_is() -> None:
    before = {"meta": {"versionId": "1", "lastUpdated": "x", "tag": [{"code": "t"}]}}
    after = {"meta": {"versionId": "2", "lastUpdated": "y"}}
    assert leaves(before, after) == [Leaf("meta.tag[0].code", '"t"', None)]


def test_one_item_more_does_not_shift_the_others() -> None:
    phone, mail, fax = ({"system": system} for system in ("phone", "mail", "fax"))
    assert leaves({"t": [phone, mail]}, {"t": [fax, phone, mail]}) == [Leaf("t[0].system", None, '"fax"')]
    assert leaves({"t": [phone, mail]}, {"t": [mail]}) == [Leaf("t[0].system", '"phone"', None)]
    assert leaves({"t": [phone, mail]}, {"t": [phone, fax]}) == [Leaf("t[1].system", '"mail"', '"fax"')]


def test_a_leaf_that_becomes_a_tree_is_shown_on_both_sides() -> None:
    assert leaves({"v": 1}, {"v": {"x": [], "y": 2}}) == [
        Leaf("v", "1", None),
        Leaf("v.x", None, "[]"),
        Leaf("v.y", None, "2"),
    ]


def test_long_lists_are_compared_place_by_place() -> None:
    assert len(leaves({"t": list(range(300))}, {"t": list(range(1, 301))})) == 300


def test_a_body_that_is_no_json_is_one_leaf() -> None:
    assert leaves("<xml/>", "<xml>2</xml>") == [Leaf("(body)", '"<xml/>"', '"<xml>2</xml>"')]
    deep = "[" * 50_000 + "]" * 50_000
    assert len(leaves(None, deep)) == 1


objects = st.dictionaries(st.text(max_size=4), json_values, max_size=4)


@given(objects, objects)
def test_there_is_a_difference_where_the_bodies_differ_and_only_there(before: object, after: object) -> None:
    assert leaves(before, before) == []
    same = json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True)
    assert (leaves(before, after) == []) == same
