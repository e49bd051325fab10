"""A judge: a model under a rubric, asked for one vote at a time.

Votes differ because they are independent calls (the number of the vote is in the cache's key), not because of any
setting: nothing here assumes that a model has a temperature. What the reply lacks is data, never a "no".
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from harness.cache import CacheMissError
from harness.clock import Clock, wall_clock
from harness.faults import redacted
from harness.limits import Budget
from harness.models.model import Answered, Model, NoReplyError, Reply, Said, Turn
from harness.plain import clean
from harness.trace import Usage
from harness.values import digest
from judges.ballot import MAX_TEXT, BallotError, flags_of, read_ballot
from judges.fence import Fence, fence_for
from judges.looking import Looking
from judges.rubric import CLOSING, LAST_LOOK, OPENING, Rubric
from judges.subject import Extract, Subject, by_index, with_trace, without_trace
from judges.vote import JudgeSetting, Vote, VoteFault, outcome_of

CHARACTERS = 200_000
"""Characters of a trace that a judge is shown: about 50,000 tokens."""
VOTES = 5
"""Votes of one judge about one episode."""
TURNS = 12
"""Turns of a judge that looks things up."""
SECONDS = 600.0
"""The time for one vote."""

MOST_VOTES = 1_000
"""Votes that one judge may have: attempts of one vote are so far apart in the cache."""

Long = Literal["cut", "search"]
FormName = Literal["schema", "text"]

_OF_STOPS: Mapping[str, VoteFault] = {"refused": "refused", "cut_off": "cut_off", "context_full": "context_full"}
_OF_ENDINGS: Mapping[str, VoteFault] = {
    "provider_error": "provider_error", "auth": "auth", "wall_time": "wall_time", "refused": "refused",
    "context_full": "context_full",
}  # fmt: skip


@dataclass(frozen=True)
class Judge:
    """A model under a rubric.

    A trace of more than `characters` is cut in the middle (`long`: cut), or looked up by the judge (search). The form
    of the reply is asked of the provider (`form`: schema), or by the prompt alone (text), for servers that know no
    schemas. `sdk` names the packages that the requests go through, with their versions.
    """

    model: Model
    rubric: Rubric
    votes: int = VOTES
    characters: int = CHARACTERS
    long: Long = "cut"
    form: FormName = "schema"
    label: str | None = None
    is_rule: bool = False
    about: str = ""
    sdk: Mapping[str, str] = field(default_factory=dict)
    turns: int = TURNS
    seconds: float = SECONDS
    now: Clock = wall_clock
    monotonic: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        """Raises `ValueError` where there would be no vote, or too many."""
        if not 1 <= self.votes <= MOST_VOTES:
            raise ValueError(f"a judge has 1 to {MOST_VOTES} votes, not {self.votes!r}")

    @property
    def name(self) -> str:
        """The model's name, or the label it was given (two settings of one model need two names)."""
        return self.label or self.model.name

    @cached_property
    def setting(self) -> JudgeSetting:
        """All that it is set to."""
        can_look = self.rubric.trace and self.long == "search"
        rubric = Rubric(self.rubric.name, self.rubric.trace, looks=can_look)
        return JudgeSetting.make(
            name=self.name,
            kind="scripted" if self.is_rule else "model",
            about=self.about or f"the model {self.model.name}",
            rubric=rubric.name,
            trace=rubric.trace,
            votes=self.votes,
            model=dict(self.model.settings),
            prompt_digest=rubric.digest,
            prompt=rubric.system,
            form=self.form,
            characters=self.characters,
            long=self.long if rubric.trace else None,
            turns=self.turns if can_look else None,
        )

    def view(self, subject: Subject) -> View | None:
        """What it is shown of this subject; None where even question and answer are too long."""
        if not self.rubric.trace:
            extract = without_trace(subject)
            is_short = sum(map(len, extract.lines)) <= self.characters
            return View(extract, looks=False) if is_short else None
        whole = with_trace(subject, self.characters)
        if whole is None or not whole.left_out or self.long == "cut":
            return None if whole is None else View(whole, looks=False)
        index = by_index(subject, self.characters)
        return None if index is None else View(index, looks=True)

    def case(self, subject: Subject, key: bytes) -> Case | None:
        """What it is asked about this subject; `key` makes the marker of the fence. None where it is too long."""
        view = self.view(subject)
        if view is None:
            return None
        return Case.of(subject, Rubric(self.rubric.name, self.rubric.trace, view.looks), view, key)

    def vote(
        self, case: Case, number: int, *, before: Vote | None = None, budget: Budget | None = None
    ) -> Vote:  # fmt: skip
        """One vote. `before` is the same vote that came to nothing, if it is asked again; what that cost is added.

        Never raises for what a model or its provider did wrong.
        """
        attempt = before.attempt + 1 if before else 0
        asking = _Asking(self, case, attempt * MOST_VOTES + number - 1, budget or Budget())
        started = self.now()
        said = asking.result()
        subject = case.subject
        doubt = case.doubt
        usage, billed = asking.usage, asking.billed_usd
        if before is not None:
            usage = before.usage.plus(usage)
            billed = None if billed is None or before.billed_usd is None else billed + before.billed_usd
        return Vote(
            episode=subject.episode,
            config=self.setting.config,
            number=number,
            judge=self.name,
            rubric=self.rubric.name,
            trace=self.rubric.trace,
            outcome=outcome_of(said.get("said"), doubt),
            doubt=doubt,
            left_out=case.left_out,
            seen=case.seen,
            attempt=attempt,
            model=str(self.model.settings.get("model", self.model.name)),
            prompt_digest=case.rubric.digest,
            sdk=dict(self.sdk),
            looked=asking.looked,
            kept=asking.kept,
            usage=usage,
            billed_usd=billed,
            started=started,
            ended=self.now(),
            **said,
        )


