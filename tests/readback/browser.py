"""A real browser for tests: headless Chromium, spoken to in the DevTools protocol over a pipe. No further package.

Where no browser is, tests skip with the reason. `READBACK_CHROMIUM` names one that is elsewhere.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PATIENCE = 120
"""Seconds that the browser may be silent where an answer is due."""

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def browser_path() -> str:
    """The browser, or skip."""
    named = os.environ.get("READBACK_CHROMIUM")
    found = named or next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium is on this machine (set READBACK_CHROMIUM to where it is)")
    return found


class Tab:
    """One page in the browser. `problems` are errors and warnings of its console, and whatever it was refused."""

    def __init__(self, send: int, receive: int) -> None:
        self._out = os.fdopen(send, "wb", buffering=0)
        self._in = os.fdopen(receive, "rb", buffering=0)
        self._rest = b""
        self._number = 0
        self._session: str | None = None
        self.problems: list[str] = []
        self.requests: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the protocol, and its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._out.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result

    def open(self, path: Path) -> None:
        """Open a file and wait until it is loaded."""
        self._loaded = False
        self.call("Page.navigate", url=path.resolve().as_uri())
        while not self._loaded:
            self._read()

    def run(self, script: str) -> Any:
        """The value of an expression; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def press(self, key: str, text: str = "") -> None:
        """One key, as a keyboard sends it."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}
        more = {"windowsVirtualKeyCode": codes[key]} if key in codes else {}
        text = text or ("\r" if key == "Enter" else key if len(key) == 1 else "")
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=text, **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, **more)

    def write(self, words: str) -> None:
        """Type into what has the focus."""
        self.call("Input.insertText", text=words)

    def look(self, *, width: int, height: int = 900, dark: bool = False, media: str = "") -> None:
        """The size of the window, and how the user likes it."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])

    def picture(self, path: Path) -> Path:
        """What is seen now, as a PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
        return path

    def tree(self) -> list[dict[str, Any]]:
        """The page as a screen reader is told of it: nodes with role, name and so on."""
        nodes: list[dict[str, Any]] = self.call("Accessibility.getFullAXTree")["nodes"]
        return [node for node in nodes if not node.get("ignored")]

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            if not select.select([self._in], [], [], PATIENCE)[0]:
                raise AssertionError(f"the browser said nothing for {PATIENCE} s")
            block = self._in.read(1 << 20)
            if not block:
                raise AssertionError("the browser went away")
            self._rest += block
        line, _, self._rest = self._rest.partition(b"\0")
        answer: dict[str, Any] = json.loads(line)
        self._note(answer)
        return answer

    def _note(self, answer: dict[str, Any]) -> None:
        method, parameters = answer.get("method"), answer.get("params", {})
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Runtime.exceptionThrown":
            self.problems.append(str(parameters["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.problems.append(str(parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.problems.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])


@contextmanager
def browser() -> Iterator[Tab]:
    """A browser of its own with one tab, ended at the end."""
    path = browser_path()
    to_browser, from_us = os.pipe()
    from_browser, to_us = os.pipe()

    def pipes() -> None:
        # The browser reads from 3 and writes to 4; first out of the way of one another.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_browser, to_us)]
        os.dup2(ends[0], 3)
        os.dup2(ends[1], 4)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [
                path, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run",
                "--disable-dev-shm-usage", "--disable-extensions", "--hide-scrollbars", "--mute-audio",
                f"--user-data-dir={profile}", "about:blank",
            ],
            preexec_fn=pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_browser)
        os.close(to_us)
        tab: Tab | None = None
        try:
            tab = Tab(from_us, from_browser)
            yield tab
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if tab is not None:
                tab._in.close()
                tab._out.close()
