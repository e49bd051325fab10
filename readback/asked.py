"""What an agent was asked in an episode: its task's instruction, in the words of the variant that was played."""

from __future__ import annotations

from harness.task import Task
from harness.trace import Episode


def asked(task: Task, episode: Episode) -> str:
    """The instruction. A suite that asks a task in several versions keeps them with the task."""
    seed = episode.variant.get("counterfactual")
    if seed is None:
        return task.instruction
    version = task.parameters.get("questions", {}).get(str(seed), {})
    return str(version.get("instruction", task.instruction))
