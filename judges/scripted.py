"""Judges that are rules and no models: to try the whole path without a key, and to see what a real judge must beat.

    scripted:overlap          a claim is a word of the answer with a digit, a slash, a dot inside, an underscore or a
                              capital inside; it is supported if it stands in what came back from a call that succeeded
    scripted:coin?p=0.5       says `supported` with this probability, whatever there is to see

They read nothing but the request that a model would be sent, and say in each reason that they are a rule. What they say
is no measure of anything else.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.models.model import Form, Reply, Said, Turn
from harness.prices import Price
from harness.tool import Tool
from harness.trace import Usage

PREFIX = "scripted:"

RULES: Mapping[str, str] = {
    "overlap": "each telling word of the answer stands in a result of a call",
    "coin": "a coin is thrown, whatever there is to see",
}
"""Each rule by its name, and what it does, in one clause."""

FREE = Price(model="scripted:*", input=0, output=0, source="a rule costs nothing", date=datetime.date(2026, 1, 15))

_TELLING = re.compile(r"[\w./-]*(?:\d|[a-z][A-Z]|\w_\w|\w[./]\w)[\w./-]*")


class RuleError(ValueError):
    """A rule that is none; the message is one sentence."""


@dataclass(frozen=True)
class RuleModel:
    """A rule in the place of a model."""

    rule: str
    options: Mapping[str, Any] = field(default_factory=dict)
    price: Price | None = FREE

    @property
    def name(self) -> str:
        """`scripted:<rule>`."""
        return f"{PREFIX}{self.rule}"

    @property
    def settings(self) -> Mapping[str, Any]:
        """The rule and its options. There is no model behind it."""
        return {"provider": "scripted", "model": self.name, "options": dict(self.options)}

    def reply(
        self,
        system: str,
        history: Sequence[Turn],
        tools: Sequence[Tool],
        *,
        repeat: int,
        seconds: float,
        form: Form | None = None,
    ) -> Reply:
        """The vote. See `harness.models.model.Model`."""
        first = history[0]
        assert isinstance(first, Said), "the first turn is ours"
        parts = list(data_of(first.text))
        names_calls = '"calls"' in system
        vote = _coin(first.text, repeat, float(self.options["p"])) if self.rule == "coin" else _overlap(parts)
        if not names_calls:
            del vote["calls"]
        return Reply(texts=(json.dumps(vote),), usage=Usage(calls=1, cost_usd=0.0))


def rule_model(name: str, options: Mapping[str, Any] | None = None) -> RuleModel:
    """The rule of this name (`overlap`, `coin`), with its options (`p` of a coin). Raises `RuleError`."""
    given = dict(options or {})
    if name not in RULES:
        raise RuleError(f"there is no scripted judge {name!r}; choose from {', '.join(sorted(RULES))}")
    if name == "coin":
        p = given.setdefault("p", 0.5)
        if isinstance(p, bool) or not isinstance(p, int | float) or not 0 <= p <= 1:
            raise RuleError(f"the p of scripted:coin is {p!r}; it must be a number from 0 to 1")
    for option in given:
        if (name, option) != ("coin", "p"):
            raise RuleError(f"scripted:{name} has no option {option!r}")
    return RuleModel(name, given)


def data_of(message: str) -> Iterator[dict[str, Any]]:
    """The lines of data in a message to a judge, parsed: what stands between the two lines with the marker."""
    lines = message.split("\n")
    begin = next(number for number, line in enumerate(lines) if line.startswith("----- BEGIN DATA "))
    end = lines.index(lines[begin].replace("BEGIN", "END", 1), begin)
    for line in lines[begin + 1 : end]:
        yield json.loads(line)


def _overlap(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    question = str(parts[0]["text"])
    answer = parts[-1]
    said = "\n".join([*map(_text, answer["values"]), answer["note"]])
    words = [word for word in dict.fromkeys(_words(said)) if word.lower() not in question.lower()]
    results = {
        part["position"]: _text(part["result"]).lower()
        for part in parts
        if part["part"] == "call" and part["status"] == "ok"
    }
    failed = [word for word in words if not any(word.lower() in text for text in results.values())]
    found = [position for position, text in results.items() if any(word.lower() in text for word in words)]
    verdict = "no_claim" if not words else "not_supported" if failed else "supported"
    told = f"of {len(words)} telling {'word' if len(words) == 1 else 'words'} {len(words) - len(failed)} in results"
    return {"reason": f"By a rule, no model: {told}.", "failed": failed, "calls": found, "verdict": verdict}


def _coin(message: str, repeat: int, p: float) -> dict[str, Any]:
    # The marker is new in each folder; the coin is thrown on the data alone.
    data = json.dumps(list(data_of(message)), sort_keys=True)
    thrown = int.from_bytes(hashlib.sha256(f"{repeat}/{data}".encode()).digest()[:8], "big") / 2**64
    verdict = "supported" if thrown < p else "not_supported"
    return {"reason": "By a coin, no model.", "failed": [], "calls": [], "verdict": verdict}


def _words(text: str) -> Iterator[str]:
    for found in _TELLING.findall(text):
        if word := found.strip(".-/"):
            yield word


def _text(result: Any) -> str:
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False).replace("\\n", "\n")
