"""Which tasks of a suite are played: all, some by name, or the first few, spread over the templates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.task import Task


def limited(tasks: Sequence[Task], limit: int) -> list[Task]:
    """At most `limit` tasks, in the order of the suite: one group of each template in turn until they are used up.

    A group is a task with its twin; where only one place is left, a pair is passed over for the next single task.
    """
    chosen: set[str] = set()
    for group in _in_turn(_groups(tasks)):
        if len(chosen) + len(group) <= limit:
            chosen.update(task.id for task in group)
    if not chosen and limit:  # nothing but pairs, and room for one task
        chosen = {task.id for task in tasks[:limit]}
    return [task for task in tasks if task.id in chosen]


def _groups(tasks: Sequence[Task]) -> list[list[list[Task]]]:
    """For each template its groups, both in the order of the suite."""
    by_template: dict[str, dict[frozenset[str], list[Task]]] = {}
    for task in tasks:
        pair = frozenset({task.id, task.twin or task.id})
        by_template.setdefault(task.template, {}).setdefault(pair, []).append(task)
    return [list(groups.values()) for groups in by_template.values()]


def _in_turn(queues: list[list[list[Task]]]) -> Iterable[list[Task]]:
    for turn in range(max(map(len, queues), default=0)):
        for queue in queues:
            if turn < len(queue):
                yield queue[turn]
