"""A glance at a text saves parsing it, and is never wrongly no."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.languages.python import PYTHON
from grounding.sources import folded
from tests.grounding.test_laws import files
from tests.grounding.test_python import sources


def assert_never_wrongly_no(text: str) -> None:
    read = PYTHON.definitions(text, begins=False)
    seen = folded(text)
    for definition in read.certain:
        for name in (definition.name, definition.name[:4]):
            assigned = definition.kind not in ("class", "function")
            assert PYTHON.may_define(seen, folded(name), assigned=assigned), definition
            assert PYTHON.may_define(seen, folded(name), assigned=True), definition
        if definition.owner:
            assert PYTHON.has_class(seen, folded(definition.owner)), definition
    for name in read.uncertain:
        assert PYTHON.may_define(seen, folded(name), assigned=True), name


def test_what_real_files_and_parts_of_them_define_is_never_passed_over() -> None:
    draw = random.Random(4)
    for text in sources(60, seed=7):
        assert_never_wrongly_no(text)
        lines = text.split("\n")
        first = draw.randrange(len(lines))
        assert_never_wrongly_no("\n".join(lines[first : first + draw.choice((5, 60, 200))]))


@settings(deadline=None)
@given(files(), st.integers(0, 20))
def test_what_any_file_and_its_rest_define_is_never_passed_over(text: str, first: int) -> None:
    assert_never_wrongly_no(text)
    assert_never_wrongly_no("\n".join(text.split("\n")[first:]))


@pytest.mark.parametrize("form", ["{:>6}\t{}", "{}: {}", "{} | {}", "{}→{}", "L{}: {}", "{:>4} {}"])
def test_line_numbers_hide_nothing_from_it(form: str) -> None:
    for text in sources(3, seed=9):
        numbered = "\n".join(form.format(number, line) for number, line in enumerate(text.split("\n"), 1))
        for definition in PYTHON.definitions(text, begins=True).certain:
            assert PYTHON.may_define(folded(numbered), folded(definition.name), assigned=True), definition


DEFINED = (
    "def run_all(): ...", "class run_all: ...", "async def\\\n run_all(): ...", "run_all = 1", "run_all: int",
    "run_all : int = 1", "x = run_all = 1", "a, run_all = 1, 2", "(a, run_all) = 1, 2", "[a, run_all] = b",
    "(a,\n run_all\n) = b", "*run_all, a = b", "if x: run_all = 1", "a = 1; run_all = 2", "self.run_all = 1",
    "self . run_all = 1", "type run_all = int", "__all__ = ['run_all']", "run_all \\\n = 1", "\n    run_all = 1",
    "(run_all  # why\n, b) = c", "x\rrun_all = 1", "class A:\n    run_all: int", "def run_all_twice(): ...",
    "12\trun_all = 1",
)  # fmt: skip

USED = (
    "x = run_all(1)", "import os, sys\nfrom a import run_all\n", "return run_all\n", "x.run_all = 1",
    "xrun_all = 1",
)  # fmt: skip


@pytest.mark.parametrize("text", DEFINED)
def test_it_takes_every_place_where_a_name_may_be_defined(text: str) -> None:
    assert PYTHON.may_define(text, "run_all", assigned=True)


@pytest.mark.parametrize("text", USED)
def test_it_passes_over_mere_uses(text: str) -> None:
    assert not PYTHON.may_define(text, "run_all", assigned=True)


def test_only_classes_and_functions_where_nothing_assigned_is_meant() -> None:
    assert not PYTHON.may_define("x = 1\nrun_all = 1\nself.run_all = 2", "run_all", assigned=False)
    assert PYTHON.may_define("run_all = 1\ndef run_all(): ...", "run_all", assigned=False)


def test_a_class_is_shown_by_its_head() -> None:
    assert PYTHON.has_class("x\nclass pool(base): ...", "pool")
    assert not PYTHON.has_class("class pools: ...\npool = 1\nsubclass pool\nclass whirlpool: ...", "pool")
