"""OpenAI chat messages as traces."""

from __future__ import annotations

import json
from typing import Any

import pytest

from grounding import REFUSAL
from grounding.loss import NO_STATUS
from readback.traces import RecordedTrace, TraceError
from readback.traces.chat import read_chat

TEXT = "class HTTPAdapter: ..."


def user(text: str = "Where is it?") -> dict[str, Any]:
    return {"role": "user", "content": text}


def said(text: str | None, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **fields}


def asks(*calls: tuple[str, str, Any], text: str | None = None) -> dict[str, Any]:
    """An assistant's message with calls (id, name, arguments)."""
    made = [
        {"id": id_, "type": "function", "function": {"name": name, "arguments": given}} for id_, name, given in calls
    ]
    return said(text, tool_calls=made)


def gives(id_: str | None, content: Any, **fields: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": content, **fields}


def read(*messages: dict[str, Any], **outer: Any) -> RecordedTrace:
    return read_chat({"messages": list(messages), **outer}, "name")


ASKS, GIVES = asks(("c1", "read_file", '{"path": "a.py"}')), gives("c1", TEXT)


def test_calls_results_and_the_final_answer() -> None:
    trace = read({"role": "system", "content": "Be good."}, user(), ASKS, GIVES, said("It is in a.py."))
    assert trace.answer is not None
    assert trace.answer.text == "It is in a.py."
    (call,) = trace.calls
    assert (call.position, call.step, call.name, call.arguments) == (1, 1, "read_file", {"path": "a.py"})
    assert (call.status, call.result, call.cut_by) == ("ok", TEXT, None)
    assert (trace.id, trace.question, trace.loss) == ("name", "Where is it?", (NO_STATUS,))


@pytest.mark.parametrize(
    "wrap",
    [
        lambda messages: messages,
        lambda messages: {"messages": messages},
        lambda messages: {"conversation": messages},
        lambda messages: {"trajectory": messages, "info": {}},
        lambda messages: {"request": {"model": "m", "messages": messages}},
        lambda messages: {"input": messages},
        lambda messages: {"trace": {"messages": messages}, "score": 1},
        lambda messages: {"messages": messages[:-1], "choices": [{"message": messages[-1], "finish_reason": "stop"}]},
        lambda messages: {"messages": messages[:-1], "response": {"choices": [{"message": messages[-1]}]}},
        lambda messages: {"request": {"messages": messages[:-1]}, "response": {"choices": [{"message": messages[-1]}]}},
        lambda messages: {
            "body": {"messages": messages[:-1]},
            "response": {"body": {"choices": [{"message": messages[-1]}]}},
        },
        lambda messages: {"messages": messages, "response": {"choices": [{"message": messages[-1]}]}},
        lambda messages: {"messages": messages[:-1], "completion": messages[-1]["content"]},
        lambda messages: {"messages": messages[:-1], "response": messages[-1]["content"]},
        lambda messages: {"messages": messages[:-1], "completion": messages[-1]},
        lambda messages: {"messages": messages[:-2], "completion": messages[-2:]},
        lambda messages: {"request": {"messages": messages[:-1]}, "response": messages[-1]["content"]},
        lambda messages: {"prompt": messages[:-2], "completion": messages[-2:]},
        lambda messages: {"messages": messages, "completion": messages[-1]},
        lambda messages: {"messages": messages, "completion": messages[-2:]},
        lambda messages: {"messages": messages, "response": "stored as 17"},
    ],
)
def test_messages_are_found_in_what_they_are_wrapped_in(wrap: Any) -> None:
    trace = read_chat(wrap([user(), ASKS, GIVES, said("It is in a.py.")]), "name")
    assert [call.name for call in trace.calls] == ["read_file"]
    assert trace.answer is not None
    assert trace.answer.text == "It is in a.py."


def test_parallel_calls_get_their_own_results_in_any_order() -> None:
    both = asks(("x", "read_file", '{"path": "a.py"}'), ("y", "read_file", '{"path": "b.py"}'))
    trace = read(user(), both, gives("y", "B"), gives("x", "A"), said("done"))
    assert [(call.arguments, call.result, call.step) for call in trace.calls] == [
        ({"path": "a.py"}, "A", 1), ({"path": "b.py"}, "B", 1),
    ]  # fmt: skip


def test_an_id_that_is_used_again_means_the_newest_call() -> None:
    first, second = asks(("c", "read_file", {"path": "a.py"})), asks(("c", "read_file", {"path": "b.py"}))
    trace = read(user(), first, gives("c", "A"), second, gives("c", "B"), said("done"))
    assert [call.result for call in trace.calls] == ["A", "B"]
    twice = asks(("c", "read_file", {"path": "a.py"}), ("c", "read_file", {"path": "b.py"}))
    assert [call.result for call in read(user(), twice, gives("c", "A"), gives("c", "B"), said("x")).calls] == [
        "A",
        "B",
    ]


def test_results_without_an_id_come_in_order() -> None:
    both = asks(("x", "read_file", "{}"), ("y", "read_file", "{}"))
    trace = read(user(), both, gives(None, "A"), gives(None, "B"), said("done"))
    assert [call.result for call in trace.calls] == ["A", "B"]


def test_the_older_function_calls_are_read() -> None:
    asked = said(None, function_call={"name": "read_file", "arguments": '{"path": "a.py"}'})
    trace = read(user(), asked, {"role": "function", "name": "read_file", "content": TEXT}, said("done"))
    assert [(call.name, call.result) for call in trace.calls] == [("read_file", TEXT)]


def test_custom_calls_and_content_parts_are_read() -> None:
    asked = said(None, tool_calls=[{"id": "c", "type": "custom", "custom": {"name": "shell", "input": "ls"}}])
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    trace = read({"role": "user", "content": parts}, asked, gives("c", parts), said(parts))  # type: ignore[arg-type]
    assert (trace.calls[0].arguments, trace.calls[0].raw_arguments, trace.calls[0].result) == (None, "ls", "a\nb")
    assert trace.answer is not None
    assert (trace.answer.text, trace.question) == ("a\nb", "a\nb")


@pytest.mark.parametrize(
    ("given", "parsed", "raw"),
    [
        ('{"path": "a.py"}', {"path": "a.py"}, None),
        ({"path": "a.py"}, {"path": "a.py"}, None),
        ("", {}, None),
        (None, {}, None),
        ('{"path": ', None, '{"path": '),
        ("[1]", None, "[1]"),
        (json.dumps('{"path": "a.py"}'), {"path": "a.py"}, None),
        (json.dumps("a.py"), None, '"a.py"'),
        ('{"path": NaN}', None, '{"path": NaN}'),
        (["a.py"], None, '["a.py"]'),
    ],
)
def test_arguments_that_are_no_object_are_kept_as_text(given: Any, parsed: Any, raw: str | None) -> None:
    (call,) = read(user(), asks(("c", "read_file", given)), gives("c", "x"), said("done")).calls
    assert (call.arguments, call.raw_arguments) == (parsed, raw)


@pytest.mark.parametrize(
    "content",
    [
        "Error: no such file: a.py",
        "FileNotFoundError: [Errno 2] No such file or directory: 'a.py'",
        "a.py: No such file or directory",
        "File a.py does not exist",
        '{"error": "not found"}',
        "Traceback (most recent call last):\n  File ...\nOSError: no",
        "Permission denied",
        "<error>File not found</error>",
        "Failed to read a.py",
        "❌ Error reading file",
        "<tool_use_error>File does not exist.</tool_use_error>",
        "ERROR:\nThe path /x/a.py does not exist. Please provide a valid path.",
        "Access denied - path outside allowed directories: /etc/passwd not in /repo",
        "'src/a.py' is not a valid path",
        "Invalid path: src/a.py",
        "There is no file src/a.py",
        "src/a.py: not found",
        "404 Not Found",
        "HTTP 404: Not Found",
        "429 Too Many Requests",
        "Unknown tool: read_file",
        "Tool read_file failed: no such path",
        "MCP error -32602: Invalid params",
        "Input validation error: 'path' is a required property",
        "Request timed out after 30 s",
        "Permission to use Read has been denied.",
        "The user doesn't want to proceed with this tool use. The tool use was rejected.",
        "Sorry, I couldn't find src/a.py",
        "Cannot display binary file",
        "File content (300KB) exceeds maximum allowed size (256KB). Please use offset and limit parameters",
        "start_line 500 is past the end of the file (120 lines)",
        "Command failed with exit code 1",
        "An unexpected error occurred",
        '{"detail": "Not Found"}',
        '{"type": "error", "message": "no such file"}',
        '{"result": "Error: no such file"}',
        '[{"type": "text", "text": "Error: no such file"}]',
    ],
)
def test_a_result_that_reads_like_an_error_is_one(content: str) -> None:
    assert read(user(), ASKS, gives("c1", content), said("x")).calls[0].status == "error"


@pytest.mark.parametrize(
    "content",
    [
        TEXT,
        "",
        "errors = []\n",
        "class FileNotFoundError(Exception): ...\n",
        "# Error handling\ndef f(): pass\n",
        "error.raise_it()\n",
        "import os\nif not path.exists():\n    print('file does not exist')\n",
        "x = 1\n" * 400 + "Error: no",
        '{"content": "x", "error": null}',
        "timeout = 30\n",
        "class NotFound(Exception): ...\n",
        "raise NotFound",
        "def read_failed(): ...",
        "LIMIT = 404",
        "MESSAGE = 'file not found'",
        "    return 'Invalid path: %s' % path",
        "Warning: the file exists but the contents are empty.",
        "(empty file)",
        "[1, 2]",
    ],
)
def test_a_files_content_is_none(content: str) -> None:
    assert read(user(), ASKS, gives("c1", content), said("x")).calls[0].status == "ok"


@pytest.mark.parametrize(
    "content",
    [
        "Datei nicht vorhanden",
        "ファイルが見つかりません。",
        "null",
        "None",
        "I will not do that.",
        '{"result": "No way."}',
    ],
)
def test_a_line_that_is_neither_code_nor_a_known_message_may_be_either(content: str) -> None:
    trace = read(user(), ASKS, gives("c1", content), said("It is in a.py."))
    assert (trace.calls[0].cut_by, trace.calls[0].result) == ("recorder", None)
    assert "call 1: nobody can tell whether read_file showed a file or a message" in trace.loss


@pytest.mark.parametrize(
    "content",
    [
        "A",
        "x = (1,",
        "    # a",
        "one\ntwo words\nthree words more",
        '    """Do it.',
        "1\tclass A:\n2\t    x = 1",
        "1: A()",
    ],
)
def test_a_few_lines_of_code_are_the_files(content: str) -> None:
    assert read(user(), ASKS, gives("c1", content), said("x")).calls[0].result == content


def test_prose_is_the_content_of_a_document() -> None:
    asked = asks(("c1", "read_file", '{"path": "README.md"}'))
    assert read(user(), asked, gives("c1", "Read me first."), said("x")).calls[0].result == "Read me first."


def test_a_status_beside_a_result_counts() -> None:
    assert read(user(), ASKS, gives("c1", "x", is_error=True), said("x")).calls[0].status == "error"
    assert read(user(), ASKS, gives("c1", "x", status="error"), said("x")).calls[0].status == "error"


def test_a_call_without_a_result_was_cut_by_the_recorder() -> None:
    trace = read(user(), ASKS, said("It is in a.py."))
    assert (trace.calls[0].cut_by, trace.calls[0].result) == ("recorder", None)
    assert "call 1: there is no result of read_file" in trace.loss


def test_parts_that_are_no_text_were_cut_by_the_recorder() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}]
    trace = read(user(), ASKS, gives("c1", parts), said("x"))
    assert (trace.calls[0].cut_by, trace.calls[0].result) == ("recorder", "a")


