"""`paper` against a second implementation, written straight from the study's text with `ast`."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from grounding import PAPER
from harness.trace import Call
from tests.grounding.build import call, judged
from tests.grounding.plain import plain_outcome
from tests.grounding.test_laws import PATHS, answers, files
from tests.grounding.test_python import sources


def read(path: str, text: str) -> Call:
    return call("read_file", {"path": path}, json.dumps({"path": path, "content": text}))


@settings(deadline=None)
@given(st.lists(st.builds(read, st.sampled_from(PATHS), files()), max_size=4), answers)
def test_both_say_the_same_of_every_entity(made: list[Call], answer: str) -> None:
    ours = judged(answer, *made, policy=PAPER)
    outcome, seen, unparsed = plain_outcome(made, answer)
    assert unparsed == 0
    assert ours.outcome == outcome
    assert {f"{entity.kind} {entity.text}": entity.outcome == "pass" for entity in ours.entities} == seen


def test_both_say_the_same_of_real_files() -> None:
    texts = sources(30, seed=5)
    for at, text in enumerate(texts):
        made = [read(f"src/file_{at}.py", text), read("src/other.py", texts[at - 1])]
        answer = f"src/file_{at}.py, src/file_{at + 1}.py: " + ", ".join(text.split()[:400])
        ours = judged(answer, *made)
        outcome, seen, _ = plain_outcome(made, answer)
        assert ours.outcome == outcome
        assert {f"{entity.kind} {entity.text}": entity.outcome == "pass" for entity in ours.entities} == seen
