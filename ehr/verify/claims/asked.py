"""What the agent was told: the values that are given, what is asked for, and what time it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Literal

from ehr.verify.claims.equal import same
from ehr.verify.claims.sentences import Number, Sentence, is_known_unit, sentences_of
from ehr.verify.claims.words import plain
from ehr.verify.spellings import SPELLINGS, ucum_of
from ehr.verify.units import convert

Rule = Literal["mean", "minimum", "maximum", "count", "difference", "age"]
"""How a number may be derived. The rules are in `ehr.verify.claims.series`, that of ages in `support` beside it."""

NOW = "It is now {clock}."
"""The sentence of the suite's prompts that tells the time (an ISO instant)."""

_NOW = re.compile(r"It is now (\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d))")
_RULES: tuple[tuple[Rule, re.Pattern[str]], ...] = (
    (
        "mean",
        re.compile(
            r"(?:(?<!\bi )(?<!\byou )(?<!\bwe )(?<!\bthey )(?<!\bnot )(?<!\bdoes )(?<!\bto )\bmean"
            r"|\baverages?|\baveraged|\baveraging|\bavg)\b"
            r"(?! (?:arterial|corpuscular|platelet|blood pressure|volume|cell|that))"
        ),
    ),
    ("minimum", re.compile(r"\b(?:lowest|minimum|min|nadir|trough|smallest|least)\b(?! (?:one|two|dose))")),
    ("maximum", re.compile(r"\b(?:highest|maximum|max|peak|greatest|largest|how high)\b(?! dose)")),
    (
        "count",
        re.compile(r"\bhow many\b|\b(?:number|count) of (?:\w+ ){0,4}(?:reading|result|measurement|sample|value)s"),
    ),
    (
        "difference",
        re.compile(
            r"\b(?:differences?|changed?|increased?|decreased?|rise|rose|risen|fell|fall|fallen|drop|dropped|gain"
            r"|gained|lost|loss|delta|higher|lower|up|down) (?:by|of)\b|\bhow much (?:has|have|did|more|less)\b"
            r"|\b(?:difference|change|delta|increase|decrease|rise|drop|gain|loss) (?:is|was|in|between|from)\b"
        ),
    ),
    ("age", re.compile(r"\bhow old\b|\bage\b|\baged\b|\bcompleted years\b")),
)
_DIRECT = re.compile(
    r"\b(?:latest|most recent|newest|current|currently)\b|\blast(?! (?:\d|few|couple|day|week|month|year))"
)
_WINDOW = re.compile(
    r"\b(?:last|past|previous|prior|preceding|these|within)\s+(?:the\s+)?(?:last\s+|past\s+)?"
    r"(\d{1,4}|a|an|one|two|three)?[\s-]*"
    r"(minute|hour|day|week|month|year|hr|h)s?\b"
)
_LENGTHS = {"minute": 1 / 60, "hour": 1, "hr": 1, "h": 1, "day": 24, "week": 168, "month": 24 * 30, "year": 24 * 365}
_NUMBERS = {None: 1, "a": 1, "an": 1, "one": 1, "two": 2, "three": 3}
_CODES = re.compile(r"\bcodes?\b")


@dataclass(frozen=True, slots=True)
class Asked:
    """What the texts that the agent was told say.

    `sentences` are theirs, `given` their numbers, `units` the units that they name (in UCUM), `rules` what they ask to
    be derived, `direct` whether they ask for a value as it stands, `windows` the lengths of time back from now,
    `wants_codes` whether codes are asked for, `words` the text in lower case.
    """

    words: str
    sentences: tuple[Sentence, ...]
    given: tuple[Number, ...]
    units: tuple[str, ...]
    rules: frozenset[Rule]
    direct: bool
    windows: tuple[timedelta, ...]
    wants_codes: bool
    now: datetime | None


@lru_cache(maxsize=512)
def asked_in(given: tuple[str, ...]) -> Asked:
    """What these texts say."""
    now = clock_in(given)
    text = _NOW.sub("", "\n".join(given))  # what time it is is no time that the instruction speaks of
    low = plain(text)
    sentences = sentences_of(text, now)
    rules = rules_in(low)
    return Asked(
        words=low,
        sentences=sentences,
        given=tuple(number for sentence in sentences for number in sentence.numbers.values()),
        units=_units_in(text),
        rules=rules,
        direct=bool(_DIRECT.search(low)) or not rules,
        windows=windows_in(low),
        wants_codes=bool(_CODES.search(low)),
        now=now,
    )


def clock_in(given: Sequence[str]) -> datetime | None:
    """What time it is, where the texts say it as `NOW` does."""
    found = [match[1] for text in given for match in _NOW.finditer(text)]
    try:
        moment = datetime.fromisoformat(found[-1]) if found else None
    except ValueError:
        return None
    return moment if moment is None or moment.tzinfo else moment.replace(tzinfo=UTC)


def rules_in(low: str) -> frozenset[Rule]:
    """The rules that the words of a text (in lower case) name."""
    return frozenset(rule for rule, pattern in _RULES if pattern.search(low))


def windows_in(low: str) -> tuple[timedelta, ...]:
    """The lengths of time, back from now, that a text (in lower case) names."""
    found = []
    for number, unit in _WINDOW.findall(low):
        count = int(number) if number.isdigit() else _NUMBERS.get(number or None, 1)
        found.append(timedelta(hours=count * _LENGTHS[unit]))
    return tuple(dict.fromkeys(found))


def _units_in(text: str) -> tuple[str, ...]:
    """The units that a text names, with a number or without."""
    found: dict[str, None] = {}
    for match in re.finditer(r"[^\s,;()]+(?:\s(?:m2|m²|sq m)\b)?", text):
        written = match[0].rstrip(".?!:")
        is_written_so = any(sign in written for sign in "/[{%°") or written.casefold() in _ALONE
        if is_written_so and is_known_unit(written):
            found |= dict.fromkeys(ucum_of(written))
    return tuple(found)


_ALONE = frozenset(name for name in SPELLINGS if len(name) > 1 and name not in ("in", "yr", "yrs", "year", "years"))


def is_given(number: Number, units: Sequence[str], told: Number) -> bool:
    """Whether a number of an answer, in these units, is one that was told (of a pair, either): the same value in the
    same unit, or both bare; in another unit after conversion, rounded as it is written."""
    if told.second == number.second:
        value = told.value
    elif number.second is None and number.value in (told.value, told.second):
        value = number.value
    else:
        return False
    if not units or not told.units:
        return not units and not told.units and number.value == value and told.kind != "duration"
    for source in told.units:
        for unit in units:
            converted = value if unit == source else convert(value, source, unit)
            if converted is not None and _is_same(number, converted, exactly=unit == source):
                return True
    return False


def _is_same(number: Number, value: Decimal, *, exactly: bool) -> bool:
    how = same(number.value, number.places, value, converted=not exactly)
    return how == "same" or (how == "converted" and not exactly)
