"""The claims of an answer: its numbers with a unit or a concept, and the time stated beside one.

What is a claim, in this order; a number for which nothing holds is none:

- an age (`32 years old`, `aged 32`), a pressure of two numbers (`120/80 mmHg`, `BP 120/80`), a count (`12 readings`);
- a number with a unit; in percent only beside a measure that is given in percent; a length of time never;
- a bare number right beside a measure of `ehr.verify.claims.concepts` or its LOINC code (`INR 2.4`);
- a number alone on its line, which is how an item of an answer stands there, where a measure, an age or a count is
  asked for (not where codes are asked for, and not with six digits or more).

No claim, wherever it stands: what was given (the same value in the same unit). No claim in a sentence: a limit (`below
3.5`, `3.5 or more`, a reference range, a target), what is denied (`not 4.1`), and what the agent says it did itself or
advises (`I ordered 40 mg`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

from ehr.verify.claims.asked import Asked, Rule, is_given, rules_in, windows_in
from ehr.verify.claims.binding import bind
from ehr.verify.claims.concepts import DOSE, MEASURES, vocabulary, words_of_phrases
from ehr.verify.claims.moments import Moment
from ehr.verify.claims.sentences import CODE, NUMBER, TIME, Number, Sentence, sentences_of
from ehr.verify.claims.words import is_link, words_in
from grounding.answer import Answer

MOST = 2_000
"""Claims of one answer that are judged: the first."""

_LONGEST_BARE = 6
_AGES = {"y": "a", "a": "a", "m": "mo", "w": "wk", "d": "d"}
_PRESSURES = frozenset({"systolic", "diastolic"})
_COUNTED = words_in("reading result measurement observation sample value")
_LIMITS = words_in(
    "< > ≤ ≥ below under above over than least most exceed exceeding exceed beyond until upto reference ref target"
    " threshold goal limit cutoff range baseline"
)
_LIMITS_BEHIND = words_in("more less above below higher lower greater over under fewer")
_BEFORE_LIMITS = words_in("a an the of ( : = is was at her his value level - or equal to")
_OTHER_TIMES = words_in("born birth dob due until till before scheduled by")
_RANGES = (("-",), ("–",), ("—",), ("to",))
_DENIALS = words_in("no not never without nor neither cannot")
_BEFORE_DENIALS = words_in("a an the of any value reading result level equal to at is was be been being ever")
_NO_MEASURE = frozenset({"t", "low", "high"})  # words of phrases that say something by themselves
_CAUSES = words_in("because since given after due despite although as")
_ADVICE = re.compile(
    r"\b(?:recommend|recommended|suggest|suggested|advise|propose|consider|would|should|will)\b[^,#@]*$"
)
_ACTS = re.compile(
    r"(?:^|[.;:,(] ?|\b(?:i|we|ve|have|has|been|be|successfully|and|then|also|now|will) )"
    r"(?:also |now |successfully |then |just )?"
    r"(?:ordered|order|prescribed|placed|requested|scheduled|recorded|charted|entered|documented|added|created|updated"
    r"|set|changed|corrected|wrote|written|amended|replaced|started|gave|given|administered|stored|saved|submitted|sent"
    r"|posted|put)\b"
)


@dataclass(frozen=True, slots=True)
class ClinicalClaim:
    """One value that an answer states. A `grounding.claims.Claim`.

    `kind` is `value`, `pressure`, `age`, `count`, `mean`, `minimum`, `maximum` or `difference`. `places` are the
    decimals that it is written with, `units` what its unit may be in UCUM (none where it is bare), `second` the lower
    of two pressures. `tokens` are its sentence, `at` its place there, `heading` the line above that names what follows.
    `rules` are the ways in which it may be derived, `direct` whether it may be a value as it stands. `beside` are the
    other numbers of its sentence.
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
    for sentence in sentences:
        if sentence.line > line + 1 or not sentence.numbers:
            heading = sentence.tokens if sentence.is_whole_line and sentence.tokens[-1:] == (":",) else ()
        line = sentence.line
        for claim in _of_sentence(answer.text, sentence, asked, heading):
            if claim.alone and claim.moment is None and at_item is not None:
                claim = _at(claim, at_item)
            bound = bind(claim.tokens, claim.at, vocabulary())
            key = (
                claim.kind, claim.value, claim.places, claim.units, claim.second, claim.moment, claim.rules,
                claim.direct, bound.meant if bound else (claim.tokens, claim.at), claim.heading,
            )  # fmt: skip
            found.setdefault(key, claim)
        if len(found) >= MOST:
            break
    return list(found.values())[:MOST]


