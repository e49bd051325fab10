"""Nothing that an agent or a tool wrote makes the predicate raise."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from grounding import EXACT, MENTION, PAPER
from tests.grounding.build import call, judged

WORDS = st.sampled_from(
    (
        "path",
        "content",
        "text",
        "error",
        "status",
        "isError",
        "cut",
        "src/a.py",
        "a.py",
        "class Foo: ...",
        "",
        "type",
        "[",
        "{",
    )
)
LEAVES = st.none() | st.booleans() | st.integers(-500, 500) | st.floats(allow_nan=False) | st.text(max_size=20) | WORDS
VALUES: st.SearchStrategy[Any] = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4), max_leaves=8
)


@settings(deadline=None)
@given(VALUES, st.none() | st.dictionaries(WORDS, VALUES, max_size=3), st.sampled_from((PAPER, MENTION, EXACT)))
def test_any_result_and_any_arguments_can_be_judged(result: Any, arguments: dict[str, Any] | None, policy: Any) -> None:
    made = call("read_file", arguments, result)
    assert judged("src/a.py has Foo_Bar and `Foo`", made, policy=policy).outcome in ("pass", "fail", "unscored")


@settings(deadline=None)
@given(st.text(max_size=200), st.text(max_size=400), st.text(max_size=20))
def test_any_answer_any_text_and_any_path_can_be_judged(answer: str, text: str, path: str) -> None:
    for policy in (PAPER, MENTION, EXACT):
        judged(answer, call("read_file", {"path": path}, {"content": text}), policy=policy)
        judged(answer, call("read_file", {"path": "a.py"}, text), policy=policy)


CODE = st.lists(
    st.sampled_from(
        ("def f(", "):", "class A", "    ", "\n", '"""', "'''", "else:", "except", "[", "]", "{", ")", "#", "\\", "\t",
         "x = 1", "@property", "async ", "\r\n", "\x0c", "1\t", "2\t", "... truncated", "```", "lambda", "match x:",
         "type X = int", "self.a = 1", "__all__ = ['a']", "é", "\U0001f600")
    ),
    max_size=40,
).map("".join)  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(CODE)
def test_any_code_can_be_read_and_places_stand_in_it(text: str) -> None:
    said = judged("`f(` and f_x and `A` and `self.a`", call("read_file", {"path": "a.py"}, {"content": text}))
    for entity in said.entities:
        for support in entity.support:
            assert support.span is not None
            assert text[slice(*support.span)] in ("f", "A", "a") or support.how == "module"
