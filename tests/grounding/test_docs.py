"""What docs/grounding.md shows is true: its Python runs, its command runs, and both print what stands there."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from grounding import EXACT, MENTION, PAPER
from grounding.blocked import blocked
from tests.readback.command import readback
from tests.support import ROOT

PAGE = (ROOT / "docs/grounding.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.S | re.M)


@pytest.mark.parametrize("at", [at for at, (kind, _) in enumerate(BLOCKS) if kind == "python"])
def test_its_python_prints_what_stands_below_it(at: int) -> None:
    out = io.StringIO()
    with redirect_stdout(out):
        exec(compile(BLOCKS[at][1], "docs/grounding.md", "exec"), {"__name__": "docs"})
    assert BLOCKS[at + 1] == ("text", out.getvalue())


def test_its_command_prints_what_stands_below_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (at,) = [at for at, (kind, _) in enumerate(BLOCKS) if kind == "sh"]
    monkeypatch.chdir(tmp_path)
    assert BLOCKS[at - 1][0] == "json"
    Path("trace.json").write_text(BLOCKS[at - 1][1], "utf-8")
    assert readback(*BLOCKS[at][1].split()[1:]).out == BLOCKS[at + 1][1]


def test_its_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE):
        assert (ROOT / "docs" / target).is_file(), target
    headings = {
        re.sub(r"[^\w -]", "", line[3:].lower()).replace(" ", "-") for line in re.findall(r"^## .*$", PAGE, re.M)
    }
    assert set(re.findall(r"\]\(#([^)]+)\)", PAGE)) <= headings


def test_its_table_of_policies_is_that_of_the_code() -> None:
    assert (PAPER.paths, MENTION.paths, EXACT.paths) == ("exact", "suffix", "exact")
    assert (PAPER.whole, MENTION.whole, EXACT.whole) == (False, False, True)
    assert (PAPER.ignore_case, MENTION.ignore_case, EXACT.ignore_case) == (True, True, False)
    assert (PAPER.mentions, MENTION.mentions, EXACT.mentions) == (False, True, False)
    for policy in (PAPER, MENTION, EXACT):
        assert policy.reads == ("read_file",)
        assert policy.modules
        assert set(policy.definitions) == {"class", "function", "variable", "field", "attribute", "alias"}
        assert policy.blocked == blocked().digest
