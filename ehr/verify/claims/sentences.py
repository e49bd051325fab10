"""An answer taken apart: sentences of words, numbers with their units, times, and what only looks like a number.

A number is written in digits, with a point (or, before a unit, a comma) before its decimals. What is set aside first,
because its digits are no quantity: FHIR resources as JSON, addresses, references, times, codes, telephone numbers,
numbers in words (`HbA1c`, `12-lead`, `3rd`), and the numerals of a list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Literal

from ehr.verify.claims.moments import Moment, moments_in
from ehr.verify.claims.words import plain, word
from ehr.verify.difference import DECODER
from ehr.verify.spellings import SPELLINGS, ucum_of
from ehr.verify.units import is_ucum

NUMBER, TIME, CODE = "#", "@", "~"
"""Tokens that stand for a number with its unit, a time, and a code or a thing that is none of these."""

LONGEST = 120
"""Tokens of a sentence; a longer one is cut at a number, so that no answer takes long."""

_OWN = {NUMBER: "№", TIME: "at", CODE: "≈"}  # what an answer says by these signs is no number, time or code
_SYMBOLS = {"Mg": "magnesium", "Ca": "calcium"}  # written so; in lower case one is a unit, the other says "about"
_EMPHASIS = re.compile(r"`|</?(?:b|strong|em|i|code)>|(?<!\w)[*_]{1,3}(?=[\w+-])|(?<=[\w%)²])[*_]{1,3}(?!\w)|\*\*")

_MOST_RESOURCES = 500
_LONGEST_GAP = 40
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,40}(?:[.,]\d{1,40})?)"
_NUMBER = re.compile(
    rf"(?<![\w.^*])(?P<sign>(?<!\S)[+-]|(?<=[(=:~])[+-])?(?P<digits>{_DIGITS})(?:e(?P<power>[+-]?\d{{1,2}})\b)?"
)
_PAIR = re.compile(r"(?<![\w./-])(\d{2,3})(?:\s?/\s?| over )(\d{2,3})(?![\d/]|[.,]\d)")
_SCALE = re.compile(r"\s?(?:/|out of)\s?(?:10|15|30|100)(?![\d/]|\.\d)")
_SET_ASIDE = re.compile(
    r"https?://\S+|urn:\S+"
    r"|\b[A-Z][a-zA-Z]{3,}/[A-Za-z0-9.\-]{1,64}(?:/_history/\w+)?"  # a reference
    r"|(?<![\w-])\d{4,5}-\d{3,4}-\d{1,2}(?![\w-])"  # an NDC
    r"|\+\d[\d ()-]{6,}\d|\(?\b\d{3}\)?[ -]\d{3}-\d{4}\b|\b\d{3}-\d{4}\b"  # a telephone number
    r"|(?i:\b(?:mrn|id|ids|identifier|code|codes|snomed(?:[ -]ct)?|rxnorm|ndc|icd-?10(?:-cm)?|cvx|version|step|steps"
    r"|page|pages|type|stage|grade|class|room|bed|no\.|number|task|section|phase)\b\s*[:#=]?\s*)(?<!\d)\d[\w.-]*"
    r"|#\d+"
    r"|\bC[Aa][ -]?(?:125|19-9|15-3)\b"  # a marker of cancer, no calcium
)
_LOINC = re.compile(r"(?<![\w.-])(\d{3,7}-\d)(?![\w-]|\.\d)")
_BRACKETED = re.compile(r"[(\[]\s?([^\s()]*[/%°][^\s()]*|mmHg|mm\[Hg\]|kg|cm|bpm)\s?[)\]]")
_NUMERAL = re.compile(r"(?m)^[ \t]*\d{1,2}[.)](?=[ \t])")
_TOKEN = re.compile(r"[^\W_]+|[^\w\s]")
_END = re.compile(r"[.!?;](?=\s|$)|\n")
_SHORT = re.compile(r"(?:\b(?:e\.g|i\.e|approx|vs|no|dr|mr|mrs|ms|st|ca|avg|max|min|temp|resp)|(?:^|\s)[a-z])$")

_DURATION = re.compile(
    r"\s?y\.\s?o\b\.?|\s?yo\b"
    r"|[\s-]?(?:seconds?|secs?|minutes?|mins?|hours?|hrs?|hr|h|days?|d|weeks?|wks?|wk|months?|mos?"
    r"|years?|yrs?|yr|a|y)\b(?:/o\b)?(?!\s?/|/)",
    re.IGNORECASE,
)
_OPEN_UNIT = re.compile(r"(?:(?:x|×)?\s?10\s?[\^*]\s?\d{1,2}|[A-Za-z%µμ°\[{/])[A-Za-z0-9%µμ°\[\]{}*/^._²³]{0,40}")
_BLANKS = re.compile(r"[ \t]{0,3}-?")
_RATE = re.compile(r"\s?(?:/|per\b)")
_LETTER = re.compile(r"[CF](?=[\s).,;]|$)")
_AGED = re.compile(r"(?<![\d.])[1-8]?\d$")
_ALONE = re.compile(r"[+-]?[\d.,]{1,40}\s{0,2}")
_NOT_IN_PROSE = frozenset({"in", "c", "f", "y", "a", "per minute"})

UnitKind = Literal["none", "unit", "duration"]


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a text, with what stands behind it. `places` are the decimals that it is written with.

    `units` are what its unit may be in UCUM, none where there is none; of a duration they are not told. `second` is
    what stands behind the stroke in `120/80`. `start` and `end` are the place of all of it in the text.
    """

    start: int
    end: int
    value: Decimal
    places: int
    kind: UnitKind
    units: tuple[str, ...] = ()
    unit_text: str = ""
    second: Decimal | None = None
    is_rate: bool = False


