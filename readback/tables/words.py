"""Numbers and names as the tables write them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from readback.summary.document import LensRate

NONE = "–"
"""What stands where a number is undefined or does not apply."""


def percent(rate: float | None, digits: int = 0) -> str:
    """A rate in per cent, without the sign. 99.7 of a rate that is not 1 is never rounded to 100, nor 0.3 to 0."""
    if rate is None:
        return NONE
    text = f"{100 * rate:.{digits}f}"
    if 0 < rate < 1 and float(text) in (0.0, 100.0):
        edge = 10.0**-digits
        return f"<{edge:.{digits}f}" if float(text) == 0.0 else f">{100 - edge:.{digits}f}"
    return text


def interval(ci95: tuple[float, float] | None) -> str:
    """An interval of rates in per cent."""
    return NONE if ci95 is None else f"{100 * ci95[0]:.1f}–{100 * ci95[1]:.1f}"


def signed(difference: float | None) -> str:
    """A difference of rates in percentage points, with its sign."""
    return NONE if difference is None else f"{100 * difference:+.1f}".replace("-", "−")


def signed_interval(ci95: tuple[float, float] | None) -> str:
    """An interval of differences in percentage points."""
    return NONE if ci95 is None else f"{signed(ci95[0])} to {signed(ci95[1])}"


def p_value(p: float | None) -> str:
    """A p-value with three decimals."""
    return NONE if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def share(part: int, whole: int) -> str:
    """`3/20`, or nothing where there is no whole."""
    return f"{part}/{whole}" if whole else NONE


def thousands(count: int) -> str:
    """`950`, `12.3k`, `4.1M`."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if count >= size:
            return f"{count / size:.1f}{letter}"
    return str(count)


def seconds(value: float | None) -> str:
    """A duration in seconds."""
    return NONE if value is None else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def most(counts: Mapping[str, int], limit: int) -> str:
    """The most frequent words with their counts, and how many words are left out."""
    shown = [f"{word}\u00a0{count}" for word, count in list(counts.items())[:limit]]
    if len(counts) > limit:
        shown.append(f"+{len(counts) - limit}\u00a0more")
    return ", ".join(shown) or NONE


def variant_words(variant: Mapping[str, Any]) -> str:
    """A variant in words: `validation hapi, protocol tools`; what is null is left out."""
    return ", ".join(f"{name} {value}" for name, value in sorted(variant.items()) if value is not None) or "none"


def reasons_of_grounding(rates: Iterable[LensRate]) -> list[str]:
    """Why a grounded rate is undefined, or has no null beside it: a note for each reason."""
    found: set[str] = set()
    for one in rates:
        if one.rate is None:
            found.add(f"{NONE} Grounded: {one.why}.")
        elif one.null_rate is None and one.null_why is not None:
            found.add(f"{NONE} Null: {one.null_why}.")
    return sorted(found)
