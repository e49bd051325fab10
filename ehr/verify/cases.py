"""Write logs recorded elsewhere: read from a file, played on a fork, judged, and compared with a stated verdict.

A case is a line of JSON: the record before, the expectation, the requests as sent, the claim, and (where it says so)
the verdict. See docs/state.md for its keys.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from ehr.sandbox import Fork, Record, RecordError, Request
from ehr.sandbox.body import compact, parse
from ehr.verify.expected import Answer, Expected
from ehr.verify.lenses import judge
from harness.task import Task
from harness.trace import Change, Claim, Episode, HttpRequest
from harness.values import Value, digest, first_wrong
from harness.verdict import Outcome, Verdict

_LONGEST_LINE = 20_000_000
_NO_OBJECT = {"model_type", "dict_type", "mapping_type"}
_CREATED = re.compile(r"\$(\d{1,4})(?!\d)")


class CaseError(ValueError):
    """A line is no case. The message names the file, the line, and what is wrong with it."""


class CaseRequest(Value):
    """One request of a case. `$1` in path or body is the id that request 1 created, `$base` the server's base URL."""

    method: str
    path: str
    headers: dict[str, str] = Field(default_factory=dict)
    body: Any = None
    by: str = "agent"


class Refusal(Value):
    """A request, counted from 1, that the server must refuse with this status."""

    request: int
    status: int


class StatedState(Value):
    """The verdict of the `state` lens that a case states; other notes may stand beside these."""

    outcome: Outcome
    labels: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class StatedMessage(Value):
    """The outcome of the `message` lens that a case states; null says nothing."""

    outcome: Outcome | None = None