def _of_sentence(text: str, sentence: Sentence, asked: Asked, heading: tuple[str, ...]) -> Iterator[ClinicalClaim]:
    alone = _is_alone(sentence)
    spared = set() if alone else _spared(sentence)
    for at, number in sentence.numbers.items():
        if at in spared:
            continue
        units = number.units or _unit_of_list(sentence, at) or _unit_before(sentence, at)
        kind, age_unit = _kind(sentence, at, number, units, asked, alone)
        if kind is None:
            continue
        if age_unit is not None:
            units = (age_unit,)
        if kind == "age":
            given = any(each.kind == "duration" and each.value == number.value for each in asked.given)
        else:
            given = any(is_given(number.value, units, number.second, each) for each in asked.given)
        if given:
            continue
        yield _claim(text, sentence, at, number, kind, units, asked, heading, alone)


def _claim(
    text: str, sentence: Sentence, at: int, number: Number, kind: str, units: tuple[str, ...], asked: Asked,
    heading: tuple[str, ...], alone: bool,
) -> ClinicalClaim:  # fmt: skip
    own = frozenset(_rules_beside(sentence, at)) if kind == "value" else frozenset[Rule]()
    derivable = frozenset[Rule](rule for rule in asked.rules if rule in ("mean", "minimum", "maximum", "difference"))
    rules, direct = (own, False) if own else (derivable, asked.direct or not alone)
    if kind == "value" and len(rules) == 1 and not direct:
        kind = next(iter(rules))
    if kind in ("age", "count"):
        rules, direct = frozenset({kind}), False  # type: ignore[arg-type]
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
        moment=_moment(sentence, at),
        rules=rules,
        direct=direct,
        windows=windows_in(" ".join(_spoken(sentence))),
        beside=tuple(other for place, other in sentence.numbers.items() if place != at and other.kind != "duration"),
        asked=asked,
    )


def _kind(
    sentence: Sentence, at: int, number: Number, units: tuple[str, ...], asked: Asked, alone: bool
) -> tuple[str | None, str | None]:
    """What kind of claim a number is (None for none), and the unit of an age."""
    tokens = sentence.tokens
    if number.kind == "duration":
        is_age = (
            number.unit_text.lower().rstrip(".").endswith("o")
            or _says_age(tokens, at)
            or (alone and "age" in asked.rules)
        )
        return ("age", _AGES.get(number.unit_text[:1].lower())) if is_age else (None, None)
    if number.is_rate:
        return None, None
    bound = bind(tokens, at, vocabulary())
    if number.second is not None:
        told = (bound.meant & _PRESSURES if bound else None) or (alone and _asks_for(asked) & _PRESSURES)
        is_pressure = units == ("mm[Hg]",) or "kPa" in units or (not units and told)
        return ("pressure" if is_pressure else None), None
    if units == ("%",):
        is_share = tokens[at + 1 : at + 2] == ("of",)
        meant = bound.meant if bound and not is_share else _asks_for(asked) if alone else frozenset[str]()
        in_percent = any(MEASURES[key].in_percent for key in meant if key != DOSE) or (alone and "%" in asked.units)
        in_percent = in_percent or code_before(tokens, sentence.codes, at) is not None
        return ("value" if in_percent else None), None
    if units:
        return "value", None
    if alone:
        return _kind_of_item(number, asked)
    if _is_count(tokens, at) and number.places == 0 and (bound or _asks_for(asked)):
        return "count", None
    if _says_age(tokens, at) and number.places == 0:
        return "age", "a"
    behind = tokens[at + 1] if at + 1 < len(tokens) else "."
    if behind[0].isalpha() and not is_link(behind):
        return None, None
    is_named = (bound is not None and bound.strong) or code_before(tokens, sentence.codes, at) is not None
    return ("value" if is_named else None), None


