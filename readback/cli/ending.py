"""How a command ends: the exit codes, and a user's mistake as one sentence."""

from __future__ import annotations

DONE = 0
"""Done."""
MISSED = 1
"""A threshold was missed, a case disagrees, a suite is not sound."""
USAGE = 2
"""What was asked for cannot be done: a wrong name, number, file or folder."""
INCOMPLETE = 3
"""Episodes are missing or unscored, or the command did not come to its end."""


class Mistake(Exception):  # noqa: N818 - it is no error of ours
    """A user's mistake. The message is one sentence: what is wrong with which value, and what to do next."""


def worst(*codes: int) -> int:
    """The one exit code where several hold: 2 before 3 before 1 before 0."""
    return min(codes, key=(USAGE, INCOMPLETE, MISSED, DONE).index, default=DONE)
