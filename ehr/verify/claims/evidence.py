"""The evidence of a trace: its calls in order, what each showed and what the agent wrote, and whom it is about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from pydantic_core import from_json

from ehr.verify.claims.asked import Asked
from ehr.verify.claims.concepts import DOSE, phrases
from ehr.verify.claims.fhir import local, reference_of, resources_in
from ehr.verify.claims.reading import Person, Reading
from ehr.verify.claims.showing import Hidden, Showing, show
from ehr.verify.claims.words import Phrase, Vocabulary
from grounding.claims import Trace
from grounding.loss import lost_evidence
from harness.trace import Call

_WRITES = frozenset({"fhir_create", "fhir_update", "fhir_patch", "fhir_delete", "put", "patch", "delete", "post"})
_NAMESPACE = re.compile(r"__|[./:]")
_SHORTEST_IDENTIFIER = 4


@dataclass(frozen=True, slots=True)
class Meant:
    """What a phrase means: measures of the table, and names that the chart has."""

    measures: frozenset[str]
    names: frozenset[Phrase]


@dataclass(frozen=True)
class ClinicalEvidence:
    """What a trace showed: `readings` and `people`; `void` and `totals` only say why something is not supported.

    `asked` is what the agent was told, `doubts` why something may be missing.
    """

    readings: tuple[Reading, ...]
    people: tuple[Person, ...]
    void: tuple[Reading, ...]
    totals: tuple[int, ...]
    asked: Asked
    doubts: tuple[str, ...]

    @cached_property
    def about(self) -> frozenset[str]:
        """The patients that the instruction names: by reference, by an identifier, or by name and date of birth."""
        known = {person.reference for person in self.people} | {each.patient for each in self.readings}
        by_reference = {each for each in known if each is not None and _is_referred_to(each, self.asked)}
        return frozenset(by_reference | {person.reference for person in self.people if _is_named(person, self.asked)})

    @cached_property
    def of_patient(self) -> tuple[Reading, ...]:
        """The readings that are not another patient's."""
        if not self.about:
            return self.readings
        return tuple(each for each in self.readings if each.patient is None or each.patient in self.about)

    @cached_property
    def known(self) -> Vocabulary[Meant]:
        """Every phrase that means something here: those of the table, and the chart's own names."""
        return _known(frozenset(name.words for reading in self.readings for name in reading.names))

    @cached_property
    def asked_for(self) -> Meant | None:
        """What the instruction names."""
        found = [meant for one in self.asked.sentences for _, _, meant in self.known.occurrences(one.tokens)]
        return _together([meant for meant in found if meant.measures != {DOSE}])


@lru_cache(maxsize=256)
def _known(names: frozenset[Phrase]) -> Vocabulary[Meant]:
    table = phrases()
    known = {words: Meant(keys, frozenset()) for words, keys in table.items()}
    own = {words: Meant(table.get(words, frozenset()), frozenset({words})) for words in names}
    return Vocabulary(known | own)


def _together(found: Sequence[Meant]) -> Meant | None:
    if not found:
        return None
    return Meant(
        frozenset(key for meant in found for key in meant.measures),
        frozenset(name for meant in found for name in meant.names),
    )


@dataclass(frozen=True, slots=True)
class ShownTrace:
    """A trace that has been read already: what it showed is kept, its calls are not. A `grounding.claims.Trace`."""

    evidence: ClinicalEvidence
    calls: tuple[Call, ...] = ()
    loss: tuple[str, ...] = ()


def evidence_of(trace: Trace, asked: Asked) -> ClinicalEvidence:
    """Read a trace. Never raises for what a tool or an agent wrote."""
    if isinstance(trace, ShownTrace):
        return trace.evidence
    showing, hidden = Showing(), Hidden()
    doubts = list(lost_evidence(trace.loss))
    pages: dict[str, int] = {}
    for call in trace.calls:
        if _is_write(call):
            _hide(call, hidden)
            continue
        if call.status != "ok":
            continue
        if call.cut_by == "recorder":
            doubts.append(f"call {call.position} ({call.name}) was cut by the recorder")
        body = body_of(call)
        if body is None:
            continue
        series = _series(call, body, pages)
        show(showing, body, call.position, series, hidden)
        total = body.get("total")
        if isinstance(total, int) and not isinstance(total, bool):
            showing.totals.append(total)
    return ClinicalEvidence(
        tuple(showing.readings), tuple(showing.people), tuple(showing.void), tuple(showing.totals), asked, tuple(doubts)
    )


def body_of(call: Call) -> Any:
    """The FHIR resource that a call's result is or holds; None where it holds none, or says that it failed."""
    result = call.result
    http = call.http or {}
    if _is_refusal(http.get("status")):
        return None
    for _ in range(3):
        if isinstance(result, str):
            result = _parsed(result)
        if isinstance(result, list):
            result = "".join(part.get("text", "") for part in result if isinstance(part, dict)) or None
            continue
        if not isinstance(result, dict):
            return None
        if "resourceType" in result:
            return result
        if _is_refusal(result.get("status")) or result.get("error") or result.get("isError") is True:
            return None
        inner = next((result[key] for key in ("body", "text", "content", "result", "data") if result.get(key)), None)
        result = inner
    return None


