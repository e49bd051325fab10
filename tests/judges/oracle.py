"""A model whose votes are a function of the question and of the repeat."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.models.model import Form, NoReplyError, Reply, Said, Turn
from harness.prices import Price
from harness.tool import Tool
from harness.trace import Usage
from judges.judge import Judge
from judges.rubric import Rubric
from judges.scripted import FREE, data_of


@dataclass
class Oracle:
    """A model that says what a function of the question's number and of the repeat says; counts what it is asked."""

    says: Callable[[int, int], str | NoReplyError]
    name: str = "oracle:m"
    price: Price | None = FREE
    billed: float = 0.0
    asked: list[tuple[int, int]] = field(default_factory=list)

    @property
    def settings(self) -> dict[str, Any]:
        return {"provider": "oracle", "model": self.name}

    def reply(
        self, system: str, history: Sequence[Turn], tools: Sequence[Tool], *, repeat: int, seconds: float,
        form: Form | None = None,
    ) -> Reply:  # fmt: skip
        first = history[0]
        assert isinstance(first, Said)
        answer = list(data_of(first.text))[-1]["values"]
        number = int(re.sub(r"\D", "", str(answer)) or 0)
        self.asked.append((number, repeat))
        text = self.says(number, repeat)
        if isinstance(text, NoReplyError):
            raise text
        usage = Usage(input=10, output=1, calls=1, cost_usd=self.billed)
        return Reply(texts=(text,), usage=usage, billed_usd=self.billed)


def judge_of(says: Callable[[int, int], str | NoReplyError], **more: Any) -> Judge:
    model = {key: more.pop(key) for key in ("name", "price", "billed") if key in more}
    return Judge(Oracle(says, **model), more.pop("rubric", Rubric("facts")), **{"votes": 3, **more})


def asked_of(judge: Judge) -> list[tuple[int, int]]:
    assert isinstance(judge.model, Oracle)
    return sorted(judge.model.asked)


def always(text: str) -> Callable[[int, int], str]:
    return lambda number, repeat: text
