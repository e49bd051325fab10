"""What a run will do: every task under every agent, condition, variant and repeat, each named by its content.

The order is: repeat, task, variant, condition, agent. So a run that is stopped has few tasks with all agents rather
than one agent with all tasks, and comparisons stay paired.

A plan pins what its ids are made of in `run.json`. A plan made again from a run folder takes tasks, prompts and
digests from there: resuming is always possible and plays nothing twice, and what has changed since is said.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any, Protocol, runtime_checkable

from harness.agent import Agent
from harness.clock import Clock, wall_clock
from harness.runfolder import RunFolder
from harness.suite import Suite
from harness.task import Task
from harness.tool import Tool
from harness.trace import episode_id
from harness.values import canonical, digest

_PACKAGES = (
    "readback-bench", "pydantic", "openai", "anthropic", "numpy", "scipy", "fhirpathpy", "ucumvert", "fhir.resources",
)  # fmt: skip


class PlanError(ValueError):
    """A plan that cannot be made; the message is one sentence."""


@runtime_checkable
class NamesTools(Protocol):
    """A suite that can say which tools a task has without making a world (where that costs more than memory)."""

    def tools(self, task: Task, variant: Mapping[str, Any]) -> Sequence[Tool]:
        """The tools of the task's world, only to be described."""
        ...


@dataclass(frozen=True, slots=True)
class Planned:
    """One episode to be: `agent` is an agent, or the name of a baseline of the suite."""

    id: str
    task: Task
    agent: Agent | str
    condition: str
    variant: Mapping[str, Any]
    repeat: int

    @property
    def agent_name(self) -> str:
        """The agent's name in files and tables."""
        return self.agent if isinstance(self.agent, str) else self.agent.name


@dataclass(frozen=True, slots=True)
class Plan:
    """All episodes of a run, in order. `changed` says, a sentence each, what differs from the run it goes on with."""

    suite: Suite
    tasks: tuple[Task, ...]
    agents: tuple[Agent | str, ...]
    conditions: Mapping[str, str]
    variants: tuple[Mapping[str, Any], ...]
    repeats: int
    tool_digests: Mapping[str, str]
    tool_lengths: Mapping[str, int]
    episodes: tuple[Planned, ...]
    changed: tuple[str, ...] = ()

    def described_in(self, planned: Planned) -> int:
        """In how many characters the tools of this episode are described."""
        return self.tool_lengths[_tools_key(planned.task, planned.variant)]

    def about(
        self, *, command: Sequence[str] = (), options: Mapping[str, Any] | None = None, now: Clock = wall_clock
    ) -> dict[str, Any]:
        """What `run.json` holds. `options` is whatever the caller needs to make suite and agents again. No secrets."""
        return {
            "suite": self.suite.name,
            "suite_digest": self.suite.digest,
            **self.suite.about,
            "agents": [_described(agent) for agent in self.agents],
            "conditions": {
                name: {"digest": digest(prompt), "prompt": prompt} for name, prompt in self.conditions.items()
            },
            "variants": list(self.variants),
            "repeats": self.repeats,
            "tools": dict(self.tool_digests),
            "planned": len(self.episodes),
            "options": dict(options or {}),
            "command": list(command),
            "python": platform.python_version(),
            "packages": _versions(),
            "times": {"created": now()},
        }


def make_plan(
    suite: Suite,
    agents: Sequence[Agent | str],
    *,
    tasks: Sequence[Task] | None = None,
    conditions: Mapping[str, str] | None = None,
    variants: Sequence[Mapping[str, Any]] = ({},),
    repeats: int = 1,
) -> Plan:
    """A plan over `tasks` (else all of the suite) and `conditions` (name -> prompt; else the suite's `default`).

    An agent is an `Agent`, or the name of one of the suite's baselines. Raises `PlanError` where nothing would be
    played, or two agents would have one name.
    """
    tasks = suite.tasks if tasks is None else tasks
    conditions = {"default": suite.conditions["default"]} if conditions is None else conditions
    for what, given in (("task", tasks), ("agent", agents), ("condition", conditions), ("variant", variants)):
        if not given:
            raise PlanError(f"there is no {what} to play; name at least one")
    if repeats < 1:
        raise PlanError(f"repeats is {repeats!r}; it must be 1 or more")
    return _planned(suite, agents, tasks, conditions, variants, repeats, {}, {}, [])


