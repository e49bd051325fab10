"""Reading resources from files: FHIR Bundles of any type, NDJSON, folders of them, each plain or `.gz`.

    loaded = load([Path("synthea/")])
    record = Record.build(loaded.resources(), "ward.record", clock=loaded.clock, synthetic=True)
    loaded.unresolved                       # references that name nothing that was loaded, with how often

Bytes are kept, but for three things: a resource that spans lines is put on one (blanks between its tokens go);
references are rewritten to `Type/id` where they name an entry by its fullUrl (`urn:uuid:...`) or by an identifier
(`Practitioner?identifier=system|value`); and an id is put in where there was none.

Ids stay as they are. An entry without one gets a number-free id made from its content. In a transaction a `POST`
creates: where its id is taken, it gets another, and the references of its Bundle follow it. Everywhere else two
resources of one type and id are an error. A broken entry is named with its file, its number and what is wrong; then
nothing is loaded at all.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ehr.sandbox.files.sources import Entry, Scope, scopes
from ehr.sandbox.jsontext import one_line, with_id
from ehr.sandbox.parameters.values import split_reference, stored_date
from ehr.sandbox.store.build import ID, Progress
from ehr.sandbox.store.storage import RecordError

__all__ = ["Loaded", "load"]

Json = dict[str, Any]

_REFERENCE = re.compile(r'("(?:reference|url|uri|valueUri|valueUrl)"\s*:\s*")([^"\\]*)(?=")')
_EVERY = 1000
"""Resources between two reports of progress."""
_CONDITIONAL = re.compile(r"([A-Z]\w+)\?identifier=([^&]+)")


class Loaded:
    """What the files hold. `resources` may be asked for once or again; it reads the files anew."""

    def __init__(self, paths: Sequence[Path], progress: Progress | None = None) -> None:
        self._paths, self._progress = paths, progress
        self._known_names: set[str] = set()
        self._given: dict[int, str] = {}
        self._by_url: dict[str, str] = {}
        self._wanted: set[str] = set()
        self._by_identifier: dict[str, list[str]] = {}
        self._latest: int | None = None
        self.count = 0
        """How many resources."""
        self.unresolved: Counter[str] = Counter()
        """Reference -> how often, for those that name nothing here; filled while `resources` is read."""
        self._survey()

    @property
    def clock(self) -> str | None:
        """The latest time in the data (`meta.lastUpdated`, effective and issued times); `None` where there is none."""
        return None if self._latest is None else datetime.fromtimestamp(self._latest // 1000, UTC).isoformat()

    def resources(self) -> Iterator[bytes]:
        """Every resource, with references rewritten."""
        self.unresolved.clear()
        for scope, names in self._named_scopes():
            for entry, id in zip(scope.entries, scope.ids, strict=True):
                text = entry.text if entry.resource.get("id") == id else with_id(entry.text, id)
                yield one_line(self._rewritten(text, names).encode())

    def _survey(self) -> None:
        """Read everything once: check each entry, give out ids, learn how entries are named."""
        for scope in scopes(self._paths):
            names = self._named(scope, self._take_ids(scope))
            self._by_url.update((url, name) for url, name in names.items() if url.startswith("urn:"))
            for entry in scope.entries:
                self.count += 1
                if self._progress and self.count % _EVERY == 0:
                    self._progress("checking", self.count, None)
                self._note_time(entry.resource)
                for found in _REFERENCE.finditer(entry.text):
                    if "?" in found[2] and _CONDITIONAL.fullmatch(found[2]):
                        self._wanted.add(found[2])
        if self._wanted:
            self._learn_identifiers()

    def _take_ids(self, scope: Scope) -> list[str]:
        """Give each entry of a scope its id, for the first time; only those it did not bring along are remembered."""
        ids = []
        for place, entry in enumerate(scope.entries):
            type = str(entry.resource["resourceType"])
            id = _own_id(entry)
            if not id or (entry.created and f"{type}/{id}" in self._known_names):
                id = self._given[self.count + place] = _made_id(entry, self._known_names)
            name = f"{type}/{id}"
            if name in self._known_names:
                raise RecordError(f"{entry.where}: {name} is there a second time; each resource must be there once")
            self._known_names.add(name)
            ids.append(id)
        return ids

    def _named_scopes(self) -> Iterator[tuple[Scope, dict[str, str]]]:
        """The scopes again, with the ids that were given, and how their references name them."""
        number = 0
        for scope in scopes(self._paths):
            ids = [self._given.get(number + place) or _own_id(entry) for place, entry in enumerate(scope.entries)]
            number += len(ids)
            yield scope, self._named(scope, ids)

    def _named(self, scope: Scope, ids: list[str]) -> dict[str, str]:
        """How the references of a scope name its entries: fullUrl or old name -> new name."""
        names: dict[str, str] = {}
        scope.ids = ids
        for entry, id in zip(scope.entries, ids, strict=True):
            type = str(entry.resource["resourceType"])
            if entry.full_url:
                names[entry.full_url] = f"{type}/{id}"
            old = entry.resource.get("id")
            if isinstance(old, str) and old != id:
                names.setdefault(f"{type}/{old}", f"{type}/{id}")
        return names

    def _rewritten(self, text: str, names: dict[str, str]) -> str:
        def replace(found: re.Match[str]) -> str:
            target = found[2]
            name = names.get(target) or self._by_url.get(target) or self._by_condition(target)
            if name is None and found[1].startswith('"reference"') and not self._known(target):
                self.unresolved[target] += 1
            return str(found[0]) if name is None else str(found[1]) + name

        return _REFERENCE.sub(replace, text)

    def _known(self, reference: str) -> bool:
        pair = split_reference(reference)
        return reference.startswith("#") or (pair is not None and f"{pair[0]}/{pair[1]}" in self._known_names)

    # ---- references by identifier

    def _learn_identifiers(self) -> None:
        wanted: dict[tuple[str, str], list[str]] = {}
        for reference in self._wanted:
            found = _CONDITIONAL.fullmatch(reference)
            if found is not None:
                wanted.setdefault((found[1], found[2]), []).append(reference)
        for scope, _ in self._named_scopes():
            for entry, id in zip(scope.entries, scope.ids, strict=True):
                type = entry.resource["resourceType"]
                for identifier in entry.resource.get("identifier") or ():
                    if isinstance(identifier, dict):
                        value = identifier.get("value")
                        for form in (f"{identifier.get('system', '')}|{value}", f"{value}"):
                            for reference in wanted.get((type, form), ()):
                                self._by_identifier.setdefault(reference, []).append(f"{type}/{id}")

    def _by_condition(self, reference: str) -> str | None:
        """The one resource that a conditional reference names; `None` for none or several."""
        found = sorted(set(self._by_identifier.get(reference, ())))
        return found[0] if len(found) == 1 else None

    # ---- the clock

    def _note_time(self, resource: Json) -> None:
        meta, period = resource.get("meta"), resource.get("effectivePeriod")
        texts = [resource.get(key) for key in ("effectiveDateTime", "effectiveInstant", "issued", "authoredOn")]
        texts.append(meta.get("lastUpdated") if isinstance(meta, dict) else None)
        texts += [period.get("start"), period.get("end")] if isinstance(period, dict) else []
        for text in texts:
            span = stored_date(text) if isinstance(text, str) else None
            if span is not None and (self._latest is None or span.end > self._latest):
                self._latest = span.end


def load(paths: Sequence[str | Path], *, progress: Progress | None = None) -> Loaded:
    """The resources of files and folders, each read and checked once.

    `progress(stage, done, None)` is called every thousand resources. Raises `RecordError`, naming file and entry, where
    anything is wrong.
    """
    return Loaded([Path(path) for path in paths], progress)


def _id_in(full_url: str, type: str) -> str | None:
    """The id that a fullUrl names, where it is one."""
    if full_url.startswith("urn:uuid:"):
        id = full_url.removeprefix("urn:uuid:")
    else:
        base, _, id = full_url.rpartition("/")
        if not base.endswith(type):
            return None
    return id if ID.fullmatch(id) else None


def _own_id(entry: Entry) -> str:
    """The id that an entry brings along: of its request, its resource or its fullUrl; empty where there is none."""
    return entry.put_id or entry.resource.get("id") or _id_in(entry.full_url, str(entry.resource["resourceType"])) or ""


def _made_id(entry: Entry, taken: set[str]) -> str:
    """An id made from the content: the same files give the same ids."""
    type = entry.resource["resourceType"]
    for number in range(1_000_000):
        digest = hashlib.sha256(f"{number}\n{entry.full_url}\n{entry.text}".encode()).hexdigest()
        id = "r" + digest[:19]
        if f"{type}/{id}" not in taken:
            return id
    raise RecordError(f"{entry.where}: too many equal resources without an id")
