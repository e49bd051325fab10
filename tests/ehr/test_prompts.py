"""The suite's own prompts: one preamble, two conditions, and no hint of how a task is solved."""

from __future__ import annotations

import re

from ehr.prompts import REFUSAL, prompts

CLOCK = "2026-01-15T10:15:00+00:00"


def test_there_are_two_conditions_with_one_preamble() -> None:
    both = prompts(CLOCK)
    assert list(both) == ["default", "grounded"]
    shared = both["default"][: both["default"].rindex("Be helpful")]
    assert both["grounded"].startswith(shared) and len(shared) > 800


def test_both_say_what_time_it_is_and_how_to_end() -> None:
    for prompt in prompts(CLOCK).values():
        assert CLOCK in prompt and "{" not in prompt
        assert all(word in prompt for word in ("finish", "done", "not_done", "unclear"))


def test_only_grounded_asks_for_evidence_read_back_and_the_exact_refusal() -> None:
    default, grounded = prompts(CLOCK).values()
    assert REFUSAL in grounded and REFUSAL not in default
    assert "State only what a tool result of this session showed" in grounded
    assert "read it back" in grounded and "read it back" not in default


def test_neither_hints_at_what_a_task_hides() -> None:
    hints = (
        r"entered.in.error|status|mmol|unit|convert|newest|latest|oldest|sort|namesake|two patients|future|duplicate"
        r"|allerg|window|_count"
    )
    for prompt in prompts(CLOCK).values():
        assert not re.findall(hints, prompt.replace("units in UCUM", ""), re.IGNORECASE)
