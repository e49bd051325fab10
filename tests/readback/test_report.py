"""The report: what it shows, that it is self-contained and bounded, and that nothing untrusted acts in it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from harness.runfolder import RunFolder
from harness.task import Task
from harness.trace import Call, Change, Episode, Text, Usage
from harness.verdict import Clause, Evidence, Verdict
from readback.report import write_report
from readback.summary import Summary, summary_of
from tests.readback import page
from tests.readback.hand import ABOUT, VARIANT, Run, task

ORDER = {"resourceType": "MedicationRequest", "id": "1000", "status": "active", "dose": "…"}
CLAUSES = (
    Clause(name="patient", outcome="pass", expected="Patient/p17", actual="Patient/p17"),
    Clause(
        name="dose", outcome="fail", label="WRONG_UNIT", expected="2 g", actual="2 mg",
        evidence=Evidence(call=2, resource="MedicationRequest/1000", path="dosageInstruction[0]"),
    ),
)  # fmt: skip


@dataclass
class Stored:
    """A run in memory, as the report wants it."""

    run: Run
    about: Mapping[str, Any] = field(default_factory=lambda: dict(ABOUT))

    def tasks(self) -> list[Task]:
        return self.run.tasks

    def episodes(self) -> Iterator[Episode]:
        return iter(self.run.episodes)

    def verdicts(self) -> Iterator[Verdict]:
        return iter(self.run.verdicts)


def one_call(position: int, result: object, **more: Any) -> Call:
    fields = {"name": "fhir_search", "arguments": {"type": "Observation"}, "status": "ok", "http": {"status": 200}}
    return Call(position=position, step=position, result=result, **{**fields, **more})


def small_run(**more: Any) -> Run:
    """One failed episode of a model in full, and the baselines without which there is no table."""
    run = Run([task("dose/0001a")])
    fields: dict[str, Any] = {
        "says": {"state": "fail WRONG_UNIT", "message": "pass"},
        "notes": ("NO_READBACK",),
        "clauses": CLAUSES,
        "calls": (
            one_call(1, {"status": 200, "headers": {"ETag": "x"}, "body": {"total": 3}}),
            one_call(2, {"status": 201}, name="fhir_create", arguments={"resource": {"text": "long " * 80}}),
        ),
        "texts": (Text(step=1, text="I look first."), Text(step=9, text="All done.")),
        "changes": (
            Change(verb="create", reference="MedicationRequest/1000", before=None, after=json.dumps(ORDER)),
            Change(
                verb="update", reference="Patient/p17",
                before='{"birthDate":"1961-04-02","weight":1.0}', after='{"birthDate":"1961-04-03","weight":1.00}',
            ),
            Change(verb="delete", reference="Task/t1", before='{"resourceType":"Task"}', after=None),
        ),
        "answer": ("1.2 mg/dL",),
        "note": "Ordered as asked.",
        "usage": Usage(input=1200, output=34, calls=2, cost_usd=0.0123),
        "seconds": 4.0,
    }  # fmt: skip
    run.play("dose/0001a", **{**fields, **more})
    for name in ("idle", "blind"):
        run.play("dose/0001a", name, kind="baseline", says={"state": "fail MISSING_WRITE", "message": "fail"})
    return run


def written(tmp_path: Path, run: Run, size: int | None = None, **about: Any) -> tuple[page.Page, str]:
    more = {} if size is None else {"size": size}
    path = write_report(Stored(run, {**ABOUT, **about}), tmp_path / "report.html", run="runs/a1", **more)
    return page.read(path), path.read_text()


def test_it_says_what_was_run_and_the_numbers(tmp_path: Path) -> None:
    about = {
        "command": ["readback", "run", "ehr", "--agent", "two words"],
        "packages": {"numpy": "2.4.6"},
        "agents": [{"name": "m", "kind": "model", "settings": {"max_tokens": 9}}],
        "conditions": {"default": {"prompt": "Be careful."}},
        "variants": [VARIANT],
        "times": {"created": "2026-01-20"},
    }
    text = written(tmp_path, small_run(), **about)[0].text
    for fact in (
        "sha256:5u1te", "sha256:4ec04d", "2026-01-15T10:15:00+00:00", "readback run ehr --agent 'two words'",
        "numpy 2.4.6", 'm (model) {"max_tokens":9}', "Be careful.", "protocol tools, validation hapi", "2026-01-20",
        "Success, in %", "What the message lens says", "3 of 3 episodes scored",
    ):  # fmt: skip
        assert fact in text, fact


def test_an_episode_is_shown_from_instruction_to_record(tmp_path: Path) -> None:
    html, source = written(tmp_path, small_run())
    for fact in (
        "Do dose/0001a.", "1.2 mg/dL", "Ordered as asked.", "ended finished · claims done",
        "1200 tokens in, 34 out · 0.0123 $ · 4.00 s", "I look first.", "All done.", "NO_READBACK", "WRONG_UNIT",
        "2 g", "2 mg", "MedicationRequest/1000 · dosageInstruction[0]", '"ETag": "x"', '"total": 3', "long long",
    ):  # fmt: skip
        assert fact in html.text, fact
    assert '<tr><td>birthDate<td class="d">"1961-04-02"<td class="a">"1961-04-03"</tr>' in source
    assert '<tr><td>weight<td class="d">1.0<td class="a">1.00</tr>' in source
    assert '<tr><td>status<td class="a">"active"</tr>' in source
    assert '<tr><td>resourceType<td class="d">"Task"</tr>' in source
    assert source.index("I look first.") < source.index("<b>fhir_search</b>") < source.index("All done.")
    assert '<a href="#e1c2">call 2</a>' in source


def test_the_page_is_whole_and_every_link_leads_somewhere(tmp_path: Path) -> None:
    html, _ = written(tmp_path, small_run())
    assert html.problems == []
    assert len(html.ids) == len(set(html.ids))
    assert html.links
    assert {link.removeprefix("#") for link in html.links} <= set(html.ids)
    assert all(link.startswith("#") for link in html.links)


def only_our_script(html: page.Page, source: str) -> None:
    """One script, the one of the package, without an attribute, and known to the page's policy by its digest."""
    script = resources.files("readback.report").joinpath("report.js").read_text()
    assert [a for tag, a in html.elements if tag == "script"] == [{}]
    assert source.count("<script>") == source.count("</script>") == 1
    assert source.split("<script>")[1].split("</script>")[0] == script


