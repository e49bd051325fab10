"""Numbers on the command line: a wrong one is named with what was expected."""

from __future__ import annotations

import math
from collections.abc import Callable

import typer


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """A parser of whole numbers from `least` (to `most`)."""
    wanted = f"a whole number, {least} or more" if most is None else f"a whole number from {least} to {most}"

    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise typer.BadParameter(f"{text!r} is not {wanted}") from None
        if number < least or (most is not None and number > most):
            raise typer.BadParameter(f"{text!r} is not {wanted}")
        return number

    return parse


def amount(text: str) -> float:
    """A parser of finite numbers above zero: money, seconds."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        raise typer.BadParameter(f"{text!r} is not a number above 0, such as 2.50")
    return number
