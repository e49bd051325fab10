# ruff: noqa: E501 - tables of what is drawn
"""Fuzz of the sandbox's REST surface: any request gets an answer, never a 500, never late, never outside its fork.

    python -m benchmarks.fuzz            # 100,000 requests, about two minutes on one core
    python -m benchmarks.fuzz 5000 7     # so many, from this seed

Requests are drawn from a seeded generator: addresses with real and strange parts, searches with every kind of parameter,
modifier and value, bodies that are right, careless, hostile or no JSON at all, patches, transactions, operations.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ehr.sandbox.definitions import Field, element_types, fields, parameters, resource_types
from ehr.sandbox.fork import Fork
from ehr.sandbox.http import Request, Response
from ehr.sandbox.record import Record

SLOWEST = 1.0
"""Seconds of the processor that a request may take: on a busy machine a clock would tell of other programs."""
CLOCK = "2026-01-15T10:15:00+00:00"
PER_FORK = 400
"""Requests that one fork answers before a fresh one takes over."""

COMMON = ("Patient", "Observation", "MedicationRequest", "Encounter", "ServiceRequest", "Bundle", "Binary", "List")
STRANGE = (
    "", " ", "a", "-", "0", "-1", "1e9", "99999999999999999999", "NaN", "null", "true", "é", "\U0001f600", "\x00", "\ud800",
    "a|b", "|", "||", "a|b|c", "a,b", ",", "\\,", "$", "%", "&", "=", "'", '"', "<div", "{}", "[]", "../..", "_history",
    "Patient/ada", "http://x/Patient/ada", "urn:uuid:0dbd1b4f-9c0a-4b6f-8a3b-0d1b2c3d4e5f", "#p", "Patient?name=x",
    "2026", "2026-01", "ge2026-01-15", "2026-01-15T10:15:00+00:00", "2026-13-45", "0000", "9999-12-31T23:59:60Z", "ap5.4",
    "5.4|http://unitsofmeasure.org|mg", "gt1e400", "lt-", "eq", "x" * 800, "*", "Patient:x", "a:b:c", ":", "name eq x",
)  # fmt: skip
MODIFIERS = ("exact", "contains", "not", "missing", "text", "identifier", "of-type", "in", "not-in", "above", "below",
             "Patient", "Foo", "iterate", "", "nope")  # fmt: skip
CONTROL = ("_id", "_lastUpdated", "_tag", "_profile", "_security", "_source", "_text", "_content", "_list", "_has", "_type",
           "_filter", "_query", "_contained", "_sort", "_count", "_offset", "_total", "_summary", "_elements", "_include",
           "_revinclude", "_format", "_pretty", "_since", "_at", "_getpages", "_getpagesoffset", "_nope")  # fmt: skip
OPERATIONS = ("$everything", "$validate", "$meta", "$meta-add", "$meta-delete", "$expunge", "$diff", "$lastn", "$nope",
              "$get-resource-counts")  # fmt: skip


@dataclass
class Report:
    """What a fuzz came to."""

    requests: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    slowest: float = 0.0
    slowest_request: str = ""
    faults: list[str] = field(default_factory=list)


class Draw:
    """Draws requests from a seed, or from a generator of another's. The same seed draws the same."""

    def __init__(self, seed: int | random.Random) -> None:
        self.random = seed if isinstance(seed, random.Random) else random.Random(seed)
        self.ids = ["ada", "ben", "k1", "e1", "1000", "1001", "1002", "none", "a_b", "7777777"]

    def one(self, choices: Any) -> Any:
        return self.random.choice(choices)

    def chance(self, of: float) -> bool:
        return self.random.random() < of

    def type(self) -> str:
        return str(self.one(COMMON) if self.chance(0.8) else self.one(resource_types()))

    def id(self) -> str:
        return str(self.one(self.ids) if self.chance(0.95) else self.one(STRANGE))

    def reference(self) -> str:
        return str(self.one([f"{self.type()}/{self.id()}", f"Patient/{self.id()}", "Patient/ada", self.one(STRANGE)]))

    # ---- bodies

    def value(self, kind: str, depth: int) -> Any:
        if self.chance(0.04):
            return self.one([None, [], {}, "", 0, True, [[]], [None], {"a": 1}, self.one(STRANGE)])
        if kind == "boolean":
            return self.one([True, False, "true"])
        if kind in ("integer", "positiveInt", "unsignedInt"):
            return self.one([0, 1, 42, -3, "7"])
        if kind == "decimal":
            return self.one([0.5, 4, 1e3, -2.25, "12", 10**30])
        if kind in ("date", "dateTime", "instant"):
            return self.one(["2026-01-15", "2026-01", "1961", "2026-01-15T10:15:00+00:00", "2026-01-15T10:15:00Z"])
        if kind == "Reference":
            return {"reference": self.reference()}
        if kind == "Resource":
            return self.resource(depth + 2)
        if kind in element_types():
            return self.element(kind, depth + 1)
        return self.one(["x", "final", "active", "order", "http://x", "1.2", "aGk=", self.one(STRANGE)])

    def element(self, type: str, depth: int) -> dict[str, Any]:
        if depth > 6:
            return {}
        known: list[Field] = list(fields(type).values())
        chosen = self.random.sample(known, min(len(known), self.random.randint(0, 4 if depth else 7)))
        tree: dict[str, Any] = {}
        for found in chosen:
            value = self.value(found.type, depth)
            tree[found.key] = [value] * self.random.randint(1, 2) if found.element.many and self.chance(0.95) else value
        if self.chance(0.05):
            tree[str(self.one(STRANGE))] = self.one([1, "x", {"y": 2}])
        if self.chance(0.03):
            tree["extension"] = [{"url": "http://x", "valueString": "y"}]
        return tree

    def resource(self, depth: int = 0) -> dict[str, Any]:
        type = self.type()
        tree = {"resourceType": type} | self.element(type, depth)
        tree["resourceType"] = type if self.chance(0.98) else self.one(STRANGE)
        if self.chance(0.5):
            tree["id"] = self.id()
        return tree

    def sane(self, type: str, id: str) -> dict[str, Any]:
        tree: dict[str, Any] = {"resourceType": type}
        if id:
            tree["id"] = id
        if type == "Patient":
            tree |= {"active": self.chance(0.5), "name": [{"family": self.one(["Okafor", "Müller"])}]}
        if type == "Observation":
            tree |= {"status": "final", "code": {"text": "x"}, "subject": {"reference": "Patient/ada"}}
        return tree

    def patch(self) -> Any:
        pointers = ["/active", "/name", "/name/0", "/name/0/family", "/name/-", "/id", "/meta", "", "/x/y", "x"]
        if self.chance(0.5):
            return [
                {"op": self.one(["add", "remove", "replace", "move", "copy", "test", "x"]), "path": self.one(pointers),
                 "value": self.value("string", 0), "from": self.one(pointers)}
                for _ in range(self.random.randint(0, 4))
            ]  # fmt: skip
        paths = ["Patient", "Patient.active", "Patient.name", "Patient.name[0].family", "Patient.name.where(family='x')",
                 "x", "Patient.(", "Patient.name.where(a=1 and (b))", self.one(STRANGE)]  # fmt: skip
        parts = [
            {"name": "type", "valueCode": self.one(["add", "insert", "delete", "replace", "move", "x"])},
            {"name": "path", "valueString": self.one(paths)},
            {"name": "name", "valueString": self.one(["active", "name", "deceased", "x"])},
            {"name": "value", self.one(["valueBoolean", "valueString", "valueHumanName"]): self.value("boolean", 0)},
            {"name": self.one(["index", "source", "destination"]), "valueInteger": self.one([0, 1, -1, 99])},
        ]
        return {"resourceType": "Parameters", "parameter": [{"name": "operation", "part": parts}]}

    def entry(self) -> Any:
        type, id = self.type(), self.id()
        method = self.one(["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD"] if self.chance(0.98) else STRANGE)
        url = self.one([f"{type}/{id}", type, f"{type}?{self.query(type)}", self.one(STRANGE)])
        entry: dict[str, Any] = {"request": {"method": method, "url": url}}
        if self.chance(0.8):
            entry["resource"] = self.sane(type, id) if self.chance(0.7) else self.resource()
        if self.chance(0.4):
            entry["fullUrl"] = self.one(STRANGE)
        if self.chance(0.1):
            entry["request"][self.one(["ifMatch", "ifNoneExist"])] = self.one(['W/"1"', "identifier=x", *STRANGE])
        return entry

    def bundle(self) -> Any:
        type = self.one(["transaction", "batch", "collection", None, "x"])
        entries = [self.entry() for _ in range(self.random.randint(0, 5))]
        return {"resourceType": "Bundle", "type": type, "entry": entries}

    def body(self, tree: Any) -> bytes:
        text = json.dumps(tree, ensure_ascii=self.chance(0.5))
        data = text.encode("utf-8", "surrogatepass")
        if self.chance(0.03):
            return data[: self.random.randint(0, len(data))]
        if self.chance(0.01):
            return bytes(self.random.getrandbits(8) for _ in range(self.random.randint(0, 60)))
        return data

    # ---- addresses

    def query(self, type: str) -> str:
        known = list(parameters(type)) if type in resource_types() else ["name"]
        parts = []
        for _ in range(self.random.randint(0, 4)):
            name = str(self.one(known) if self.chance(0.6) else self.one(CONTROL))
            if self.chance(0.2):
                name += ":" + str(self.one(MODIFIERS))
            if self.chance(0.06):
                name += "." + str(self.one(known))
            value = str(self.one(STRANGE) if self.chance(0.6) else self.one([*known, *self.ids, f"-{self.one(known)}"]))
            if name.startswith(("_include", "_revinclude")):
                value = self.one([f"{type}:{self.one(known)}", "*", value])
            if name == "_has":
                name, value = (
                    f"_has:{self.type()}:{self.one(['patient', 'subject', 'x'])}:{self.one(['code', '_id'])}",
                    "x",
                )
            parts.append(f"{escaped(name)}={escaped(value)}")
        return "&".join(parts)

    def headers(self, body: bytes) -> dict[str, str]:
        found: dict[str, str] = {}
        if body:
            found["Content-Type"] = "application/fhir+json"
        if self.chance(0.1):
            name = self.one(["Prefer", "If-Match", "If-None-Match", "If-None-Exist", "If-Modified-Since", "Accept",
                             "Accept-Encoding", "Content-Type", "Cache-Control", "Origin", "X-Request-ID"])  # fmt: skip
            found[name] = self.one(["return=minimal", "return=OperationOutcome", 'W/"1"', "*", "identifier=x", "gzip",
                                    "text/html", "no-store, max-results=2", "application/json", *STRANGE])  # fmt: skip
        return found

    def request(self) -> Request:
        kind = self.one([self.reading, self.searching, self.searching, self.writing, self.writing, self.patching,
                         self.bundling, self.operating, self.wandering])  # fmt: skip
        method, path, tree, more = kind()
        body = b"" if tree is None else self.body(tree)
        return Request(method, path, self.headers(body) | more, body)

    def reading(self) -> tuple[str, str, Any, dict[str, str]]:
        tail = self.one(
            ["", "/_history", "/_history/1", "/_history/2", "?_elements=name", "?_summary=true", "/Observation"]
        )
        return self.one(["GET", "HEAD"]), f"/{self.type()}/{escaped(self.id())}{tail}", None, {}

    def searching(self) -> tuple[str, str, Any, dict[str, str]]:
        type = self.type()
        if self.chance(0.1):
            form = {"Content-Type": "application/x-www-form-urlencoded"}
            return "POST", f"/{type}/_search", self.query(type), form
        level = self.one(["", "/_search", "/_history"]) if self.chance(0.2) else ""
        return "GET", f"/{type}{level}?{self.query(type)}", None, {}

    def writing(self) -> tuple[str, str, Any, dict[str, str]]:
        type, id = self.type(), self.id()
        method = self.one(["POST", "PUT", "DELETE"])
        tree = self.sane(type, id) if self.chance(0.5) else self.resource()
        if method == "POST":
            return method, f"/{type}", tree, {}
        if self.chance(0.15):
            return method, f"/{type}?{self.query(type)}", None if method == "DELETE" else tree, {}
        return method, f"/{type}/{escaped(id)}", None if method == "DELETE" else tree, {}

    def patching(self) -> tuple[str, str, Any, dict[str, str]]:
        patch = self.patch()
        kind = "application/json-patch+json" if isinstance(patch, list) else "application/fhir+json"
        where = f"/{escaped(self.id())}" if self.chance(0.9) else f"?{self.query('Patient')}"
        return "PATCH", f"/{self.one(['Patient', self.type()])}{where}", patch, {"Content-Type": kind}

    def bundling(self) -> tuple[str, str, Any, dict[str, str]]:
        return "POST", self.one(["/", ""]), self.bundle(), {}

    def operating(self) -> tuple[str, str, Any, dict[str, str]]:
        name = self.one(OPERATIONS)
        where = self.one(["", f"/{self.type()}", f"/{self.type()}/{escaped(self.id())}", "/Patient/ada"])
        tree = self.one([None, {"resourceType": "Parameters"}, self.resource(), {"resourceType": "Parameters", "parameter": [
            {"name": self.one(["resource", "meta", "expungeDeletedResources", "limit"]), "valueBoolean": True,
             "valueMeta": {"tag": [{"code": "x"}]}, "resource": self.resource(1)}]}])  # fmt: skip
        return self.one(["GET", "POST"]), f"{where}/{name}?{self.query('Patient')}", tree, {}

    def wandering(self) -> tuple[str, str, Any, dict[str, str]]:
        parts = [self.one([self.type(), self.id(), "_history", "metadata", "_search", escaped(str(self.one(STRANGE)))])
                 for _ in range(self.random.randint(0, 5))]  # fmt: skip
        path = "/" + "/".join(parts) + (f"?{self.query('Patient')}" if self.chance(0.3) else "")
        if self.chance(0.1):
            path = str(self.one(STRANGE))
        method = self.one(["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE", "X"])
        return method, path, self.one([None, self.resource()]), {}


