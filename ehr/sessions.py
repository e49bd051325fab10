"""Sessions: a task for an agent written elsewhere, in any language, that speaks plain FHIR to an address of its own.

    sessions = Sessions(suite, folder, "http://127.0.0.1:8080")
    opened = sessions.open({"task": "ehr/record-weight/0001", "agent": "mine"})     # what the agent is told
    sessions.fhir(secret, request)                                                  # its requests
    sessions.finish(opened["session"], {"outcome": "done"})                         # the verdicts

Rules:

- An address holds an unguessable secret, and a session's name another: who knows the one does not know the other, and
  nobody finds a session by trying. Two sessions never see each other: each has a fork of its own.
- What is expected is never told, before or after: the verdicts come without it. It stands in the run's folder.
- A session ends by `finish`, or when its time is over. What was sent in one that ran out is kept as an episode that
  ended with `wall_time`, which nobody scores; one in which nothing was sent leaves nothing.
- An episode's calls are its requests. Beside each the baselines `idle` and `blind` play the same task, because a score
  says little without them.
"""

from __future__ import annotations

import difflib
import secrets
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from ehr.client import parsed
from ehr.faults import known_fault
from harness.agent import Briefing, Played
from harness.crew import judged
from harness.faults import traceback_of
from harness.finish import read_finish
from harness.functions import ArgumentsError
from harness.plain import json_bytes, shown
from harness.suite import WorldEvidence, episode_of
from harness.trace import Call, CallStatus, Episode, episode_id
from harness.values import Value, canonical, digest
from harness.verdict import Verdict

if TYPE_CHECKING:
    from ehr.sandbox.http import Exchange, Request, Response
    from ehr.tasks.suite import EhrSuite
    from ehr.world import ChartWorld
    from harness.runfolder import RunFolder
    from harness.task import Task

LIFETIME = timedelta(hours=1)
"""How long a session is open, if nobody says otherwise."""
MOST_OPEN = 256
"""Sessions that may be open at once."""
MOST_REQUESTS = 10_000
"""Requests that one session takes."""
MOST_BYTES = 256 * 1024 * 1024
"""Bytes of requests and answers that one session keeps."""
LONGEST_RESULT = 200_000
"""Bytes of an answer that its call keeps."""
MOST_REMEMBERED = 10_000
"""Sessions that are over and still known by name."""
LONGEST_NAME = 100

BESIDE = ("idle", "blind")
"""The baselines that play each task beside an outside agent."""

PROTOCOL = "fhir"
"""What an outside agent speaks, in an episode's variant."""

_KEYS = ("task", "condition", "variant", "agent")


