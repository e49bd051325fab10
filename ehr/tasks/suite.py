"""The `ehr` suite: tasks drawn from a record by seed, their worlds, who plays them, and who judges them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any

from ehr.tasks import baselines
from ehr.tasks.idshape import storage_place
from ehr.tasks.template import CannotDrawError, Case, Drawing, Template
from ehr.tasks.templates import all_templates
from ehr.tasks.ward import Ward
from harness.task import Task
from harness.values import digest

if TYPE_CHECKING:
    from ehr.backends import Backend
    from ehr.sandbox import Record
    from ehr.world import ChartWorld
    from harness.agent import Agent
    from harness.tool import Tool
    from harness.trace import Episode
    from harness.verdict import Verdict

NAME = "ehr"
PER_TEMPLATE = 10
CANARY = "READBACK BENCHMARK DATA: keep out of training corpora. canary 5b0e5f0c-6a0f-4c0e-9a53-2f5a1d7c9e11"
TOOLS = (
    "fhir_search", "fhir_next_page", "fhir_read", "fhir_create", "fhir_update", "fhir_patch", "fhir_delete", "finish",
)  # fmt: skip

Unit = tuple[Task, ...]
"""A task, or a pair of twins: what a limit keeps together."""


class EhrSuite:
    """Tasks over one record. `undrawn` names the templates that could not be drawn, each with the reason.

    `library` are the templates that the tasks are of, `ward` the record as they see it. `backend` is where episodes are
    played, if not on forks of the record: a live server that holds the same.
    """

    name = NAME

    def __init__(
        self,
        record: Record,
        tasks: Sequence[Task],
        *,
        seed: int,
        undrawn: Mapping[str, str],
        library: Mapping[str, Template] | None = None,
        ward: Ward | None = None,
        backend: Backend | None = None,
    ) -> None:
        self.library = all_templates() if library is None else library
        self.ward = ward or Ward(record)
        self.record = record
        self.backend = backend
        self.tasks = tuple(tasks)
        self.seed = seed
        self.undrawn = dict(undrawn)
        self.digest = digest([task.digest for task in self.tasks])

    @property
    def conditions(self) -> Mapping[str, str]:
        """`default` and `grounded`."""
        from ehr.prompts import prompts

        return prompts(self.record.clock)

    @property
    def about(self) -> Mapping[str, Any]:
        """For `run.json`: the record, the seed, and what could not be drawn."""
        record = {"hash": self.record.hash, "clock": self.record.clock, "synthetic": self.record.synthetic}
        record |= {} if self.backend is None else {"server": self.backend.address}
        return {"record": record, "seed": self.seed, "undrawn": self.undrawn}

    def world(self, task: Task, variant: Mapping[str, Any], *, base: str | None = None) -> ChartWorld:
        """A fork of the record with the task's setup, and the tools over it. `base` is its address, if it has one.

        Raises `ValueError` for an unknown validation or fault.
        """
        from ehr.backends import BASE, Embedded
        from ehr.world import chart_world

        backend = self.backend or Embedded(self.record, base or BASE)
        return chart_world(backend, task, validation=str(variant.get("validation", "hapi")), fault=variant.get("fault"))

    def tools(self, task: Task, variant: Mapping[str, Any]) -> Sequence[Tool]:
        """The tools of any task's world."""
        from ehr.backends import Embedded
        from ehr.world import chart_world

        world = chart_world(Embedded(self.record), task)  # they are the same wherever the record is
        try:
            return world.tools
        finally:
            world.close()

    def baseline(self, name: str, task: Task) -> Agent:
        """The named baseline or near-oracle. Raises `KeyError` for an unknown name."""
        return baselines.baseline(name, task, self.library[task.template])

    def judge(self, task: Task, episode: Episode) -> list[Verdict]:
        """The verdicts of `state`, `answer`, `message` and `grounding`."""
        from ehr.verify import judge

        return judge(task, episode)


def draw_suite(
    record: Record,
    *,
    seed: int = 1,
    templates: Iterable[str] | None = None,
    library: Mapping[str, Template] | None = None,
    per_template: int = PER_TEMPLATE,
    limit: int | None = None,
    progress: Callable[[str, int, int], None] = lambda name, done, total: None,
) -> EhrSuite:
    """Draw the suite from a record.

    `templates` are names of the `library` (without one, the suite's own; without names, all), `per_template` how many
    tasks each gives, `limit` how many at most are kept: spread over the templates, twins together where the number
    allows. `progress` hears of each template and how many are done. The same record, seed and numbers give the same
    tasks. Raises `KeyError` for an unknown template, `ValueError` for numbers below 1, `RecordError` for a record that
    holds what no server would take and no template can read.
    """
    known = all_templates() if library is None else library
    names = list(known) if templates is None else list(templates)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise KeyError(f"no template {unknown[0]!r}; there are {', '.join(known)}")
    for what, number in (("per_template", per_template), ("limit", limit)):
        if number is not None and number < 1:
            raise ValueError(f"{what} is {number!r}; expected at least 1")
    ward = Ward(record)
    pools = [_Pool(known[name], ward, seed, per_template) for name in names]
    for done, pool in enumerate(pools):
        progress(pool.template.name, done, len(pools))
        pool.fill(1 if limit else per_template)
    kept = _limited(pools, limit) if limit else [task for pool in pools for unit in pool.units for task in unit]
    progress("", len(pools), len(pools))
    undrawn = {pool.template.name: pool.reason for pool in pools if pool.reason}
    return EhrSuite(record, kept, seed=seed, undrawn=undrawn, library=known, ward=ward)


