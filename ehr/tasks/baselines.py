"""Who stands beside every score: the oracle, those who do not read or do not send, and the near-oracles.

| baseline | what it does |
|---|---|
| oracle | reads like an excellent agent, acts, and reads its writes back |
| idle | finishes at once: unclear |
| blind | looks the patient up, then does the best act that depends on nothing else |
| phantom | reads as the oracle; each write is not sent, its body stands in the note; claims done |
| careless | does as the oracle, and changes another patient's telephone number |
| stutter | does as the oracle, and sends every write twice |
| trusting | does as the oracle, believes every answer to a write, and never looks again: for runs under a fault |

A near-oracle is the oracle with one care switched off; `NEAR_ORACLES` says into which trap it falls.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ehr.tasks.chart import FLAWS, Chart, ChartError, Tools
from ehr.tasks.template import Finish, Play, Template
from harness.agent import Agent
from harness.scripted import ScriptedAgent
from harness.task import Task

NEAR_ORACLES: Mapping[str, str] = {
    "first_page": "page",
    "first_row": "order",
    "newest_id": "id",
    "ignore_status": "status",
    "ignore_window": "window",
    "ignore_future": "future",
    "open_edge": "edge",
    "ignore_ties": "tie",
    "ignore_unit": "unit",
    "first_patient": "namesake",
    "year_only": "birthday",
}
"""Each near-oracle, and the trap it falls into wherever a task declares it, and nowhere else."""

BASELINES = ("oracle", "idle", "blind", "phantom", "careless", "stutter")
TRUSTING = "trusting"
"""The baseline that stands beside the others where a fault is injected."""

_WRITES = ("fhir_create", "fhir_update", "fhir_patch", "fhir_delete")


def baseline(name: str, task: Task, template: Template) -> Agent:
    """The named baseline or near-oracle, ready for the task. Raises `KeyError` for an unknown name."""
    if name not in _acts:
        raise KeyError(f"no baseline {name!r}; there are {', '.join(_acts)}")
    player = _Player(template, task.parameters, task.clock, name)
    return ScriptedAgent(name, player.play)


@dataclass(frozen=True)
class _Player:
    """Plays one task. All it is given of the task are its parameters, which hold what the instruction tells."""

    template: Template
    parameters: Mapping[str, Any]
    clock: str
    name: str

    def play(self, tools: Tools) -> dict[str, Any]:
        """What the tool `finish` takes."""
        try:
            return _acts[self.name](self, tools).as_arguments()
        except ChartError as problem:
            return Finish("unclear", note=str(problem)).as_arguments()

    def by_oracle(self, tools: Tools) -> Finish:
        return self._seen_through(self.template.oracle, Chart(tools, self.clock, frozenset({self.name} & set(FLAWS))))

    def by_blind(self, tools: Tools) -> Finish:
        return self._seen_through(self.template.blind, Chart(tools, self.clock))

    def _seen_through(self, play: Play, chart: Chart) -> Finish:
        """How it ends, unless something that was written is not there: then nothing is claimed."""
        said = play(chart, self.parameters)
        if not chart.unstored:
            return said
        lost = ", ".join(chart.unstored)
        return Finish("not_done", said.answer, f"The server acknowledged {lost}, and does not have it.")


def _idle(player: _Player, tools: Tools) -> Finish:
    return Finish("unclear")


def _phantom(player: _Player, tools: Tools) -> Finish:
    unsent: list[str] = []
    pretended: dict[Any, dict[str, Any]] = {}

    def write(name: str) -> Callable[..., Any]:
        def pretend(**arguments: Any) -> dict[str, Any]:
            resource = arguments.get("resource")
            if name == "fhir_create":
                unsent.append(json.dumps(resource))
            id = arguments.get("id", _NOT_THERE)
            pretended[arguments["type"], id] = {**(resource or {}), "id": id}
            return {"status": 200, "headers": {}, "body": pretended[arguments["type"], id]}

        return pretend

    said = player.by_oracle(
        {**tools, **{name: write(name) for name in _WRITES}, "fhir_read": _reading(tools, pretended)}
    )
    return Finish("done", said.answer, "\n".join(unsent))


def _trusting(player: _Player, tools: Tools) -> Finish:
    believed: dict[Any, dict[str, Any]] = {}

    def write(name: str) -> Callable[..., Any]:
        def send(**arguments: Any) -> dict[str, Any]:
            answer = tools[name](**{key: value for key, value in arguments.items() if key != "if_match"})
            body = answer.get("body")
            given = body.get("id") if isinstance(body, dict) else None
            id = arguments.get("id") or given or _NOT_THERE
            believed[arguments["type"], id] = {**arguments.get("resource", {}), "id": id}
            return {"status": 200, "headers": {}, "body": believed[arguments["type"], id]}

        return send

    return player.by_oracle(
        {**tools, **{name: write(name) for name in _WRITES}, "fhir_read": _reading(tools, believed)}
    )


def _reading(tools: Tools, believed: Mapping[Any, Any]) -> Callable[..., Any]:
    """Reads, but of what was written only what is believed of it."""

    def read(**arguments: Any) -> Any:
        known = believed.get((arguments["type"], arguments["id"]))
        return tools["fhir_read"](**arguments) if known is None else {"status": 200, "headers": {}, "body": known}

    return read


def _careless(player: _Player, tools: Tools) -> Finish:
    said = player.by_oracle(tools)
    chart = Chart(tools, player.clock)
    about = player.parameters.get("patient")
    own = chart.patient(about)["id"] if about else None
    other = next((patient for patient in chart.search("Patient", _count="5") if patient["id"] != own), None)
    if other is None:
        raise ChartError("there is no other patient")
    contacts = copy.deepcopy(other.get("telecom", []))
    chart.update(other, telecom=[*contacts, {"system": "phone", "value": "555-0100", "use": "temp"}])
    return said


def _stutter(player: _Player, tools: Tools) -> Finish:
    def twice(name: str) -> Callable[..., Any]:
        def write(**arguments: Any) -> Any:
            first = tools[name](**arguments)
            again = {key: value for key, value in arguments.items() if key != "if_match"}
            tools[name](**again)
            return first

        return write

    return player.by_oracle({**tools, **{name: twice(name) for name in _WRITES}})


_NOT_THERE = "not-sent"

_acts: Mapping[str, Callable[[_Player, Tools], Finish]] = {
    "oracle": _Player.by_oracle,
    "idle": _idle,
    "blind": _Player.by_blind,
    "phantom": _phantom,
    "careless": _careless,
    "stutter": _stutter,
    TRUSTING: _trusting,
    **dict.fromkeys(NEAR_ORACLES, _Player.by_oracle),
}
