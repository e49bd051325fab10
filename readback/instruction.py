"""What an agent was told to do in an episode: its task's instruction, in the words of the variant that was played."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from harness.suite import Rewords
from harness.task import Task
from harness.trace import Episode
from readback.registry import suite_names, suite_source


def instruction_of(task: Task, episode: Episode) -> str:
    """The instruction; a suite may have other words for a variant."""
    if task.suite not in suite_names():
        return task.instruction
    source = suite_source(task.suite)
    if not isinstance(source, Rewords):
        return task.instruction
    reword: Callable[[Task, Mapping[str, Any]], str] = source.instruction
    try:
        return reword(task, episode.variant)
    except KeyError:  # a task that was made by hand has no other words
        return task.instruction