@dataclass(frozen=True, slots=True)
class View:
    """What a judge is shown, and whether it looks up the rest."""

    extract: Extract
    looks: bool

    def seen(self, subject: Subject, *, trace: bool) -> str:
        """The digest of everything that there is to see: a vote belongs to just this."""
        return subject.seen if trace else digest(list(self.extract.lines))


@dataclass(frozen=True)
class Case:
    """A subject as one judge is asked about it: the user's message, and why it may not be all of it."""

    subject: Subject
    rubric: Rubric
    message: str
    fence: Fence
    seen: str
    left_out: str | None
    doubt: str | None

    @classmethod
    def of(cls, subject: Subject, rubric: Rubric, view: View, key: bytes) -> Case:
        """The message: our words, the fenced lines, our words. The fence is sound for what may be looked up, too."""
        extract = view.extract
        fence = fence_for(key, (*extract.lines, *subject.call_lines) if rubric.looks else extract.lines)
        parts = [f"{OPENING}{fence.marker}."]
        doubts: tuple[str, ...] = ()
        if rubric.trace:
            doubts = subject.doubts
            if extract.left_out:
                doubts = (extract.left_out, *doubts)
                parts.append(f"Of the trace, {extract.left_out}; a line with the part left_out stands in their place.")
        parts += ["", fence.around(extract.lines), "", CLOSING]
        return cls(
            subject=subject,
            rubric=rubric,
            message="\n".join(parts),
            fence=fence,
            seen=view.seen(subject, trace=rubric.trace),
            left_out=extract.left_out,
            doubt="; ".join(doubts) or None,
        )


class _Asking:
    """One vote under way."""

    def __init__(self, judge: Judge, case: Case, repeat: int, budget: Budget) -> None:
        self._judge, self._case, self._repeat, self._budget = judge, case, repeat, budget
        self._looking = Looking(case.subject, case.fence) if case.rubric.looks else None
        self.usage = Usage(cost_usd=0.0)
        self.billed_usd: float | None = 0.0
        self.kept = False
        self.looked = 0
        self._began = judge.monotonic()

    def result(self) -> dict[str, Any]:
        """The fields of a vote that say what it says, or why it says nothing."""
        try:
            reply = self._last_reply()
        except NoReplyError as fault:
            return _faulty(_OF_ENDINGS.get(fault.ending, "provider_error"), str(fault))
        except CacheMissError as miss:
            return _faulty("not_kept", str(miss))
        if reply is None:
            return _faulty("no_verdict", f"no verdict in {self._judge.turns} turns")
        text = clean(reply.text)
        if reply.stop != "ended":
            return _faulty(_OF_STOPS[reply.stop], f"the reply ended as {reply.stop}", text)
        if reply.calls and self._looking is None:
            return _faulty("unparseable", "the reply calls a tool, and there is none", text)
        try:
            ballot = read_ballot(text, trace=self._case.rubric.trace)
        except BallotError as problem:
            return _faulty(problem.fault, str(problem), text)
        subject = self._case.subject
        answer = f"{subject.text}\n{subject.outcome or ''}"
        return {
            "said": ballot.said,
            "failed": ballot.failed,
            "calls": ballot.calls,
            "reason": ballot.reason,
            "flags": flags_of(ballot, answer=answer, positions={call.position for call in subject.calls}),
        }

    def _last_reply(self) -> Reply | None:
        """The reply that is to be the vote; None where a judge only looked on until its turns were over."""
        history: list[Turn] = [Said(self._case.message)]
        reply = self._ask(history)
        if self._looking is None:
            return reply
        for turn in range(2, self._judge.turns + 1):
            if not reply.calls or reply.stop != "ended":
                return reply
            history += [reply, self._look(reply, is_last=turn == self._judge.turns)]
            reply = self._ask(history)
        return None if reply.calls else reply

    def _look(self, reply: Reply, *, is_last: bool) -> Answered:
        assert self._looking is not None, "a judge that cannot look is not answered"
        self.looked += len(reply.calls)
        results = [self._looking.result(asked) for asked in reply.calls]
        if is_last:
            results[-1] = replace(results[-1], text=f"{results[-1].text}\n\n{LAST_LOOK} {CLOSING}")
        return Answered(tuple(results))

    def _ask(self, history: list[Turn]) -> Reply:
        judge, rubric = self._judge, self._case.rubric
        reply = judge.model.reply(
            rubric.system,
            history,
            self._looking.tools if self._looking else (),
            repeat=self._repeat,
            seconds=judge.seconds - (judge.monotonic() - self._began),
            form=rubric.form if judge.form == "schema" else None,
        )
        self._budget.pay(reply.billed_usd)
        is_first = self.usage.calls == 0
        self.usage = self.usage.plus(reply.usage)
        self.kept = reply.is_kept and (self.kept or is_first)
        billed = self.billed_usd
        self.billed_usd = None if billed is None or reply.billed_usd is None else billed + reply.billed_usd
        return reply


def _faulty(fault: VoteFault, error: str, text: str = "") -> dict[str, Any]:
    said: dict[str, Any] = {"said": None, "fault": fault, "error": redacted(clean(error))[:MAX_TEXT]}
    return {**said, "raw": text[:MAX_TEXT]} if text else said
