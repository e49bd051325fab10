"""Whatever an outside agent sends in plain FHIR, under whatever fault: the three ways agree, and there is a verdict.

The tools let through less than a session does: here are also conditional writes, Bundles, patches, operations.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ehr.backends import Embedded
from ehr.faults import FAULTS
from ehr.sandbox import Record, Request
from ehr.verify import Expected, Update, clause, judge
from ehr.world import chart_world
from harness.agent import Played
from harness.suite import episode_of
from harness.trace import Claim, Episode
from tests.ehr.verify.build import ADA, BEN, CLOCK, ORDER, POTASSIUM, WARFARIN, order, potassium, task

Entry = dict[str, Any]
OLD = [potassium(id=f"k{number}") for number in range(3)]
FEMALE = Update(
    reference="Patient/p1", may_change=("gender",), clauses=(clause("sex", "gender = 'female'", label="WRONG_VALUE"),)
)
STOPPED = Update(
    reference="MedicationRequest/mr0",
    may_change=("status",),
    clauses=(clause("stopped", "status = 'stopped'", label="WRONG_STATUS"),),
)
DELETED = Expected(deletes=("MedicationRequest/mr0",))
EXPECTED = (
    Expected(),
    ORDER,
    POTASSIUM,
    Expected(updates=(FEMALE,)),
    DELETED,
    Expected(any_of=(DELETED, Expected(updates=(STOPPED,)))),
)
BODIES = (
    potassium(),
    potassium(id="mine"),
    potassium(subject={"reference": "Patient/p2"}),
    potassium(status="bogus"),
    potassium(meta={"tag": [{"system": "a", "code": "b"}], "versionId": "77"}),
    order(),
    ADA | {"gender": "female"},
    BEN | {"gender": "male"},
    WARFARIN | {"status": "stopped"},
    {"resourceType": "Group", "type": "person", "actual": True},
    {"resourceType": "Nope"},
)
REFERENCES = (
    "Patient/p1", "Patient/p2", "Patient/new", "MedicationRequest/mr0", "MedicationRequest/1000", "Observation/k1",
    "Observation/1000", "Observation/1001", "Observation/mine",
)  # fmt: skip
PATCHES = (
    [{"op": "add", "path": "/gender", "value": "female"}],
    [{"op": "replace", "path": "/status", "value": "stopped"}],
    [{"op": "remove", "path": "/telecom"}],
    [{"op": "test", "path": "/id", "value": "x"}],
)
LABEL = {"name": "meta", "valueMeta": {"tag": [{"system": "a", "code": "b"}]}}

bodies, references = st.sampled_from(BODIES), st.sampled_from(REFERENCES)
conditions = st.sampled_from(
    ["_id=k1", "code=2823-3", "identifier=z|1", "patient=p1", "given=Ben", "_id=k2&_cascade=delete"]
)


def _asked(method: str, url: str, resource: Any = None, **more: str) -> Entry:
    """A request in the form of an entry of a Bundle."""
    return {"request": {"method": method, "url": url, **more}} | ({} if resource is None else {"resource": resource})


def _operation(reference: str, name: str) -> Entry:
    part = {"name": name, "valueBoolean": True} if name.startswith("expunge") else LABEL
    url = f"{reference}/${'expunge' if name.startswith('expunge') else name}"
    return _asked("POST", url, {"resourceType": "Parameters", "parameter": [part]})


entries = st.one_of(
    st.builds(lambda body: _asked("POST", body["resourceType"], body), bodies),
    st.builds(lambda body, found: _asked("POST", body["resourceType"], body, ifNoneExist=found), bodies, conditions),
    st.builds(lambda ref, body: _asked("PUT", ref, body | {"id": ref.partition("/")[2]}), references, bodies),
    st.builds(lambda ref, body: _asked("PUT", ref, body | {"id": "k1"}, ifMatch='W/"1"'), references, bodies),
    st.builds(lambda body, found: _asked("PUT", f"{body['resourceType']}?{found}", body), bodies, conditions),
    st.builds(lambda ref: _asked("DELETE", ref), references),
    st.builds(lambda ref, found: _asked("DELETE", f"{ref.partition('/')[0]}?{found}"), references, conditions),
    st.builds(lambda ref, patch: _asked("PATCH", ref, patch), references, st.sampled_from(PATCHES)),
    st.builds(
        lambda ref, found, patch: _asked("PATCH", f"{ref.partition('/')[0]}?{found}", patch),
        references, conditions, st.sampled_from(PATCHES),
    ),
    st.builds(lambda ref: _asked("GET", ref), references),
)  # fmt: skip
alone = st.one_of(
    entries,
    st.builds(
        _operation,
        references,
        st.sampled_from(["meta-add", "meta-delete", "expungePreviousVersions", "expungeDeletedResources"]),
    ),
    st.builds(lambda ref: _asked("POST", f"{ref.partition('/')[0]}/_search"), references),
    st.builds(
        lambda kind, several: _asked("POST", "", {"resourceType": "Bundle", "type": kind, "entry": several}),
        st.sampled_from(["transaction", "batch"]),
        st.lists(entries.map(lambda entry: _in_a_bundle(entry)), min_size=1, max_size=3),
    ),
)


def _in_a_bundle(entry: Entry) -> Entry:
    """A JSON Patch travels in a Binary."""
    if not isinstance(entry.get("resource"), list):
        return entry
    data = base64.b64encode(json.dumps(entry["resource"]).encode()).decode()
    return entry | {"resource": {"resourceType": "Binary", "contentType": "application/json-patch+json", "data": data}}


def _request(entry: Entry, prefer: str) -> Request:
    asked, resource = entry["request"], entry.get("resource")
    kind = "application/json-patch+json" if isinstance(resource, list) else "application/fhir+json"
    headers = {"Content-Type": kind, "Prefer": f"return={prefer}"}
    for key, header in (("ifNoneExist", "If-None-Exist"), ("ifMatch", "If-Match")):
        if key in asked:
            headers[header] = asked[key]
    body = b"" if resource is None else json.dumps(resource).encode()
    return Request(asked["method"], f"/{asked['url']}", headers, body)


@pytest.fixture(scope="module")
def record() -> Iterator[Record]:
    with Record.build([ADA, BEN, WARFARIN, *OLD], clock=CLOCK, synthetic=True) as built:
        yield built


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(EXPECTED),
    st.none() | st.sampled_from(sorted(FAULTS)),
    st.lists(
        st.tuples(alone, st.sampled_from(["representation", "minimal", "OperationOutcome"]), st.booleans()), max_size=7
    ),
    st.sampled_from(["done", "not_done", None]),
)
def test_the_three_ways_agree_and_every_lens_judges(
    record: Record, expected: Expected, fault: str | None, acts: list[tuple[Entry, str, bool]], claim: Claim | None
) -> None:
    asked = task(expected)
    world = chart_world(Embedded(record), asked, fault=fault)
    for entry, prefer, is_others in acts:
        by = "other" if is_others and fault is None else "agent"
        assert world.fork.handle(_request(entry, prefer), by=by).status != 500
    evidence = world.evidence()
    world.close()
    assert evidence.self_check is not None and evidence.self_check.differences == ()
    episode = episode_of(
        asked, Played("finished", claim), evidence, id="e", agent="a", kind="session", variant={"fault": fault}
    )
    episode = Episode.read(episode.line())
    for verdict in judge(asked, episode, has_calls=False):
        assert verdict.outcome in ("pass", "fail"), verdict.reason
