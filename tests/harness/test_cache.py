"""The cache of replies: what a key is made of, the three modes, and that nobody gets in anybody's way."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.agent import Briefing, Played
from harness.cache import Cache, CacheError, CacheMissError, Question
from harness.finish import FINISH
from harness.loop import ModelAgent
from harness.models.exchange import Exchange
from harness.models.openai import openai_model
from harness.prices import Prices, read_prices
from harness.values import digest
from tests.harness.provider import Fail, Provider, Raw, Say, Step, plain_client
from tests.support import ROOT

REQUEST: dict[str, Any] = {
    "model": "m",
    "messages": [{"role": "system", "content": "Count."}, {"role": "user", "content": "How old is she? " * 10}],
    "temperature": 0.5,
}


def question(**other: Any) -> Question:
    given: dict[str, Any] = {
        "provider": "openai",
        "base_url": "http://x/v1",
        "model": "m",
        "request": REQUEST,
        "repeat": 0,
    }
    return Question(**{**given, **other})


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    with Cache(tmp_path / "replies.sqlite") as cache:
        yield cache


def test_a_reply_is_kept_and_found_again(cache: Cache) -> None:
    assert cache.get(question()) is None
    reply = {"choices": [{"message": {"content": "63 é 1.50"}}], "n": 1.5}
    assert cache.put(question(), reply) == reply
    assert cache.get(question()) == reply
    assert len(cache) == 1
    with Cache(cache.path, "only") as again:
        assert again.get(question()) == reply


@pytest.mark.parametrize(
    "other",
    [
        {"provider": "anthropic"}, {"base_url": "http://y/v1"}, {"model": "n"}, {"repeat": 1},
        {"request": {**REQUEST, "temperature": 0.6}}, {"request": {**REQUEST, "seed": 1}},
        {"request": {**REQUEST, "messages": REQUEST["messages"][:1]}}, {"request": {**REQUEST, "tools": []}},
    ],
)  # fmt: skip
def test_everything_that_a_reply_depends_on_is_in_the_key(cache: Cache, other: dict[str, Any]) -> None:
    cache.put(question(), {"a": 1})
    assert cache.get(question(**other)) is None


def test_a_cache_that_nobody_closes_is_closed_all_the_same(tmp_path: Path) -> None:
    """Python 3.13 warns of a database that was left open, and a warning is an error here."""
    forgotten = Cache(tmp_path / "replies.sqlite")
    forgotten.put(question(), {"a": 1})
    del forgotten
    gc.collect()
    with Cache(tmp_path / "replies.sqlite") as cache:
        assert cache.get(question()) == {"a": 1}


def test_a_key_is_the_digest_of_all_of_it() -> None:
    """So replies that were kept before are found."""
    assert question(repeat=3).key == digest(["openai", "http://x/v1", "m", REQUEST, 3])


def test_the_order_of_keys_is_nothing(cache: Cache) -> None:
    cache.put(question(), {"a": 1})
    assert cache.get(question(request=dict(reversed(REQUEST.items())))) == {"a": 1}


def test_the_first_reply_stays(cache: Cache) -> None:
    assert cache.put(question(), {"a": 1}) == {"a": 1}
    assert cache.put(question(), {"a": 2}) == {"a": 1}


def test_off_keeps_and_finds_nothing(tmp_path: Path) -> None:
    with Cache(tmp_path / "none" / "replies.sqlite", "off") as off:
        assert off.put(question(), {"a": 1}) == {"a": 1}
        assert off.get(question()) is None
        assert len(off) == 0
    assert not (tmp_path / "none").exists()


def test_only_needs_a_file_and_explains_a_miss(tmp_path: Path, cache: Cache) -> None:
    with pytest.raises(CacheError, match="there is no cache at"):
        Cache(tmp_path / "nothing.sqlite", "only")
    with Cache(cache.path, "only") as only:
        with pytest.raises(CacheMissError, match="nothing is there yet"):
            only.get(question())
        cache.put(question(), {"a": 1})
        cache.put(question(request={**REQUEST, "messages": [], "seed": 9}), {"a": 1})
        with pytest.raises(CacheMissError) as miss:
            only.get(question(request={**REQUEST, "temperature": 0.7}))
    assert str(miss.value) == (
        f"the cache {str(cache.path)!r} has no reply to this request: the nearest differs in request.temperature"
        " (0.5, now 0.7)"
    )


OTHER = {"role": "user", "content": "How old is she? How old is he?"}


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        ({"repeat": 3}, "repeat (0, now 3)"),
        ({"base_url": "http://y/v1"}, "base_url ('http://x/v1', now 'http://y/v1')"),
        ({"request": {**REQUEST, "seed": 1}}, "request.seed (None, now 1)"),
        (
            {"request": {**REQUEST, "messages": [REQUEST["messages"][0], OTHER]}},
            "request.messages[1].content ('ow old is she? How old is she? How old …, now 'ow old is he?')",
        ),
        (
            {"provider": "a", "model": "n", "repeat": 1, "base_url": "z"},
            "base_url ('http://x/v1', now 'z'); model ('m', now 'n'); provider ('openai', now 'a') (and 1 more)",
        ),
    ],
)  # fmt: skip
def test_an_explanation_names_what_differs_from_the_nearest(
    cache: Cache, other: dict[str, Any], difference: str
) -> None:
    cache.put(question(), {"a": 1})
    cache.put(question(model="elsewhere", request={"messages": []}), {"a": 1})
    assert cache.explain(question()) == "it is there"
    assert cache.explain(question(**other)) == f"the nearest differs in {difference}"


def test_what_is_no_cache_is_refused(tmp_path: Path, cache: Cache) -> None:
    (tmp_path / "text.sqlite").write_text("I am no database at all, but long enough to be taken for one. " * 20)
    with contextlib.closing(sqlite3.connect(tmp_path / "other.sqlite")) as other:
        other.execute("CREATE TABLE patients (id)")
    with contextlib.closing(sqlite3.connect(cache.path)) as newer:
        newer.execute("PRAGMA user_version = 2")
    for path in (tmp_path / "text.sqlite", tmp_path / "other.sqlite", cache.path, tmp_path):
        with pytest.raises(CacheError, match=path.name) as error:
            Cache(path)
        assert "\n" not in str(error.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_only_needs_nothing_to_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    with Cache(folder / "replies.sqlite") as cache:
        cache.put(question(), {"a": 1})
    folder.chmod(0o500)
    try:
        with Cache(folder / "replies.sqlite", "only") as again:
            assert again.get(question()) == {"a": 1}
    finally:
        folder.chmod(0o700)


def test_a_cache_of_an_earlier_version_is_written_quickly_too(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    with Cache(path) as cache:
        cache.put(question(), {"a": 1})
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",)
    with Cache(path) as cache:
        assert cache.get(question()) == {"a": 1}
        with contextlib.closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["replies.sqlite"]


def test_threads_share_a_cache(cache: Cache) -> None:
    kept: list[Any] = []

    def work(number: int) -> None:
        for n in range(20):
            kept.append((n, cache.put(question(repeat=n), {"by": number})))
            assert cache.get(question(repeat=n)) is not None

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(kept) == 160
    assert len(cache) == 20
    assert len({(n, reply["by"]) for n, reply in kept}) == 20, "all threads got the reply that was kept"


def test_processes_share_a_cache(tmp_path: Path) -> None:
    script = """
