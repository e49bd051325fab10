"""Labels of people, read back from a sheet: every row checked, and nothing taken while one of them is wrong.

A file is CSV with the columns `sheet`, `item` and `label`, and `failed` and `comment` where there is something to say;
other columns are passed over, so a spreadsheet may be sent back whole. Comma, semicolon or tabulator may stand between
cells. A label is `supported`, `not_supported`, `no_claim` or `cannot_tell`; an item without one is not labelled.

People are one more judge: each set of labels has its own configuration, one vote an episode, and no name but the one
that it is given.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast, get_args

from harness.values import digest
from judges.rubric import Said
from judges.sheet import LABELS, Item, Sheet
from judges.vote import JudgeSetting, Vote, outcome_of
from judges.writing import instructions, plain_cell

NEEDED = ("sheet", "item", "label")
LONGEST_CELL = 4_000
"""Characters of `failed` and of `comment`."""
LARGEST_FILE = 64_000_000
"""Bytes of a file."""

_SET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")


class LabelsError(ValueError):
    """Labels that cannot be taken; `problems` are the sentences, one for each row that is wrong."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems[:3]))
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class Label:
    """One labelled item."""

    item: Item
    label: str
    failed: str
    comment: str


def read_labels(path: Path, sheets: Mapping[str, Sheet]) -> tuple[Sheet, list[Label], list[Item]]:
    """The sheet that a file belongs to, its labels, and the items that it gives none. Raises `LabelsError`."""
    rows = list(_rows(_text(path), path))
    if not rows:
        raise LabelsError([f"{str(path)!r} has no rows; it must have one for each item of a sheet"])
    sheet = _sheet(rows, sheets, path)
    items = {item.item: item for item in sheet.items}
    problems: list[str] = []
    first_rows: dict[str, int] = {}
    labels: list[Label] = []
    for number, row in rows:
        wrong = row if isinstance(row, str) else _wrong(row, sheet, items, first_rows)
        if wrong is not None or isinstance(row, str):
            problems.append(f"row {number}: {wrong}")
            continue
        first_rows[row["item"]] = number
        if label := row["label"].lower():
            labels.append(Label(items[row["item"]], label, row.get("failed", ""), row.get("comment", "")))
    if problems:
        raise LabelsError(problems)
    if not labels:
        raise LabelsError([f"{str(path)!r} has no label yet; write one of {', '.join(LABELS)} into the column label"])
    given = {one.item.item for one in labels}
    return sheet, labels, [item for item in sheet.items if item.item not in given]


def setting_of(sheet: Sheet, name: str) -> JudgeSetting:
    """The judge that a set of labels is. Raises `LabelsError` where `name` is no name of a set."""
    if not _SET.fullmatch(name):
        raise LabelsError(
            [f"{name!r} is no name of a set of labels; take up to 40 letters, digits, dots and dashes, such as set-a"]
        )
    words = instructions(sheet.rubric, trace=sheet.trace)
    return JudgeSetting.make(
        name=f"people:{name}",
        kind="people",
        about=f"labels by people, set {name}, sheet {sheet.sheet}",
        rubric=sheet.rubric,
        trace=sheet.trace,
        votes=1,
        model=None,
        prompt_digest=digest([words, list(LABELS)]),
        prompt=words,
        sheet=sheet.sheet,
    )