def _kind_of_item(number: Number, asked: Asked) -> tuple[str | None, str | None]:
    """A bare number alone on its line."""
    if number.places == 0 and "count" in asked.rules and _asks_for(asked):
        return "count", None
    if number.places == 0 and "age" in asked.rules and abs(number.value) < 200:
        return "age", "a"
    is_code = asked.wants_codes or (number.places == 0 and abs(number.value) >= 10 ** (_LONGEST_BARE - 1))
    return ("value" if _asks_for(asked) and not is_code else None), None


def _asks_for(asked: Asked) -> frozenset[str]:
    """The measures of the table that the texts name."""
    found = (keys for sentence in asked.sentences for _, _, keys in vocabulary().occurrences(sentence.tokens))
    return frozenset(key for keys in found for key in keys if key != DOSE)


def _is_alone(sentence: Sentence) -> bool:
    """Whether a line holds one number, and beside it at most its time."""
    rest = [
        token for token in sentence.tokens if token not in (NUMBER, TIME, CODE, ".", "(", ")", ",", "on", "at", "-")
    ]
    return sentence.is_whole_line and len(sentence.numbers) == 1 and not rest


def _spared(sentence: Sentence) -> set[int]:
    """The places of numbers that are limits, denied, or what the agent did; of a range both ends are."""
    tokens = sentence.tokens
    spared = {at for at in sentence.numbers if _is_limit(tokens, at) or _is_denied(tokens, at) or _is_act(tokens, at)}
    places = sorted(sentence.numbers)
    for first, second in pairwise(places):
        between = tokens[first + 1 : second]
        is_range = between in _RANGES or (between == ("and",) and "between" in tokens[:first])
        is_limit = tokens[max(0, first - 1) : first] == ("normal",) or _is_beside_value(tokens, first)
        if is_range and (is_limit or first in spared or second in spared):
            spared |= {first, second}
    return spared


def _is_beside_value(tokens: Sequence[str], at: int) -> bool:
    """Whether a range goes with a number that is stated before: `3.2 is between 3.0 and 3.5`, `3.2 (3.5-5.1)`."""
    before = tokens[max(0, at - 1) : at]
    if before not in (("between",), ("(",), ("[",), ("|",)):
        return False
    place = at - 2
    if before == ("|",) and tokens[place] == "|":
        return False
    while place >= 0 and tokens[place] in (
        "is",
        "was",
        "lie",
        "fall",
        "which",
        ",",
        "(",
        ")",
        "and",
        "thus",
        "|",
        "l",
        "h",
        "low",
        "high",
        "normal",
    ):
        place -= 1
    return place >= 0 and tokens[place] == NUMBER


def _is_limit(tokens: Sequence[str], at: int) -> bool:
    if tokens[at + 1 : at + 2] == ("or",) and at + 2 < len(tokens) and tokens[at + 2] in _LIMITS_BEHIND:
        return True
    if tokens[max(0, at - 2) : at] == ("(", "normal"):
        return True
    place = at - 1
    while place >= 0 and tokens[place] in _BEFORE_LIMITS:
        place -= 1
    return place >= 0 and tokens[place] in _LIMITS and not (tokens[place] == "over" and _is_count(tokens, at))


def _is_denied(tokens: Sequence[str], at: int) -> bool:
    place = at - 1
    while place >= 0 and _is_before_denial(tokens[place]):
        place -= 1
    if place >= 1 and tokens[place] == "t" and tokens[place - 1] in ("'", "’"):
        return True
    if place >= 1 and tokens[place - 1 : place + 1] in (("rather", "than"), ("instead", "of")):
        return True
    return place >= 0 and tokens[place] in _DENIALS


def _is_before_denial(word: str) -> bool:
    return word in _BEFORE_DENIALS or (word in words_of_phrases() and word not in _NO_MEASURE)


def _is_act(tokens: Sequence[str], at: int) -> bool:
    start = max((place + 1 for place in range(at) if tokens[place] in _CAUSES), default=0)
    before = " ".join(tokens[start:at])
    return _ACTS.search(before) is not None or _ADVICE.search(before) is not None


def _says_age(tokens: Sequence[str], at: int) -> bool:
    behind = [each for each in tokens[at + 1 : at + 4] if each not in ("-",)]
    if behind[:1] == ["old"] or behind[:2] == ["of", "age"]:
        return True
    before = at - 1
    while before >= 0 and tokens[before] in (":", "is", "was", "of", "=", "(", "now", "currently", "at"):
        before -= 1
    return before >= 0 and tokens[before] in ("age", "aged")