def escaped(text: str) -> str:
    """Percent-encoded, whatever stands in it."""
    return "".join(
        c if c.isascii() and c.isalnum() else "".join(f"%{b:02X}" for b in c.encode("utf-8", "surrogatepass"))
        for c in text
    )


WARD: list[Any] = [
    {"resourceType": "Patient", "id": "ada", "name": [{"family": "Okafor"}], "birthDate": "1961-04-02", "active": True,
     "identifier": [{"system": "http://hospital.example/mrn", "value": "S17"}]},
    {"resourceType": "Patient", "id": "ben", "name": [{"family": "Lindqvist"}]},
    {"resourceType": "Encounter", "id": "e1", "status": "finished", "class": {"code": "AMB"}, "subject": {"reference": "Patient/ada"}},
    *({"resourceType": "Observation", "id": f"k{n}", "status": "final", "code": {"coding": [{"system": "http://loinc.org", "code": "2823-3"}]},
       "subject": {"reference": "Patient/ada"}, "encounter": {"reference": "Encounter/e1"}, "effectiveDateTime": f"2026-01-{n % 28 + 1:02}",
       "valueQuantity": {"value": n / 4, "unit": "mmol/L", "system": "http://unitsofmeasure.org", "code": "mmol/L"}} for n in range(60)),
]  # fmt: skip


