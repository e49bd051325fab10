"""What a request wants written: decided whole, then carried out whole, or not at all.

A plan reads through itself: what it has staged stands before what is stored. Its searches see only what is stored, as
HAPI's do in a transaction.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ehr.sandbox.body import Tree, compact, parse_object, without_version
from ehr.sandbox.intake.body import mend
from ehr.sandbox.outcome import RefusedError
from ehr.sandbox.references import links, parts
from ehr.sandbox.state import State
from ehr.sandbox.versions import Key, Method, Version, stamped
from ehr.sandbox.writing.integrity import settle_references
from ehr.sandbox.writing.matches import Matched, matching
from ehr.sandbox.writing.meta import merged

_ID = re.compile(r"[A-Za-z0-9\-.]{1,64}", re.ASCII)


class Plan:
    """The writes of one request or transaction before they are carried out. All share one instant."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.instant = state.instant()
        self.conditions: list[tuple[Tree, str, Key | None]] = []
        """Bodies of a Bundle with the conditions that they must meet themselves, and the resource that met it."""
        self._staged: dict[Key, list[Version]] = {}
        self._order: list[Key] = []
        self._expected: set[Key] = set()
        self._ids = 0

    # ---- looking up

    def current(self, key: Key) -> Version | None:
        """The newest version, staged or stored; it may be a deletion."""
        staged = self._staged.get(key)
        return staged[-1] if staged else self.state.versions.current(key)

    def new_key(self, type: str) -> Key:
        """The next id of the server's sequence, for a resource of `type`."""
        key = Key(type, str(self.state.next_number + self._ids))
        self._ids += 1
        return key

    def expect(self, key: Key) -> None:
        """Say that this resource will be written by this plan, so that others may refer to it."""
        self._expected.add(key)

    def expects(self, key: Key) -> bool:
        """Whether this plan will write the resource."""
        return key in self._expected

    def stands(self, key: Key) -> Version | None:
        """The newest version that is stored, whatever this plan does to it."""
        return self.state.versions.current(key)

    def matching(self, type: str, query: str) -> Matched:
        """The stored resources that a match address names, without those that this plan deletes.

        Raises `RefusedError` (HAPI-0488, HAPI-0518).
        """
        going = [key for key, versions in self._staged.items() if versions[-1].body is None]
        return matching(self.state, type, query, going)

    # ---- staging

    def put(self, key: Key, tree: Tree, placeholders: Mapping[str, str]) -> tuple[Version, bool]:
        """Stage a body. Gives the version that will stand, and whether it is a new one.

        Raises `RefusedError` where a reference is not allowed.
        """
        settle_references(tree, self, placeholders, every=self.state.validation == "full")
        before = self.current(key)
        standing = None if before is None or before.body is None else parse_object(before.body)
        meta = merged(tree.get("meta", {}), self._last_meta(key) if standing is None else standing.get("meta", {}))
        content = _with_meta(tree, key, meta)
        if standing is not None and before is not None:
            mended = _mended(standing)
            if without_version(mended) == content:
                return before, False
            content = _as_it_stood(content, standing, mended)
        number, method = self._number(key, before)
        version = Version(number, compact(stamped(content, number, self.instant)), self.instant, method)
        self._stage(key, version)
        return version, True

    def _last_meta(self, key: Key) -> Tree:
        """The `meta` of the last version that had a body: what is restored has its tags again, as at HAPI."""
        for version in reversed([*self.state.versions.all(key), *self._staged.get(key, ())]):
            if version.body is not None:
                meta: Tree = parse_object(version.body).get("meta", {})
                return meta
        return {}

    def remove(self, key: Key) -> Version:
        """Stage a deletion of a resource that stands."""
        before = self.current(key)
        assert before is not None, f"{key.reference} is not there"
        version = Version(before.number + 1, None, self.instant, "DELETE")
        self._stage(key, version)
        return version

    def _number(self, key: Key, before: Version | None) -> tuple[int, Method]:
        if before is None:
            return 1, "POST"
        staged = self._staged.get(key)
        if staged and staged[-1].body is not None:  # written twice in one plan: one version
            return staged[-1].number, staged[-1].method
        return before.number + 1, "PUT"

    def _stage(self, key: Key, version: Version) -> None:
        staged = self._staged.setdefault(key, [])
        if staged and staged[-1].number == version.number:
            staged[-1] = version
            return
        staged.append(version)
        self._order.append(key)

    # ---- carrying out

    def check_deletions(self) -> None:
        """Refuse (409) where something that will stand refers to what will be gone."""
        for key, versions in self._staged.items():
            if versions[-1].body is not None:
                continue
            for type, id, path in self.state.overlay.referrers(key.type, key.id):
                referrer = Key(type, id)
                if referrer == key or not self._still_refers(referrer, key):
                    continue
                raise RefusedError(
                    409,
                    f"Unable to delete {key.reference} because at least one resource has a reference to this resource. "
                    f"First reference found was resource {referrer.reference} in path {path}",
                )

    def _still_refers(self, referrer: Key, target: Key) -> bool:
        staged = self._staged.get(referrer)
        if not staged:
            return True
        if staged[-1].body is None:
            return False
        found = (parts(link.text) for link in links(parse_object(staged[-1].body)) if not link.contained)
        return any((named.type, named.id) == target for named in found)

    def carry_out(self, by: str, request: int) -> None:
        """Store everything. `by` is the writer, `request` the number of the request."""
        waiting = {key: iter(versions) for key, versions in self._staged.items()}
        self.state.carry_out([(key, next(waiting[key])) for key in self._order], self._ids, by, request)


def valid_id(id: str) -> bool:
    """Whether a client may give this id at all."""
    return _ID.fullmatch(id) is not None


def _with_meta(tree: Tree, key: Key, meta: Tree) -> Tree:
    """The body to compare and to store, its version not yet in it."""
    head: Tree = {"resourceType": key.type, "id": key.id} | ({"meta": meta} if meta else {})
    return head | {name: value for name, value in tree.items() if name not in ("resourceType", "id", "meta")}


def _as_it_stood(content: Tree, standing: Tree, mended: Tree) -> Tree:
    """A new body in which everything that did not change is as it stood, byte for byte.

    A record may hold a body that HAPI would have mended on the way in; a write of one element must not mend the others.
    """
    same = {name: standing[name] for name, value in content.items() if name in mended and mended[name] == value}
    strange = {name: value for name, value in standing.items() if name not in mended and name not in content}
    return content | {name: value for name, value in same.items() if name != "meta"} | strange


def _mended(tree: Tree) -> Tree:
    """A body of the record as HAPI would hold it, or as it is where HAPI would not hold it."""
    try:
        return mend(tree, None)
    except RefusedError:
        return tree
