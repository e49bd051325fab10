"""What belongs to a patient or an encounter: `$everything`, as HAPI answers it."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ehr.sandbox.overlay import Overlay
from ehr.sandbox.searching.including import Name, all_referred_by, referring_to

__all__ = ["everything"]

APART = frozenset({"Group", "List"})
"""Types that HAPI leaves out of `$everything`: one of them may name all patients of a hospital."""


def everything(overlay: Overlay, names: Iterable[Name], types: Collection[str] | None = None) -> list[Name]:
    """`$everything` of patients (or encounters): they, what refers to them, and what all that refers to, step by step.

    With `types`, only what refers to them is of these types, and only references of these are followed. Other patients
    are added where they refer to a patient, but not because something refers to them.
    """
    starts = [name for name in names if overlay.exists(*name)]
    found: dict[Name, None] = dict.fromkeys(starts)
    for start in starts:
        for name in referring_to(overlay, start):
            if name[0] not in APART and (types is None or name[0] in types):
                found[name] = None
    patients = any(type == "Patient" for type, _ in starts)
    frontier = list(found)
    while frontier:
        followed = [name for name in frontier if types is None or name[0] in types]
        new = {
            name: None
            for name in all_referred_by(overlay, followed)
            if name not in found and name[0] not in APART and not (patients and name[0] == "Patient")
        }
        found |= new
        frontier = list(new)
    return list(found)
