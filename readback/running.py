"""What a run is made of, from names: the suite, the agents, the conditions, and what is kept to make them again."""

from __future__ import annotations

import ipaddress
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from pydantic import ConfigDict

from harness.values import Value
from readback.records import cache_folder
from readback.registry import AGENT_FORMS, Faulty, Renaming, SuiteSource, UnknownNameError

if TYPE_CHECKING:
    from harness.agent import Agent
    from harness.cache import Cache
    from harness.limits import Budget
    from harness.models.model import Model
    from harness.prices import Prices
    from harness.suite import Suite

VARIANT: Mapping[str, Any] = {"validation": "hapi", "fault": None, "protocol": "tools"}
"""The variant of headline figures."""

CacheMode = Literal["off", "use", "only"]

PROVIDERS = ("openai", "anthropic")
NO_KEYS = {"OPENAI_API_KEY": "none", "ANTHROPIC_API_KEY": "none"}
"""An environment for agents that will not be asked."""
_FORMS = tuple(form.name for form in AGENT_FORMS)


class SettingError(ValueError):
    """What was asked for cannot be run. The message is one sentence for the user."""


class Options(Value):
    """What a run keeps beside its plan, to make its suite and agents again. None is the default of the part it is for.

    Keys come from the environment each time and are no part of it.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    agents: tuple[str, ...] = ()
    base_url: str | None = None
    record: str | None = None
    seed: int | None = None
    tasks: tuple[str, ...] = ()
    limit: int | None = None
    per_template: int | None = None
    max_turns: int | None = None
    max_tokens: int | None = None
    seconds: float | None = None
    cache: CacheMode = "use"
    prices: str | None = None
    validation: str | None = None
    faults: tuple[str, ...] = ()
    lock: str | None = None
    counterfactual: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()
    search: bool = False


def agents_of(
    options: Options, source: SuiteSource, budget: Budget, *, environment: Mapping[str, str] = os.environ
) -> list[Agent | str]:
    """The agents by name, and beside them the baselines without which their score says little.

    A name is `openai:MODEL` or `anthropic:MODEL` (`?temperature=0&seed=1` behind it goes into each request),
    `python:MODULE:CALLABLE`, or a baseline of the suite; without any, all baselines. Raises `UnknownNameError`, and
    what says in one sentence why an agent cannot be made.
    """
    names = options.agents or tuple(baselines_of(source, options.faults))
    providers = sorted({name.partition(":")[0] for name in names} & set(PROVIDERS))
    if options.base_url and len(providers) != 1:
        raise SettingError(
            f"the base URL {options.base_url!r} is for the models of one provider, and"
            f" {' and '.join(providers) or 'no model'} is named; add --agent openai:MODEL, or leave it out"
        )
    agents = [_agent(name, options, source, budget, environment) for name in names]
    return [*agents, *(name for name in source.beside if name not in names)]


def baselines_of(source: SuiteSource, faults: Sequence[str]) -> dict[str, str]:
    """The suite's baselines, and where a fault is injected those that show what it costs not to look."""
    more = source.under_fault if faults and isinstance(source, Faulty) else {}
    return {**source.baselines, **more}


def variants_of(
    source: SuiteSource, *, validation: str | None, faults: Sequence[str], record: str | None = None
) -> tuple[dict[str, Any], ...]:
    """The variants to play: each fault, under the way of validating that is asked for and under the usual one.

    Without a fault there is none injected. Raises `UnknownNameError` and `SettingError`.
    """
    if (validation or faults) and not isinstance(source, Faulty):
        raise SettingError(f"the suite {source.name!r} has neither faults nor ways of validating; leave them out")
    if (validation or faults) and record is not None and is_server(record):
        raise SettingError(
            f"the server at {record!r} validates as it is set up, and has no faults to be injected; leave"
            " --validation and --fault out, or name a record's file"
        )
    known = source.faults if isinstance(source, Faulty) else {}
    ways = source.validations if isinstance(source, Faulty) else ()
    for fault in faults:
        if fault not in known:
            raise UnknownNameError("fault", fault, known, "see readback list faults")
    if len(set(faults)) < len(faults):
        raise SettingError("a fault is named twice; name each once")
    if validation is not None and validation not in ways:
        raise UnknownNameError("validation", validation, ways)
    validations = dict.fromkeys((VARIANT["validation"], validation or VARIANT["validation"]))
    return tuple({**VARIANT, "validation": way, "fault": fault} for fault in faults or (None,) for way in validations)


