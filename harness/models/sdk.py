"""What the providers have in common: the errors of their libraries as endings, base URLs, keys, calls as they come.

Both libraries are made by one generator, so their errors have one shape: a status with a body, a time-out, or a
connection that failed.
"""

from __future__ import annotations

import email.utils
import json
import re
import time
from collections.abc import Mapping
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from harness.faults import redacted
from harness.models.model import ModelSetupError, NoReplyError
from harness.plain import Written, plain, shown
from harness.trace import Ending

_CONTEXT_CODES = {"context_length_exceeded", "exceed_context_size_error"}
_CONTEXT_WORDS = re.compile(
    r"context.{0,20}(length|window|size)|prompt is too long|input is too long|input length and `max_tokens` exceed",
    re.I,
)
_REFUSAL_CODES = {"content_filter", "content_policy_violation"}
_LOST_CAUSES = {"insufficient_quota", "billing_hard_limit_reached"}
_AGAIN = {408, 409, 429}
_MESSAGE_LIMIT = 500
_MOST_TOKENS = 10**12


def key_for(provider: str, variable: str, environment: Mapping[str, str], *, is_own_server: bool) -> str:
    """The key from the environment. Another server than the provider's own may need none.

    Raises `ModelSetupError` where the provider's own would be asked without one.
    """
    key = environment.get(variable, "").strip()
    if key or not is_own_server:
        return key or "none"
    raise ModelSetupError(
        f"{variable} is not set, and {provider} does not answer without a key; set it in the environment,"
        " or name a server that needs none with --base-url"
    )


def checked_base_url(base_url: str) -> str:
    """The base URL without a slash at its end. Raises `ModelSetupError` where it is none, or carries a secret."""
    try:
        parts = urlsplit(base_url)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or True)
    except ValueError:
        is_url, parts = False, urlsplit("")
    if not is_url:
        raise ModelSetupError(f"the base URL {base_url!r} is none; expected one such as http://127.0.0.1:8089/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        # It goes into run.json and the cache, where no secret may go.
        raise ModelSetupError(
            "the base URL must not hold a user name, a password or a query; keys come from the environment"
        )
    return base_url.rstrip("/")


def parsed(given: Any) -> tuple[dict[str, Any] | None, str | None]:
    """A call's arguments as a plain object, or None and their text. Nothing at all means no arguments."""
    if given is None or given == "":
        return {}, None
    try:
        value = plain(json.loads(given, parse_float=Written) if isinstance(given, str) else given, "arguments")
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        return value, None
    return None, given if isinstance(given, str) else json.dumps(given)


def counted(usage: Mapping[str, Any], name: str) -> int:
    """A number of tokens of a reply's usage; 0 where it is not told. Raises `ValueError` for what is no such number."""
    value = usage.get(name) or 0
    if not isinstance(value, (int, float)) or not 0 <= value <= _MOST_TOKENS:
        raise ValueError(f"{name} is {shown(value)}, which is no number of tokens")
    return int(value)


def safe_name(name: str) -> str:
    """The name of a tool as both protocols allow it: a model may have made up any other."""
    return re.sub(r"[^\w-]", "_", name, flags=re.ASCII)[:64] or "_"


def sending(timeout: float) -> dict[str, Any]:
    """The options of a request. A redirect would take it, record and all, to where nobody has agreed to send it."""
    return {"timeout": timeout, "follow_redirects": False}


def no_reply(sdk: ModuleType, provider: str, problem: Exception) -> NoReplyError:
    """What an exception of the library `sdk` means for the episode."""
    if isinstance(problem, sdk.APITimeoutError):
        return NoReplyError("provider_error", f"{provider} did not answer in time", retryable=True, timed_out=True)
    if isinstance(problem, sdk.APIStatusError):
        status, headers = problem.status_code, problem.response.headers
        code, message = _said(problem.body)
        text = redacted(message or problem.message)[:_MESSAGE_LIMIT]
        if problem.response.is_redirect:
            elsewhere = redacted(headers.get("location", ""))[:_MESSAGE_LIMIT]
            text = f"it sends requests on to {elsewhere!r}, and they are not sent there; name that address instead"
        return NoReplyError(
            _ending(status, code, message),
            f"{provider} answered {status}: {text}",
            retryable=_may_be_repeated(status, code, headers),
            wait=_asked_to_wait(headers),
        )
    if isinstance(problem, sdk.APIConnectionError):
        cause = problem.__cause__ or problem
        return NoReplyError(
            "provider_error",
            f"the connection to {provider} failed: {redacted(repr(cause))[:_MESSAGE_LIMIT]}",
            retryable=True,
        )
    return NoReplyError("provider_error", f"{provider}: {redacted(repr(problem))[:_MESSAGE_LIMIT]}")


def no_reply_in(body: Mapping[str, Any], problem: str) -> NoReplyError:
    """What a body means that came as a success and is no reply: some servers put their own errors into such."""
    codes, message = _said(body)
    status = next((int(code) for code in codes if code.isdigit()), 500)
    text = f"{problem}; it says: {redacted(message)[:_MESSAGE_LIMIT]}" if message else problem
    ending = _ending(status, codes, message)
    return NoReplyError(ending, text, retryable=ending == "provider_error" and _may_be_repeated(status, codes, {}))


def _said(body: Any) -> tuple[set[str], str]:
    """The codes and the message of an error's body: `{code, type, message}`, by itself or under `error`."""
    if isinstance(body, Mapping) and isinstance(body.get("error"), Mapping):
        body = body["error"]
    if not isinstance(body, Mapping):
        return set(), ""
    return {str(body[key]) for key in ("code", "type") if body.get(key)}, str(body.get("message") or "")


def _ending(status: int, codes: set[str], message: str) -> Ending:
    if status in (401, 403):
        return "auth"
    if codes & _REFUSAL_CODES:
        return "refused"
    if status == 413 or codes & _CONTEXT_CODES or (status in (400, 422, 500) and _CONTEXT_WORDS.search(message)):
        return "context_full"
    return "provider_error"


def _may_be_repeated(status: int, codes: set[str], headers: Mapping[str, str]) -> bool:
    if headers.get("x-should-retry") in ("true", "false"):
        return headers["x-should-retry"] == "true"
    return (status in _AGAIN or status >= 500) and not codes & _LOST_CAUSES


def _asked_to_wait(headers: Mapping[str, str]) -> float | None:
    """The seconds of `Retry-After`: a number, or a date."""
    text = headers.get("retry-after", "")
    try:
        return max(0.0, float(text))
    except ValueError:
        date = email.utils.parsedate_tz(text)
        return None if date is None else max(0.0, email.utils.mktime_tz(date) - time.time())
