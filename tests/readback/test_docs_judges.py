"""The examples of docs/judges.md run, and its tables say what the code says."""

from __future__ import annotations

import io
import json
import re
import shlex
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from judges.ballot import FLAGS, read_ballot
from judges.judge import CHARACTERS, TURNS, VOTES
from judges.rubric import RUBRICS
from judges.scripted import RULES
from judges.sheet import LABELS
from readback.cli.judging import judge
from tests.harness.provider import Provider, Say
from tests.judges.build import said
from tests.readback.command import readback
from tests.readback.test_cli_annotate import label
from tests.readback.test_cli_judge import a_run
from tests.support import ROOT

PAGE = (ROOT / "docs" / "judges.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_every_command_does_what_it_says(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_run(here / "runs/a")
    blind = json.dumps({"reason": "r", "failed": [], "verdict": "supported"})

    def speak(request: dict[str, Any]) -> Say:
        return Say(said() if '"calls": [1]' in json.dumps(request).replace("\\", "") else blind)

    with Provider("openai", speak) as openai, Provider("anthropic", speak) as anthropic:
        for provider in (openai, anthropic):
            monkeypatch.setenv(f"{provider.wire.upper()}_API_KEY", "right")
            monkeypatch.setenv(f"{provider.wire.upper()}_BASE_URL", provider.base_url)
        commands = [shlex.split(line, comments=True)[1:] for line in blocks("sh")[0].splitlines()]
        assert [words[0] for words in commands] == ["run", *["judge"] * 5, "annotate"]
        for words in commands[1:]:
            words = words[: words.index("--budget")] if "--budget" in words else words  # no model here has a price
            ended = readback(*words)
            assert ended.code == 0, (words, ended.err)
        assert openai.requests
        assert anthropic.requests
    assert (here / "sheet/form.html").is_file()
    label(here / "sheet/sheet.csv", here / "set-a.csv", *LABELS)
    assert readback("annotate", "runs/a", "--labels", "set-a.csv").code == 0
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(blocks("python")[-1], "docs/judges.md", "exec"), {})
    lines = printed.getvalue().splitlines()
    assert lines[0] == "scripted:overlap (a rule, no model), facts 20 votes, 10 supported"
    assert [line.split(" 20 votes")[0] for line in lines[1:5]] == [
        "openai:MODEL, facts", "anthropic:MODEL, facts", "openai:MODEL, facts, no trace", "openai:MODEL, predicate",
    ]  # fmt: skip
    assert lines[5] == "people:set-a, facts 4 votes, 1 supported"


def test_every_example_of_python_holds() -> None:
    examples = blocks("python")[:-1]
    assert len(examples) == 3
    for number, example in enumerate(examples, 1):
        exec(compile(example, f"docs/judges.md, example {number}", "exec"), {})


def test_the_reply_that_is_shown_is_a_vote() -> None:
    assert read_ballot(blocks("json")[0], trace=True).said == "not_supported"


def test_every_rubric_flag_rule_label_and_option_is_told() -> None:
    for word in (*RUBRICS, *FLAGS, *LABELS, *(f"scripted:{rule}" for rule in RULES)):
        assert f"`{word}" in PAGE, word
    for label_ in ("NO_QUORUM", "TIE", "TRACE_CUT", "UNSUPPORTED", "SCRIPTED_JUDGE", "SPLIT", "VOTES_UNSCORED"):
        assert f"`{label_}`" in PAGE, label_
    options = {name.replace("_", "-") for name in judge.__annotations__} - {"run", "return", "as-json"}
    for option in options:
        assert f"--{option}" in PAGE, option


def test_the_numbers_are_those_of_the_code() -> None:
    assert f"`--max-characters` ({CHARACTERS:,}, about 50,000 tokens)" in PAGE
    assert (VOTES, TURNS) == (5, 12)
    assert "five votes an episode" in PAGE
    assert "twelve turns" in PAGE


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE):
        assert (ROOT / "docs" / target).exists(), target