def fuzz(count: int, seed: int, *, validation: str = "hapi", say: Callable[[str], None] = lambda text: None) -> Report:
    """Send so many requests, and report every answer that must not be."""
    draw, report = Draw(seed), Report()
    with Record.build(WARD, clock=CLOCK, synthetic=True) as record:
        bystander = record.fork()
        before = read_all(bystander)
        fork = record.fork(validation=validation)
        for number in range(count):
            if number % PER_FORK == 0:
                check(fork, record, validation, report)
                fork = record.fork(validation=validation)
            request = draw.request()
            start = time.thread_time()
            response = fork.handle(request)
            note(report, request, response, time.thread_time() - start)
            if number % 10_000 == 9_999:
                say(f"{number + 1} requests, {len(report.faults)} faults, slowest {report.slowest * 1000:.0f} ms")
        check(fork, record, validation, report)
        if bystander.changes() or read_all(bystander) != before:
            report.faults.append("another fork sees writes that are not its own")
        record.verify()
    return report


def read_all(fork: Fork) -> list[bytes]:
    """Everything that a fork shows, as bytes, without what depends on the number of the request."""
    found = []
    for type in ("Patient", "Observation", "Encounter"):
        body = json.loads(fork.handle(Request("GET", f"/{type}?_count=500&_sort=_id")).body)
        found.append(json.dumps(body.get("entry")).encode())
    return found


