"""The suite `ehr` by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from readback.registry import Choices, UnknownNameError

if TYPE_CHECKING:
    from ehr.sandbox import Record
    from ehr.tasks.suite import EhrSuite
    from harness.suite import Suite
    from harness.task import Task
    from harness.trace import Episode
    from harness.verdict import Verdict
    from readback.documents import Validation

_ALL = "see readback list tasks ehr"


class EhrSource:
    """See `readback.registry.SuiteSource`."""

    name = "ehr"
    about = "tasks on a patient's record: reading it, writing to it, and knowing when to leave it alone"
    baselines: Mapping[str, str] = {
        "oracle": "reads with every care, acts, and reads its writes back",
        "idle": "finishes at once",
        "blind": "looks the patient up, then does the best act that needs no chart",
        "phantom": "sends nothing, and says that it did",
        "careless": "acts as the oracle, and changes another patient's telephone",
        "stutter": "acts as the oracle, and sends each write twice",
    }
    beside = ("idle", "blind")
    under_fault: Mapping[str, str] = {"trusting": "acts as the oracle, and believes every answer to a write"}
    validations = ("hapi", "full")

    @property
    def faults(self) -> Mapping[str, str]:
        """The faults of `ehr.faults`."""
        from ehr.faults import FAULTS

        return {fault.name: fault.about for fault in FAULTS.values()}

    @property
    def conditions(self) -> Sequence[str]:
        """Those of `ehr.prompts`."""
        from ehr.prompts import prompts

        return tuple(prompts(clock=""))

    @contextmanager
    def open(self, choices: Choices) -> Iterator[Suite]:
        """The suite over the record that was chosen, else over the default one; or on a live server."""
        if choices.server is not None:
            from ehr.remote import Remote
            from ehr.remote_record import fetched

            choices.say(f"copying what {choices.server} holds, to draw tasks from it")
            with fetched(choices.server, choices.progress) as record:
                suite = _drawn(record, choices)
                suite.backend = Remote(choices.server)
                yield suite
            return
        with _record(choices) as record:
            yield _drawn(record, choices)

    def judge(self, task: Task, episode: Episode) -> list[Verdict]:
        """The lenses `state`, `answer`, `message` and `grounding`."""
        from ehr.verify import judge

        return judge(task, episode)

    def undrawn(self, suite: Suite) -> Mapping[str, str]:
        """The templates that cannot be drawn on the record."""
        return cast("EhrSuite", suite).undrawn

    def validate(
        self, suite: Suite, progress: Callable[[int, int], None], *, fault: str | None = None
    ) -> Validation:  # fmt: skip
        """Every baseline and near-oracle on every task; see `ehr.tasks.validate`."""
        from ehr.tasks.validate import validate
        from readback.documents import Unsound, Validation

        report = validate(cast("EhrSuite", suite), fault=fault, progress=progress)
        return Validation(
            suite=suite.name,
            suite_digest=suite.digest,
            sound=report.is_sound,
            tasks=report.tasks,
            episodes=report.episodes,
            successes=report.successes,
            traps=report.traps,
            undrawn=report.undrawn,
            problems=tuple(
                Unsound(task=one.task, check=one.check, expected=one.expected, found=one.found)
                for one in report.problems
            ),
        )


def _record(choices: Choices) -> Record:
    from ehr.sandbox import Record
    from readback.records import default_record

    if choices.record is None:
        return default_record(choices.progress, say=choices.say)
    return Record.open(choices.record)


def _drawn(record: Record, choices: Choices) -> EhrSuite:
    from ehr.tasks.suite import PER_TEMPLATE, EhrSuite, draw_suite

    suite = draw_suite(
        record,
        seed=1 if choices.seed is None else choices.seed,
        templates=_templates(choices.tasks),
        per_template=choices.per_template or PER_TEMPLATE,
        limit=None if choices.tasks else choices.limit,
        progress=lambda template, done, of: choices.progress("drawing tasks", done, of),
    )
    if not choices.tasks:
        return suite
    names = {name for task in suite.tasks for name in (task.id, task.template)} | set(suite.undrawn)
    for name in choices.tasks:
        if name not in names:
            raise UnknownNameError("task", name, names, _ALL)
    chosen = [task for task in suite.tasks if {task.id, task.template} & set(choices.tasks)]
    return EhrSuite(record, chosen[: choices.limit], seed=suite.seed, undrawn=suite.undrawn)


def _templates(names: Sequence[str]) -> list[str] | None:
    """The templates that these tasks and templates are of, in the order of the suite; None means all."""
    from ehr.tasks.templates import all_templates

    known = list(all_templates())
    wanted = {name.split("/")[1] if name.count("/") == 2 else name: name for name in names}
    for template, name in wanted.items():
        if template not in known:
            raise UnknownNameError("task or template", name, [*known, *_as_ids(known, name)], _ALL)
    return [template for template in known if template in wanted] if names else None


def _as_ids(templates: Sequence[str], name: str) -> Iterator[str]:
    """What a task's id would be in each template, where one was meant."""
    if name.count("/") == 2:
        number = name.rpartition("/")[2]
        yield from (f"ehr/{template}/{number}" for template in templates)


SOURCE = EhrSource()