def renamed_variants_of(source: SuiteSource, options: Options) -> tuple[dict[str, Any], ...] | None:
    """The variants of a suite of repositories: as they are, and renamed by each seed. None for other suites.

    Raises `SettingError` where a seed is given twice.
    """
    if not isinstance(source, Renaming):
        return None
    if len(set(options.counterfactual)) < len(options.counterfactual):
        raise SettingError("a seed of --counterfactual is given twice; give each once")
    return tuple({"protocol": "tools", "counterfactual": seed} for seed in (None, *options.counterfactual))


def refuse_options_of_others(source: SuiteSource, options: Options) -> None:
    """Raises `SettingError` where a suite is given what only another kind of suite takes: nobody would heed it."""
    if isinstance(source, Renaming):
        if options.record is not None:
            raise SettingError(f"--record is for suites of patients' tasks, and {source.name!r} is none; leave it out")
        return
    given = {"--lock": options.lock, "--counterfactual": options.counterfactual, "--kinds": options.kinds}
    for name, value in {**given, "--search": options.search}.items():
        if value:
            raise SettingError(f"{name} is for suites of repositories, and {source.name!r} is none; leave it out")


def _agent(
    name: str, options: Options, source: SuiteSource, budget: Budget, environment: Mapping[str, str]
) -> Agent | str:
    kind, colon, rest = name.partition(":")
    baselines = baselines_of(source, options.faults)
    if name in baselines:
        return name
    if kind == "python" and colon:
        from harness.program import SECONDS, load_program

        return load_program(name, seconds=options.seconds or SECONDS)
    if kind in PROVIDERS and colon and rest:
        return _model(name, options, budget, environment)
    if kind in (*PROVIDERS, "python"):
        raise SettingError(f"{name!r} is no agent; write {' or '.join(_FORMS)}")
    raise UnknownNameError("agent", name, baselines, f"or write {' or '.join(_FORMS)}")


def _model(name: str, options: Options, budget: Budget, environment: Mapping[str, str]) -> Agent:
    from harness.limits import Limits
    from harness.loop import ModelAgent
    from harness.prices import read_prices

    model = model_named(
        name,
        base_url=options.base_url,
        replies=kept_replies(options.cache),
        prices=read_prices(options.prices, environment=environment),
        environment=environment,
    )
    limits = Limits()
    limits = Limits(
        turns=options.max_turns or limits.turns, tokens=options.max_tokens, seconds=options.seconds or limits.seconds
    )
    return ModelAgent(model, limits=limits, budget=budget, label=name if "?" in name else None)


def model_named(
    name: str,
    *,
    base_url: str | None,
    replies: Cache | None,
    prices: Prices,
    environment: Mapping[str, str] = os.environ,
) -> Model:
    """The model `openai:MODEL` or `anthropic:MODEL`, with the settings behind a `?`.

    Raises `SettingError` for a setting that is none, and `ModelSetupError`.
    """
    from harness.models.anthropic import anthropic_model
    from harness.models.exchange import Exchange
    from harness.models.openai import openai_model

    provider, _, rest = name.partition(":")
    model, question, settings = rest.partition("?")
    make = openai_model if provider == "openai" else anthropic_model
    given = settings_in(settings, name) if question else {}
    return make(
        model,
        base_url=base_url,
        options=given,
        prices=prices,
        exchange=Exchange(cache=replies),
        environment=environment,
    )