def test_it_fetches_nothing_and_runs_nothing_but_its_own_script(tmp_path: Path) -> None:
    html, source = written(tmp_path, small_run())
    tags = {tag for tag, _ in html.elements}
    assert tags & {"img", "link", "iframe", "object", "embed", "form", "base", "video", "audio"} == set()
    for tag, attributes in html.elements:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "srcset", "style")], tag
    assert "url(" not in source and "@import" not in source
    only_our_script(html, source)
    (policy,) = [a["content"] or "" for tag, a in html.elements if a.get("http-equiv") == "Content-Security-Policy"]
    style = source.split("<style>")[1].split("</style>")[0]
    script = source.split("<script>")[1].split("</script>")[0]
    assert policy == (
        f"default-src 'none'; style-src '{digest_of(style)}'; script-src '{digest_of(script)}'; base-uri 'none';"
        " form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )


def digest_of(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def test_the_script_makes_no_markup_and_asks_nobody() -> None:
    script = resources.files("readback.report").joinpath("report.js").read_text()
    for word in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval", "Function(", "fetch", "XMLHttp"):
        assert word not in script
    assert "</" not in script


def test_it_can_be_read_by_all(tmp_path: Path) -> None:
    html, source = written(tmp_path, small_run())
    assert ("html", {"lang": "en"}) in html.elements
    assert html.count("h1") == 1 and html.count("main") == 1
    assert html.count("caption") == html.count("table", "grid") >= 3
    assert all(a.get("scope") in ("col", "row") for tag, a in html.elements if tag == "th" and "scope" in a)
    assert all("tabindex" in a for tag, a in html.elements if tag == "div" and a.get("class") == "s")
    assert "prefers-color-scheme:dark" in source and "@media print" in source and "width=device-width" in source
    # An outcome is a word, not only a colour.
    assert '<b class="o fail">fail</b>' in source


def contrast(one: str, other: str) -> float:
    """WCAG 2.2's contrast ratio of two colours written `#rgb` or `#rrggbb`."""

    def luminance(colour: str) -> float:
        digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
        channels = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_every_colour_of_text_can_be_read_on_every_ground(tmp_path: Path) -> None:
    source = written(tmp_path, small_run())[1]
    palettes = [dict(re.findall(r"--(\w+):(#\w+)", found)) for found in re.findall(r":root\{(.*?)\}", source)]
    assert len(palettes) == 3, "light, dark, print"
    for palette in palettes:
        for text in ("fg", "soft", "link", "pass", "fail", "un"):
            for ground in ("bg", "shade"):
                assert contrast(palette[text], palette[ground]) >= 4.5, (text, ground, palette)
        assert min(contrast(palette["fg"], palette[ground]) for ground in ("del", "add")) >= 7
        assert min(contrast(palette["fg"], palette[tile]) for tile in ("agree", "agree2", "differ", "differ2")) >= 4.5


def test_the_summary_stands_in_it_as_json(tmp_path: Path) -> None:
    _, source = written(tmp_path, small_run())
    inside = source.split('<pre id="summary">')[1].split("</pre>")[0]
    stated = Summary.read(inside.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    assert stated.rows[0].labels == {"WRONG_UNIT": 1}


def test_the_overview_links_to_what_went_wrong(tmp_path: Path) -> None:
    run = small_run()
    for repeat in range(1, 12):
        run.play("dose/0001a", repeat=repeat, says={"state": "fail WRONG_UNIT", "message": "pass"})
    html, source = written(tmp_path, run)
    assert "<li><code>WRONG_UNIT</code> 12: " in source
    assert "and 6 more</li>" in source
    assert "The message passes, the record does not" in html.text


def test_what_did_not_pass_stands_first(tmp_path: Path) -> None:
    run = small_run()
    run.tasks += [task("age/1"), task("zoo/1")]
    run.play("age/1", says={"state": "pass"})
    run.play("zoo/1", ending="wall_time")
    source = written(tmp_path, run)[1]
    episodes = source[source.index("<h4>Episodes</h4>") :]
    assert episodes.index("ehr/dose/0001a") < episodes.index("ehr/zoo/1") < episodes.index("ehr/age/1")


HOSTILE = (
    "</details></pre></td><script>alert(1)</script><img src=x onerror=alert(2)>"
    "\u202edrow\u2066 \x1b[31m \x00 {{ 7*7 }} {% raw %} &lt;b&gt; \"'><a href=javascript:x>y</a>"
)
SEEN = (
    "</details></pre></td><script>alert(1)</script><img src=x onerror=alert(2)>"
    "‹U+202E›drow‹U+2066› ‹U+001B›[31m ‹U+0000› "
)


def hostile_run() -> Run:
    base = task("dose/0001a")
    run = Run([base.model_copy(update={"instruction": HOSTILE, "template": HOSTILE})])
    run.play(
        "dose/0001a",
        HOSTILE,
        condition=HOSTILE,
        variant={HOSTILE: HOSTILE},
        says={"state": "fail X"},
        clauses=[
            Clause(
                name=HOSTILE, outcome="fail", label=HOSTILE, expected=HOSTILE, actual=HOSTILE, why=HOSTILE,
                evidence=Evidence(call=1, resource=HOSTILE, path=HOSTILE),
            )
        ],
        answer=(HOSTILE, {HOSTILE: HOSTILE}),
        note=HOSTILE,
        error=HOSTILE,
        loss=(HOSTILE,),
        texts=(Text(step=1, text=HOSTILE),),
        calls=(
            one_call(1, {HOSTILE: [HOSTILE]}, name=HOSTILE, arguments={HOSTILE: HOSTILE}, http={"status": HOSTILE}),
            one_call(2, HOSTILE, arguments=None, raw_arguments=HOSTILE),
        ),
        changes=(
            Change(verb="create", reference=HOSTILE, before=None, after=json.dumps({HOSTILE: HOSTILE})),
            Change(verb="update", reference=HOSTILE, before=HOSTILE, after=HOSTILE + "!"),
        ),
    )  # fmt: skip
    episode = run.episodes[0]
    run.verdicts = [
        one.model_copy(
            update={"lens": lens, "label": HOSTILE, "labels": (HOSTILE,), "notes": (HOSTILE,), "reason": HOSTILE}
        )
        for one in run.verdicts
        for lens in ("state", HOSTILE)
    ]
    run.play("dose/0001a", "idle", kind="baseline", says={"state": "fail X"})
    run.play("dose/0001a", "blind", kind="baseline", says={"state": "fail X"})
    assert episode.agent == HOSTILE
    return run


HOSTILE_ABOUT = {
    "suite_digest": HOSTILE,
    "record": {"hash": HOSTILE, "clock": HOSTILE, "synthetic": False},
    "command": [HOSTILE],
    "packages": {HOSTILE: HOSTILE},
    "agents": [{"name": HOSTILE, "kind": HOSTILE, "settings": {HOSTILE: 1}}],
    "conditions": {HOSTILE: {"prompt": HOSTILE}},
    "variants": [{HOSTILE: HOSTILE}],
}


def test_hostile_text_is_shown_and_does_nothing(tmp_path: Path) -> None:
    html, source = written(tmp_path, hostile_run(), **HOSTILE_ABOUT)
    assert html.problems == []
    assert "img" not in {tag for tag, _ in html.elements}
    only_our_script(html, source)
    assert all(link.startswith("#") for link in html.links)
    for tag, attributes in html.elements:
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            assert name in ("aria-label", "content", "d") or "<" not in (value or ""), (tag, name, value)
    assert not {"\u202e", "\u2066", "\x1b", "\x00"} & set(source), "hidden characters are shown by their names"
    assert "49" not in source.split("<style>")[0] and "{{ 7*7 }}" in html.text
    assert html.text.count(SEEN) > 25
    # As many episodes as there are, none closed early by what is in it.
    assert html.count("details", "ep") == 3


def test_a_hostile_run_name_is_shown_and_does_nothing(tmp_path: Path) -> None:
    path = write_report(Stored(small_run()), tmp_path / "r.html", run=HOSTILE + "\ud800")
    html = page.read(path)
    assert html.problems == []
    assert "img" not in {tag for tag, _ in html.elements}
    only_our_script(html, path.read_text())


def test_a_record_that_is_not_synthetic_is_warned_about(tmp_path: Path) -> None:
    record = {**ABOUT["record"], "synthetic": False}
    assert "not marked as synthetic" in written(tmp_path, small_run(), record=record)[0].text
    assert "not marked as synthetic" not in written(tmp_path, small_run())[0].text


def test_without_idle_and_blind_the_table_is_withheld_and_the_episodes_stand(tmp_path: Path) -> None:
    run = small_run()
    html, source = written(tmp_path, Run(run.tasks, run.episodes[:1], run.verdicts))
    assert "this run lacks `idle` and `blind`" in html.text
    assert html.count("table", "grid") == 0 and '<div class="bar' not in source
    assert html.count("details", "ep") == 1


def huge_run(episodes: int) -> Run:
    result = {"status": 200, "body": [{"text": "<&>" * 4000, "n": i} for i in range(40)]}
    change = Change(
        verb="create", reference="A/1", before=None, after=json.dumps({f"k{i}": "v" * 90 for i in range(900)})
    )
    run = small_run()
    for repeat in range(1, episodes):
        run.play(
            "dose/0001a", repeat=repeat, says={"state": "pass" if repeat % 2 else "fail X"}, note="long " * 9000,
            calls=tuple(one_call(i, result) for i in range(1, 60)), changes=(change,),
            texts=(Text(step=3, text="t" * 99_999),),
        )  # fmt: skip
    return run


def test_an_episode_is_bounded_and_says_what_is_left_out_and_where_it_is(tmp_path: Path) -> None:
    html, source = written(tmp_path, huge_run(30), size=200_000)
    assert len(source.encode()) < 200_000 * 1.15 + 60_000
    assert html.count("details", "ep") == 32
    assert "Left out for size: " in html.text
    assert "elements of changes" in html.text and "calls" in html.text
    assert "All of it: readback show runs/a1 sha256:0003" in html.text
    assert html.problems == []


def test_episodes_that_do_not_fit_are_counted_baselines_and_what_passed_first(tmp_path: Path) -> None:
    html, source = written(tmp_path, huge_run(60), size=40_000)
    assert "33 of 62 episodes are in this file" in html.text
    assert "27 more are not in this file." in html.text
    assert source.count('<summary><b class="o pass">') == 3
    assert "readback show runs/a1 EPISODE" in html.text


def test_a_short_run_is_shown_without_loss(tmp_path: Path) -> None:
    html, _ = written(tmp_path, small_run())
    assert "Left out for size" not in html.text
    assert "more characters" not in html.text


def test_a_stored_run_makes_the_same_report_every_time(tmp_path: Path) -> None:
    run = small_run()
    with RunFolder.create(tmp_path / "a1", ABOUT, run.tasks) as folder:
        folder.store([(one, [v for v in run.verdicts if v.episode == one.id]) for one in run.episodes])
    folder = RunFolder.open(tmp_path / "a1")
    first = write_report(folder, tmp_path / "1.html", run="a").read_bytes()
    assert write_report(folder, tmp_path / "2.html", run="a").read_bytes() == first
    assert b"ehr/dose/0001a" in first
    assert summary_of(folder).rows[0].agent == "m"


def test_a_report_that_cannot_be_made_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    broken = small_run()
    broken.tasks = []
    with pytest.raises(ValueError, match="not among the run's tasks"):
        write_report(Stored(broken), path, run="r")
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


def test_the_report_is_loaded_without_its_template_engine() -> None:
    code = "import readback.report, sys; print(sorted({'jinja2', 'numpy', 'rich'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
