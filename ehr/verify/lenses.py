"""Every lens that applies to an episode of the `ehr` suite, from the task and the episode alone."""

from __future__ import annotations

from collections.abc import Callable

from ehr.verify.answer import CONFIG as ANSWER
from ehr.verify.answer import judge_answer
from ehr.verify.message import CONFIG as MESSAGE
from ehr.verify.message import judge_message
from ehr.verify.state import CONFIG as STATE
from ehr.verify.state import judge_state
from grounding.loss import lost_evidence
from harness.task import Task
from harness.trace import Episode
from harness.verdict import Verdict


def judge(task: Task, episode: Episode, *, has_calls: bool = True) -> list[Verdict]:
    """The verdicts of `state`, of `answer` where one is expected, of `message`, and of `grounding`.

    `grounding` judges what the calls showed, so it does not apply where an episode has none on record (`has_calls`).
    Where the episode ended in a way that nobody can judge, or its self-check failed, all of them are unscored. Where
    its source could not tell everything (`loss`), what may have been lost is unscored and never a fail.
    """
    lenses: list[tuple[str, str, Callable[[Task, Episode], Verdict]]] = [("state", STATE, judge_state)]
    if task.answer is not None:
        lenses.append(("answer", ANSWER, judge_answer))
    lenses.append(("message", MESSAGE, judge_message))
    if has_calls:
        from ehr.verify.claims import CLINICAL, judge_claims

        lenses.append(("grounding", CLINICAL.digest, judge_claims))
    label, reason = _unscored_because(episode)
    if reason is None:
        return [_unless_lost(run(task, episode), episode) for _, _, run in lenses]
    labels = (label,) if label else ()
    return [
        Verdict(
            episode=episode.id, lens=lens, config=config, outcome="unscored", label=label, labels=labels, reason=reason
        )
        for lens, config, _ in lenses
    ]


def _unless_lost(verdict: Verdict, episode: Episode) -> Verdict:
    """The verdict, unless what it rests on may have been lost: the record's changes and requests, or the answer itself.

    What the grounding lens misses, it says by itself.
    """
    lost = lost_evidence(episode.loss)
    is_touched = verdict.lens in ("state", "message") or verdict.label == "NO_ANSWER"
    if not lost or not is_touched or verdict.outcome == "unscored":
        return verdict
    reason = f"the episode's source could not tell everything: {lost[0]}"
    return Verdict(episode=verdict.episode, lens=verdict.lens, config=verdict.config, outcome="unscored", reason=reason)


def _unscored_because(episode: Episode) -> tuple[str | None, str | None]:
    if not episode.scored:
        return None, f"the episode ended with {episode.ending}"
    check = episode.self_check
    if check is not None and check.foreign:
        return "FOREIGN_CHANGE", f"somebody else changed the server: {check.foreign[0]}"
    if check is not None and not check.agrees:
        return "SELF_CHECK_FAILED", f"the self-check failed: {(check.differences or ('no reason given',))[0]}"
    return None, None