def test_a_result_that_is_null_was_lost_by_the_recorder() -> None:
    call = read(user(), ASKS, gives("c1", None), said("It is in a.py.")).calls[0]
    assert (call.cut_by, call.result) == ("recorder", None)
    assert read(user(), ASKS, gives("c1", ""), said("It is in a.py.")).calls[0].cut_by is None


def test_a_result_may_be_any_value() -> None:
    (call,) = read(user(), ASKS, gives("c1", {"path": "a.py", "content": TEXT}), said("x")).calls
    assert (call.status, json.loads(call.result)) == ("ok", {"path": "a.py", "content": TEXT})
    assert read(user(), ASKS, gives("c1", {"error": "not found"}), said("x")).calls[0].status == "error"


def test_calls_may_be_a_list_as_json_text() -> None:
    trace = read(user(), {**ASKS, "tool_calls": json.dumps(ASKS["tool_calls"])}, GIVES, said("x"))
    assert [(call.name, call.result) for call in trace.calls] == [("read_file", TEXT)]


def test_a_result_of_no_call_is_a_loss() -> None:
    trace = read(user(), gives("zz", "x"), said("done"))
    assert trace.calls == ()
    assert "a result belongs to no call ('zz') and was passed over" in trace.loss


def test_a_trace_that_ends_in_a_call_has_no_answer() -> None:
    trace = read(user(), asks(("c1", "read_file", "{}"), text="Let me look."), GIVES)
    assert (trace.answer, trace.why) == (None, "the trace ends in a call of read_file, without an answer")
    assert read(user()).why == "the trace has no message of the assistant"


