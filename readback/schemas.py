"""The JSON Schemas of every document that Readback writes or prints, by name.

Within a version keys are only added, so a schema lets unknown keys pass.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

NAMES = {
    "task": "harness.task:Task",
    "episode": "harness.trace:Episode",
    "verdict": "harness.verdict:Verdict",
    "run": "readback.documents:RunDocument",
    "vote": "judges.vote:Vote",
    "judge": "judges.vote:JudgeSetting",
    "sheet": "judges.sheet:Sheet",
    "judging": "readback.judging:JudgingDocument",
    "judging-plan": "readback.judging:JudgingPlan",
    "sheet-made": "readback.judging:SheetMade",
    "labels": "readback.judging:LabelsTaken",
    "summary": "readback.summary:Summary",
    "case": "ehr.verify.cases:Case",
    "verification": "readback.documents:Verification",
    "comparison": "readback.comparison:Comparison",
    "experiment": "readback.experiment.file:Experiment",
    "experiment-plan": "readback.experiment.document:ExperimentPlan",
    "experiment-result": "readback.experiment.document:ExperimentResult",
    "grounding": "readback.grounding:GroundingDocument",
    "validation": "readback.documents:Validation",
    "plan": "readback.documents:PlanDocument",
    "tasks": "readback.documents:TaskList",
    "suites": "readback.documents:SuiteList",
    "agents": "readback.documents:AgentList",
    "faults": "readback.documents:FaultList",
    "session": "ehr.sessions.documents:SessionDocument",
    "verdicts": "ehr.sessions.documents:VerdictsDocument",
    "record": "readback.documents:RecordInfo",
    "repositories": "readback.documents:RepositoryList",
    "repository-states": "readback.documents:RepositoryStates",
    "episodes": "readback.documents:EpisodeList",
    "shown": "readback.documents:ShownEpisode",
}
"""Where each document is defined."""

READ = ("case", "experiment")
"""Documents that users write: their schema is of what is taken, not of what is given."""


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of the named document. Raises `KeyError` for an unknown name."""
    module, _, attribute = NAMES[name].partition(":")
    model = getattr(import_module(module), attribute)
    described = model.model_json_schema(mode="validation" if name in READ else "serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **_open(described)}


def _open(described: Any) -> Any:
    if isinstance(described, dict):
        closed = ("additionalProperties", False)
        return {key: _open(value) for key, value in described.items() if (key, value) != closed}
    return [_open(value) for value in described] if isinstance(described, list) else described
