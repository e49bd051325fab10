"""The file of an experiment: its form, and everything that can be said of it without opening a suite.

Strict: a key that is not known is refused with the nearest that is, and so is a value of another type; nothing is
guessed. What the keys mean: docs/experiments.md.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.task import Kind
from harness.values import Value, digest
from readback.registry import UnknownNameError

Measure = Literal["success", "grounded", "grounded_answered", "CG", "pass"]
"""What the primary comparison is about; `pass` where its sides are lenses."""

_NAME = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
_ONE = Annotated[int, Field(ge=1)]
_ABOVE = Annotated[float, Field(gt=0)]


class ExperimentError(ValueError):
    """A file that is no experiment, or one that cannot go on as asked. One sentence, with what to do next."""


class _Form(Value):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class RunForm(_Form):
    """One run: a suite, who plays it, under which conditions and variants, and how often.

    A condition is `NAME` or `NAME=FILE`; without `agents` all baselines play. Paths are relative to the file.
    """

    suite: str
    name: _NAME | None = None
    agents: tuple[str, ...] = ()
    conditions: Annotated[tuple[str, ...], Field(min_length=1)] = ("default",)
    repeats: _ONE = 1
    seed: Annotated[int, Field(ge=0)] | None = None
    tasks: tuple[str, ...] = ()
    limit: _ONE | None = None
    per_template: _ONE | None = None
    record: str | None = None
    validation: str | None = None
    faults: tuple[str, ...] = ()
    lock: str | None = None
    counterfactual: tuple[Annotated[int, Field(ge=0)], ...] = ()
    kinds: tuple[str, ...] = ()
    search: bool = False
    base_url: str | None = None
    max_turns: _ONE | None = None
    max_tokens: _ONE | None = None
    seconds: _ABOVE | None = None
    cache: Literal["off", "use", "only"] = "use"
    prices: str | None = None

    @property
    def label(self) -> str:
        """The name of its folder."""
        return self.name or self.suite

    def located(self, folder: Path) -> Self:
        """The same with every path absolute, where the file is in `folder`."""
        is_server = self.record is not None and self.record.startswith(("http://", "https://"))
        return self.model_copy(
            update={
                "record": self.record if is_server else _absolute(self.record, folder),
                "lock": _absolute(self.lock, folder),
                "prices": _absolute(self.prices, folder),
                "conditions": tuple(_condition(named, folder) for named in self.conditions),
            }
        )


class JudgeForm(_Form):
    """One judge, of all runs or of those that are named."""

    model: str
    runs: tuple[str, ...] = ()
    rubric: Literal["facts", "predicate"] = "facts"
    trace: bool = True
    votes: Annotated[int, Field(ge=1, le=1000)] = 5
    characters: Annotated[int, Field(ge=1000)] | None = None
    long: Literal["cut", "search"] = "cut"
    form: Literal["schema", "text"] = "schema"
    base_url: str | None = None
    agents: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    limit: _ONE | None = None
    cache: Literal["off", "use", "only"] = "use"
    prices: str | None = None

    def located(self, folder: Path) -> Self:
        """The same with every path absolute, where the file is in `folder`."""
        return self.model_copy(update={"prices": _absolute(self.prices, folder)})


class SideForm(_Form):
    """One side of the primary comparison: what its episodes have in common, or the lens that is asked about them.

    In `variant`, `none` is what is not there: no fault, the original tree.
    """

    agent: str | None = None
    condition: str | None = None
    variant: dict[str, str | int] = Field(default_factory=dict)
    lens: Literal["state", "answer", "message", "grounding", "judge"] | None = None
    judge: str | None = None


class PrimaryForm(_Form):
    """The one comparison that the experiment is made for: b against a, in one run."""

    a: SideForm
    b: SideForm
    measure: Measure = "success"
    run: str | None = None
    kinds: tuple[Kind, ...] = ()


class Experiment(_Form):
    """All of a file. `runs`, `judges` and `primary` in the words of their forms."""

    format: Literal["readback.experiment/1"]
    name: _NAME
    primary: PrimaryForm
    runs: Annotated[tuple[RunForm, ...], Field(min_length=1)]
    about: str = ""
    judges: tuple[JudgeForm, ...] = ()

    @property
    def primary_run(self) -> RunForm:
        """The run that the primary comparison is about."""
        return next(run for run in self.runs if run.label == self.primary.run or self.primary.run is None)

    @property
    def digest(self) -> str:
        """The digest of what is played and what is compared; judges may be added later."""
        return digest(self.model_dump(mode="json", include={"runs", "primary"}))


def read_experiment(path: Path) -> Experiment:
    """The experiment that a file holds, its paths as written. Raises `ExperimentError`, and `OSError`."""
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise ExperimentError(f"{str(path)!r} is no UTF-8 text; save it as such") from None
    except (ValueError, RecursionError) as problem:
        raise ExperimentError(f"{str(path)!r} is no TOML: {str(problem)[:1].lower()}{str(problem)[1:]}") from None
    try:
        # By way of JSON, where lists may become tuples though nothing else may become anything.
        experiment = Experiment.model_validate_json(json.dumps(given, default=str))
    except ValidationError as problem:
        raise ExperimentError(f"{str(path)!r}: {_first(problem)}") from None
    for wrong in _problems(experiment):
        raise ExperimentError(f"{str(path)!r}: {wrong}")
    return experiment


def _first(problem: ValidationError) -> str:
    """The first thing that is wrong, unknown keys before all else: one may be a wrong key's missing right one."""
    errors = problem.errors(include_url=False)
    unknown = next((error for error in errors if error["type"] == "extra_forbidden"), None)
    if unknown is not None:
        *where, key = unknown["loc"]
        form = _form_at(where)
        place = f"key in {_place(where)}" if where else "key"
        return str(UnknownNameError(place, str(key), form.model_fields))
    error = errors[0]
    place, message = _place(error["loc"]), error["msg"][:1].lower() + error["msg"][1:]
    if error["type"] == "missing":
        return f"{place} is missing; add it"
    return f"{place} is {error['input']!r}; {message.replace('input should', 'it should')}"


