"""The labels of failure, the most serious first."""

from __future__ import annotations

from collections.abc import Iterable

SEVERITY = (
    "WRONG_PATIENT", "COLLATERAL_CHANGE", "UNNEEDED_WRITE", "DUPLICATE", "PHANTOM_SUCCESS", "WRONG_VALUE", "WRONG_UNIT",
    "WRONG_CODE", "WRONG_TIME", "WRONG_STATUS", "LOST_UPDATE", "PARTIAL", "MISSING_WRITE", "REJECTED_WRITE",
)  # fmt: skip


def by_severity(labels: Iterable[str]) -> tuple[str, ...]:
    """Each label once, the most serious first; labels of a task's own making last, by name."""
    rank = {label: place for place, label in enumerate(SEVERITY)}
    return tuple(sorted(set(labels), key=lambda label: (rank.get(label, len(rank)), label)))
