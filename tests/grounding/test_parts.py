"""Files that are parsed part by part say what they say as a whole."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding import PAPER, Cache, kappa_ground
from grounding.code import Code
from grounding.languages import Definition, Definitions
from grounding.languages.python import PYTHON
from grounding.parts import read_parts
from grounding.sources import folded
from tests.grounding.build import ADAPTERS, call, entity, read, trace
from tests.grounding.installed import sources


def parts(text: str) -> list[str] | None:
    """The first line of each part."""
    starts = PYTHON.outline(text)
    return None if starts is None else [text[start:].partition("\n")[0] for start in starts]


def test_parts_begin_at_outermost_classes_and_functions() -> None:
    text = "import os\n\nclass A:\n    def f(self): ...\nx = 1\nasync def g(): ...\n\ndef h(): ...\nclassic = 1\n"
    assert parts(text) == ["import os", "class A:", "async def g(): ...", "def h(): ..."]


def test_a_decorator_begins_the_part_of_what_it_decorates() -> None:
    text = "@one\n@two(\n    x)\n\n# a word\nclass A: ...\n@three\ndef f(): ...\ndef g(): ...\n"
    assert parts(text) == ["@one", "@three", "def g(): ..."]


@pytest.mark.parametrize("quotes", ['"""', "'''"])
@pytest.mark.parametrize("before", ["x = ", "r", "f(", ""])
def test_what_stands_in_a_string_begins_no_part(quotes: str, before: str) -> None:
    text = f"{before}{quotes}\ndef f(): ...\n\\{quotes[0]} {quotes[0]}\nclass A: ...\n{quotes}\ndef g(): ...\n"
    assert parts(text) == [f"{before}{quotes}", "def g(): ..."]


@pytest.mark.parametrize(
    "line", ["# it's a comment", "x = '# no comment'", 'x = "it\'s"', "x = 'a \\' b'", "x = ''", 'x = ""']
)
def test_quotes_and_comments_are_told_apart(line: str) -> None:
    assert parts(f"{line}\ndef g(): ...\n") == [line, "def g(): ..."]


@pytest.mark.parametrize("line", ["x = 'open", '"""open', "it's"])
def test_where_a_string_does_not_end_there_are_no_more_parts(line: str) -> None:
    assert parts(f"def e(): ...\n{line}\ndef f(): ...\n") == ["def e(): ..."]


def test_a_file_that_is_cut_in_a_string_defines_what_stands_before() -> None:
    text = 'def e_e(): ...\nclass A_a:\n    """Cut in its mid'
    assert names(PYTHON.part(text, cut=True)) == ["e_e", "A_a"]
    assert PYTHON.part(text, cut=False) is None


def test_a_part_that_cannot_be_parsed_by_itself_says_nothing() -> None:
    text = "x = [y\nasync for y in z]\ndef f(): ...\n"
    assert parts(text) == ["x = [y", "async for y in z]", "def f(): ..."]
    assert PYTHON.part("async for y in z]\n", cut=False) is None
    assert [each.name for each in asked(text, "x", first_line=1)] == ["x"]  # from the whole


def test_a_name_in_a_docstring_that_looks_like_code_is_not_defined() -> None:
    text = '"""Use it so:\n\nclass Foo_Bar:\n    pass\n"""\n\nclass Other: ...\n'
    assert entity("Foo_Bar", read("a.py", text)).outcome == "fail"
    assert entity("`Other`", read("a.py", text)).outcome == "pass"


@pytest.mark.parametrize(
    "text", [ADAPTERS, f"# größe\n{ADAPTERS}", ADAPTERS.replace("\n", "\r\n"), f"\ufeff{ADAPTERS}"]
)
def test_places_are_those_in_the_whole_text(text: str) -> None:
    found = entity("get_adapter(", read("a.py", text))
    assert found.support[0].span is not None
    assert text[slice(*found.support[0].span)] == "get_adapter"


def test_lines_with_numbers_have_no_parts() -> None:
    numbered = "\n".join(f"{at}\t{line}" for at, line in enumerate(ADAPTERS.splitlines(), 1))
    assert read_parts(ADAPTERS, PYTHON, Cache()) is not None
    assert read_parts(numbered, PYTHON, Cache()) is None


def test_what_is_known_of_a_text_is_kept_however_often_it_is_read() -> None:
    cache = Cache()
    for _ in range(2):
        kappa_ground(trace(*[read("a.py", ADAPTERS)] * 5, read("b.py", ADAPTERS)), "HTTPAdapter", PAPER, cache=cache)
        assert len(cache) == 1
    part = call("read_file", {"path": "a.py", "start_line": 10}, ADAPTERS)
    for _ in range(2):
        kappa_ground(trace(*[part] * 5), "HTTPAdapter", PAPER, cache=cache)
        assert len(cache) == 2


def names(found: Definitions | None) -> list[str]:
    assert found is not None
    return [each.name for each in found.certain]


def asked(text: str, name: str, *, first_line: int | None) -> list[Definition]:
    return list(Code(text, PYTHON, first_line, Cache()).defined(folded(name), None, assigned=True))


def test_classes_and_functions_of_just_the_name_come_first() -> None:
    text = "find = 1\ndef find_all(): ...\ndef find(): ...\nclass Find: ...\n"
    found = [(each.name, each.kind) for each in asked(text, "find", first_line=1)]
    assert found == [("find", "function"), ("Find", "class"), ("find", "variable"), ("find_all", "function")]


def order(key: str) -> Callable[[Definition], tuple[bool, str, int]]:
    """Classes and functions of just this name, then by name and place."""

    def place(each: Definition) -> tuple[bool, str, int]:
        is_head = each.kind in ("class", "function") and folded(each.name) == key
        return not is_head, folded(each.name), each.start

    return place


def all_of(text: str) -> list[Definition]:
    """What a text defines, read as a whole."""
    return list(PYTHON.definitions(text, begins=True).certain)


def test_a_whole_file_defines_the_same_part_by_part() -> None:
    """The law, over real files: each name, and its beginning, is found where reading the whole finds it."""
    for text in sources(60, seed=7):
        everything = all_of(text)
        for definition in random.Random(1).sample(everything, min(8, len(everything))):
            for name in (definition.name, definition.name[:4]):
                key = folded(name)
                wanted = [each for each in everything if folded(each.name).startswith(key)]
                assert asked(text, name, first_line=1) == sorted(wanted, key=order(key))


def test_a_file_that_is_cut_at_its_end_defines_the_same_part_by_part() -> None:
    draw = random.Random(2)
    for text in sources(60, seed=8):
        cut = text[: draw.randrange(len(text))]
        for each in asked(cut, "get", first_line=1):
            assert each in all_of(text)


LINES: st.SearchStrategy[str] = st.lists(
    st.sampled_from(
        ("def f_x(a):", "class A_x:", "async def g_x():", "@dec", "    def m_x(self): pass", "    pass", "x_x = 1",
         '"""', "'''", "    '''a'''", "# it's", "(", ")", "x = [", "]", "", "    self.a_x = 1", "if 1:", "else:",
         "é_x = 'ſ'")
    ),
    max_size=12,
).map("\n".join)  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(LINES)
def test_what_parses_as_a_whole_defines_the_same_part_by_part(text: str) -> None:
    if PYTHON.part(text, cut=False) is None:
        return
    for name in ("f_x", "a_x", "m_x", "x_x", "é_x", "g"):
        wanted = [each for each in all_of(text) if folded(each.name).startswith(folded(name))]
        assert asked(text, name, first_line=1) == sorted(wanted, key=order(folded(name)))
