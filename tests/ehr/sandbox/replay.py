"""Replays recorded cases: what was asked of a real HAPI 8.8, what it answered, and what this server answers.

A case has `setup` requests, one `request`, and the recorded `status`, `headers` and `body_shape` (path -> value).
`{{run}}` is a token of the case, `{{base}}` the address, `{{NAME}}` what an earlier step saved, `{{x*9}}` nine x.
Ids, instants and durations that a server makes up are compared by their form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CASES = Path(__file__).with_name("parity.jsonl")
ABSENT = "<absent>"
Send = Callable[[str, str, Mapping[str, str], bytes], "Answer"]


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    raw: bytes
    text: str = field(init=False)
    body: Any = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", self.raw.decode("utf-8", "replace"))
        try:
            body = json.loads(self.text)
        except ValueError:
            body = None
        object.__setattr__(self, "body", body)

    def header(self, name: str) -> str | None:
        return next((v for k, v in self.headers.items() if k.lower() == name.lower()), None)


def cases() -> list[dict[str, Any]]:
    return [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]


class Replay:
    """One case against one server."""

    def __init__(self, case: dict[str, Any], send: Send, base: str) -> None:
        self.case, self.send, self.base = case, send, base
        self.saved: dict[str, Any] = {"base": base, "run": "r" + re.sub(r"\W", "", case["id"])[:10].ljust(10, "0")}

    def differences(self) -> list[str]:
        """Where the answer is not the recorded one."""
        for step in self.case["setup"]:
            refused = self._prepare(step)
            if refused:
                return refused
        answer = self._sent(self.case["request"])
        made = re.search(r"/([A-Za-z0-9.-]+)/_history/", answer.header("Location") or "")
        id = answer.body.get("id") if isinstance(answer.body, dict) else None
        for found in (id, made[1] if made else None):
            if isinstance(found, str) and found not in self.saved.values():
                self.saved.setdefault("ID", found)
        result = []
        if answer.status != self.case["status"]:
            result.append(f"status {answer.status}, recorded {self.case['status']}: {answer.text[:300]}")
        for name, wanted in self.case["headers"].items():
            found = answer.header(name)
            result += self._compare(name, ABSENT if found is None else found, wanted)
        for path, wanted in self.case["body_shape"].items():
            found = _look(answer, _filled(path.removesuffix("|sort"), self.saved))
            result += self._compare(path, found, wanted, unordered=path.endswith("|sort"))
        return result

    def _prepare(self, step: dict[str, Any]) -> list[str]:
        for _ in range(step.get("times", 1)):
            answer = self._sent(step)
        for name, path in step.get("save", {}).items():
            self.saved[name] = _look(answer, path)
        wanted = step.get("status")
        if answer.status == wanted if wanted else answer.status < 400:
            return []
        return [f"setup {step['method']} {step['path']} gave {answer.status}: {answer.text[:300]}"]

    def _sent(self, step: dict[str, Any]) -> Answer:
        escaped = {k: v.replace("+", "%2B") if isinstance(v, str) else v for k, v in self.saved.items()}
        path = _filled(step["path"], escaped)
        path = path.removeprefix(self.base)
        body = _filled(step.get("body"), self.saved)
        data = b"" if body is None else (body if isinstance(body, str) else json.dumps(body)).encode()
        return self.send(step["method"], path, _filled(step.get("headers") or {}, self.saved), data)

    def _compare(self, what: str, found: Any, wanted: Any, *, unordered: bool = False) -> list[str]:
        found = self._plain(found)
        if unordered and isinstance(found, list):
            found = sorted(found, key=str)
        return [] if found == wanted else [f"{what}: {_short(found)}, recorded {_short(wanted)}"]

    def _plain(self, value: Any) -> Any:
        """Values that a server makes up, by their form."""
        if isinstance(value, list):
            return [self._plain(item) for item in value]
        if isinstance(value, dict):
            return {key: self._plain(item) for key, item in value.items()}
        if not isinstance(value, str):
            return value
        value = value.replace(self.base, "{{base}}")
        names = sorted(self.saved.items(), key=lambda item: -len(str(item[1])))
        for name, known in names:
            if name == "run":
                value = value.replace(known, "{{run}}")
            elif name != "base" and isinstance(known, str) and known:
                value = re.sub(r"(?<![\w-])" + re.escape(known) + r"(?!\w)", "{{" + name + "}}", value)
        for pattern, form in _FORMS:
            value = pattern.sub(form, value)
        return value


_FORMS = [
    (re.compile(r"\b([A-Z][A-Za-z]+)/\d+(?=/_history|$)"), r"\1/<id>"),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uuid>"),
    (re.compile(r"\b20(2[6-9]|[3-9]\d)-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)"), "<instant>"),
    (re.compile(r"\w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT"), "<http-date>"),
    (re.compile(r"\.where\(resolve\(\) is \w+\)"), ""),
    (re.compile(r"\b\d+ ?ms\b"), "<n>ms"),
]


def _filled(value: Any, saved: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        value = re.sub(r"\{\{(\w)\*(\d+)\}\}", lambda m: m[1] * int(m[2]), value)
        return re.sub(r"\{\{(\w+)\}\}", lambda m: str(saved.get(m[1], m[0])), value)
    if isinstance(value, list):
        return [_filled(item, saved) for item in value]
    if isinstance(value, dict):
        return {key: _filled(item, saved) for key, item in value.items()}
    return value


def _look(answer: Answer, path: str) -> Any:
    if path.startswith("@text:"):
        found = re.search(path[6:], answer.text)
        return found[0] if found else ABSENT
    if path == "@empty":
        return answer.text == ""
    if path.startswith("header."):
        return answer.header(path[7:]) or ABSENT
    if path == "status":
        return answer.status
    return _at(answer.body, path.removeprefix("body."))


def _at(node: Any, path: str) -> Any:
    if path == "":
        return node
    if path == "@keys":
        return list(node) if isinstance(node, dict) else ABSENT
    if path == "@len":
        return len(node) if isinstance(node, list | dict | str) else 0
    step = re.match(r"\.?([\w$-]+)|\[(\d+|\*)\]|\.(@\w+)", path)
    assert step is not None, path
    rest = path[step.end() :]
    if step[3]:
        return _at(node, step[3])
    if step[1]:
        if not isinstance(node, dict) or step[1] not in node:
            return 0 if rest == ".@len" else ABSENT
        return _at(node[step[1]], rest)
    if not isinstance(node, list):
        return ABSENT
    if step[2] == "*":
        return [_at(item, rest) for item in node]
    return _at(node[int(step[2])], rest) if int(step[2]) < len(node) else ABSENT


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 300 else text[:300] + "…"