class SessionError(Exception):
    """What cannot be had: an HTTP status, and one sentence for whoever asked."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class SessionDocument(Value):
    """What `POST /sessions` and `readback session open --json` give."""

    format: Literal["readback.session/1"] = "readback.session/1"
    session: str
    task: str
    instruction: str
    system: str
    tools: tuple[dict[str, Any], ...]
    base_url: str
    token: str
    clock: str
    expires: str


class VerdictsDocument(Value):
    """What `POST /sessions/<id>/finish` and `readback session close --json` give.

    `success` is null where nobody can say. Clauses come without what was expected.
    """

    format: Literal["readback.verdicts/1"] = "readback.verdicts/1"
    session: str
    episode: str
    task: str
    success: bool | None
    verdicts: tuple[Verdict, ...]


class OpenTasks(Value):
    """What `GET /tasks` gives: ids and instructions, and nothing that gives a task away."""

    format: Literal["readback.tasks/1"] = "readback.tasks/1"
    suite: str
    suite_digest: str
    tasks: tuple[dict[str, str], ...]


@dataclass
class _Session:
    id: str
    secret: str
    task: Task
    condition: str
    variant: Mapping[str, Any]
    agent: str
    world: ChartWorld
    started: datetime
    expires: datetime
    lock: Lock = field(default_factory=Lock)
    times: list[tuple[str, str]] = field(default_factory=list)
    size: int = 0
    over: str | None = None


def about_sessions(suite: EhrSuite, *, command: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """The `run.json` of a folder that sessions are kept in. How many there will be is not planned."""
    from harness.plan import make_plan

    plan = make_plan(suite, list(BESIDE), conditions=suite.conditions, variants=[_variant({})])
    return {**plan.about(command=command, options=options), "planned": 0, "sessions": True}


class Sessions:
    """The sessions of one server over one suite. `address` is where it is reached, `now` the present. For all threads.

    `folder` is open to write, and made by `about_sessions` for the same suite.
    """

    def __init__(
        self,
        suite: EhrSuite,
        folder: RunFolder,
        address: str,
        *,
        lifetime: timedelta = LIFETIME,
        most_open: int = MOST_OPEN,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.suite, self.folder, self.address = suite, folder, address.rstrip("/")
        self._lifetime, self._most_open, self._now = lifetime, most_open, now
        self._tasks = {task.id: task for task in suite.tasks}
        self._by_id: dict[str, _Session] = {}
        self._by_secret: dict[str, _Session] = {}
        self._past: OrderedDict[str, str] = OrderedDict()
        self._lock, self._writing = Lock(), Lock()
        self._played: Counter[bytes] = Counter()
        self._beside: set[bytes] = set()
        for episode in folder.episodes():
            key = _key(episode.task, episode.agent, episode.condition, episode.variant)
            self._played[key] += episode.sound
            self._beside |= {key} if episode.agent_kind == "baseline" else set()
        tools = suite.tools(suite.tasks[0], {})
        self._tools = tuple({"name": t.name, "description": t.description, "parameters": t.parameters} for t in tools)

    # ---- what may be asked

    def tasks(self) -> OpenTasks:
        """The tasks by id, each with its instruction."""
        listed = tuple({"id": task.id, "instruction": task.instruction} for task in self.suite.tasks)
        return OpenTasks(suite=self.suite.name, suite_digest=self.suite.digest, tasks=listed)

    def open(self, asked: Any) -> SessionDocument:
        """A new session, from `{"task", "condition", "variant", "agent"}`. Raises `SessionError`."""
        task, condition, variant, agent = self._asked(asked)
        self.sweep()
        id, secret = f"s-{secrets.token_urlsafe(18)}", secrets.token_urlsafe(24)
        base = f"{self.address}/f/{secret}/fhir"
        world = self.suite.world(task, variant, base=base)
        started = self._now()
        session = _Session(
            id, secret, task, condition, variant, agent, world, started, started + self._lifetime
        )  # fmt: skip
        with self._lock:
            if len(self._by_id) >= self._most_open:
                world.close()
                raise SessionError(
                    503, f"there are {self._most_open} open sessions, as many as there may be; finish one, or wait"
                )
            self._by_id[id] = self._by_secret[secret] = session
        return SessionDocument(
            session=id,
            task=task.id,
            instruction=task.instruction,
            system=self.suite.conditions[condition],
            tools=self._tools,
            base_url=base,
            token=secret,
            clock=task.clock,
            expires=session.expires.isoformat(timespec="seconds"),
        )

    def fhir(self, secret: str, request: Request) -> Response:
        """The answer to a request at the session's address. Raises `SessionError` where there is no such session."""
        session = self._found(self._by_secret, secret)
        with session.lock:
            self._refuse_over(session)
            if len(session.times) >= MOST_REQUESTS or session.size > MOST_BYTES:
                raise SessionError(
                    429, f"this session has had its {MOST_REQUESTS} requests or {MOST_BYTES} bytes; finish it"
                )
            before = self._now()
            response = session.world.fork.handle(request)
            session.times.append((_instant(before), _instant(self._now())))
            last = session.world.fork.requests[-1]
            session.size += len(last.body) + len(last.response)
            return response

    def finish(self, id: str, asked: Any) -> VerdictsDocument:
        """End a session as `finish` takes it, judge and keep the episode. Raises `SessionError`."""
        session = self._found(self._by_id, id)
        try:
            said = read_finish(asked)
        except ArgumentsError as problem:
            raise SessionError(
                400, str(problem).replace("the agent returned", "the session was finished with")
            ) from None
        with session.lock:
            self._refuse_over(session)
            played = Played("finished", said.outcome, tuple(said.answer), said.note)
            episode, verdicts = self._concluded(session, played)
            self._forget(session, "finished")
        return VerdictsDocument(
            session=id,
            episode=episode.id,
            task=session.task.id,
            success=_success(session.task, verdicts),
            verdicts=tuple(map(_without_answers, verdicts)),
        )

    def sweep(self) -> None:
        """End every session whose time is over."""
        now = self._now()
        with self._lock:
            late = [session for session in self._by_id.values() if session.expires <= now]
        for session in late:
            with session.lock:
                self._expire(session)

    def close(self) -> None:
        """End every session, as if its time were over."""
        for session in list(self._by_id.values()):
            with session.lock:
                self._expire(session)

    # ---- sessions by name

    def _asked(self, asked: Any) -> tuple[Task, str, dict[str, Any], str]:
        if not isinstance(asked, dict):
            raise SessionError(400, f"a session is opened with an object such as {{'task': …}}, not {shown(asked)}")
        unknown = sorted(set(map(str, asked)) - set(_KEYS))
        if unknown:
            raise SessionError(400, f"{unknown[0]!r} is nothing that a session has; it has {', '.join(_KEYS)}")
        task = self._tasks.get(str(asked.get("task")))
        if task is None:
            raise SessionError(404, self._no_task(asked.get("task")))
        condition = "default" if asked.get("condition") is None else asked["condition"]
        if not isinstance(condition, str) or condition not in self.suite.conditions:
            known = ", ".join(self.suite.conditions)
            raise SessionError(400, f"there is no condition {shown(condition)}; choose from {known}")
        agent = asked.get("agent") or "session"
        if not isinstance(agent, str) or not agent.isprintable() or len(agent) > LONGEST_NAME or agent.strip() != agent:
            raise SessionError(400, f"{shown(agent)} is no agent's name; use 1 to {LONGEST_NAME} printable characters")
        if agent in self._baselines():
            raise SessionError(400, f"{agent!r} is the name of a baseline; give the agent another")
        try:
            return task, condition, _variant(asked.get("variant")), agent
        except ValueError as problem:
            raise SessionError(400, str(problem)) from None

    def _no_task(self, asked: Any) -> str:
        if asked is None:
            return "a session needs a task, such as {'task': 'ehr/record-weight/0001'}; GET /tasks lists them"
        firsts = {task.template: id for id, task in reversed(self._tasks.items())}
        name = asked.removeprefix("ehr/").partition("/")[0] if isinstance(asked, str) else ""
        close = difflib.get_close_matches(name[:LONGEST_NAME], firsts, n=1)
        nearest = f"; did you mean {firsts[close[0]]!r}? GET" if close else "; GET"
        return f"there is no task {shown(asked)}{nearest} /tasks lists them"

    def _baselines(self) -> tuple[str, ...]:
        from ehr.tasks.baselines import BASELINES, NEAR_ORACLES, TRUSTING

        return (*BASELINES, *NEAR_ORACLES, TRUSTING)

    def _found(self, sessions: Mapping[str, _Session], name: str) -> _Session:
        with self._lock:
            session, past = sessions.get(name), self._past.get(name)
        if session is None and past is None:
            raise SessionError(404, "there is no such session; open one with POST /sessions")
        if session is None:
            raise SessionError(410, f"this session is {past}; open another with POST /sessions")
        return session

    def _refuse_over(self, session: _Session) -> None:
        if session.over is None and session.expires <= self._now():
            self._expire(session)
        if session.over is not None:
            raise SessionError(410, f"this session is {session.over}; open another with POST /sessions")

    def _expire(self, session: _Session) -> None:
        if session.over is not None:
            return
        if session.times:
            self._concluded(session, Played("wall_time", error="the session's time was over before it was finished"))
        self._forget(session, "expired")

    def _forget(self, session: _Session, how: str) -> None:
        session.over = how
        session.world.close()
        with self._lock:
            self._by_id.pop(session.id, None)
            self._by_secret.pop(session.secret, None)
            for name in (session.id, session.secret):
                self._past[name] = how
            while len(self._past) > 2 * MOST_REMEMBERED:
                self._past.popitem(last=False)

    # ---- episodes

    def _concluded(self, session: _Session, played: Played) -> tuple[Episode, list[Verdict]]:
        """The episode and its verdicts, stored."""
        played, evidence = _with_evidence(session.world, replace(played, calls=tuple(_calls(session))))
        ended = _instant(self._now())
        with self._writing:
            key = _key(session.task.id, session.agent, session.condition, session.variant)
            episode = self._episode(
                session, session.agent, "session", {"session": session.agent}, self._played[key], played, evidence,
                _instant(session.started), ended,
            )  # fmt: skip
            episode, verdicts = self._judged(session.task, episode)
            self.folder.store([(episode, verdicts), *self._baselines_beside(session)])
            self._played[key] += episode.sound
        return episode, verdicts

    def _baselines_beside(self, session: _Session) -> Iterator[tuple[Episode, list[Verdict]]]:
        for name in BESIDE:
            key = _key(session.task.id, name, session.condition, session.variant)
            if key in self._beside:
                continue
            world = self.suite.world(session.task, session.variant)
            try:
                started = _instant(self._now())
                briefing = Briefing(
                    session.task.instruction, self.suite.conditions[session.condition], session.task.clock
                )
                played = self.suite.baseline(name, session.task).play(briefing, world.tools, repeat=0)
                played, evidence = _with_evidence(world, played)
                episode = self._episode(
                    session, name, "baseline", {"baseline": name}, 0, played, evidence, started,
                    _instant(self._now()),
                )  # fmt: skip
            finally:
                world.close()
            yield self._judged(session.task, episode)
            self._beside.add(key)

    def _judged(self, task: Task, episode: Episode) -> tuple[Episode, list[Verdict]]:
        """The episode as it will be read back from its file, and what the lenses say of that.

        A judge that fails is no verdict: `readback score` judges again.
        """
        stored = Episode.read(episode.line())
        verdicts, _ = judged(self.suite.judge, {task.id: task}, stored)
        return stored, verdicts

    def _episode(
        self,
        session: _Session,
        agent: str,
        kind: Literal["session", "baseline"],
        settings: Mapping[str, str],
        repeat: int,
        played: Played,
        evidence: WorldEvidence,
        started: str,
        ended: str,
    ) -> Episode:
        task, variant = session.task, dict(session.variant)
        return episode_of(
            task,
            played,
            evidence,
            id=episode_id(
                task=task.id,
                task_digest=task.digest,
                agent=agent,
                agent_digest=digest(dict(settings)),
                condition=session.condition,
                prompt_digest=digest(self.suite.conditions[session.condition]),
                tools_digest=digest(list(self._tools)),
                variant=variant,
                repeat=repeat,
            ),
            agent=agent,
            kind=kind,
            condition=session.condition,
            variant=variant,
            repeat=repeat,
            started=started,
            ended=ended,
        )


