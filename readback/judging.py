"""Judging a run, from names: the judges, the key of their fences, and what is printed of it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal

from harness.values import Value
from judges.sheet import Stratum
from judges.standing import Standing
from readback.records import cache_folder
from readback.registry import UnknownNameError
from readback.running import PROVIDERS, CacheMode, SettingError, is_loopback, kept_replies, model_named, settings_in

if TYPE_CHECKING:
    from harness.cache import Cache
    from harness.prices import Prices
    from judges.judge import FormName, Judge, Long
    from judges.rubric import RubricName

JUDGE_FORMS = ("openai:MODEL", "anthropic:MODEL", "scripted:overlap", "scripted:coin")
"""How judges are named."""


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """What a user chose about judges. None is the default of the part it is for."""

    models: tuple[str, ...]
    base_url: str | None = None
    rubrics: tuple[RubricName, ...] = ("facts",)
    trace: bool = True
    votes: int | None = None
    characters: int | None = None
    long: Long = "cut"
    form: FormName = "schema"
    cache: CacheMode = "use"
    prices: str | None = None


class PlannedJudge(Value):
    """What one judge would take; see `judges.estimate.Estimate`. `cost_usd` is null where a price is unknown."""

    judge: str
    config: str
    rubric: str
    trace: bool
    votes_each: int
    episodes: int
    silent: int
    too_long: int
    votes_stored: int
    votes: int
    calls: int
    cost_usd: float | None


class JudgingPlan(Value):
    """`readback judge --dry-run --json`. `calls` are at most so many: what the cache knows is not asked again."""

    format: Literal["readback.judging-plan/1"] = "readback.judging-plan/1"
    run: str
    unfinished: int
    judges: tuple[PlannedJudge, ...]
    calls: int
    cost_usd: float | None
    why: str | None


class JudgingDocument(Value):
    """`readback judge --json`: each judge over the chosen episodes. `unfinished` episodes have nothing to judge yet."""

    format: Literal["readback.judging/1"] = "readback.judging/1"
    run: str
    unfinished: int
    judges: tuple[Standing, ...]
    problems: tuple[str, ...]


class SheetMade(Value):
    """`readback annotate --sample --json`. Which episodes are on it stays in the run (`sheets.jsonl`)."""

    format: Literal["readback.sheet-made/1"] = "readback.sheet-made/1"
    run: str
    sheet: str
    seed: int
    rubric: str
    trace: bool
    eligible: int
    sampled: int
    strata: tuple[Stratum, ...]
    files: tuple[str, ...]


class LabelsTaken(Value):
    """`readback annotate --labels --json`. `kept` are items that are blank now and were labelled before."""

    format: Literal["readback.labels/1"] = "readback.labels/1"
    run: str
    sheet: str
    judge: str
    config: str
    labelled: int
    blank: int
    kept: int
    labels: dict[str, int]


def rubrics_named(names: Sequence[str]) -> tuple[RubricName, ...]:
    """The rubrics of these names, each once. Raises `UnknownNameError`."""
    from judges.rubric import RUBRICS

    for name in names:
        if name not in RUBRICS:
            raise UnknownNameError("rubric", name, RUBRICS)
    return tuple(rubric for rubric in RUBRICS if rubric in names)


def judges_of(options: JudgeOptions, *, environment: Mapping[str, str] = os.environ) -> list[Judge]:
    """The judges by name, each under each rubric. Raises `SettingError`, `UnknownNameError`, `ModelSetupError`."""
    from harness.prices import read_prices
    from judges.rubric import Rubric

    if not options.models:
        raise SettingError(f"no judge is named; name one by --model, such as {' or '.join(JUDGE_FORMS[:3])}")
    providers = sorted({name.partition(":")[0] for name in options.models} & set(PROVIDERS))
    if options.base_url and len(providers) != 1:
        raise SettingError(
            f"the base URL {options.base_url!r} is for the models of one provider, and"
            f" {' and '.join(providers) or 'no model'} is named; judge once for each, or leave it out"
        )
    doubled = next((name for name in options.models if options.models.count(name) > 1), None)
    if doubled is not None:
        raise SettingError(f"the judge {doubled!r} is named twice; name each once")
    replies = kept_replies(options.cache) if providers else None
    prices = read_prices(options.prices, environment=environment)
    rubrics = [Rubric(name, options.trace) for name in dict.fromkeys(options.rubrics)]
    return [
        _judge(name, rubric, options, replies, prices, environment) for name in options.models for rubric in rubrics
    ]  # fmt: skip


def fence_key(mode: CacheMode) -> bytes:
    """The secret by which the markers of fences are made.

    It is drawn once on each machine and kept beside the replies, since a reply is found again only under the same
    request. Where nothing is kept it is drawn anew.
    """
    from judges.fence import KEY_BYTES

    if mode == "off":
        return secrets.token_bytes(KEY_BYTES)
    path = cache_folder() / "fence.key"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            pass
        else:
            with os.fdopen(handle, "w") as file:
                file.write(secrets.token_hex(KEY_BYTES))
        key = bytes.fromhex(path.read_text())
    except OSError as problem:
        raise SettingError(
            f"the key of the fences cannot be kept in {str(path)!r} ({problem.strerror}); set XDG_CACHE_HOME to a"
            " folder that can be written, or go without by --cache off"
        ) from None
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise SettingError(f"{str(path)!r} holds no key of a fence; remove it, and a new one is drawn")
    return key


def refuse_to_send_out(about: Mapping[str, Any], judges: Sequence[Judge]) -> None:
    """Raises `SettingError` where a record that is not synthetic would go to a judge that is not on this machine."""
    record = about.get("record")
    if not record or record.get("synthetic"):
        return
    for judge in judges:
        url = str(judge.model.settings.get("base_url", ""))
        if url and not is_loopback(url):
            raise SettingError(
                f"the record is not marked synthetic, and {judge.name} is at {url}: its patients' data would leave this"
                " machine; if that is allowed, say so with --allow-external"
            )


def _judge(
    name: str, rubric: Any, options: JudgeOptions, replies: Cache | None, prices: Prices,
    environment: Mapping[str, str],
) -> Judge:  # fmt: skip
    from judges.judge import CHARACTERS, VOTES, Judge

    provider, colon, rest = name.partition(":")
    characters = CHARACTERS if options.characters is None else options.characters
    votes = VOTES if options.votes is None else options.votes
    if provider == "scripted" and colon:
        from judges.scripted import RULES, RuleError, rule_model

        rule, question, settings = rest.partition("?")
        if rule not in RULES:
            raise UnknownNameError("scripted judge", rule, RULES)
        try:
            model = rule_model(rule, settings_in(settings, name) if question else {})
        except RuleError as problem:
            raise SettingError(str(problem)) from None
        return Judge(
            model, rubric, votes=votes, characters=characters, label=name, is_rule=True,
            about=f"a rule, no model: {RULES[rule]}",
        )  # fmt: skip
    if provider in PROVIDERS and colon and rest:
        return Judge(
            model_named(name, base_url=options.base_url, replies=replies, prices=prices, environment=environment),
            rubric, votes=votes, characters=characters, long=options.long, form=options.form, label=name,
            sdk={provider: version(provider)},
        )  # fmt: skip
    raise SettingError(f"{name!r} is no judge; write {', '.join(JUDGE_FORMS[:-1])} or {JUDGE_FORMS[-1]}")
