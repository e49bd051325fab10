"""The block list is a file whose every group says why."""

from __future__ import annotations

from grounding.blocked import blocked


def test_every_group_has_a_reason_and_words_of_its_own() -> None:
    groups = blocked().groups
    assert len({group.name for group in groups}) == len(groups) >= 8
    for group in groups:
        assert group.words
        assert group.reason.endswith(".")


def test_a_word_stands_in_one_group_only_unless_prose_and_code_differ() -> None:
    seen: dict[str, str] = {}
    for group in blocked().groups:
        for word in group.words:
            assert word not in seen or group.prose_only, (word, seen.get(word), group.name)
            seen[word] = group.name


def test_words_of_prose_are_blocked_in_prose_only() -> None:
    assert blocked().blocks("GitHub", is_code=False)
    assert not blocked().blocks("GitHub", is_code=True)
    assert blocked().blocks("ValueError", is_code=True)
    assert not blocked().blocks("HTTPAdapter", is_code=False)