Mark = tuple[int, int, "Number | Moment | tuple[str, ...] | str"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as tokens: words, signs, and a token each for a number, a time, a code, and a unit in brackets.

    What they mean is beside, by their place.
    """

    line: int
    tokens: tuple[str, ...]
    numbers: dict[int, Number]
    moments: dict[int, Moment]
    codes: dict[int, str]
    units: dict[int, tuple[str, ...]]
    is_whole_line: bool


def sentences_of(text: str, now: datetime | None) -> tuple[Sentence, ...]:
    """The sentences of a text, in order."""
    return tuple(_sentences(text, now))


def _sentences(text: str, now: datetime | None) -> Iterator[Sentence]:
    text = _EMPHASIS.sub(lambda match: " " * len(match[0]), text)
    low = plain(text)
    marks = sorted(_marks(text, low, now), key=lambda mark: mark[0])
    line = place = 0
    for start, end, newlines, whole in _spans(low, marks):
        line += newlines
        growing, at = _Growing(), start
        while place < len(marks) and marks[place][0] < end:
            mark_start, mark_end, meant = marks[place]
            growing.tokens += _tokens(text, low, at, mark_start)
            growing.add(meant)
            place, at = place + 1, mark_end
            if len(growing.tokens) >= LONGEST:
                yield growing.sentence(line, False)
                growing, whole = _Growing(), False
        growing.tokens += _tokens(text, low, at, end)
        if growing.tokens:
            yield growing.sentence(line, whole)


class _Growing:
    """A sentence as far as it has been read."""

    def __init__(self) -> None:
        self.tokens: list[str] = []
        self._meant: dict[int, Number | Moment | tuple[str, ...] | str] = {}

    def add(self, meant: Number | Moment | tuple[str, ...] | str) -> None:
        """A token for what is meant."""
        self._meant[len(self.tokens)] = meant
        self.tokens.append(NUMBER if isinstance(meant, Number) else TIME if isinstance(meant, Moment) else CODE)

    def sentence(self, line: int, is_whole_line: bool) -> Sentence:
        """What was read."""
        meant = self._meant.items()
        return Sentence(
            line,
            tuple(self.tokens),
            {place: each for place, each in meant if isinstance(each, Number)},
            {place: each for place, each in meant if isinstance(each, Moment)},
            {place: each for place, each in meant if isinstance(each, str)},
            {place: each for place, each in meant if isinstance(each, tuple)},
            is_whole_line,
        )


def _tokens(text: str, low: str, start: int, end: int) -> list[str]:
    found = [(match.group(), text[match.start() : match.end()]) for match in _TOKEN.finditer(low, start, end)]
    return [_OWN.get(each) or _SYMBOLS.get(written) or word(each) for each, written in found]


def _spans(low: str, marks: list[Mark]) -> Iterator[tuple[int, int, int, bool]]:
    """The places of the sentences: start, end, lines begun since the last one, and whether it is a whole line."""
    inside = _Inside(marks)
    start, newlines, begins_line = 0, 0, True
    for match in _END.finditer(low):
        is_line_end = match[0] == "\n"
        is_behind_mark = inside.holds(match.start() - 1)
        if inside.holds(match.start()):
            continue
        if match[0] == "." and not is_behind_mark and _SHORT.search(low[max(start, match.start() - 8) : match.start()]):
            continue
        stop = low.find("\n", match.end())
        ends_line = is_line_end or not low[match.end() : stop if stop >= 0 else len(low)][:_LONGEST_GAP].strip()
        yield start, match.start(), newlines, begins_line and ends_line
        start, newlines, begins_line = match.end(), int(is_line_end), is_line_end
    yield start, len(low), newlines, begins_line


class _Inside:
    """Whether a place is inside one of the marks; asked for rising places."""

    def __init__(self, marks: list[Mark]) -> None:
        self._marks = marks
        self._at = 0

    def holds(self, place: int) -> bool:
        while self._at < len(self._marks) and self._marks[self._at][1] <= place:
            self._at += 1
        return self._at < len(self._marks) and self._marks[self._at][0] <= place


def _marks(text: str, low: str, now: datetime | None) -> Iterator[Mark]:
    taken = bytearray(len(low))

    def take(start: int, end: int, meant: Number | Moment | tuple[str, ...] | str) -> Iterator[Mark]:
        if taken.find(1, start, end) < 0:
            taken[start:end] = b"\1" * (end - start)
            yield start, end, meant

    for start, end in _resources(text):
        yield from take(start, end, "")
    for start, end, moment in moments_in(low, now):
        yield from take(start, end, moment)
    for match in _SET_ASIDE.finditer(text):
        yield from take(match.start(), match.end(), "")
    for match in _LOINC.finditer(text):
        yield from take(match.start(), match.end(), match[1])
    for match in _NUMERAL.finditer(text):
        yield from take(match.start(), match.end(), "")
    for match in _BRACKETED.finditer(text):
        if units := tuple(ucum_of(match[1])):
            yield from take(match.start(), match.end(), units)
    for number in _numbers(text, low, taken):
        yield from take(number.start, number.end, number)


def _resources(text: str) -> Iterator[tuple[int, int]]:
    """The places of FHIR resources as JSON: what an agent sent or would have sent is no word about what it saw."""
    at = 0
    for _ in range(_MOST_RESOURCES):
        key = text.find('"resourceType"', at)
        start = text.rfind("{", at, key) if key >= 0 else -1
        if start < 0:
            return
        try:
            _, at = DECODER.raw_decode(text, start)
        except (json.JSONDecodeError, RecursionError, ValueError):
            at = key + 1
            continue
        yield start, at


def _numbers(text: str, low: str, taken: bytearray) -> Iterator[Number]:
    end = 0
    for match in _NUMBER.finditer(low):
        start = match.start()
        if start < end or taken[start]:
            continue
        pair = _PAIR.match(low, start)
        if pair and not _SCALE.match(low, start + len(pair[1])):
            number = _with_unit(text, low, start, pair.end(), Decimal(pair[1]), 0, Decimal(pair[2]))
        else:
            number = _single(text, low, match)
        if number is not None:
            end = number.end
            yield number


def _single(text: str, low: str, match: re.Match[str]) -> Number | None:
    digits = match["digits"]
    is_comma = "," in digits and not re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", digits)
    cut = digits.split(",")[0] if is_comma else digits.replace(",", "")
    end = match.end() if not is_comma else match.start("digits") + len(digits)
    if is_comma:
        as_decimal = _with_unit(
            text, low, match.start(), end, Decimal(digits.replace(",", ".")), len(digits.split(",")[1])
        )
        if as_decimal is not None and as_decimal.kind == "unit":
            return as_decimal
        end = match.start("digits") + len(cut)
    written = (match["sign"] or "") + cut + (f"e{match['power']}" if match["power"] and not is_comma else "")
    try:
        value = Decimal(written)
    except InvalidOperation:
        return None
    places = max(0, -int(value.as_tuple().exponent)) if value.is_finite() else 0
    return _with_unit(text, low, match.start(), end, value, places)


def _with_unit(
    text: str, low: str, start: int, end: int, value: Decimal, places: int, second: Decimal | None = None
) -> Number | None:
    """The number with the unit behind it; None where a letter behind it makes it part of a word."""
    blanks = _BLANKS.match(low, end)
    after = blanks.end() if blanks else end
    duration = _DURATION.match(low, end)
    if duration and not _is_rate_unit(low, duration.end()):
        return Number(
            start, duration.end(), value, places, "duration", unit_text=duration[0].strip(" -"), second=second
        )
    scale = _SCALE.match(low, end) if second is None else None
    for place in dict.fromkeys((after, end)) if scale is None else ():
        unit = _unit_at(text, low, place)
        if unit is not None:
            length, units = unit
            stop = place + length
            rate = _RATE.match(low, stop) is not None
            shown = text[place:stop]
            return Number(start, stop, value, places, "unit", units, shown, second, rate)
    stop = scale.end() if scale else end
    if low[stop : stop + 1] == "+" and not low[stop + 1 : stop + 2].isdigit():
        return None  # a grade, or a limit: `pulse 2+`, `65+`
    if stop < len(low) and (low[stop].isalnum() or (low[stop] == "-" and low[stop + 1 : stop + 2].isalpha())):
        return None
    return Number(start, stop, value, places, "none", second=second)


def _is_rate_unit(low: str, end: int) -> bool:
    return low[end : end + 1] == "/"


@lru_cache(maxsize=1)
def _prose_units() -> re.Pattern[str]:
    names = sorted((name for name in SPELLINGS if name not in _NOT_IN_PROSE), key=len, reverse=True)
    return re.compile("(?:" + "|".join(re.escape(name) for name in names) + r")(?![\w^*])")


def _unit_at(text: str, low: str, at: int) -> tuple[int, tuple[str, ...]] | None:
    """How long the unit is that begins here, and what it may be in UCUM."""
    spelled = _prose_units().match(low[at : at + 40].replace("µ", "u").replace("μ", "u"))
    letter = _LETTER.match(text, at)
    candidates = [spelled.end()] if spelled else [1] if letter or low[at : at + 1] == "%" else []
    open_unit = _OPEN_UNIT.match(text, at)
    if open_unit:
        written = open_unit[0].rstrip(".,")
        if any(sign in written for sign in "/[{*^") or _is_alone(low, at, at + len(open_unit[0])):
            candidates.append(len(written))
    for length in sorted(set(candidates), reverse=True):
        units = tuple(ucum_of(text[at : at + length]))
        if units and not (letter and length == 1 and _is_of_a_woman(low, at)):
            return length, units
    return None


def _is_of_a_woman(low: str, at: int) -> bool:
    """Whether a letter behind a number is not the unit of a temperature: `45F with chest pain`."""
    return low[at] == "f" and _AGED.search(low, max(0, at - 4), at) is not None


def _is_alone(low: str, start: int, end: int) -> bool:
    """Whether a word is all that stands on its line behind a number."""
    line = low.rfind("\n", 0, start) + 1
    return _ALONE.fullmatch(low[line:start]) is not None and low[end : end + 1] in ("", "\n")


def is_known_unit(text: str) -> bool:
    """Whether a text is a unit, in UCUM or as people write it."""
    return bool(ucum_of(text)) or is_ucum(text)
