"""`$validate`: what is wrong with a resource, without storing it.

Errors are those of `validation.py`; the warnings are HAPI's best-practice ones. A body that the parser refuses is
refused before it is validated, as there.
"""

from __future__ import annotations

from typing import Any

from ehr.sandbox.body import Tree
from ehr.sandbox.definitions import base_type
from ehr.sandbox.http import Response
from ehr.sandbox.intake.body import mend
from ehr.sandbox.intake.syntax import json_object
from ehr.sandbox.intake.validation import problems
from ehr.sandbox.outcome import RefusedError, issue, not_known, outcome
from ehr.sandbox.positions import Positions
from ehr.sandbox.rest.call import Call, body_check
from ehr.sandbox.rest.paging import Pages
from ehr.sandbox.rest.rendering import answer
from ehr.sandbox.state import State
from ehr.sandbox.versions import Key, served
from ehr.sandbox.writing.plan import Plan
from ehr.sandbox.writing.verbs import delete, gone

_NARRATIVE = (
    "Constraint failed: dom-6: 'A resource should have narrative for robust management' "
    "(defined in http://hl7.org/fhir/StructureDefinition/DomainResource) (Best Practice Recommendation)"
)
_EVERY_OBSERVATION = "Best Practice Recommendation: In general, all observations should have "
_OBSERVATION = (
    (("subject",), f"{_EVERY_OBSERVATION}a subject"),
    (("performer",), f"{_EVERY_OBSERVATION}a performer"),
    (
        ("effectiveDateTime", "effectivePeriod", "effectiveTiming", "effectiveInstant"),
        f"{_EVERY_OBSERVATION}an effective[x] ()",
    ),
)


def validate(state: State, pages: Pages, call: Call, key: Key | None) -> Response:
    """`GET` on an instance validates what stands, `POST` what is sent, with `mode=delete` whether it could go."""
    assert key is not None
    asked = dict(reversed(call.query))
    if call.method == "GET":
        if not key.id:
            raise call.unsupported()
        version = state.versions.current(key)
        if version is None:
            raise not_known(key.reference)
        if version.body is None:
            raise gone(key, version)
        return answer(call, 200, _found(served(version), None, asked.get("profile")))
    body_check(call, "EXTENDED_OPERATION_TYPE")
    text = call.request.body.decode("utf-8", "replace")
    mend(json_object(call.request.body), None)
    positions = Positions(text)
    tree, sent = _taken_out(positions.tree, asked)
    if sent.get("mode") == "delete":
        return _deletable(state, call, key)
    if tree is None:
        reason = 'resource is required unless mode is "delete"'
        raise RefusedError(400, f"HAPI-0992: No resource supplied for $validate operation ({reason})")
    return answer(call, 200, _found(tree, positions, sent.get("profile")))


def _taken_out(tree: Tree, asked: dict[str, str]) -> tuple[Tree | None, dict[str, Any]]:
    """The resource and the parameters, out of Parameters or as they are."""
    if tree.get("resourceType") != "Parameters":
        return tree, dict(asked)
    sent: dict[str, Any] = dict(asked)
    resource = None
    for part in tree.get("parameter", []):
        if isinstance(part, dict) and part.get("name") == "resource" and isinstance(part.get("resource"), dict):
            resource = part["resource"]
        elif isinstance(part, dict):
            sent.update({str(part.get("name")): value for name, value in part.items() if name.startswith("value")})
    return resource, sent


def _deletable(state: State, call: Call, key: Key) -> Response:
    plan = Plan(state)
    delete(plan, key)
    plan.check_deletions()
    return answer(call, 200, outcome(issue("information", "informational", "Ok to delete")))


def _found(tree: Tree, positions: Positions | None, profile: str | None) -> Tree:
    type = str(tree.get("resourceType"))
    issues = []
    for problem in problems(tree):
        said = issue("error", "processing", problem.message)
        place = _parent(problem.path, problem.key)
        issues.append(_located(said, place, positions, problem.holder, problem.key))
    for words in _practice(tree, type):
        issues.append(_located(issue("warning", "processing", words), type, positions, tree))
    if profile:
        words = f"Invalid profile. Failed to retrieve profile with url={profile}"
        issues.append(issue("error", "processing", words) | {"location": ["Line[0] Col[0]"]})
    return outcome(*(issues or [issue("information", "informational", "No issues detected during validation")]))


def _parent(path: str, key: str) -> str:
    """The element in which something is missing or wrong, as HAPI locates it; a strange key stands in its holder."""
    return path if key or "." not in path else path.rpartition(".")[0]


def _located(found: Tree, path: str, positions: Positions | None, holder: Tree, key: str = "") -> Tree:
    return found | {"location": [path, "Line[0] Col[0]" if positions is None else positions.end(holder, key)]}


def _practice(tree: Tree, type: str) -> list[str]:
    """What HAPI recommends."""
    said = []
    text = tree.get("text")
    if type and _is_domain_resource(type) and not (isinstance(text, dict) and text.get("div")):
        said.append(_NARRATIVE)
    if type == "Observation":
        said += [words for keys, words in _OBSERVATION if not any(key in tree for key in keys)]
    return said


def _is_domain_resource(type: str) -> bool:
    try:
        return base_type(type) == "DomainResource"
    except KeyError:
        return False