def _with_evidence(world: ChartWorld, played: Played) -> tuple[Played, WorldEvidence]:
    """What was played and what the world says of it. A world that fails is a fault of ours, and no reason to stop."""
    try:
        return played, world.evidence()
    except Exception as fault:
        return Played("harness_error", calls=played.calls, error=traceback_of(fault)), WorldEvidence()


def _calls(session: _Session) -> Iterator[Call]:
    """Each of the agent's requests as a call."""
    own = [exchange for exchange in session.world.fork.requests if exchange.by == "agent"]
    for number, (exchange, (started, ended)) in enumerate(zip(own, session.times, strict=True), start=1):
        status: CallStatus = "ok" if exchange.status < 400 else "error"
        arguments = {"path": exchange.path}
        if exchange.body:
            arguments["body"] = _value(exchange.body[:LONGEST_RESULT])
        result, is_cut = _result(exchange)
        yield Call(
            position=number,
            step=number,
            name=exchange.method,
            arguments=arguments,
            status=status,
            result=result,
            http={"status": exchange.status},
            cut_by="recorder" if is_cut else None,
            started=started,
            ended=ended,
        )


def _result(exchange: Exchange) -> tuple[dict[str, Any], bool]:
    from ehr.tools import SHOWN_HEADERS

    wanted = {name.lower() for name in SHOWN_HEADERS}
    headers = {name: value for name, value in exchange.response_headers.items() if name.lower() in wanted}
    result: dict[str, Any] = {"status": exchange.status, "headers": headers}
    if len(exchange.response) <= LONGEST_RESULT:
        return {**result, "body": _value(exchange.response)}, False
    text = exchange.response[:LONGEST_RESULT].decode("utf-8", "replace")
    cut = f"The answer has {len(exchange.response)} bytes; the first {LONGEST_RESULT} are kept."
    return {**result, "body": None, "cut": cut, "text": text}, True


