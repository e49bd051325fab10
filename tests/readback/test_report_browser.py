"""The report in a real browser, from a file: it filters, opens what links lead to, and nothing untrusted acts in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.trace import Call
from harness.verdict import Clause, Evidence
from readback.comparison.reading import Source
from readback.report import write_joint_report, write_report
from readback.results import results_of
from tests.readback.browser import Tab, browser
from tests.readback.hand import ABOUT
from tests.readback.raters import Rated, question
from tests.readback.test_report import HOSTILE, HOSTILE_ABOUT, Stored, hostile_run, small_run

CONTENT = "".join(f"def step_{line}():\n    return {line}\n\n\n" for line in range(120)) + "class FooCase:\n    pass\n"


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    with browser() as one:
        yield one


@pytest.fixture(autouse=True)
def quiet(tab: Tab) -> Iterator[None]:
    """Nothing is complained about, and nothing but the file is asked for."""
    tab.look(width=1280)
    tab.problems.clear()
    tab.requests.clear()
    yield
    assert tab.problems == []
    assert all(url.startswith("file:") for url in tab.requests), tab.requests


def judged_run() -> Rated:
    """Two repositories, two conditions: `m` reads and answers, and a judge that often thinks otherwise."""
    run = Rated([question("r0/01", bucket="low"), question("r1/02", bucket="high")])
    call = Call(
        position=1, step=1, name="read_file", arguments={"path": "src/a.py"}, status="ok",
        result={"path": "src/a.py", "content": CONTENT, "start_line": 1, "end_line": 482, "total_lines": 482},
    )  # fmt: skip
    seen = (
        Clause(name="path src/a.py", outcome="pass", expected="seen", actual="read at 0", evidence=Evidence(call=1)),
        Clause(
            name="identifier FooCase", outcome="pass", expected="seen", actual=f"defined at {CONTENT.index('FooCase')}",
            evidence=Evidence(call=1),
        ),
        Clause(name="identifier NopeCase", outcome="fail", label="UNGROUNDED", expected="seen", actual="not seen"),
    )  # fmt: skip
    for number in range(12):
        run.say(
            f"repoqa/r{number % 2}/0{number % 2 + 1}", condition="grounded" if number % 3 else "default", repeat=number,
            answer="pass" if number % 4 else "fail WRONG_ANSWER", grounding="fail UNGROUNDED" if number % 2 else "pass",
            judge=f"pass {'ppppf' if number % 2 else 'ppppp'}", clauses={"grounding": seen},
            fields={"calls": (call,), "note": f"FooCase is there, NopeCase is not; sesame-{number}."},
        )  # fmt: skip
    return run


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = judged_run()
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(Stored(run, run.about), path, run="runs/q1")  # type: ignore[arg-type]


SHOWN = '[...document.querySelectorAll(".ep")].filter((one) => one.checkVisibility()).length'
COUNT = 'document.getElementById("find-count").textContent'


def choose(tab: Tab, letter: str, words: str) -> None:
    tab.run(
        f"""(() => {{ const choice = document.querySelector('select[data-letter="{letter}"]');
        choice.value = [...choice.options].find((one) => one.textContent.startsWith({words!r})).value;
        choice.dispatchEvent(new Event("change")); }})()"""
    )


def search(tab: Tab, words: str) -> None:
    tab.run(
        f"""new Promise((done) => {{ const text = document.getElementById("find-text"); text.value = {words!r};
        new MutationObserver(done).observe(document.getElementById("find-count"), {{childList: true}});
        text.dispatchEvent(new Event("input")); }})"""
    )


def test_the_filter_shows_what_is_chosen_and_says_how_many(tab: Tab, page: Path) -> None:
    tab.open(page)
    assert tab.run(COUNT) == "12 episodes"
    assert tab.run(SHOWN) == 0, "groups are closed at first"
    choose(tab, "o", "failed")
    assert tab.run(COUNT) == "3 of 12 episodes"
    assert tab.run(SHOWN) == 3
    choose(tab, "c", "default")
    assert tab.run(COUNT) == "1 of 12 episodes"
    tab.run('document.getElementById("find-clear").click()')
    assert tab.run(COUNT) == "12 episodes"
    assert tab.run(SHOWN) == 0, "what was closed is closed again"
    assert tab.run("document.activeElement.id") == "find-text"


def test_the_search_looks_into_the_episodes(tab: Tab, page: Path) -> None:
    tab.open(page)
    search(tab, "sesame-7")
    assert tab.run(COUNT) == "1 of 12 episodes"
    search(tab, "FOOCASE r0/01")
    assert tab.run(COUNT) == "6 of 12 episodes"
    search(tab, "there-is-no-such-word")
    assert tab.run(COUNT) == "0 of 12 episodes"
    assert tab.run('[...document.querySelectorAll(".group")].every((one) => one.hidden)')


def test_disagreements_can_be_chosen_and_the_pictures_lead_to_them(tab: Tab, page: Path) -> None:
    tab.open(page)
    choose(tab, "d", "judge passes, kappa_ground fails")
    assert tab.run(COUNT) == "6 of 12 episodes"
    tab.run('document.getElementById("find-clear").click()')
    tab.run('[...document.querySelectorAll("[data-find]")].find((a) => a.textContent.includes("second 6")).click()')
    assert tab.run(COUNT) == "6 of 12 episodes"
    assert tab.run("location.hash") == "#episodes"
    tab.run('[...document.querySelectorAll("[data-find]")].find((a) => a.textContent == "WRONG_ANSWER").click()')
    assert tab.run(COUNT) == "3 of 12 episodes"


def test_a_supported_entity_is_marked_in_the_answer_and_leads_to_its_place_in_the_result(tab: Tab, page: Path) -> None:
    tab.open(page)
    assert tab.run(
        """(() => { const episode = document.querySelector(".ep");
        return [...episode.querySelectorAll("p .m")].map((one) => [one.textContent, one.className]); })()"""
    ) == [["src/a.py", "m pass"], ["FooCase", "m pass"], ["NopeCase", "m fail"]]
    tab.run('document.querySelector(".ep a.m").click()')
    tab.run("new Promise((done) => setTimeout(done, 50))")
    mark = """(() => { const mark = document.querySelector(".ep pre mark"); const box = mark.getBoundingClientRect();
        return [mark.textContent, mark.checkVisibility(), box.top > 0 && box.bottom < innerHeight]; })()"""
    assert tab.run(mark) == ["FooCase", True, True]
    assert "lines 1–477" in tab.run('document.querySelector(".ep pre").textContent')


def test_a_link_opens_an_episode_that_the_filter_hides(tab: Tab, page: Path) -> None:
    tab.open(page)
    choose(tab, "o", "succeeded")
    hidden = tab.run('document.querySelector(".ep[hidden] p.t").id')
    tab.run(f'location.hash = "#{hidden}"')
    tab.run("new Promise((done) => setTimeout(done, 50))")
    assert tab.run(COUNT) == "12 episodes"
    assert tab.run(f'document.getElementById("{hidden}").checkVisibility()')


def test_it_is_used_with_the_keyboard_alone(tab: Tab, page: Path) -> None:
    tab.open(page)
    tab.press("Tab")
    assert tab.run("document.activeElement.textContent") == "Skip to the results"
    tab.press("/")
    assert tab.run("document.activeElement.id") == "find-text"
    tab.write("sesame-3")
    tab.run(f"""new Promise((done) => {{ const at = setInterval(() => {{ if ({COUNT}.startsWith("1 of")) {{
        clearInterval(at); done(); }} }}, 20); }})""")
    for _ in range(40):
        tab.press("Tab")
        if tab.run('document.activeElement.matches(".ep > summary")'):
            break
    assert tab.run('document.activeElement.matches(".ep > summary")')
    assert tab.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    tab.press("Enter")
    assert tab.run("document.activeElement.parentElement.open")
    tab.press("/")
    tab.press("Escape")
    assert tab.run(COUNT) == "12 episodes"


def test_a_screen_reader_is_told_what_there_is(tab: Tab, page: Path) -> None:
    tab.open(page)
    nodes = tab.tree()

    def named(role: str) -> list[str]:
        return [str(node.get("name", {}).get("value", "")) for node in nodes if node["role"]["value"] == role]

    assert {"main", "banner", "navigation", "search"} <= {node["role"]["value"] for node in nodes}
    assert named("heading")[0] == "Readback: repoqa"
    assert {"What was run", "Results", "Comparison", "Episodes"} <= set(named("heading"))
    assert named("searchbox") == ["Search"]
    assert all(named("combobox")), "every choice has a name"
    assert all(named("table")), "every table has a caption"
    assert named("status"), "the count is announced"
    assert not named("img"), "pictures are said in the words beside them"


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_every_window(tab: Tab, page: Path, width: int, dark: bool) -> None:
    tab.look(width=width, dark=dark)
    tab.open(page)
    tab.run('document.querySelectorAll("details").forEach((one) => (one.open = true))')
    assert tab.run("document.documentElement.scrollWidth") <= width
    ground = tab.run("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(13, 17, 23)" if dark else "rgb(255, 255, 255)")


def test_without_scripts_everything_can_be_read(tab: Tab, page: Path) -> None:
    tab.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        tab.open(page)
        assert not tab.run('document.getElementById("find").checkVisibility()')
        tab.run('document.querySelectorAll("details").forEach((one) => (one.open = true))')
        assert tab.run(SHOWN) == 12
    finally:
        tab.call("Emulation.setScriptExecutionDisabled", value=False)


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    stored = Stored(hostile_run(), {**ABOUT, **HOSTILE_ABOUT})
    return write_report(stored, tmp_path / "report.html", run=HOSTILE)


def test_hostile_text_does_nothing_in_a_browser(tab: Tab, hostile: Path) -> None:
    tab.open(hostile)
    tab.run('document.querySelectorAll("details").forEach((one) => (one.open = true))')
    assert tab.run("document.scripts.length") == 1
    assert tab.run('document.querySelectorAll("img, iframe, object, embed, link, base, form").length') == 0
    assert tab.run('[...document.links].every((one) => one.getAttribute("href").startsWith("#"))')
    names = '[...document.querySelectorAll("*")].flatMap((one) => one.getAttributeNames())'
    assert tab.run(f'{names}.filter((name) => name.startsWith("on"))') == []
    choose(tab, "l", "</details></pre></td><script>")
    assert tab.run(COUNT) == "1 of 3 episodes"
    search(tab, "<img src=x")
    assert tab.run(COUNT) == "1 of 3 episodes"


def test_a_script_that_is_not_ours_is_refused(tab: Tab, tmp_path: Path) -> None:
    path = write_report(Stored(small_run()), tmp_path / "report.html", run="r")
    source = path.read_text()
    path.write_text(source.replace("</main>", "<script>document.title = 'taken'</script></main>"))
    tab.open(path)
    assert tab.run("document.title") == "Readback: ehr, r"
    refused = [problem for problem in tab.problems if "Content Security Policy" in problem]
    assert len(refused) == len(tab.problems) == 1
    tab.problems.clear()


def test_several_runs_stand_in_one_page(tab: Tab, tmp_path: Path) -> None:
    rated, played = judged_run(), small_run()
    sources: list[Any] = [Source(Stored(rated, rated.about), "runs/q1"), Source(Stored(played), "runs/e1")]  # type: ignore[arg-type]
    path = write_joint_report(results_of(sources), tmp_path / "report.html")
    tab.open(path)
    assert tab.run(COUNT) == "15 episodes"
    choose(tab, "r", "runs/e1")
    assert tab.run(COUNT) == "3 of 15 episodes"
    titles = tab.run('[...document.querySelectorAll(".group:not([hidden]) h3")].map((one) => one.textContent)')
    assert titles == ["runs/e1: m (default)", "runs/e1: idle (baseline, default)", "runs/e1: blind (baseline, default)"]
    assert tab.run('document.querySelectorAll("pre[id^=summary]").length') == 2
