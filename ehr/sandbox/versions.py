"""The resources of a fork by version: what each was, when it came to be, and what the server hands out.

A record's own resource is version 1 (or what its `meta.versionId` says), written when its `meta.lastUpdated` says, else
at the record's clock, and one of the setup at the fork's. Only what is written in the fork is kept here; the rest is
looked up when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import orjson

from ehr.sandbox.body import Tree, parse_object

Method = Literal["POST", "PUT", "DELETE"]


class Key(NamedTuple):
    """A resource by type and id."""

    type: str
    id: str

    @property
    def reference(self) -> str:
        """`Patient/1`."""
        return f"{self.type}/{self.id}"


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a resource. `body` is as stored, `None` where the version is a deletion; `at` is an instant."""

    number: int
    body: bytes | None
    at: str
    method: Method


class Versions:
    """Every version of every resource of a fork.

    `stored` looks a body up in what stood before the first write; `since` says since when one has stood that does not
    say so itself.
    """

    def __init__(self, stored: Callable[[str, str], bytes | None], since: Callable[[Key], str]) -> None:
        self._stored = stored
        self._since = since
        self._written: dict[Key, list[Version]] = {}
        self.timeline: list[tuple[Key, Version]] = []
        """What was written and not forgotten, oldest first."""
        self.forgotten: set[Key] = set()
        """Resources whose first version, the one they had before the fork, was removed for good."""

    def all(self, key: Key) -> list[Version]:
        """The versions of a resource, oldest first; empty where it never was."""
        written = self._written.get(key)
        if written is not None:
            return written
        first = self._first(key)
        return [] if first is None else [first]

    def current(self, key: Key) -> Version | None:
        """The newest version, which may be a deletion; `None` where the resource never was."""
        written = self._written.get(key)
        if written is not None:
            return written[-1] if written else None
        return self._first(key)

    def add(self, key: Key, version: Version) -> None:
        """A new version, the current one from now on."""
        self._own(key).append(version)
        self.timeline.append((key, version))

    def amend(self, key: Key, body: bytes) -> None:
        """Another body for the current version, without a new one (tags only)."""
        versions = self._own(key)
        old = versions[-1]
        versions[-1] = Version(old.number, body, old.at, old.method)
        self.timeline = [(k, versions[-1] if v is old else v) for k, v in self.timeline]

    def forget(self, key: Key, keep: Callable[[Version], bool]) -> int:
        """Remove the versions that `keep` denies for good; how many they were."""
        versions = self._own(key)
        kept = [v for v in versions if keep(v)]
        removed = len(versions) - len(kept)
        if versions and not keep(versions[0]) and not any(v is versions[0] for _, v in self.timeline):
            self.forgotten.add(key)
        self._written[key] = kept
        self.timeline = [(k, v) for k, v in self.timeline if k != key or keep(v)]
        return removed

    def _own(self, key: Key) -> list[Version]:
        if key not in self._written:
            first = self._first(key)
            self._written[key] = [] if first is None else [first]
        return self._written[key]

    def _first(self, key: Key) -> Version | None:
        body = self._stored(key.type, key.id)
        return None if body is None else first_version(body, self._since(key))

    def written_keys(self) -> list[Key]:
        """The resources that the fork has written."""
        return list(self._written)


def first_version(body: bytes, clock: str) -> Version:
    """The version that a body of the record is."""
    meta: Any = orjson.loads(body).get("meta")
    number, at = 1, clock
    if isinstance(meta, dict):
        sent = meta.get("versionId")
        if isinstance(sent, str) and sent.isascii() and sent.isdigit() and 0 < len(sent) < 10:
            number = int(sent) or 1
        if isinstance(meta.get("lastUpdated"), str):
            at = meta["lastUpdated"]
    return Version(number, body, at, "POST")


def served(version: Version) -> Tree:
    """The tree of a version as the server hands it out: with `meta.versionId` and `meta.lastUpdated`."""
    assert version.body is not None, "a deletion has no body"
    return stamped(parse_object(version.body), version.number, version.at)


def stamped(tree: Tree, number: int, at: str) -> Tree:
    """The tree with its version in `meta`, and the first keys in their order."""
    meta = tree.get("meta")
    rest = meta if isinstance(meta, dict) else {}
    before = {key: rest[key] for key in ("id", "extension") if key in rest}
    stamp = {"versionId": str(number), "lastUpdated": at}
    head = {"resourceType": tree["resourceType"], "id": tree.get("id"), "meta": before | stamp | _after(rest)}
    return head | {key: value for key, value in tree.items() if key not in head}


def _after(meta: Tree) -> Tree:
    return {key: value for key, value in meta.items() if key not in ("id", "extension", "versionId", "lastUpdated")}


__all__ = ["Key", "Method", "Version", "Versions", "first_version", "served", "stamped"]
