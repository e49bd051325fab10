"""The validation variant `full`: what the R4 definitions do not allow is refused instead of stored.

A body that HAPI's parser reads is judged as it was sent, before anything is mended: by `validation.py`, and by the
models of fhir.resources. What is wrong is answered with 422 and all of it at once. References are checked everywhere,
not only where a search parameter indexes them (`integrity.py`).
"""

from __future__ import annotations

from ehr.sandbox.body import Tree
from ehr.sandbox.intake.models import objections
from ehr.sandbox.intake.validation import problems
from ehr.sandbox.outcome import RefusedError, issue

MOST_ISSUES = 100


def refuse_invalid(tree: Tree) -> None:
    """Raise `RefusedError` (422) where a resource breaks the definitions of R4."""
    found = [
        issue("error", problem.code, _said(problem.path, problem.message)) | {"expression": [problem.path]}
        for problem in problems(tree)
    ]
    if not found:  # a second opinion is only worth asking where the first is content
        found = [
            issue("error", "invalid", _said(path, message)) | {"expression": [path]}
            for path, message in objections(tree)
        ]
    if found:
        raise RefusedError(422, found[0]["diagnostics"], issues=found[:MOST_ISSUES])


def _said(path: str, message: str) -> str:
    return message if message.startswith(path) else f"{path}: {message}"
