"""A sheet as files for people: `sheet.csv` for any spreadsheet, and `form.html`, one page that needs nothing else.

Everything on them was written by others: it is escaped in the page, which runs no script but its own, and a cell that
a spreadsheet would take for a formula begins with an apostrophe.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any, NamedTuple

from harness.visible import visible
from judges.judge import View
from judges.rubric import RUBRICS, RubricName, prompt
from judges.sheet import LABELS, Sheet
from judges.subject import Subject

COLUMNS = ("sheet", "item", "question", "answer", "trace", "label", "failed", "comment")
"""The columns of `sheet.csv`. When it comes back, all but sheet, item, label, failed and comment are passed over."""

CELL = 30_000
"""Characters of a trace in a cell: spreadsheets take 32,767."""

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that a spreadsheet may take for a formula."""

Seen = Mapping[str, tuple[Subject, View]]
"""What there is to see of each item."""


def sheet_csv(sheet: Sheet, seen: Seen) -> bytes:
    """The sheet as CSV (RFC 4180), in UTF-8 with the mark by which spreadsheets know it."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for item in sheet.items:
        parts = _parts(seen[item.item][1])
        cells = (
            sheet.sheet,
            item.item,
            _question(parts),
            _answer(parts),
            _trace_cell(parts, item.left_out),
            "",
            "",
            "",
        )
        writer.writerow([safe_cell(cell) for cell in cells])
    return b"\xef\xbb\xbf" + out.getvalue().encode("utf-8", "replace")


def safe_cell(text: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text


def plain_cell(text: str) -> str:
    """A cell as it was before `safe_cell`."""
    return text[1:] if text.startswith("'") and text[1:].startswith(FORMULA) else text


class _CallShown(NamedTuple):
    head: str
    arguments: str
    result: str


class _ItemShown(NamedTuple):
    item: str
    question: str
    time: str
    outcome: str
    values: list[str]
    note: str
    calls: list[_CallShown]
    left_out: str | None


def form_html(sheet: Sheet, seen: Seen) -> bytes:
    """The sheet as one page: what there is to see, a form for each item, and its labels saved and loaded as CSV."""
    from jinja2 import Environment
    from markupsafe import Markup

    script, style = _file("form.js"), _file("form.css")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    page = environment.from_string(_file("form.html.jinja")).render(
        sheet=sheet,
        rubric=instructions(sheet.rubric, trace=sheet.trace),
        asks=RUBRICS[sheet.rubric],
        labels=LABELS,
        items=[_shown(item.item, _parts(seen[item.item][1]), item.left_out) for item in sheet.items],
        script=Markup(script),  # noqa: S704 - our own file
        style=Markup(style),  # noqa: S704 - our own file
        policy=f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:",
    )
    return page.encode("utf-8", "replace")


def instructions(rubric: RubricName, *, trace: bool) -> str:
    """What people are told: the rubric in the very words that models are told."""
    return prompt(rubric if trace else f"{rubric}-no-trace")


def _parts(view: View) -> list[dict[str, Any]]:
    """What is shown, from the very lines that a judge gets."""
    return [json.loads(line) for line in view.extract.lines]


def _question(parts: Sequence[Mapping[str, Any]]) -> str:
    return f"{_text(parts[0]['text'])}\n(It was {parts[0]['time']}.)"


def _answer(parts: Sequence[Mapping[str, Any]]) -> str:
    answer = parts[-1]
    lines = [f"outcome: {answer['outcome'] or 'not said'}"]
    lines += [f"answer: {_text(value)}" for value in answer["values"]]
    return "\n".join([*lines, *([f"note: {_text(answer['note'])}"] if answer["note"] else [])])


def _trace_cell(parts: Sequence[Mapping[str, Any]], left_out: str | None) -> str:
    """The calls as text; of many, as many from the start as a cell holds, and where the others are."""
    calls = [part for part in parts if part["part"] == "call"]
    lines: list[str] = [f"({left_out})"] if left_out else []
    for number, part in enumerate(calls):
        call = _call(part)
        line = f"{call.head} {call.arguments}\n→ {call.result}"
        if sum(map(len, lines)) + len(lines) + len(line) > CELL:
            return "\n".join([*lines, f"({len(calls) - number} more calls do not fit in here; form.html shows them)"])
        lines.append(line)
    return "\n".join(lines)


def _shown(item: str, parts: Sequence[Mapping[str, Any]], left_out: str | None) -> _ItemShown:
    answer = parts[-1]
    return _ItemShown(
        item=item,
        question=_text(parts[0]["text"]),
        time=str(parts[0]["time"]),
        outcome=answer["outcome"] or "not said",
        values=[_text(value) for value in answer["values"]],
        note=_text(answer["note"]),
        calls=[_call(part) for part in parts if part["part"] == "call"],
        left_out=left_out,
    )


def _call(part: Mapping[str, Any]) -> _CallShown:
    cut = f", cut by the {part['cut_by']}" if part.get("cut_by") else ""
    head = f"{part['position']}. {visible(str(part['name']))} ({part['status']}{cut})"
    return _CallShown(head, _text(part["arguments"]), _text(part["result"]))


def _text(value: Any) -> str:
    """A value for people to read, with nothing hidden: text as it is, text inside of values with its lines."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict) and value and all(isinstance(inner, str) for inner in value.values()):
        return "\n".join(f"{visible(str(key))}: {visible(inner)}" for key, inner in value.items())
    return visible(json.dumps(value, ensure_ascii=False, indent=1))


def _file(name: str) -> str:
    return resources.files("judges").joinpath("form", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