def _form_at(where: Sequence[str | int]) -> type[BaseModel]:
    forms: Mapping[tuple[str, ...], type[BaseModel]] = {
        (): Experiment, ("runs",): RunForm, ("judges",): JudgeForm, ("primary",): PrimaryForm,
        ("primary", "a"): SideForm, ("primary", "b"): SideForm,
    }  # fmt: skip
    return forms[tuple(part for part in where if isinstance(part, str))]


def _place(where: Sequence[str | int]) -> str:
    """`runs[2].repeats`, counted from 1 as a reader counts."""
    text = ""
    for part in where:
        text += f"[{part + 1}]" if isinstance(part, int) else f"{'.' if text else ''}{part}"
    return text


def _problems(experiment: Experiment) -> Iterator[str]:
    labels = [run.label for run in experiment.runs]
    for label in labels:
        if labels.count(label) > 1:
            yield f"two runs are called {label!r}; give each its own name"
    for number, judge in enumerate(experiment.judges, 1):
        for name in judge.runs:
            if name not in labels:
                yield f"judges[{number}]: {UnknownNameError('run', name, labels)}"
    yield from _of_primary(experiment, labels)


def _of_primary(experiment: Experiment, labels: Sequence[str]) -> Iterator[str]:
    primary = experiment.primary
    if primary.run is None and len(labels) > 1:
        yield f"primary.run is missing; name the run that it is about: {' or '.join(labels)}"
    if primary.run is not None and primary.run not in labels:
        yield f"primary: {UnknownNameError('run', primary.run, labels)}"
    a, b = (_named(side) for side in (primary.a, primary.b))
    if a != b:
        yield (
            f"the sides of the primary comparison must name the same things, and a names {_listed(a)}, b"
            f" {_listed(b)}; say of both what differs"
        )
    if primary.a == primary.b:
        yield "the sides of the primary comparison are the same; say what differs"
    if ("lens" in a) != (primary.measure == "pass"):
        yield "the measure 'pass' is for sides that name a lens, and only for those; change the one or the other"
    for name, side in (("a", primary.a), ("b", primary.b)):
        if side.judge is not None and side.lens != "judge":
            yield f"primary.{name}.judge is for the lens 'judge'; add it, or leave the judge out"
        elif side.lens == "judge":
            yield from _of_judge(experiment, name, side.judge)
        elif side.lens in ("state", "message") and experiment.primary_run.suite == "repoqa":
            yield (
                f"primary.{name} is the lens {side.lens!r}, which judges what was written, and in 'repoqa' nothing is;"
                " take answer, grounding or judge"
            )


def _of_judge(experiment: Experiment, side: str, named: str | None) -> Iterator[str]:
    """A side that is a judge must mean one of the file's: once the run is played, the comparison cannot be changed."""
    run = experiment.primary_run.label
    here = [judge.model for judge in experiment.judges if not judge.runs or run in judge.runs]
    meant = [model for model in here if named in (None, model)]
    if not here:
        yield f"primary.{side} is the lens 'judge', and nobody judges the run {run!r}; add a table [[judges]]"
    elif not meant:
        yield f"primary.{side}: {UnknownNameError('judge', str(named), here)}"
    elif len(meant) > 1:
        yield (
            f"primary.{side} must mean one judge, and means {len(meant)}: {', '.join(meant)}; name one by judge ="
            " MODEL, or leave the others to another experiment"
        )


def _named(side: SideForm) -> list[str]:
    names = [name for name in ("agent", "condition", "lens") if getattr(side, name) is not None]
    return names + [f"variant.{name}" for name in sorted(side.variant)]


def _listed(names: Sequence[str]) -> str:
    return " and ".join(names) or "nothing"


def _condition(named: str, folder: Path) -> str:
    name, equals, file = named.partition("=")
    return f"{name}={_absolute(file, folder)}" if equals and file else named


def _absolute(path: str | None, folder: Path) -> str | None:
    return None if path is None else str(folder / path)