def settings_in(text: str, name: str) -> dict[str, Any]:
    """The settings behind the `?` of a name: `temperature=0&seed=1`. Raises `SettingError`."""
    settings: dict[str, Any] = {}
    for part in text.split("&"):
        key, equals, value = part.partition("=")
        if not key or not equals:
            raise SettingError(f"{part!r} in {name!r} is no setting; write openai:MODEL?temperature=0&seed=1")
        if key in settings:
            raise SettingError(f"the setting {key!r} in {name!r} is given twice; give it once")
        try:
            settings[key] = json.loads(value)
        except ValueError:
            settings[key] = value
    return settings


def kept_replies(mode: CacheMode) -> Cache | None:
    """Where the replies of models are kept; None where they are not. Raises `CacheError`."""
    from harness.cache import Cache, CacheError

    if mode == "off":
        return None
    path = cache_folder() / "replies.sqlite"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise CacheError(
            f"the replies of models cannot be kept in {str(path.parent)!r} ({problem.strerror}); set XDG_CACHE_HOME to"
            " a folder that can be written, or go without by --cache off"
        ) from None
    return Cache(path, mode)


def refuse_to_send_out(suite: Suite, agents: Sequence[Agent | str]) -> None:
    """Raises `SettingError` where a record that is not synthetic would go to a model that is not on this machine."""
    record = suite.about.get("record")
    if not record or record.get("synthetic"):
        return
    for agent in agents:
        url = "" if isinstance(agent, str) else getattr(agent, "settings", {}).get("base_url", "")
        if url and not is_loopback(url):
            name = agent if isinstance(agent, str) else agent.name
            raise SettingError(
                f"the record is not marked synthetic, and {name} is at {url}: its patients' data would leave this"
                " machine; if that is allowed, say so with --allow-external"
            )


def prompts_of(named: Sequence[str], source: SuiteSource) -> dict[str, str | None]:
    """The conditions that are named, each with the prompt of its file, or None where it is the suite's own.

    A condition is named `NAME`, or `NAME=FILE`; without any, it is `default`. Raises `SettingError` and
    `UnknownNameError`.
    """
    prompts: dict[str, str | None] = {}
    for text in named or ("default",):
        name, equals, file = text.partition("=")
        if name in prompts:
            raise SettingError(f"the condition {name!r} is named twice; give each its own name")
        if not equals and name not in source.conditions:
            raise UnknownNameError("condition", name, source.conditions, "your own prompt is named by NAME=FILE")
        if equals and name in source.conditions:
            raise SettingError(f"{name!r} is the suite's own condition; give your prompt another name")
        prompts[name] = _prompt(name, file) if equals else None
    return prompts


def _prompt(name: str, file: str) -> str:
    if not name or not file:
        raise SettingError(f"'{name}={file}' is no condition; write NAME=FILE, such as mine=prompt.txt")
    try:
        text = Path(file).read_text(encoding="utf-8")
    except OSError as problem:
        raise SettingError(
            f"the prompt {file!r} of condition {name!r} cannot be read: {problem.strerror}; check the name"
        ) from None
    except ValueError:
        raise SettingError(f"the prompt {file!r} of condition {name!r} is no UTF-8 text; save it as such") from None
    if not text.strip():
        raise SettingError(f"the prompt {file!r} of condition {name!r} is empty; write what the agent is to be told")
    return text


def conditions_of(suite: Suite, prompts: Mapping[str, str | None]) -> dict[str, str]:
    """The conditions of `prompts_of` with their prompts, the suite's own among them."""
    return {name: suite.conditions[name] if prompt is None else prompt for name, prompt in prompts.items()}


def is_server(record: str) -> bool:
    """Whether a record is named by the address of a live server, and not by its file."""
    return record.startswith(("http://", "https://"))


def is_loopback(url: str) -> bool:
    """Whether a base URL leads to this machine and no further."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