class _Pool:
    """The tasks of one template, drawn as far as they are needed. `reason` says why there are no more, if so."""

    def __init__(self, template: Template, ward: Ward, seed: int, number: int) -> None:
        self.template = template
        self.units: list[Unit] = []
        self.reason: str | None = None
        self._ward = ward
        self._more = _units(template, ward, seed, number)

    def fill(self, number: int) -> None:
        """Draw until there are so many units, if there are. Raises `RecordError` where the record is no valid R4."""
        try:
            self.units += islice(self._more, max(0, number - len(self.units)))
        except CannotDrawError as reason:
            self.reason = str(reason)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as fault:
            self._ward.blame(fault)
            raise

    @property
    def sort(self) -> str:
        """Whether the template reads, writes, or has to decide which; empty where it has no task."""
        kinds = {task.kind for task in self.units[0]} if self.units else {""}
        return "decide" if len(kinds) > 1 or "withhold" in kinds else kinds.pop()


def _units(template: Template, ward: Ward, seed: int, number: int) -> Iterator[Unit]:
    """The template's tasks: `number` of them, or of twins half as many pairs (one more where the number is odd)."""
    used: set[str] = set()
    pairs = (number + 1) // 2 if template.twins else number
    for index in range(pairs):
        cases = template.draw(Drawing(ward, template.name, index, seed, used))
        yield tuple(_tasks(template, ward, index, cases))


def _tasks(template: Template, ward: Ward, index: int, cases: Sequence[Case]) -> Iterator[Task]:
    base = f"{NAME}/{template.name}/{index + 1:04d}"
    ids = [base] if len(cases) == 1 else [f"{base}a", f"{base}b"]
    for place, case in enumerate(cases):
        yield Task.make(
            id=ids[place],
            suite=NAME,
            template=template.name,
            twin=ids[1 - place] if len(ids) == 2 else None,
            kind=case.kind,
            patient=case.patient,
            requires=case.requires,
            needs_write=not case.expected.is_nothing,
            needs_chart=template.needs_chart,
            traps=tuple(sorted(case.traps)),
            instruction=case.instruction,
            tools=TOOLS,
            clock=ward.clock,
            setup=tuple(sorted(case.setup, key=_load_order)),
            sources=template.sources,
            answer=case.answer.model_dump(mode="json", exclude_none=True) if case.answer else None,
            expected=case.expected.model_dump(mode="json", exclude_none=True),
            parameters=dict(case.parameters),
            cluster=template.name,
            canary=CANARY,
        )


def _load_order(resource: Mapping[str, Any]) -> tuple[int, int]:
    """People before their encounters before everything else; within each, storage order."""
    first = {"Patient": 0, "Encounter": 1}.get(resource["resourceType"], 2)
    return first, storage_place(resource["id"])


def _limited(pools: Sequence[_Pool], limit: int) -> list[Task]:
    """At most `limit` tasks: one unit of each template in turn, then the second ones; kept in the suite's order.

    Templates take turns by what they ask for (to write, to read, to decide), so that few tasks are of all kinds. A pair
    that does not fit any more is passed over for a single task; only if there is none is a pair cut in two.
    """
    sorts = [[pool for pool in pools if pool.sort == sort] for sort in ("write", "read", "decide")]
    mixed = [pool for turn in zip_longest(*sorts) for pool in turn if pool]
    kept: set[str] = set()
    passed_over: list[Task] = []
    turn = 0
    while len(kept) < limit:
        for pool in mixed:
            pool.fill(turn + 1)
        units = [pool.units[turn] for pool in mixed if len(pool.units) > turn]
        if not units:
            break
        for unit in units:
            if len(kept) + len(unit) <= limit:
                kept |= {task.id for task in unit}
            else:
                passed_over += unit
        turn += 1
    kept |= {task.id for task in passed_over[: limit - len(kept)]}
    return [task for pool in pools for unit in pool.units for task in unit if task.id in kept]
