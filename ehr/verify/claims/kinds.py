"""What kind of claim a number is, if it may be one: an age, a pressure, a count, or a value."""

from __future__ import annotations

from collections.abc import Sequence

from ehr.verify.claims.asked import Asked
from ehr.verify.claims.beside import code_before
from ehr.verify.claims.binding import bind
from ehr.verify.claims.concepts import DOSE, MEASURES, vocabulary
from ehr.verify.claims.sentences import CODE, NUMBER, TIME, Number, Sentence
from ehr.verify.claims.words import is_link, words_in

_LONGEST_BARE = 6
_AGES = {"y": "a", "a": "a", "m": "mo", "w": "wk", "d": "d"}
_PRESSURES = frozenset({"systolic", "diastolic"})
_AROUND = frozenset({NUMBER, TIME, CODE, "on", *".(),-|*•:=[]{}$\\\"'"})
_ANSWERING = words_in(
    "the it is was she he patient at answer final boxed value result level latest most recent current of"
)
_COUNTED = words_in("reading result measurement observation sample value")


def kind_of(
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
    if is_count(tokens, at) and number.places == 0 and (bound or _asks_for(asked)):
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


def is_alone(sentence: Sentence) -> bool:
    """Whether a line holds one number, and beside it at most its time and words that call it the answer."""
    rest = [token for token in sentence.tokens if token not in _AROUND and token not in _ANSWERING]
    is_named = any(sentence.codes.values())  # by a LOINC code; of what is set aside nothing is kept
    return sentence.is_whole_line and len(sentence.numbers) == 1 and not rest and not is_named


def _says_age(tokens: Sequence[str], at: int) -> bool:
    behind = [each for each in tokens[at + 1 : at + 4] if each not in ("-",)]
    if behind[:1] == ["old"] or behind[:2] == ["of", "age"]:
        return True
    before = at - 1
    while before >= 0 and tokens[before] in (":", "is", "was", "of", "=", "(", "now", "currently", "at"):
        before -= 1
    return before >= 0 and tokens[before] in ("age", "aged")


def is_count(tokens: Sequence[str], at: int) -> bool:
    """Whether the words behind a number make it a count of values."""
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
