"""A text that begins or ends inside of something is mended, every character that counts at its place."""

from __future__ import annotations

import pytest

from grounding.languages.fragments import mended


def test_clauses_whose_statement_is_not_shown_become_statements() -> None:
    text = (
        "        a\n    except E:\n        b\n    except:\n        c\n    else:\n        d\n    finally:\n        e\n"
        "  elif f:\n    g\n"
    )
    assert mended(text, "").removesuffix("\n") == (
        "        a\n    with   E:\n        b\n    if 1  :\n        c\n    if 1:\n        d\n    if 1   :\n        e\n"
        "  if   f:\n    g\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "        a\ntry:\n    b\nexcept E:\n    c\n",
        "    g = f(a)(b if c\nelse d)\n",
        "    g = f('a', b if c\nelse d)\n",
        '    g = """\nelse:\n"""\n',
    ],
    ids=["a statement that is shown", "brackets side by side", "a string in a bracket", "a string"],
)
def test_other_lines_that_begin_with_such_a_word_stay(text: str) -> None:
    assert mended(text, "").removesuffix("\n") == text
