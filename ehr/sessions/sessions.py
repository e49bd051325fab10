"""The sessions of one server: opened, asked, finished, and over when their time is."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import TYPE_CHECKING, Any

from ehr.sessions.calls import calls_of
from ehr.sessions.documents import OpenTasks, SessionDocument, VerdictsDocument, verdicts_on
from ehr.sessions.kept import KeptSessions, instant
from ehr.sessions.request import SessionError, SessionRequest, read_request
from harness.agent import Played
from harness.finish import read_finish
from harness.functions import ArgumentsError
from harness.runfolder import RunFolderError

if TYPE_CHECKING:
    from ehr.sandbox.http import Request, Response
    from ehr.tasks.suite import EhrSuite
    from ehr.world import ChartWorld
    from harness.runfolder import RunFolder
    from harness.trace import Episode
    from harness.verdict import Verdict

LIFETIME = timedelta(hours=1)
"""How long a session is open, if nobody says otherwise."""
MOST_OPEN = 256
"""Sessions that may be open at once."""
MOST_REQUESTS = 10_000
"""Requests that one session takes."""
MOST_BYTES = 256 * 1024 * 1024
"""Bytes of requests and answers that one session keeps."""
MOST_REMEMBERED = 10_000
"""Sessions that are over and still known by name."""


@dataclass
class _Session:
    id: str
    secret: str
    asked: SessionRequest
    world: ChartWorld
    started: datetime
    expires: datetime
    lock: Lock = field(default_factory=Lock)
    times: list[tuple[str, str]] = field(default_factory=list)
    size: int = 0
    over: str | None = None


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
        tools = suite.tools(suite.tasks[0], {})
        self._tools = tuple({"name": t.name, "description": t.description, "parameters": t.parameters} for t in tools)
        self._kept = KeptSessions(suite, folder, self._tools, now)
        self._by_id: dict[str, _Session] = {}
        self._by_secret: dict[str, _Session] = {}
        self._past: OrderedDict[str, str] = OrderedDict()
        self._lock = Lock()

    # ---- what may be asked

    def tasks(self) -> OpenTasks:
        """The tasks by id, each with its instruction."""
        listed = tuple({"id": task.id, "instruction": task.instruction} for task in self.suite.tasks)
        return OpenTasks(
            suite=self.suite.name, suite_digest=self.suite.digest, tasks=listed, undrawn=dict(self.suite.undrawn)
        )

    def open(self, asked: Any) -> SessionDocument:
        """A new session, from `{"task", "condition", "variant", "agent"}`. Raises `SessionError`."""
        request = read_request(asked, self._tasks, self.suite.conditions)
        self.sweep()
        id, secret = f"s-{secrets.token_urlsafe(18)}", secrets.token_urlsafe(24)
        base = f"{self.address}/f/{secret}/fhir"
        world = self.suite.world(request.task, request.variant, base=base)
        started = self._now()
        session = _Session(id, secret, request, world, started, started + self._lifetime)
        with self._lock:
            if len(self._by_id) >= self._most_open:
                world.close()
                raise SessionError(
                    503, f"there are {self._most_open} open sessions, as many as there may be; finish one, or wait"
                )
            self._by_id[id] = self._by_secret[secret] = session
        return SessionDocument(
            session=id,
            task=request.task.id,
            instruction=request.task.instruction,
            system=self.suite.conditions[request.condition],
            tools=self._tools,
            base_url=base,
            token=secret,
            clock=request.task.clock,
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
            session.times.append((instant(before), instant(self._now())))
            last = session.world.fork.requests[-1]
            session.size += len(last.body) + len(last.response)
            return response

    def finish(self, id: str, asked: Any) -> VerdictsDocument:
        """End a session as `finish` takes it, judge and keep the episode. Raises `SessionError`.

        One that cannot be kept (a disk is full) stays open, and may be finished again.
        """
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
            try:
                episode, verdicts = self._concluded(session, played)
            except RunFolderError as problem:
                raise SessionError(503, f"the session cannot be kept: {problem}; finish it again") from None
            self._forget(session, "finished")
        return verdicts_on(session.asked.task, id, episode.id, verdicts)

    def sweep(self) -> None:
        """End every session whose time is over. One that cannot be kept is tried again the next time."""
        now = self._now()
        with self._lock:
            late = [session for session in self._by_id.values() if session.expires <= now]
        for session in late:
            with session.lock, suppress(RunFolderError):
                self._expire(session)

    def close(self) -> None:
        """End every session, as if its time were over. Raises `RunFolderError` where one could not be kept."""
        problems = []
        for session in list(self._by_id.values()):
            with session.lock:
                try:
                    self._expire(session)
                except RunFolderError as problem:
                    problems.append(problem)
        if problems:
            raise problems[0]

    # ---- sessions by name, and their end

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
            try:
                self._expire(session)
            except RunFolderError as problem:
                raise SessionError(503, f"this session is over, and cannot be kept: {problem}") from None
        if session.over is not None:
            raise SessionError(410, f"this session is {session.over}; open another with POST /sessions")

    def _expire(self, session: _Session) -> None:
        if session.over is not None:
            return
        if session.times:
            self._concluded(session, Played("wall_time", error="the session's time was over before it was finished"))
        self._forget(session, "expired")

    def _concluded(self, session: _Session, played: Played) -> tuple[Episode, list[Verdict]]:
        calls = tuple(calls_of(session.world.fork.requests, session.times))
        return self._kept.keep(session.asked, session.world, replace(played, calls=calls), session.started)

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