def _value(raw: bytes) -> Any:
    if not raw:
        return None
    try:
        value = parsed(raw)
        json_bytes(value)
        return value
    except (ValueError, TypeError):
        return raw.decode("utf-8", "replace")


def _variant(asked: Any) -> dict[str, Any]:
    """The variant of a session. Raises `ValueError` with one sentence."""
    from ehr.sandbox.fork import VALIDATIONS

    asked = {} if asked is None else asked
    if not isinstance(asked, dict) or set(asked) - {"validation", "fault", "protocol"}:
        raise ValueError(f"{shown(asked)} is no variant; it may have validation and fault")
    validation, fault = asked.get("validation") or "hapi", asked.get("fault")
    if validation not in VALIDATIONS:
        raise ValueError(f"there is no validation {shown(validation)}; choose from {', '.join(VALIDATIONS)}")
    if fault is not None and not isinstance(fault, str):
        raise ValueError(f"{shown(fault)} is no fault's name")
    known_fault(fault)
    return {"validation": validation, "fault": fault, "protocol": PROTOCOL}


def _key(task: str, agent: str, condition: str, variant: Mapping[str, Any]) -> bytes:
    return canonical([task, agent, condition, dict(variant)])


def _success(task: Task, verdicts: Sequence[Verdict]) -> bool | None:
    """The task's own conclusion: one failing required lens fails it; where one cannot judge, nobody can say."""
    outcomes = {verdict.lens: verdict.outcome for verdict in verdicts}
    required = {outcomes.get(lens, "unscored") for lens in task.requires}
    return False if "fail" in required else True if required == {"pass"} else None


def _without_answers(verdict: Verdict) -> Verdict:
    """The verdict without what was expected: the same task may be opened again."""
    clauses = tuple(clause.model_copy(update={"expected": None, "why": None}) for clause in verdict.clauses)
    return verdict.model_copy(update={"clauses": clauses})


def _instant(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds")
