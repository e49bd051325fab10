"""The `message` lens: the episode graded the old way, by what was sent or said, for comparison only.

A payload is the body of a create that was acknowledged with 2xx (POST, transaction entry, PUT that created), or stands
as JSON in the agent's text or note. Equal payloads in both count once; refused ones never count. It passes when every
expected create has a satisfying payload of its own, every expected update or delete an acknowledged satisfying
request, and there are no more payloads than expected creates.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from ehr.verify.assignment import assign
from ehr.verify.clauses import World, check
from ehr.verify.difference import DECODER, check_depth, is_same, parse
from ehr.verify.expected import NOTHING, ClauseSpec, Expected, Update
from ehr.verify.form import problems
from ehr.verify.writes import Write, writes
from harness.task import Task
from harness.trace import Episode
from harness.values import digest
from harness.verdict import Clause, Verdict

CONFIG = digest({"lens": "message", "version": 1})

_MOST_TEXT = 1_000_000
_MOST_PAYLOADS = 500  # so many outnumber what any task expects; more can change nothing
_OBJECT = re.compile(r'\{\s*"')
_NO_PAYLOAD = ("OperationOutcome", "Parameters", "Bundle")


def judge_message(task: Task, episode: Episode) -> Verdict:
    """The verdict of the `message` lens. Never raises for what an agent did."""
    expected = Expected.model_validate(task.expected, extra="ignore") if task.expected else NOTHING
    broken = problems(expected)
    if broken:
        return Verdict(episode=episode.id, lens="message", config=CONFIG, outcome="unscored", reason=broken[0])
    written = [w for w in writes(episode) if w.by == "agent"]
    payloads = _payloads(episode, written)
    after = {write.reference: body for write in written if write.reference and (body := _after(write, episode))}
    judged = [list(_clauses(a, payloads, written, World(episode.base, after))) for a in expected.alternatives()]
    chosen = next((c for c in judged if all(clause.outcome == "pass" for clause in c)), judged[0])
    holds = all(clause.outcome == "pass" for clause in chosen)
    return Verdict(
        episode=episode.id, lens="message", config=CONFIG, outcome="pass" if holds else "fail", clauses=tuple(chosen)
    )


def _clauses(
    expected: Expected, payloads: Sequence[dict[str, Any]], written: Sequence[Write], world: World
) -> Iterator[Clause]:
    # A pair that satisfies counts 1: the best assignment satisfies as many expectations as can be.
    scores = [
        [(int(p.get("resourceType") == c.type and _satisfies(c.clauses, p, world)),) for p in payloads]
        for c in expected.creates
    ]
    paired = assign(scores)
    for number, column in enumerate(paired):
        holds = column is not None and scores[number][column] == (1,)
        yield _clause(f"creates[{number}]", holds, "a satisfying payload of its own")
    for number, update in enumerate(expected.updates):
        holds = any(_is_update(w, update, world) for w in written)
        yield _clause(f"updates[{number}]", holds, "an acknowledged satisfying request")
    for number, reference in enumerate(expected.deletes):
        holds = any(w.accepted and w.method == "DELETE" and w.reference == reference for w in written)
        yield _clause(f"deletes[{number}]", holds, "an acknowledged request")
    yield Clause(
        name="payloads",
        outcome="pass" if len(payloads) <= len(expected.creates) else "fail",
        expected=f"at most {len(expected.creates)}",
        actual=str(len(payloads)),
    )


def _clause(name: str, holds: bool, wanted: str) -> Clause:
    return Clause(name=name, outcome="pass" if holds else "fail", expected=wanted, actual="there" if holds else "none")


def _is_update(write: Write, update: Update, world: World) -> bool:
    if not write.accepted or write.reference != update.reference or write.method not in ("PUT", "PATCH"):
        return False
    body = write.sent if write.method == "PUT" else write.stored or world.written.get(update.reference)
    return isinstance(body, dict) and "resourceType" in body and _satisfies(update.clauses, body, world)


def _after(write: Write, episode: Episode) -> dict[str, Any] | None:
    """The resource after an acknowledged write: as answered, else as sent, and of a patch as it stands at the end."""
    if not write.accepted or write.method == "DELETE":
        return None
    if write.stored is not None:
        return write.stored
    if write.method != "PATCH":
        return write.sent if isinstance(write.sent, dict) else None
    stands = next((c.after for c in episode.changes if c.reference == write.reference), None)
    try:
        return None if stands is None else parse(stands)
    except ValueError:
        return None


def _satisfies(clauses: Sequence[ClauseSpec], body: dict[str, Any], world: World) -> bool:
    return all(check(spec, body, world).outcome == "pass" for spec in clauses)


def _payloads(episode: Episode, written: Sequence[Write]) -> list[dict[str, Any]]:
    creates = [w for w in written if "create" in w.verbs and isinstance(w.sent, dict)]
    acknowledged = [w.sent for w in creates if w.accepted and isinstance(w.sent, dict)]
    refused = [w.sent for w in creates if not w.accepted]
    payloads = list(acknowledged)
    for said in (found for text in _texts(episode) for found in _said(text)):
        if len(payloads) >= _MOST_PAYLOADS:
            break
        if not any(is_same(said, other) for other in [*payloads, *refused]):
            payloads.append(said)
    return payloads


def _texts(episode: Episode) -> list[str]:
    return [*(text.text for text in episode.texts), episode.note]


def _said(text: str) -> Iterator[dict[str, Any]]:
    """The FHIR resources that stand as JSON in a text, however deep inside other JSON; entries of a Bundle one by one.

    The work is bounded: a text that begins objects over and over without end is given up at last.
    """
    text, position = text[:_MOST_TEXT], 0
    patience = 20 * len(text) + 1_000_000  # in characters read; telling an error's line reads all before it, fast
    while patience > 0 and (start := _OBJECT.search(text, position)):
        position = start.start()
        try:
            value, position = DECODER.raw_decode(text, position)
            check_depth(value)
        except json.JSONDecodeError as error:
            patience -= error.pos - position + error.pos // 20 + 50
            position += 1
        except RecursionError:
            patience -= 100_000
            position += 1
        except ValueError:  # deeper than anything that a server takes
            continue
        else:
            yield from _resources(value)


def _resources(value: Any) -> Iterator[dict[str, Any]]:
    kind = value.get("resourceType") if isinstance(value, dict) else None
    if isinstance(kind, str) and kind not in _NO_PAYLOAD:
        yield value
        return
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in below:
        yield from _resources(part)
