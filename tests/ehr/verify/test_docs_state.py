"""The examples of docs/state.md are run, and its tables say what the code says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from jsonschema_rs import validator_for

from ehr.verify.answer import _NONE  # the words that the page lists
from ehr.verify.cases import Case, CaseRequest, play, read
from ehr.verify.labels import SEVERITY
from harness.trace import Ending
from readback.schemas import schema
from tests.support import ROOT

PAGE = (ROOT / "docs" / "state.md").read_text(encoding="utf-8")


def test_every_example_holds() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) >= 15
    names: dict[str, Any] = {}
    for number, block in enumerate(blocks, 1):
        exec(compile(block, f"docs/state.md, example {number}", "exec"), names)


def test_the_case_that_is_shown_in_full_agrees_with_what_it_states(tmp_path: Path) -> None:
    (block,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    validator_for(schema("case")).validate(json.loads(block))
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps(json.loads(block)))
    (case,) = read(path, pytest.fail)
    assert play(case).agrees is True


def test_every_rule_has_an_example_or_is_one_sentence() -> None:
    rules = re.split(r"^### \d+\. ", PAGE, flags=re.MULTILINE)[1:]
    assert len(rules) == 10
    assert [n for n, rule in enumerate(rules, 1) if "assert " not in rule] == [2]


def test_the_labels_stand_in_the_order_of_their_severity() -> None:
    table = PAGE.split("## Labels and notes")[1].split("A task may give")[0]
    assert tuple(re.findall(r"^\| `([A-Z_]+)` \|", table, re.MULTILINE)) == SEVERITY


def test_every_ending_every_word_for_none_and_every_key_of_a_case_is_told() -> None:
    for word in (*get_args(Ending), *_NONE):
        assert f"`{word}`" in PAGE, word
    form = PAGE.split("## Judging write logs of your own")[1]
    for key in (*Case.model_fields, *CaseRequest.model_fields):
        assert f"`{key}`" in form or f'"{key}"' in form, key


def test_links_inside_the_page_lead_somewhere() -> None:
    headings = re.findall(r"^#+ (.*)$", PAGE, re.MULTILINE)
    anchors = {re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    for target in re.findall(r"\]\(#([^)]*)\)", PAGE):
        assert target in anchors, target
