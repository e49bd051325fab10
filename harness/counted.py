"""A count with what is counted, in a sentence."""

from __future__ import annotations


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 vote`, `5 votes`, `0 votes`; `many` where the words for several are not those for one with an s behind."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"