def test_the_answer_is_the_last_thing_the_assistant_says() -> None:
    trace = read(
        user(), said("First thought in x.py"), user("go on"), ASKS, GIVES, said("It is in a.py."), user("thanks")
    )
    assert trace.answer is not None
    assert trace.answer.text == "It is in a.py."


def test_a_finishing_tool_gives_the_answer_and_is_no_call() -> None:
    given = {"outcome": "done", "answer": ["a.py", 3], "note": "in HTTPAdapter"}
    trace = read(user(), ASKS, GIVES, asks(("f", "finish", json.dumps(given))), gives("f", "ok"))
    assert [call.name for call in trace.calls] == ["read_file"]
    assert trace.answer is not None
    assert (trace.answer.text, trace.answer.said) == ("a.py\n3\nin HTTPAdapter", "a.py\n3")
    assert trace.loss == (NO_STATUS,)
    refused = read(user(), asks(("f", "final_answer", {"answer": REFUSAL})))
    assert refused.answer is not None
    assert refused.answer.said == REFUSAL


def test_a_refusal_of_the_model_is_what_it_says() -> None:
    trace = read(user(), said(None, refusal="I cannot help with that."))
    assert trace.answer is not None
    assert trace.answer.text == "I cannot help with that."


def test_the_repository_that_is_named_is_the_group_and_is_given() -> None:
    trace = read(user("Repository: psf/requests\nTASK\nWhere?"), said("x"))
    assert (trace.group, trace.given) == ("psf/requests", ("psf/requests", "requests"))
    assert read(user(), said("x"), repo="my_tool").group == "my_tool"
    assert read(user(), said("x")).group is None


