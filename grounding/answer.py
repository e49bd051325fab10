"""An answer as text, and whether it is a refusal."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from harness.plain import json_text
from harness.trace import Episode

LONGEST = 400_000
"""Characters of an answer that are judged; a longer one is unscored."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What an agent said at the end. Claims are looked for in `text`, a refusal in `said`.

    They differ where a protocol has an answer and a note: the note is the agent's word as well, so what it names must
    be supported, but a remark beside a refusal does not undo the refusal.
    """

    text: str
    said: str

    @classmethod
    def of(cls, text: str) -> Answer:
        """An answer that is one text."""
        return cls(text, text)


def answer_of(episode: Episode) -> Answer:
    """The answer of an episode: its values, one a line (text as it is, anything else as JSON), then its note.

    What is said is the values, or the note where there is none (an agent that never finished has only that).
    """
    values = "\n".join(json_text(value) for value in episode.answer)
    parts = [part for part in (values, episode.note) if part.strip()]
    return Answer("\n".join(parts), parts[0] if parts else "")


def is_refusal(answer: Answer, refusals: Iterable[str]) -> bool:
    """Whether the answer is one of these sentences and nothing else."""
    said = normal(answer.said)
    return bool(said) and any(said == normal(sentence) for sentence in refusals)


_QUOTES = str.maketrans({**dict.fromkeys("’‘‛′ʼ", "'"), **dict.fromkeys("“”„‟″", '"'), **dict.fromkeys("‐‑‒–—―−", "-")})
_WRAPPING = " \t\n\"'`*_"


def normal(sentence: str) -> str:
    """A sentence without what typists and models vary: case, forms of quotes and dashes, blanks, marks around it."""
    text = unicodedata.normalize("NFKC", sentence).translate(_QUOTES).casefold()
    text = re.sub(r" ?-+ ?", "-", " ".join(text.split()))
    return text.strip(_WRAPPING).rstrip(".").strip(_WRAPPING)