import sys, json
from harness.cache import Cache, Question
kept = []
with Cache(sys.argv[1]) as cache:
    for n in range(40):
        question = Question("openai", "u", "m", {"n": n}, 0)
        kept.append(cache.put(question, {"by": sys.argv[2]})["by"])
print(json.dumps(kept))
"""
    command = [sys.executable, "-c", script, str(tmp_path / "replies.sqlite")]
    processes = [subprocess.Popen([*command, str(n)], cwd=ROOT, stdout=subprocess.PIPE) for n in range(4)]
    answers = [json.loads(process.communicate(timeout=60)[0]) for process in processes]
    assert all(answer == answers[0] for answer in answers)


def ask(provider: Provider, cache: Cache, repeat: int = 0, prices: Prices | None = None) -> Played:
    model = openai_model(
        "m", base_url=provider.base_url, environment={}, exchange=Exchange(cache=cache), prices=prices or Prices(()),
        http_client=plain_client(),
    )  # fmt: skip
    with contextlib.closing(model):
        return ModelAgent(model).play(Briefing("How old?", "Count.", "2026-01-15"), [FINISH], repeat=repeat)


def steps() -> list[Step]:
    return [
        Say("Hm."),
        *(Say(calls=[("finish", {"outcome": "done", "answer": [n]})], cached=5) for n in range(1, 9)),
    ]


def test_a_run_is_repeated_from_the_cache_without_asking(cache: Cache) -> None:
    with Provider("openai", *steps()) as provider:
        first = ask(provider, cache)
        assert len(provider.requests) == 2
        second = ask(provider, cache)
        assert len(provider.requests) == 2
        with Cache(cache.path, "only") as only:
            assert ask(provider, only) == second
        assert len(provider.requests) == 2
    assert (first.ending, first.answer) == ("finished", (1,))
    assert first == second, "usage too, as the provider had counted it"


def test_repeats_have_replies_of_their_own(cache: Cache) -> None:
    with Provider("openai", *steps()[1:]) as provider:
        assert [ask(provider, cache, repeat).answer for repeat in (0, 1, 2, 0, 1, 2)] == [(1,), (2,), (3,)] * 2
        assert len(provider.requests) == 3


def test_what_the_cache_answers_is_not_paid_again(cache: Cache, tmp_path: Path) -> None:
    from harness.limits import Budget

    with Provider("openai", *steps()[1:]) as provider:
        (tmp_path / "prices.toml").write_text(
            f'[[price]]\nmodel = "openai:m"\nbase_url = "{provider.base_url}"\ninput = 10\noutput = 10\nsource = "s"\n'
            "date = 2026-01-01\n"
        )
        prices = read_prices(tmp_path / "prices.toml")
        budgets = [Budget(), Budget()]
        played = []
        for budget in budgets:
            model = openai_model(
                "m", base_url=provider.base_url, environment={}, exchange=Exchange(cache=cache), prices=prices,
                http_client=plain_client(),
            )  # fmt: skip
            with contextlib.closing(model):
                agent = ModelAgent(model, budget=budget)
                played.append(agent.play(Briefing("How old?", "Count.", "2026-01-15"), [FINISH], repeat=0))
    assert played[0].usage == played[1].usage
    assert budgets[0].spent == pytest.approx(0.0011)
    assert budgets[1].spent == 0.0


def test_errors_are_not_kept(cache: Cache) -> None:
    with Provider("openai", Fail(400), *steps()[1:]) as provider:
        assert ask(provider, cache).ending == "provider_error"
        assert ask(provider, cache).ending == "finished"


def test_an_error_that_came_as_a_success_is_not_kept_and_asked_again(cache: Cache) -> None:
    with Provider("openai", Raw(b'{"error": {"code": 402, "message": "no credit"}}'), *steps()[1:]) as provider:
        played = ask(provider, cache)
        assert played.ending == "provider_error"
        assert (played.error or "").endswith("it says: no credit")
        assert len(provider.requests) == 1
        assert len(cache) == 0
        assert ask(provider, cache).ending == "finished"


def test_a_miss_is_an_error_of_the_run_with_a_sentence(cache: Cache) -> None:
    cache.put(question(), {"a": 1})
    with Provider("openai", *steps()) as provider, Cache(cache.path, "only") as only:
        played = ask(provider, only)
        assert provider.requests == []
    assert played.ending == "harness_error"
    assert "has no reply to this request: the nearest differs in base_url" in (played.error or "")