def _is_count(tokens: Sequence[str], at: int) -> bool:
    if at and tokens[at - 1] in ("first", "last", "top", "latest", "past"):
        return False
    if tokens[max(0, at - 2) : at] == ("n", "="):
        return True
    for place in range(at + 1, min(at + 5, len(tokens))):
        if tokens[place] in _COUNTED:
            return True
        if not tokens[place][0].isalpha():
            return False
    return False


def code_before(tokens: Sequence[str], codes: Mapping[int, str], at: int) -> str | None:
    """The LOINC code right before a number."""
    place = at - 1
    while place >= 0 and place not in codes and (is_link(tokens[place]) or tokens[place] in (":", "=", "(", ")")):
        place -= 1
    return codes.get(place) or None


def _unit_of_list(sentence: Sentence, at: int) -> tuple[str, ...]:
    """The unit behind the last number of a list or a range: `4.1, 4.3 and 4.0 mmol/L`."""
    if sentence.numbers[at].kind != "none":
        return ()
    places = [place for place in sentence.numbers if place > at]
    last = at
    for place in places:
        between = sentence.tokens[last + 1 : place]
        if not between or not all(token in (",", "and", "or", "to", "-", "–", "—", "&", "/", "→") for token in between):
            return ()
        if sentence.numbers[place].kind == "unit":
            return sentence.numbers[place].units
        last = place
    return ()


def _unit_before(sentence: Sentence, at: int) -> tuple[str, ...]:
    """The unit in brackets before a number: `Potassium (mmol/L): 4.1`."""
    if sentence.numbers[at].kind != "none":
        return ()
    place = at - 1
    while place >= 0 and place not in sentence.units:
        if not (is_link(sentence.tokens[place]) or sentence.tokens[place] in (":", "=", "|", ",", NUMBER)):
            return ()
        place -= 1
    return sentence.units[place] if place >= 0 else ()


def _rules_beside(sentence: Sentence, at: int) -> frozenset[Rule]:
    """The rules that the words between the last number and this one name; else the words behind it, up to a comma."""
    start = max((place for place in sentence.numbers if place < at), default=-1) + 1
    derivable = ("mean", "minimum", "maximum", "difference")
    before = [rule for rule in rules_in(" ".join(sentence.tokens[start:at])) if rule in derivable]
    if before:
        return frozenset(before)
    if sentence.tokens[max(0, at - 1) : at] in (("up",), ("down",)):
        return frozenset({"difference"})
    behind: list[str] = []
    for token in sentence.tokens[at + 1 :]:
        if token == NUMBER:
            return frozenset()  # what is said is said of the next one
        if token in (",", ";", "and"):
            break
        behind.append(token)
    return frozenset(rule for rule in rules_in(" ".join(behind)) if rule in derivable)


def _moment(sentence: Sentence, at: int) -> Moment | None:
    """The time that is stated with a number: right behind it, or before it with nothing but its measure between."""
    for place in range(at + 1, len(sentence.tokens)):
        token = sentence.tokens[place]
        if token == TIME:
            return sentence.moments[place] if sentence.moments[place].days else None
        if not (is_link(token) or token in ("(", ",", "-", "–", "[", "@", "%")):
            break
    for place in range(at - 1, -1, -1):
        token = sentence.tokens[place]
        if token == TIME:
            is_its = not _OTHER_TIMES.intersection(sentence.tokens[max(0, place - 2) : place])
            return sentence.moments[place] if is_its and sentence.moments[place].days else None
        if not (
            is_link(token) or token in words_of_phrases() or token in (":", ",", "(", ")", "=", "-", "–", "|", CODE)
        ):
            break
    return None


def _moment_of_items(answer: Answer, sentences: Sequence[Sentence]) -> Moment | None:
    """Of an answer that consists of one value and one time, each an item, the time: it is that of the value."""
    lines = answer.said.count("\n") + 1
    items = [sentence for sentence in sentences if sentence.line < lines and sentence.is_whole_line]
    values = [sentence for sentence in items if _is_alone(sentence)]
    times = [each for each in items if not each.numbers and set(each.tokens) <= {TIME, "."} and len(each.moments) == 1]
    if len(values) != 1 or len(times) != 1:
        return None
    (moment,) = times[0].moments.values()
    return moment if moment.days else None


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
