"""A judge's reply, read strictly: what is not exactly in the form is no vote, and never counts as a "no".

Two things are told apart:

- A reply that cannot be taken for one verdict is no vote: no JSON object, a key too many or missing, a value of another
  type, a word that is no verdict, a key twice, `supported` with a claim that failed. It is unscored, and asked again.
- A reply that is a verdict, but should be looked at, is a vote with flags. They change nothing about what it says.

Flags:
- `TEXT_CONTRADICTS`: the words of the reason speak for another verdict. English phrases are looked for, so some of it
  is missed, and now and then it is wrong.
- `NO_CLAIM_NAMED`: not supported, and no claim is named that failed.
- `CLAIM_NOT_IN_ANSWER`: a claim that failed is not in what the agent said, word for word.
- `UNKNOWN_CALL`: a call is named that is not in the trace.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal, get_args

from grounding.answer import normal
from judges.rubric import Said

Fault = Literal["unparseable", "contradiction"]

FLAGS = ("TEXT_CONTRADICTS", "NO_CLAIM_NAMED", "CLAIM_NOT_IN_ANSWER", "UNKNOWN_CALL")

MAX_TEXT = 4_000
"""Characters of a reason, of a claim, and of a reply that cannot be read, that are kept."""
MAX_ITEMS = 100
"""Claims and calls that are kept of one vote."""

_FENCED = re.compile(r"```(?:json)?\s*\n(.*)\n\s*```", re.S)


class BallotError(ValueError):
    """A reply that is no vote; the message says why in one clause."""

    def __init__(self, fault: Fault, message: str) -> None:
        super().__init__(message)
        self.fault: Fault = fault


@dataclass(frozen=True, slots=True)
class Ballot:
    """What a judge said."""

    said: Said
    reason: str
    failed: tuple[str, ...]
    calls: tuple[int, ...]


def read_ballot(text: str, *, trace: bool) -> Ballot:
    """The vote in a reply's text; with a trace it names calls. Raises `BallotError`."""
    given = _object(text)
    wanted = ("reason", "failed", "calls", "verdict") if trace else ("reason", "failed", "verdict")
    for key in wanted:
        if key not in given:
            raise BallotError("unparseable", f"{key!r} is missing")
    for key in given:
        if key not in wanted:
            raise BallotError("unparseable", f"there is no {key[:40]!r} in a vote")
    if not isinstance(given["reason"], str):
        raise BallotError("unparseable", "'reason' must be text")
    failed = _list(given, "failed", str, "texts")
    calls = _list(given, "calls", int, "whole numbers") if trace else []
    said = given["verdict"]
    if said not in get_args(Said) or not isinstance(said, str):
        raise BallotError("unparseable", f"the verdict is {str(said)[:40]!r}; it must be {_or(get_args(Said))}")
    if failed and said != "not_supported":
        raise BallotError("contradiction", f"the verdict is {said!r}, and yet {failed[0][:80]!r} is said to fail")
    return Ballot(
        said=said,  # type: ignore[arg-type]  # it is one of the words
        reason=given["reason"][:MAX_TEXT],
        failed=tuple(claim[:MAX_TEXT] for claim in failed[:MAX_ITEMS]),
        calls=tuple(calls[:MAX_ITEMS]),
    )


def flags_of(ballot: Ballot, *, answer: str, positions: Collection[int]) -> tuple[str, ...]:
    """What should be looked at. `answer` is all that the agent said, `positions` are those of its calls."""
    said = normal(answer)
    raised = {
        "TEXT_CONTRADICTS": text_contradicts(ballot.said, ballot.reason),
        "NO_CLAIM_NAMED": ballot.said == "not_supported" and not ballot.failed,
        "CLAIM_NOT_IN_ANSWER": any(not normal(claim) or normal(claim) not in said for claim in ballot.failed),
        "UNKNOWN_CALL": any(call not in positions for call in ballot.calls),
    }
    return tuple(flag for flag in FLAGS if raised[flag])