def vote_of(label: Label, setting: JudgeSetting) -> Vote:
    """A label as the one vote of its judge."""
    said = cast("Said", label.label) if label.label in get_args(Said) else None
    doubt = label.item.doubt
    return Vote(
        episode=label.item.episode,
        config=setting.config,
        number=1,
        judge=setting.name,
        rubric=setting.rubric,
        trace=setting.trace,
        outcome=outcome_of(said, doubt),
        said=said,
        failed=(label.failed,) if label.failed else (),
        reason=label.comment,
        flags=("NO_CLAIM_NAMED",) if said == "not_supported" and not label.failed else (),
        fault=None if said else "cannot_tell",
        doubt=doubt,
        left_out=label.item.left_out,
        seen=label.item.seen,
        model=None,
        prompt_digest=setting.prompt_digest,
    )


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise LabelsError([f"{str(path)!r} has more than {LARGEST_FILE // 1_000_000} MB; it is no sheet"])
        return path.read_text(encoding="utf-8-sig")
    except OSError as problem:
        raise LabelsError([f"{str(path)!r} cannot be read: {problem.strerror}; check the name"]) from None
    except UnicodeDecodeError:
        raise LabelsError([f"{str(path)!r} is no UTF-8; save it as CSV UTF-8"]) from None


_Row = dict[str, str] | str
"""The cells that count, by column, or what is wrong with the row."""


def _rows(text: str, path: Path) -> Iterator[tuple[int, _Row]]:
    """The rows that are not blank, each with its number (the heading is row 1)."""
    first, _, rest = text.partition("\n")
    if first.strip().lower() in ("sep=,", "sep=;", "sep="):  # what tells a spreadsheet the mark; it counts no row
        text = rest
    heading = text.partition("\n")[0]
    comma = next((mark for mark in (",", ";", "\t") if heading.count(mark) >= len(NEEDED) - 1), ",")
    before = csv.field_size_limit(LARGEST_FILE)
    try:
        table = list(csv.reader(io.StringIO(text, newline=""), delimiter=comma, strict=True))
    except csv.Error as problem:
        raise LabelsError([f"{str(path)!r} is no CSV: {problem}"]) from None
    finally:
        csv.field_size_limit(before)
    names = [name.strip().lower() for name in table[0]] if table else []
    missing = [name for name in NEEDED if names.count(name) != 1]
    if missing:
        raise LabelsError(
            [f"{str(path)!r} must have one column {missing[0]!r}; its columns are {', '.join(names)[:200]!r}"]
        )
    for number, cells in enumerate(table[1:], 2):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(names):
            yield number, f"it has {len(cells)} cells, and the heading {len(names)}"
            continue
        row = dict(zip(names, cells, strict=True))
        yield number, {name: plain_cell(row[name]).strip() for name in (*NEEDED, "failed", "comment") if name in row}


def _sheet(
    rows: Sequence[tuple[int, _Row]], sheets: Mapping[str, Sheet], path: Path
) -> Sheet:  # fmt: skip
    named = list(dict.fromkeys(row["sheet"] for _, row in rows if not isinstance(row, str) and row["sheet"]))
    known = [sheets[name] for name in named if name in sheets]
    if not known:
        which = f"it names {named[0]!r}" if named else "it names none"
        there = f"this run has {', '.join(sheets)}" if sheets else "this run has none"
        raise LabelsError([f"{str(path)!r} is of no sheet of this run: {which}, and {there}"])
    return known[0]


def _wrong(
    row: Mapping[str, str], sheet: Sheet, items: Mapping[str, Item], first_rows: Mapping[str, int]
) -> str | None:  # fmt: skip
    if row["sheet"] != sheet.sheet:
        return f"it is of sheet {row['sheet'][:40]!r}, and the others of {sheet.sheet!r}"
    item, label = row["item"], row["label"].lower()
    if item not in items:
        return f"there is no item {item[:40]!r} on sheet {sheet.sheet!r}"
    if item in first_rows:
        return f"item {item!r} stands in row {first_rows[item]} already"
    if label and label not in LABELS:
        return f"{row['label'][:40]!r} is no label; write {', '.join(LABELS[:-1])} or {LABELS[-1]}"
    if row.get("failed") and label != "not_supported":
        return f"it names what fails, and its label is {row['label'] or 'missing'!r}; only not_supported goes with that"
    for name in ("failed", "comment"):
        if len(row.get(name, "")) > LONGEST_CELL:
            return f"{name!r} has more than {LONGEST_CELL} characters"
    return None
