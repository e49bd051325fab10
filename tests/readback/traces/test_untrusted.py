"""Whatever a file holds, a reader gives traces and problems, and raises nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from grounding import PAPER
from readback.grounding import Grounder
from readback.traces import Found, find_traces
from readback.traces.chat import read_chat
from readback.traces.trace import TraceError

WORDS = st.sampled_from(
    (
        "messages", "role", "user", "assistant", "tool", "content", "tool_calls", "id", "c1", "function", "name",
        "read_file", "arguments", "tool_call_id", "response", "choices", "message", "request", "format", "type", "text",
        "readback.episode/1", "refusal", "finish", "answer", "function_call", '{"path": "a.py"}', "error",
    )
)  # fmt: skip
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(0, 9) | st.text(max_size=5) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=15,
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(("user", "assistant", "tool", "system", "function"))},
        optional={
            "content": VALUES,
            "tool_calls": VALUES | st.lists(st.fixed_dictionaries({"id": WORDS, "function": VALUES}), max_size=3),
            "tool_call_id": WORDS,
            "function_call": VALUES,
            "name": WORDS,
            "refusal": VALUES,
        },
    ),
    max_size=6,
)


def _written(value: Any, word: str) -> bytes:
    """As Python writes it, halves of surrogate pairs in place of a word."""
    return json.dumps(value).replace(word, "\\ud800").encode()


@settings(deadline=None)
@given(VALUES | MESSAGES | st.builds(lambda messages: {"messages": messages}, MESSAGES))
def test_any_value_is_a_trace_or_is_named(value: Any) -> None:
    try:
        read_chat(value, "name")
    except TraceError as error:
        assert "\n" not in str(error)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200) | st.builds(_written, VALUES | MESSAGES, st.sampled_from(("read_file", *"abcrst"))))
@example(b'{"messages": ["\\ud800"]}')
@example(b'[{"role": "assistant", "tool_calls": "\\ud800"}]')
@pytest.mark.parametrize("name", ["x.json", "x.jsonl"])
def test_any_file_gives_traces_and_problems(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    grounder = Grounder([PAPER])
    for found in find_traces(tmp_path / name):
        if isinstance(found, Found):
            grounder.judge(found)
        else:
            assert found.said.startswith(f"'{tmp_path}")
    grounder.totals()