def note(report: Report, request: Request, response: Response, seconds: float) -> None:
    """Book one answer."""
    shown = f"{request.method} {request.path[:300]} {request.body[:600]!r} {dict(request.headers)}"
    report.requests += 1
    report.statuses[response.status] += 1
    if seconds > report.slowest:
        report.slowest, report.slowest_request = seconds, shown
    if seconds > SLOWEST:
        report.faults.append(f"took {seconds:.2f} s: {shown}")
    if response.status >= 500 and response.status != 501:
        report.faults.append(f"{response.status} {response.body[:400].decode('utf-8', 'replace')}: {shown}")
    kind = response.headers.get("Content-Type", "")
    if kind.startswith("application/fhir+json") and response.body and "gzip" not in str(response.headers):
        try:
            json.loads(response.body)
        except ValueError as error:
            report.faults.append(f"answer is no JSON ({error}): {shown}")


def check(fork: Fork, record: Record, validation: str, report: Report) -> None:
    """The raw requests again on a fresh fork must come to the same changes."""
    fresh = record.fork(validation=validation)
    for exchange in fork.requests:
        if exchange.method not in ("GET", "HEAD"):
            fresh.handle(exchange.request, by=exchange.by)
    if fresh.changes() != fork.changes():
        report.faults.append(f"the requests sent again come to other changes (after {report.requests} requests)")


def main(count: int = 100_000, seed: int = 1) -> int:
    """Run and print; the exit code says whether anything was wrong."""
    start = time.perf_counter()
    report = fuzz(count, seed, say=lambda text: print(text, file=sys.stderr, flush=True))
    seconds = time.perf_counter() - start
    print(f"{report.requests} requests in {seconds:.0f} s ({report.requests / seconds:.0f}/s)")
    print("statuses:", ", ".join(f"{status}: {n}" for status, n in sorted(report.statuses.items())))
    print(f"slowest: {report.slowest * 1000:.0f} ms, {report.slowest_request[:200]}")
    for fault in report.faults[:20]:
        print("FAULT", fault)
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
