"""What was read once is kept, up to a bound."""

from __future__ import annotations

import threading

from grounding import Cache
from grounding.cache import content_key, shared_cache


def test_a_result_is_made_once_for_a_key() -> None:
    cache, made = Cache(), []

    def make(value: int) -> int:
        made.append(value)
        return value

    assert [cache.get(key, lambda key=key: make(key)) for key in (1, 2, 1, 2)] == [1, 2, 1, 2]  # type: ignore[misc]
    assert made == [1, 2]


def test_what_was_used_least_recently_makes_room() -> None:
    cache = Cache(entries=2)
    for key in ("a", "b", "a", "c"):
        cache.get(key, lambda key=key: key)  # type: ignore[misc]
    assert len(cache) == 2
    assert cache.get("a", lambda: "new") == "a"
    assert cache.get("b", lambda: "new") == "new"


def test_a_cache_of_nothing_keeps_nothing() -> None:
    cache = Cache(entries=0)
    assert [cache.get("a", lambda: 1), cache.get("a", lambda: 2), len(cache)] == [1, 2, 0]


def test_keys_stand_for_contents() -> None:
    assert content_key("a") == content_key("a")
    assert content_key("a") != content_key("b")
    assert len(content_key("\ud800" * 1000)) == 16


def test_many_threads_may_ask_at_once() -> None:
    cache = Cache(entries=50)

    def work() -> None:
        for key in range(2_000):
            assert cache.get(key % 100, lambda key=key: key % 100) == key % 100  # type: ignore[misc]

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(cache) <= 50


def test_the_process_has_one_cache() -> None:
    assert shared_cache() is shared_cache()
