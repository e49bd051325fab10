"""The claims of an answer: its numbers with a unit or a concept, and the time stated beside one.

What is a claim, in this order; a number for which nothing holds is none:

- an age (`32 years old`, `aged 32`), a pressure of two numbers (`120/80 mmHg`, `BP 120/80`), a count (`12 readings`);
- a number with a unit; in percent only beside a measure that is given in percent; a length of time never;
- a bare number right beside a measure of `ehr.verify.claims.concepts` or its LOINC code (`INR 2.4`);
- a number alone on its line (`The answer is 4.1` too), which is how an item of an answer stands there, where a
  measure, an age or a count is asked for (not where codes are asked for, and not with six digits or more).

No claim, wherever it stands: what was given (the same value in the same unit). No claim in a sentence: a limit (`below
3.5`, `3.5 or more`, a reference range, a target), what is denied (`not 4.1`), and what the agent says it did itself or
advises (`I ordered 40 mg`) or supposes (`if it is 3.0`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

from ehr.verify.claims.asked import Asked, Rule, is_given, windows_in
from ehr.verify.claims.beside import moment_beside, rules_beside, unit_before, unit_of_list
from ehr.verify.claims.binding import bind
from ehr.verify.claims.concepts import vocabulary
from ehr.verify.claims.kinds import is_alone, kind_of
from ehr.verify.claims.moments import Moment
from ehr.verify.claims.sentences import TIME, Number, Sentence, sentences_of
from ehr.verify.claims.spared import spared
from grounding.answer import Answer

_ONLY: Mapping[str, frozenset[Rule]] = {"age": frozenset({"age"}), "count": frozenset({"count"})}

MOST = 2_000
"""Claims of one answer that are judged: the first. Where there are more, the next stands for them, unscored."""

UNJUDGED = "unjudged"
"""The kind of that one."""


@dataclass(frozen=True, slots=True)
class ClinicalClaim:
    """One value that an answer states. A `grounding.claims.Claim`.

    `kind` is `value`, `pressure`, `age`, `count`, `mean`, `minimum`, `maximum`, `difference`, or `unjudged`. `places`
    are the decimals that it is written with, `units` what its unit may be in UCUM (none where it is bare), `second` the
    lower of two pressures. `tokens` are its sentence, `at` its place there, `heading` the line above that names what
    follows. `rules` are the ways in which it may be derived, `direct` whether it may be a value as it stands. `beside`
    are the other numbers of its sentence.
    """

    text: str
    kind: str
    span: tuple[int, int]
    value: Decimal
    places: int
    units: tuple[str, ...]
    second: Decimal | None
    tokens: tuple[str, ...]
    at: int
    codes: Mapping[int, str]
    heading: tuple[str, ...]
    alone: bool
    moment: Moment | None
    rules: frozenset[Rule]
    direct: bool
    windows: tuple[timedelta, ...]
    beside: tuple[Number, ...]
    asked: Asked


def claims_of(answer: Answer, asked: Asked) -> list[ClinicalClaim]:
    """The claims of an answer, in order, each once."""
    sentences = sentences_of(answer.text, asked.now)
    at_item = _moment_of_items(answer, sentences)
    found: dict[Any, ClinicalClaim] = {}
    heading: tuple[str, ...] = ()
    line = 0
    is_right_under = False  # where blank lines may stand between
    for sentence in sentences:
        if (sentence.line > line + 1 and not is_right_under) or not sentence.numbers:
            heading = sentence.tokens if sentence.is_whole_line and sentence.tokens[-1:] == (":",) else ()
        line, is_right_under = sentence.line, not sentence.numbers
        for claim in _of_sentence(answer.text, sentence, asked, heading):
            if claim.alone and claim.moment is None and at_item is not None:
                claim = _at(claim, at_item)
            bound = bind(claim.tokens, claim.at, vocabulary())
            key = (
                claim.kind, claim.value, claim.places, claim.units, claim.second, claim.moment, claim.rules,
                claim.direct, bound.meant if bound else (claim.tokens, claim.at), claim.heading,
            )  # fmt: skip
            found.setdefault(key, claim)
        if len(found) > MOST:
            break
    claims = list(found.values())
    return claims if len(claims) <= MOST else [*claims[:MOST], replace(claims[MOST], kind=UNJUDGED)]


def _of_sentence(text: str, sentence: Sentence, asked: Asked, heading: tuple[str, ...]) -> Iterator[ClinicalClaim]:
    alone = is_alone(sentence)
    left_alone = set() if alone else spared(sentence)
    for at, number in sentence.numbers.items():
        if at in left_alone:
            continue
        units = number.units or unit_of_list(sentence, at) or unit_before(sentence, at)
        kind, age_unit = kind_of(sentence, at, number, units, asked, alone)
        if kind is None:
            continue
        if age_unit is not None:
            units = (age_unit,)
        if kind == "age":
            given = any(_is_same_length(each, number) for each in asked.given)
        else:
            given = any(is_given(number, units, each) for each in asked.given)
        if given:
            continue
        yield _claim(text, sentence, at, number, kind, units, asked, heading, alone)


def _is_same_length(given: Number, number: Number) -> bool:
    """Whether a length of time of the instruction is an age that is stated: `32 years`."""
    unit = (number.unit_text or "years")[:1].lower()
    return given.kind == "duration" and given.value == number.value and given.unit_text[:1].lower() == unit


def _claim(
    text: str, sentence: Sentence, at: int, number: Number, kind: str, units: tuple[str, ...], asked: Asked,
    heading: tuple[str, ...], alone: bool,
) -> ClinicalClaim:  # fmt: skip
    own = frozenset(rules_beside(sentence, at)) if kind == "value" else frozenset[Rule]()
    derivable = frozenset[Rule](rule for rule in asked.rules if rule in ("mean", "minimum", "maximum", "difference"))
    rules, direct = (own, False) if own else (derivable, asked.direct or not alone)
    if kind == "value" and len(rules) == 1 and not direct:
        kind = next(iter(rules))
    if kind in _ONLY:
        rules, direct = _ONLY[kind], False
    if kind == "pressure":
        rules, direct = frozenset(), True
    return ClinicalClaim(
        text=text[number.start : number.end],
        kind=kind,
        span=(number.start, number.end),
        value=number.value,
        places=number.places,
        units=units,
        second=number.second,
        tokens=sentence.tokens,
        at=at,
        codes=sentence.codes,
        heading=heading,
        alone=alone,
        moment=moment_beside(sentence, at),
        rules=rules,
        direct=direct,
        windows=windows_in(" ".join(_spoken(sentence))),
        beside=tuple(other for place, other in sentence.numbers.items() if place != at and other.kind != "duration"),
        asked=asked,
    )


def _at(claim: ClinicalClaim, moment: Moment) -> ClinicalClaim:
    return replace(claim, moment=moment)


def _spoken(sentence: Sentence) -> Iterator[str]:
    """The words of a sentence, its lengths of time as numbers again."""
    for place, token in enumerate(sentence.tokens):
        number = sentence.numbers.get(place)
        if number is None:
            yield token
        elif number.kind == "duration":
            yield f"{number.value} {number.unit_text}"


def _moment_of_items(answer: Answer, sentences: Sequence[Sentence]) -> Moment | None:
    """Of an answer that consists of one value and one time, each an item, the time: it is that of the value."""
    lines = answer.said.count("\n") + 1
    items = [sentence for sentence in sentences if sentence.line < lines and sentence.is_whole_line]
    values = [sentence for sentence in items if is_alone(sentence)]
    times = [each for each in items if not each.numbers and set(each.tokens) <= {TIME, "."} and len(each.moments) == 1]
    if len(values) != 1 or len(times) != 1:
        return None
    (moment,) = times[0].moments.values()
    return moment if moment.days else None
