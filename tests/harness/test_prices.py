"""Prices: the table that is shipped, the user's own before it, and that an unknown price stays unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.prices import Prices, PricesError, Tokens, read_prices

ROW = 'model = "{}"\ninput = {}\noutput = 2\nsource = "s"\ndate = 2026-01-01\n'


def table(tmp_path: Path, *rows: tuple[str, float]) -> Prices:
    (tmp_path / "prices.toml").write_text("\n".join("[[price]]\n" + ROW.format(*row) for row in rows))
    return read_prices(tmp_path / "prices.toml", environment={})


def test_the_shipped_table_is_sound_and_says_from_where_and_when() -> None:
    rows = read_prices(environment={}).rows
    assert len(rows) > 5
    assert len({(row.model, row.base_url) for row in rows}) == len(rows)
    for row in rows:
        assert row.model.split(":")[0] in ("openai", "anthropic")
        assert row.source.startswith("https://")
        assert row.date.year >= 2026
        assert row.output >= row.input >= (row.cached or 0)


def test_an_unknown_price_is_none() -> None:
    prices = read_prices(environment={})
    assert prices.find("openai:nobody-knows") is None
    assert prices.find("anthropic:claude-haiku-5-5") is not None
    assert prices.find("anthropic:claude-haiku-5-5", "http://127.0.0.1:1") is None


def test_what_a_call_costs() -> None:
    price = read_prices(environment={}).find("anthropic:claude-haiku-5-5")
    assert price is not None
    short = Tokens(input=100_000, output=1_000, cached=50_000, written=10_000)
    assert price.rates(short).cost(short) == pytest.approx(0.004 + 0.0005 + 0.00125 + 0.0005)
    long = Tokens(input=100_001, output=1_000)
    assert price.rates(long).cost(long) == pytest.approx(0.0500005 + 0.0025)


def test_the_highest_tier_that_is_reached_holds(tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text(
        "[[price]]\n" + ROW.format("openai:m", 1)
        + "above = [{tokens=10,input=2,output=2}, {tokens=20,input=3,output=3}, {tokens=30,input=4,output=4}]"
    )  # fmt: skip
    price = read_prices(tmp_path / "prices.toml").find("openai:m")
    assert price is not None
    assert [price.rates(Tokens(input=n)).input for n in (0, 10, 11, 20, 21, 30, 31)] == [1, 1, 2, 2, 3, 3, 4]


def test_without_a_price_for_cached_input_it_costs_as_any(tmp_path: Path) -> None:
    price = table(tmp_path, ("openai:m", 1)).find("openai:m")
    assert price is not None
    assert price.cost(Tokens(input=1_000_000, cached=400_000, written=100_000)) == 1.0


def test_the_users_rows_come_first_and_an_exact_name_before_a_longer_star(tmp_path: Path) -> None:
    prices = table(tmp_path, ("openai:m*", 1), ("openai:m-large*", 3), ("openai:m-large-1", 5), ("openai:gpt-6-sol", 9))
    found = [
        prices.find(name) for name in ("openai:m-tiny", "openai:m-large-2", "openai:m-large-1", "openai:gpt-6-sol")
    ]
    assert [price.input if price else None for price in found] == [1, 3, 5, 9]
    assert prices.find("anthropic:claude-opus-5") is not None


def test_an_exact_name_comes_before_a_star_behind_the_same_name(tmp_path: Path) -> None:
    for rows in ([("openai:m-1*", 7), ("openai:m-1", 5)], [("openai:m-1", 5), ("openai:m-1*", 7)]):
        prices = table(tmp_path, *rows)
        found = [prices.find(name) for name in ("openai:m-1", "openai:m-1-mini")]
        assert [price.input if price else None for price in found] == [5, 7]


def test_the_price_of_one_server_is_not_that_of_another(tmp_path: Path) -> None:
    here = 'base_url = "http://127.0.0.1:1"\n'
    (tmp_path / "prices.toml").write_text("[[price]]\n" + ROW.format("openai:m", 1) + here)
    prices = read_prices(tmp_path / "prices.toml", environment={})
    assert prices.find("openai:m", "http://127.0.0.1:1") is not None
    assert prices.find("openai:m") is prices.find("openai:m", "http://127.0.0.1:2") is None


def test_the_file_may_be_named_by_the_environment(tmp_path: Path) -> None:
    table(tmp_path, ("openai:m", 1))
    assert read_prices(environment={"READBACK_PRICES": str(tmp_path / "prices.toml")}).find("openai:m") is not None
    nowhere = {"READBACK_PRICES": str(tmp_path / "nowhere.toml")}
    assert read_prices(tmp_path / "prices.toml", environment=nowhere).find("openai:m") is not None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[[price]", "are no TOML"),
        ("price = " + "[" * 5000, "are no TOML"),
        ("price = " + "9" * 5000, "are no TOML"),
        ("price = 5", r"must be \[\[price\]\] rows, and it has price"),
        ("[[prices]]", r"must be \[\[price\]\] rows, and it has prices"),
        ('[[price]]\nmodel = "m"\n', "price 1 in .* is wrong: input: Field required"),
        ("[[price]]\n" + ROW.format("m", -1), "price 1 in .* is wrong: input: Input should be greater"),
        ("[[price]]\n" + ROW.format("m", 1) + "curency = 1", "price 1 in .* is wrong: curency: Extra inputs"),
        (
            "[[price]]\n" + ROW.format("m", 1) + "above = [{tokens=5,input=1,output=1},{tokens=4,input=1,output=1}]",
            "the tiers of 'm' must rise",
        ),
        (
            "[[price]]\n" + ROW.format("m", 1) + "above = [{tokens=5,input=1,output=1},{tokens=5,input=2,output=1}]",
            "the tiers of 'm' must rise",
        ),
    ],
)
def test_a_file_that_is_wrong_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "prices.toml").write_text(text)
    with pytest.raises(PricesError, match=sentence) as error:
        read_prices(tmp_path / "prices.toml")
    assert "\n" not in str(error.value)
    with pytest.raises(PricesError, match="cannot be read: No such file"):
        read_prices(tmp_path / "nothing.toml")


def test_wrong_prices_are_named_and_so_is_what_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text("[[price]]\n" + ROW.format("m", "{ a = 1 }"))
    with pytest.raises(PricesError, match=r"input: Input should be a valid number, and is \{'a': 1\}"):
        read_prices(path)
    path.write_bytes(b"# \xff\n")
    with pytest.raises(PricesError, match="are no UTF-8 text; save them as such"):
        read_prices(path)
