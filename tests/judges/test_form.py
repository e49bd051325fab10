"""The form in a real browser: it works from a file, gives its labels as CSV, and takes back all of them or none."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from judges.annotate import FORM, Annotation
from judges.judging import Wanted
from judges.labels import read_labels
from judges.sheet import Sheet
from tests.judges.build import call, episode, run
from tests.judges.injections import INJECTIONS

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed here")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Sheet, str]:
    path = tmp_path_factory.mktemp("form")
    texts = [INJECTIONS["a comment in HTML"], "plain", INJECTIONS["XML"]]
    episodes = [
        episode(number, [f"src/{number}.py", text], calls=(call(1, result=text), call(2), call(3), call(4)))
        for number, text in enumerate(texts, 1)
    ]
    with run(path / "r", episodes) as folder:
        sheet, out = Annotation(folder).write(3, seed=1, rubric="facts", trace=True, wanted=Wanted(), out=path)
    return sheet, (out / FORM).read_text()


def opened(page: str, script: str, tmp_path: Path) -> str:
    """What the page holds, after this script was run on it; what the script gives stands in an element of its own."""
    assert CHROMIUM is not None
    # The page allows no script but its own; this one is added to a copy without that rule.
    page, number = re.subn(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    assert number == 1
    added = f"""<script>
      const given = (() => {{ {script} }})();
      const out = document.createElement("pre");
      out.id = "given";
      out.textContent = given;
      document.body.append(out);
    </script></body>"""
    path = tmp_path / "copy.html"
    path.write_text(page.replace("</body>", added))
    return dump(path, tmp_path)


def dump(path: Path, tmp_path: Path) -> str:
    ended = subprocess.run(
        [
            str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "--virtual-time-budget=2000",
            f"--user-data-dir={tmp_path / 'profile'}", path.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return ended.stdout


def given_by(dom: str) -> str:
    found = re.search(r'<pre id="given">(.*?)</pre>', dom, re.S)
    assert found, dom[-2_000:]
    return html.unescape(found[1])


LABEL_ALL = """
  const articles = [...document.querySelectorAll("article")];
  const choose = (article, label) => {
    const radio = article.querySelector(`input[value="${label}"]`);
    radio.checked = true;
    radio.dispatchEvent(new Event("input", { bubbles: true }));
  };
  choose(articles[0], "supported");
  choose(articles[1], "not_supported");
  articles[1].querySelector(".failed").value = '=cmd|"x", and\\na second line';
  articles[2].querySelector(".comment").value = "é ✓ 漢";
"""


def test_labels_that_are_saved_are_read_back_by_readback(made: tuple[Sheet, str], tmp_path: Path) -> None:
    sheet, page = made
    dom = opened(page, LABEL_ALL + "return readbackSheet.toCsv();", tmp_path)
    assert "2 of 3 labelled" in dom
    (tmp_path / "labels.csv").write_text(given_by(dom), encoding="utf-8", newline="")
    read, labels, blank = read_labels(tmp_path / "labels.csv", {sheet.sheet: sheet})
    assert read == sheet
    assert [(one.item, one.label, one.failed, one.comment) for one in labels] == [
        (sheet.items[0], "supported", "", ""),
        (sheet.items[1], "not_supported", '=cmd|"x", and\na second line', ""),
    ]
    assert blank == [sheet.items[2]]


def test_labels_are_loaded_as_they_were_saved(made: tuple[Sheet, str], tmp_path: Path) -> None:
    _, page = made
    script = (
        LABEL_ALL
        + """
      const saved = readbackSheet.toCsv();
      for (const article of articles) article.querySelector(".clear").click();
      const empty = readbackSheet.toCsv();
      const problem = readbackSheet.fromCsv(saved);
      return [problem === "", empty !== saved, readbackSheet.toCsv() === saved].join();
    """
    )
    assert given_by(opened(page, script, tmp_path)) == "true,true,true"


def test_a_file_that_is_of_another_sheet_changes_nothing(made: tuple[Sheet, str], tmp_path: Path) -> None:
    sheet, page = made
    item = sheet.items[0].item
    script = f"""
      const before = readbackSheet.toCsv();
      const head = "sheet;item;label\\n";
      const problems = [
        readbackSheet.fromCsv(head + "s-other;{item};supported"),
        readbackSheet.fromCsv(head + "{sheet.sheet};i-other;supported"),
        readbackSheet.fromCsv(head + "{sheet.sheet};{item};supported\\n{sheet.sheet};{item};yes"),
        readbackSheet.fromCsv("hello"),
      ];
      return [...problems, readbackSheet.toCsv() === before].join("|");
    """
    assert given_by(opened(page, script, tmp_path)).split("|") == [
        f'Row 2: it is of sheet "s-other", and this is {sheet.sheet}.',
        'Row 2: there is no item "i-other" on this sheet.',
        'Row 3: "yes" is no label.',
        "The file has no rows.",
        "true",
    ]


def test_keys_give_labels_but_not_while_writing(made: tuple[Sheet, str], tmp_path: Path) -> None:
    _, page = made
    script = """
      const press = (key, on) => on.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      const articles = [...document.querySelectorAll("article")];
      articles[1].focus();
      press("2", articles[1]);
      press("3", articles[0].querySelector("textarea"));
      press("j", articles[1]);
      const at = document.activeElement.dataset.item === articles[2].dataset.item;
      const labels = articles.map((one) => one.querySelector("input:checked")?.value ?? "none");
      return [at, ...labels].join();
    """
    assert given_by(opened(page, script, tmp_path)) == "true,none,not_supported,none"


def test_the_page_as_it_is_runs_its_own_script_and_no_other(made: tuple[Sheet, str], tmp_path: Path) -> None:
    _, page = made
    path = tmp_path / FORM
    path.write_text(page)
    assert "0 of 3 labelled" in dump(path, tmp_path)
    path.write_text(page.replace("</body>", "<script>document.title = 'taken over'</script></body>"))
    dom = dump(path, tmp_path)
    assert "0 of 3 labelled" in dom
    assert "<title>taken over" not in dom


def test_what_a_trace_holds_is_no_element_of_the_page(made: tuple[Sheet, str], tmp_path: Path) -> None:
    _, page = made
    count = "return document.querySelectorAll('img, main script, main data, main system').length;"
    assert given_by(opened(page, count, tmp_path)) == "0"