def test_ids_are_taken_from_the_object() -> None:
    assert read(user(), said("x"), id="t7").id == "t7"
    assert read(user(), said("x"), instance_id=7).id == "7"


def test_text_that_is_no_text_is_mended() -> None:
    trace = read(user(), ASKS, gives("c1", "a\ud800b"), said("x\udc00"))
    assert trace.calls[0].result == "a\ufffd\ufffd\ufffdb"
    assert trace.answer is not None
    assert trace.answer.text == "x\ufffd\ufffd\ufffd"


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ({}, "has no messages (its keys are )"),
        ({"name": 1, "score": 2}, "has no messages (its keys are 'name', 'score')"),
        ([], "is a list, and not of messages"),
        ([1, 2], "is a list, and not of messages"),
        (3, "is 3, and a trace is an object"),
        ("text", "is text, and a trace is an object"),
        ({"messages": [{"content": "x"}]}, "message 1 has the role None"),
        ({"messages": [user(), "x"]}, "message 2 is x; expected an object with a role"),
        ({"messages": [{"role": "wizard", "content": "x"}]}, "message 1 has the role 'wizard'"),
        ({"messages": [{"role": "user", "content": 3}]}, "message 1 has 3 as content"),
        ({"messages": [said(None, tool_calls="read_file")]}, "has 'read_file' as calls"),
        ({"messages": [said([{"type": "tool_use", "id": "x"}])]}, "is in Anthropic's format"),
        ({"input": [user(), {"type": "function_call", "name": "x"}]}, "is in the format of OpenAI's Responses"),
        ({"messages": [said(None, tool_calls=[{"id": "c", "function": {}}])]}, "a call of the assistant has no name"),
    ],
)
def test_what_is_no_chat_is_named_in_one_sentence(value: Any, sentence: str) -> None:
    with pytest.raises(TraceError) as raised:
        read_chat(value, "name")
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)