def resume_plan(suite: Suite, agents: Sequence[Agent | str], folder: RunFolder) -> Plan:
    """The plan that this run was made with, for the same agents made again.

    Its tasks, prompts and digests are those of the folder, so its ids are the same; `changed` says what differs now.
    Raises `PlanError` where the agents are not those of the run.
    """
    about = folder.about
    stored = {agent["name"]: agent["digest"] for agent in about["agents"]}
    names = [_name(agent) for agent in agents]
    if names != list(stored):
        raise PlanError(f"this run is of the agents {', '.join(stored)}, not {', '.join(names)}")
    changed = []
    if suite.digest != about["suite_digest"]:
        changed.append("the suite's tasks are not what they were; those of the run are played")
    return _planned(
        suite,
        agents,
        folder.tasks(),
        {name: condition["prompt"] for name, condition in about["conditions"].items()},
        about["variants"],
        about["repeats"],
        about["tools"],
        stored,
        changed,
    )


def _planned(
    suite: Suite,
    agents: Sequence[Agent | str],
    tasks: Sequence[Task],
    conditions: Mapping[str, str],
    variants: Sequence[Mapping[str, Any]],
    repeats: int,
    pinned_tools: Mapping[str, str],
    pinned_agents: Mapping[str, str],
    changed: list[str],
) -> Plan:
    names = [_name(agent) for agent in agents]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise PlanError(f"two agents are called {twice[0]!r}; name each once")
    agent_digests = dict(zip(names, map(_agent_digest, agents), strict=True))
    descriptions = _descriptions(suite, tasks, variants)
    tool_digests = {key: digest(description) for key, description in descriptions.items()}
    changed += [f"agent {name!r} has other settings than before" for name in _differing(agent_digests, pinned_agents)]
    if _differing(tool_digests, pinned_tools):
        changed.append("the tools are described otherwise than before; what is left is played with those of now")
    agent_digests.update(pinned_agents)
    tool_digests.update(pinned_tools)
    prompts = {name: digest(prompt) for name, prompt in conditions.items()}

    def episodes() -> Iterator[Planned]:
        for repeat in range(repeats):
            for task in tasks:
                for variant in variants:
                    tools = tool_digests[_tools_key(task, variant)]
                    for condition, prompt_digest in prompts.items():
                        for name, agent in zip(names, agents, strict=True):
                            key = episode_id(
                                task=task.id,
                                task_digest=task.digest,
                                agent=name,
                                agent_digest=agent_digests[name],
                                condition=condition,
                                prompt_digest=prompt_digest,
                                tools_digest=tools,
                                variant=dict(variant),
                                repeat=repeat,
                            )
                            yield Planned(key, task, agent, condition, variant, repeat)

    return Plan(
        suite=suite,
        tasks=tuple(tasks),
        agents=tuple(agents),
        conditions=conditions,
        variants=tuple(variants),
        repeats=repeats,
        tool_digests=tool_digests,
        tool_lengths={key: len(description) for key, description in descriptions.items()},
        episodes=tuple(episodes()),
        changed=tuple(changed),
    )


def _name(agent: Agent | str) -> str:
    return agent if isinstance(agent, str) else agent.name


def _agent_digest(agent: Agent | str) -> str:
    return digest({"baseline": agent}) if isinstance(agent, str) else agent.digest


def _described(agent: Agent | str) -> dict[str, Any]:
    kind = "baseline" if isinstance(agent, str) else agent.kind
    settings = getattr(agent, "settings", None)
    described = {"name": _name(agent), "kind": kind, "digest": _agent_digest(agent)}
    return {**described, "settings": dict(settings)} if settings is not None else described


def _differing(now: Mapping[str, str], before: Mapping[str, str]) -> list[str]:
    return [key for key, value in before.items() if key in now and now[key] != value]


def _tools_key(task: Task, variant: Mapping[str, Any]) -> str:
    return canonical([list(task.tools), dict(variant)]).decode()


def _descriptions(suite: Suite, tasks: Iterable[Task], variants: Sequence[Mapping[str, Any]]) -> dict[str, bytes]:
    """How the tools are described, for each set of tools and variant. One world is made for each, if need be."""
    descriptions: dict[str, bytes] = {}
    for task in tasks:
        for variant in variants:
            key = _tools_key(task, variant)
            if key not in descriptions:
                descriptions[key] = canonical([_schema(tool) for tool in _tools_of(suite, task, variant)])
    return descriptions


def _tools_of(suite: Suite, task: Task, variant: Mapping[str, Any]) -> Sequence[Tool]:
    if isinstance(suite, NamesTools):
        return suite.tools(task, variant)
    world = suite.world(task, variant)
    try:
        return list(world.tools)
    finally:
        world.close()


def _schema(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
