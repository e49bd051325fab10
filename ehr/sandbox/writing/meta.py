"""What becomes of `meta` in a write, as HAPI keeps it.

Tags and security labels are added to those that are there and never taken away by a write; profiles are replaced;
`source`, `versionId` and `lastUpdated` belong to the server. New tags and profiles are sorted, repeats are dropped, a
tag without a code is dropped. What is the same set as before keeps its order, so that a body sent back is no change.
"""

from __future__ import annotations

from typing import Any

from ehr.sandbox.body import Tree

_ORDER = ("id", "extension", "source", "profile", "security", "tag")


def merged(sent: Tree, before: Tree) -> Tree:
    """The `meta` to store, without version, from the one that was sent and the one that stands."""
    found: Tree = {key: sent[key] for key in ("id", "extension") if key in sent}
    if "source" in before:
        found["source"] = before["source"]
    profiles = _profiles(sent, before)
    if profiles:
        found["profile"] = profiles
    for name in ("security", "tag"):
        codings = added(_codings(before, name), _codings(sent, name))
        if codings:
            found[name] = codings
    return {key: found[key] for key in _ORDER if key in found}


def added(before: list[Tree], sent: list[Tree]) -> list[Tree]:
    """The codings that stand, and after them the new ones, sorted by system and code."""
    known = {_identity(coding) for coding in before}
    new: dict[tuple[str, ...], Tree] = {}
    for coding in sent:
        if coding.get("code") is not None and _identity(coding) not in known:
            new.setdefault(_identity(coding), coding)
    return [*before, *(new[identity] for identity in sorted(new, key=lambda identity: identity[:2]))]


def removed(before: list[Tree], taken: list[Tree]) -> list[Tree]:
    """The codings that stand without those that are taken away."""
    gone = {(coding.get("system"), coding.get("code")) for coding in taken}
    return [coding for coding in before if (coding.get("system"), coding.get("code")) not in gone]


def _identity(coding: Tree) -> tuple[str, ...]:
    """What makes two codings the same: everything but how they are shown."""
    return tuple(str(coding.get(key, "")) for key in ("system", "code", "version", "userSelected"))


def _codings(meta: Tree, name: str) -> list[Tree]:
    listed: Any = meta.get(name, [])
    return [coding for coding in listed if isinstance(coding, dict)] if isinstance(listed, list) else []


def _profiles(sent: Tree, before: Tree) -> list[str]:
    new = [p for p in sent.get("profile", []) if isinstance(p, str)]
    old = [p for p in before.get("profile", []) if isinstance(p, str)]
    return old if set(new) == set(old) else sorted(set(new))
