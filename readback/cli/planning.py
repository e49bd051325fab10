"""`readback run --dry-run`: what would be played, and about what it would take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from harness.counted import counted
from readback.cli.output import document, note, result
from readback.cli.pages import columns

if TYPE_CHECKING:
    from harness.estimate import Estimate
    from harness.plan import Plan
    from readback.documents import PlanDocument


def show_plan(plan: Plan, expected: Estimate, undrawn: Mapping[str, str], *, as_json: bool) -> None:
    """Print what would be played."""
    described = _described(plan, expected, undrawn)
    if as_json:
        document(described)
        return
    kinds = ", ".join(f"{count} {kind}" for kind, count in described.kinds.items())
    result(f"suite        {described.suite}, {described.suite_digest}")
    result(f"tasks        {described.tasks}, of {counted(len(described.templates), 'template')} ({kinds})")
    result(f"conditions   {', '.join(described.conditions)}")
    result(f"repeats      {described.repeats}")
    result(f"episodes     {described.episodes}")
    for line in columns((f"{agent.episodes}", agent.agent, agent.kind) for agent in described.agents):
        result(f"  {line}")
    if described.model_calls:
        result(f"model calls  about {described.model_calls}, at most {described.model_calls_at_most}")
        cost = described.why if described.cost_usd is None else f"about {described.cost_usd:.2f} USD"
        result(f"cost         {cost}")
    note("Nothing was played.")


def _described(plan: Plan, expected: Estimate, undrawn: Mapping[str, str]) -> PlanDocument:
    from readback.documents import PlanDocument, PlannedAgent

    episodes = Counter(planned.agent_name for planned in plan.episodes)
    kinds = {
        agent if isinstance(agent, str) else agent.name: "baseline" if isinstance(agent, str) else agent.kind
        for agent in plan.agents
    }
    about = plan.suite.about
    return PlanDocument(
        suite=plan.suite.name,
        suite_digest=plan.suite.digest,
        record=about.get("record"),
        seed=about.get("seed"),
        tasks=len(plan.tasks),
        templates=dict(Counter(task.template for task in plan.tasks)),
        kinds=dict(Counter(task.kind for task in plan.tasks)),
        undrawn=dict(undrawn),
        conditions=tuple(plan.conditions),
        variants=tuple(dict(variant) for variant in plan.variants),
        repeats=plan.repeats,
        agents=tuple(PlannedAgent(agent=name, kind=kind, episodes=episodes[name]) for name, kind in kinds.items()),
        episodes=len(plan.episodes),
        model_calls=expected.model_calls,
        model_calls_at_most=expected.model_calls_at_most,
        cost_usd=expected.cost_usd,
        why=expected.why,
    )