class Case(Value):
    """One recorded write log with what was expected, and the verdict where one is stated.

    `claim`, `answer` and `note` are what the agent finished with; a null claim is a protocol without one. Numbers in
    `before` and in bodies keep their digits.
    """

    id: str
    about: str = ""
    clock: str
    patient: str | None = None
    before: tuple[dict[str, Any], ...] = ()
    expected: Expected = Expected()
    expected_answer: Answer | None = None
    requests: tuple[CaseRequest, ...] = ()
    refused: tuple[Refusal, ...] | None = None
    claim: Claim | None = None
    answer: tuple[Any, ...] = ()
    note: str = ""
    state: StatedState | None = None
    message: StatedMessage | None = None


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a case. `differences` are sentences; `agrees` is None where there are none and no verdict is stated.

    `diagnostics` are what the server said to each request that it refused, in the order of `refused`.
    """

    id: str
    verdicts: tuple[Verdict, ...]
    refused: tuple[Refusal, ...]
    agrees: bool | None
    differences: tuple[str, ...]
    diagnostics: tuple[str, ...]


def read(path: Path, warn: Callable[[str], None] = lambda sentence: None) -> Iterator[Case]:
    """The cases of a file, one a line; empty lines are passed over. Raises `CaseError` at the first that is none.

    A key that a case does not have is passed over; `warn` is told of one that looks like one which it has.
    """
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield _case(line, f"{path}, line {number}", warn)


def play(case: Case) -> Played:
    """Play a case on a fork of its own record, judge it, and compare. Raises `CaseError` where it cannot be played."""
    try:
        record = Record.build(map(compact, case.before), clock=case.clock, synthetic=True)
    except (RecordError, ValueError) as error:
        raise CaseError(f"case {case.id!r}: its record cannot be built: {error}") from None
    with record, record.fork() as fork:
        created: dict[int, str] = {}
        for number, request in enumerate(case.requests, 1):
            answer = fork.handle(_request(request, number, created, fork.base, case.id), by=request.by)
            id_ = _created_id(answer.status, answer.header("Location"))
            if id_ is not None:
                created[number] = id_
        episode = _episode(case, fork)
    verdicts = tuple(judge(_task(case), episode, has_calls=False))
    failed = [(number, request) for number, request in enumerate(episode.requests, 1) if request.status >= 400]
    refused = tuple(Refusal(request=number, status=request.status) for number, request in failed)
    differences = tuple(_differences(case, verdicts, refused))
    states = case.state is not None or (case.message is not None and case.message.outcome is not None)
    agrees = False if differences else True if states else None
    return Played(case.id, verdicts, refused, agrees, differences, tuple(_diagnostics(sent) for _, sent in failed))


def _case(line: str, where: str, warn: Callable[[str], None]) -> Case:
    if len(line) > _LONGEST_LINE:
        raise CaseError(f"{where}: longer than {_LONGEST_LINE} characters")
    try:
        value = parse(line)
        if "\\ud" in line.lower():  # halves of surrogate pairs become `?`, as on the server
            value = parse(compact(value))
    except (ValueError, RecursionError) as error:
        raise CaseError(f"{where} is not JSON: {error}; write one case, a JSON object, a line") from None
    for key in set(map(str, value)) - set(Case.model_fields) if isinstance(value, dict) else ():
        close = difflib.get_close_matches(key[:40], Case.model_fields, n=1, cutoff=0.8)
        if close and close[0] not in value:
            warn(f"{where}: a case has no {key[:40]!r}; did you mean {close[0]!r}?")
    try:
        return Case.model_validate(value, extra="ignore")
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the line"
        wrong = f"{place}: it must be a JSON object" if first["type"] in _NO_OBJECT else first_wrong(error)
        raise CaseError(f"{where} is no case: {wrong}") from None


def _request(request: CaseRequest, number: int, created: Mapping[int, str], base: str, case: str) -> Request:
    def filled(text: str) -> str:
        return _CREATED.sub(lambda m: _created(m, number, created, case), text).replace("$base", base)

    headers = request.headers or {"Content-Type": "application/fhir+json"}
    if not any(name.lower() == "content-type" for name in headers):
        headers = {**headers, "Content-Type": "application/fhir+json"}
    body = b"" if request.body is None else compact(_filled(request.body, filled))
    return Request(request.method, filled(request.path), headers, body)


def _filled(value: Any, filled: Callable[[str], str]) -> Any:
    if type(value) is str:  # and no `Number`, which is digits
        return filled(value)
    if isinstance(value, list):
        return [_filled(item, filled) for item in value]
    if isinstance(value, dict):
        return {key: _filled(item, filled) for key, item in value.items()}
    return value


def _created(match: re.Match[str], current: int, created: Mapping[int, str], case: str) -> str:
    number = int(match[1])
    if not 1 <= number < current:  # no earlier request: a price, perhaps
        return match[0]
    if number not in created:
        raise CaseError(f"case {case!r}: {match[0]} stands for what request {number} created, and it created nothing")
    return created[number]


def _created_id(status: int, location: str | None) -> str | None:
    if status != 201 or not location:
        return None
    return location.split("/_history/")[0].rsplit("/", 1)[-1]


def _task(case: Case) -> Task:
    return Task.make(
        id=case.id,
        suite="ehr",
        template="recorded",
        kind="withhold" if case.expected.is_nothing else "write",
        patient=case.patient,
        requires=("state", "answer") if case.expected_answer else ("state",),
        needs_write=not case.expected.is_nothing,
        needs_chart=False,
        instruction=case.about,
        tools=(),
        clock=case.clock,
        answer=case.expected_answer.model_dump(mode="json", exclude_none=True) if case.expected_answer else None,
        expected=case.expected.model_dump(mode="json", exclude_none=True),
    )


def _episode(case: Case, fork: Fork) -> Episode:
    return Episode(
        id=digest({"case": case.id}),
        task=case.id,
        task_digest=_task(case).digest,
        agent="recorded",
        agent_kind="imported",
        condition="default",
        variant={},
        ending="finished",
        claim=case.claim,
        answer=case.answer,
        note=case.note,
        base=fork.base,
        requests=tuple(
            HttpRequest(
                by=e.by, method=e.method, path=e.path, headers=dict(e.headers), body=e.body.decode() or None,
                status=e.status, response=e.response.decode() or None, response_headers=dict(e.response_headers),
            )
            for e in fork.requests
        ),
        changes=tuple(
            Change(
                verb=c.verb, reference=c.reference,
                before=None if c.before is None else c.before.decode(),
                after=None if c.after is None else c.after.decode(),
            )
            for c in fork.changes()
        ),
    )  # fmt: skip


def _differences(case: Case, verdicts: tuple[Verdict, ...], refused: tuple[Refusal, ...]) -> Iterator[str]:
    """Where the verdicts and refusals are not what the case states, a sentence each."""
    by_lens = {verdict.lens: verdict for verdict in verdicts}
    state, message = by_lens["state"], by_lens["message"]
    if case.refused is not None and set(case.refused) != set(refused):
        yield f"refused: stated {_shown(case.refused)}, the server refused {_shown(refused)}"
    if case.state is not None:
        if state.outcome != case.state.outcome:
            yield f"state: stated {case.state.outcome}, judged {state.outcome}"
        if state.labels != case.state.labels:
            yield f"labels: stated {list(case.state.labels)}, judged {list(state.labels)}"
        for note in case.state.notes:
            if note not in state.notes:
                yield f"notes: stated {note}, judged {list(state.notes)}"
    if case.message is not None and case.message.outcome not in (None, message.outcome):
        yield f"message: stated {case.message.outcome}, judged {message.outcome}"


def _diagnostics(request: HttpRequest) -> str:
    """What the server's answer says, in one line."""
    try:
        said = parse(request.response or "null")["issue"][0]["diagnostics"]
    except (ValueError, RecursionError, LookupError, TypeError):
        return ""
    return " ".join(str(said).split())[:160]


def _shown(refused: tuple[Refusal, ...]) -> str:
    return ", ".join(f"request {r.request} with {r.status}" for r in refused) or "nothing"