def _is_refusal(status: Any) -> bool:
    return isinstance(status, int) and not isinstance(status, bool) and not 200 <= status < 300


def _parsed(text: str) -> Any:
    """The value that a text is the JSON of, or the beginning of."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return from_json(text, allow_partial=True)
    except ValueError:
        return None


def _series(call: Call, body: Mapping[str, Any], pages: dict[str, int]) -> int:
    """The call that the search began with of which this is a page: a page is reached by the link of the one before."""
    arguments = call.arguments or {}
    address = next((arguments[key] for key in ("url", "path") if isinstance(arguments.get(key), str)), "")
    query = address.partition("?")[2] or address
    series = pages.get(query, call.position) if query else call.position
    for link in body.get("link") or () if isinstance(body.get("link"), list) else ():
        if isinstance(link, dict) and link.get("relation") in ("next", "previous", "first", "last"):
            url = str(link.get("url", ""))
            pages.setdefault(url.partition("?")[2] or url, series)
    return series


def _is_write(call: Call) -> bool:
    """Whether a call sends something to be stored."""
    arguments = call.arguments or {}
    name = _NAMESPACE.split(call.name)[-1].lower()
    if any(isinstance(value, dict) and "resourceType" in value for value in arguments.values()):
        body = arguments.get("body")
        return not _only_asks(body)
    if name not in _WRITES:
        return False
    last = str(arguments.get("path", "")).partition("?")[0].rstrip("/").rpartition("/")[2]
    return not (name == "post" and last.startswith(("_search", "$")))


def _only_asks(body: Any) -> bool:
    """Whether a body is a Bundle of nothing but reads, or the parameters of an operation."""
    if not isinstance(body, dict):
        return False
    if body.get("resourceType") == "Parameters":
        return True
    entries = body.get("entry")
    if body.get("resourceType") != "Bundle" or not isinstance(entries, list):
        return False
    methods = {
        (e.get("request") or {}).get("method")
        for e in entries
        if isinstance(e, dict) and isinstance(e.get("request") or {}, dict)
    }
    return bool(entries) and methods == {"GET"}


def _hide(call: Call, hidden: Hidden) -> None:
    """Keep in mind what the agent wrote, unless the server refused it."""
    arguments = call.arguments or {}
    result = call.result if isinstance(call.result, dict) else {}
    status = (call.http or {}).get("status", result.get("status"))
    if isinstance(status, int) and 400 <= status < 500 and status != 408:
        return
    for key in ("resource", "body", "patch"):
        if isinstance(arguments.get(key), dict):
            hidden.wrote(arguments[key])
    hidden.references |= {reference for reference in _written(arguments, result) if "/" in reference}


def _written(arguments: Mapping[str, Any], result: Mapping[str, Any]) -> Iterator[str]:
    """The references that a write and its answer name."""
    kind, id_ = arguments.get("type"), arguments.get("id")
    if isinstance(kind, str) and isinstance(id_, str):
        yield f"{kind}/{id_}"
    path = arguments.get("path")
    if isinstance(path, str):
        parts = [part for part in path.partition("?")[0].split("/") if part]
        if len(parts) >= 2:
            yield "/".join(parts[-2:])
    headers = result.get("headers")
    for name, value in headers.items() if isinstance(headers, dict) else ():
        if str(name).lower() in ("location", "content-location") and (reference := local(value)):
            yield reference
    body = result.get("body", result)
    if not isinstance(body, dict):
        return
    if body.get("resourceType") not in ("OperationOutcome", "Bundle", None):
        yield reference_of(body)
    for resource in resources_in(body):
        yield reference_of(resource)
    for entry in body.get("entry") or () if isinstance(body.get("entry"), list) else ():
        response = entry.get("response") if isinstance(entry, dict) else None
        if isinstance(response, dict) and (reference := local(response.get("location"))):
            yield reference


def _is_referred_to(reference: str, asked: Asked) -> bool:
    """Whether the instruction says `Patient/p17`, or an id of letters and digits that can be nothing else."""
    id_ = reference.rpartition("/")[2].lower()
    is_telling = len(id_) >= _SHORTEST_IDENTIFIER - 1 and not id_.isdigit() and not id_.isalpha()
    words = [reference.lower(), *([id_] if is_telling else [])]
    return any(re.search(rf"(?<![\w/]){re.escape(each)}(?![\w/-])", asked.words) for each in words)


def _is_named(person: Person, asked: Asked) -> bool:
    for identifier in person.identifiers:
        if len(identifier) >= _SHORTEST_IDENTIFIER and re.search(
            rf"(?<!\w){re.escape(identifier.lower())}(?!\w)", asked.words
        ):
            return True
    if not any(_says(sentence.tokens, name) for sentence in asked.sentences for name in person.names):
        return False
    times = [moment for sentence in asked.sentences for moment in sentence.moments.values() if moment.days]
    born = person.birth_date
    return not times or born is None or any(moment.is_of(born) for moment in times)


def _says(tokens: Sequence[str], words: Phrase) -> bool:
    return any(tuple(tokens[at : at + len(words)]) == words for at in range(len(tokens) - len(words) + 1))
