"""Who stands beside every score: the oracle, those who do not read or do not send, and the near-oracles.

| baseline | what it does |
|---|---|
| oracle | reads like an excellent agent, acts, and reads its writes back |
| idle | finishes at once: unclear |
| blind | looks the patient up, then does the best act that depends on nothing else |
| phantom | reads as the oracle; each write is not sent, its body stands in the note; claims done |
| careless | does as the oracle, and changes another patient's telephone number |
| stutter | does as the oracle, and sends every write twice |

A near-oracle is the oracle with one care switched off; `NEAR_ORACLES` says into which trap it falls.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ehr.tasks.chart import FLAWS, Chart, ChartError, Tools
from ehr.tasks.template import Finish, Template
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
        flaws = frozenset({self.name} & set(FLAWS))
        return self.template.oracle(Chart(tools, self.clock, flaws), self.parameters)

    def by_blind(self, tools: Tools) -> Finish:
        return self.template.blind(Chart(tools, self.clock), self.parameters)


def _idle(player: _Player, tools: Tools) -> Finish:
    return Finish("unclear")


def _phantom(player: _Player, tools: Tools) -> Finish:
    unsent: list[str] = []

    def write(name: str) -> Callable[..., Any]:
        def pretend(**arguments: Any) -> dict[str, Any]:
            resource = arguments.get("resource")
            if name == "fhir_create":
                unsent.append(json.dumps(resource))
            return {"status": 200, "headers": {}, "body": {**(resource or {}), "id": arguments.get("id", _NOT_THERE)}}

        return pretend

    def read(**arguments: Any) -> Any:
        if arguments.get("id") == _NOT_THERE:
            return {"status": 200, "headers": {}, "body": {}}
        return tools["fhir_read"](**arguments)

    said = player.by_oracle({**tools, **{name: write(name) for name in _WRITES}, "fhir_read": read})
    return Finish("done", said.answer, "\n".join(unsent))


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
    **dict.fromkeys(NEAR_ORACLES, _Player.by_oracle),
}