_WORDS = r"(?:support(?:ed|s)?|ground(?:ed|s)?|verif(?:ied|y)|confirm(?:ed|s)?|shown?|seen|found|established|backed)"
_AGAINST = re.compile(
    rf"(?:\b(?:not|cannot|never|nowhere|fails? to|without)|n['’]t)\b(?:\s+\w+){{0,3}}?\s+{_WORDS}\b"
    r"|\b(?:unsupported|ungrounded|unverified|unfounded|fabricated|made up|hallucinated|contradict(?:s|ed)?)\b"
    rf"|\bno (?:evidence|support|call|result)\b|\bdoes not (?:appear|occur)\b|\bnot_supported\b",
    re.I,
)
_DOUBLE = re.compile(r"\b(?:no|none|nothing|neither|never|not one|without any|not)\b|n['’]t\b", re.I)
_FOR = re.compile(
    r"\b(?:all|every|each|both)\b[^.;]{0,60}?\b(?:is|are|was|were)\s+(?:fully |clearly |directly )?"
    r"(?:supported|grounded|verified|confirmed|shown|seen|found)\b"
    r"|\b(?:fully|entirely|completely) supported\b|\bno (?:claim|entity) (?:is|was|fails)\b",
    re.I,
)
_ALONE = re.compile(
    r"\W*(?:(?:it|this|that|the (?:answer|claim)|all(?: of it)?|every claim|all claims) (?:is|are) )?"
    r"(?:fully |entirely |completely |clearly )?(?P<said>not[_ ]supported|unsupported|supported|no[_ ]claim)\W*",
    re.I,
)
"""A reason that is a verdict and nothing else."""
_CONCLUSION = re.compile(r"\bverdict\s*(?:is|:|=)\s*[\"'`*]*(not[_ ]supported|supported|no[_ ]claim)\b", re.I)


def text_contradicts(said: Said, reason: str) -> bool:
    """Whether the words of `reason` speak for another verdict than `said`, as far as English phrases tell."""
    concluded = {found.lower().replace(" ", "_") for found in _CONCLUSION.findall(reason)}
    if alone := _ALONE.fullmatch(reason):
        concluded.add(alone["said"].lower().replace(" ", "_").replace("unsupported", "not_supported"))
    if concluded and concluded != {said}:
        return True
    sentences = [sentence for sentence in re.split(r"(?<=[.;!?])\s+|\n+", reason) if sentence.strip()]
    if said == "supported":
        return any(_speaks_against(sentence) for sentence in sentences)
    if said == "not_supported":
        return bool(sentences) and bool(_FOR.search(sentences[-1])) and not any(map(_speaks_against, sentences))
    return False


def _speaks_against(sentence: str) -> bool:
    found = _AGAINST.search(sentence)
    # "No claim is unsupported", "there is nothing that is not supported": two negations are none.
    return found is not None and not _DOUBLE.search(sentence[: found.start()])


def _object(text: str) -> dict[str, Any]:
    """The one JSON object that is the whole text, or the whole of one block of code that is the whole text."""
    stripped = text.strip()
    fenced = _FENCED.fullmatch(stripped)
    try:
        value = json.loads(fenced[1] if fenced else stripped, object_pairs_hook=_once, parse_constant=_no_number)
    except BallotError:
        raise
    except (ValueError, RecursionError):
        raise BallotError("unparseable", "the reply is no JSON object, or more than one") from None
    if not isinstance(value, dict):
        raise BallotError("unparseable", "the reply is JSON, but no object")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise BallotError("unparseable", "a key stands there twice")
    return value


def _no_number(name: str) -> Any:
    raise BallotError("unparseable", f"{name} is no number of JSON")


def _list(given: dict[str, Any], key: str, kind: type, words: str) -> list[Any]:
    value = given[key]
    if not isinstance(value, list) or not all(type(item) is kind for item in value):
        raise BallotError("unparseable", f"{key!r} must be a list of {words}")
    if kind is str and not all(item.strip() for item in value):
        raise BallotError("unparseable", f"{key!r} holds an empty text")
    return value


def _or(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"
