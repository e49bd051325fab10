"""The tools: what they show, what they cut, and that no path leads out."""

# ruff: noqa: E501 - files of other people's shape, a line each

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repoqa.tools import MAX_CHARACTERS, MAX_ENTRIES, MAX_LINES, MAX_MATCHES, RepositoryTools
from tests.repoqa.trees import written


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("tools")
    (top / "secret.txt").write_text("SECRET")
    root = written(top / "tree", {"a.py": "one\ntwo\nthree\n", "src/b.py": "x = 1", "src/empty.py": "", "Ünï/ç.py": "y\n",
                                  "logo.png": b"\x89PNG\0\0", "latin.txt": "caf\xe9\n".encode("latin-1")})  # fmt: skip
    (root / "link.txt").symlink_to(top / "secret.txt")
    (root / "out").symlink_to(top)
    (root / "src" / "inside.py").symlink_to("b.py")
    return root


@pytest.fixture
def tools(place: Path) -> RepositoryTools:
    return RepositoryTools(place, search=True)


def run(tools: RepositoryTools, name: str, **arguments: Any) -> Any:
    return next(tool for tool in tools.tools() if tool.name == name).run(arguments)


def test_folders_end_in_a_slash_and_links_are_not_there(tools: RepositoryTools) -> None:
    result = run(tools, "list_directory")
    assert result.status == "ok"
    assert result.result == {"path": ".", "entries": ["src/", "Ünï/", "a.py", "latin.txt", "logo.png"]}
    assert run(tools, "list_directory", path="./src/").result == {"path": "src", "entries": ["b.py", "empty.py"]}


def test_a_file_is_shown_as_it_is_with_its_lines(tools: RepositoryTools) -> None:
    assert run(tools, "read_file", path="a.py").result == {
        "path": "a.py", "content": "one\ntwo\nthree\n", "start_line": 1, "end_line": 3, "total_lines": 3,
    }  # fmt: skip
    part = run(tools, "read_file", path="src/../a.py", start_line=2, end_line=2)
    assert part.result["content"] == "two\n" and part.result["path"] == "a.py" and part.cut_by is None
    assert run(tools, "read_file", path="a.py", start_line=3, end_line=99).result["end_line"] == 3
    assert run(tools, "read_file", path="src/empty.py", start_line=1, end_line=1).result["content"] == ""
    assert run(tools, "read_file", path="latin.txt").result["encoding"] == "latin-1"


@pytest.mark.parametrize("lines", [(0, 2), (3, 2), (-1, None), (4, None)])
def test_lines_that_are_none_are_an_error(tools: RepositoryTools, lines: tuple[int, int | None]) -> None:
    result = run(tools, "read_file", path="a.py", start_line=lines[0], end_line=lines[1])
    assert result.status == "error" and "3 lines" in result.result["error"]


@pytest.mark.parametrize(
    "path",
    ["../secret.txt", "..", "src/../../secret.txt", "/etc/passwd", "~/x", "link.txt", "out/secret.txt", "out", "a.py\0", "..\\secret.txt",
     "%2e%2e/secret.txt", "..%2fsecret.txt", "A.PY", "SRC/b.py", "src/inside.py", "x" * 5000, "a.py/", "․․/secret.txt", "．．/secret.txt",
     "a.py ", " a.py", "\u202ea.py", "..;/secret.txt", "file:///etc/passwd", "./../tree/a.py", "src//..//..//secret.txt"],
)  # fmt: skip
@pytest.mark.parametrize("name", ["read_file", "list_directory"])
def test_no_path_leads_out(tools: RepositoryTools, name: str, path: str) -> None:
    result = run(tools, name, path=path)
    if path == "a.py/" and name == "read_file":
        assert result.result["path"] == "a.py"  # the same file
        return
    assert result.status == "error", result
    assert "SECRET" not in str(result.result) and "\n" not in result.result["error"]
    assert len(result.result["error"]) < 500


@given(st.text(st.sampled_from("./\\~a..pyscrt%2e\0 :"), max_size=40))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_written_nothing_outside_is_shown(tools: RepositoryTools, path: str) -> None:
    for name in ("read_file", "list_directory"):
        result = run(tools, name, path=path)
        assert "SECRET" not in str(result.result) and "secret" not in str(result.result.get("entries", ""))


def test_upper_and_lower_case_count_and_that_is_said(tools: RepositoryTools) -> None:
    assert "there is 'a.py'" in run(tools, "read_file", path="A.py").result["error"]


def test_a_binary_file_is_named_as_such(tools: RepositoryTools) -> None:
    result = run(tools, "read_file", path="logo.png")
    assert result.status == "error" and "'logo.png' is a binary file of 6 bytes" in result.result["error"]


def test_what_is_cut_says_so_to_the_agent_and_to_the_trace(tmp_path: Path) -> None:
    root = written(
        tmp_path,
        {"many.py": "x = 1\n" * (MAX_LINES + 5), "long.py": "y" * (2 * 2**20), "wide.py": ("z" * 999 + "\n") * 100},
    )
    tools = RepositoryTools(root)
    many = run(tools, "read_file", path="many.py")
    assert many.cut_by == "tool" and many.result["end_line"] == MAX_LINES
    assert (
        many.result["cut"]
        == f"lines 1 to {MAX_LINES} of {MAX_LINES + 5} are shown; read on with start_line={MAX_LINES + 1}"
    )
    rest = run(tools, "read_file", path="many.py", start_line=MAX_LINES + 1)
    assert rest.cut_by is None and rest.result["end_line"] == MAX_LINES + 5
    long = run(tools, "read_file", path="long.py")
    assert (
        long.cut_by == "tool"
        and len(long.result["content"]) == MAX_CHARACTERS
        and "line 1 is cut" in long.result["cut"]
    )
    wide = run(tools, "read_file", path="wide.py")
    assert wide.cut_by == "tool" and wide.result["end_line"] == 60 and wide.result["content"].endswith("z\n")
    asked = run(tools, "read_file", path="wide.py", start_line=2, end_line=3)
    assert asked.cut_by is None and "cut" not in asked.result


def test_a_folder_with_very_many_entries_is_cut(tmp_path: Path) -> None:
    root = written(tmp_path, {f"f{number:05}.txt": "" for number in range(MAX_ENTRIES + 3)})
    result = run(RepositoryTools(root), "list_directory")
    assert result.cut_by == "tool" and len(result.result["entries"]) == MAX_ENTRIES
    assert result.result["cut"] == "3 more entries are not shown"


def test_limits_are_told_to_the_agent(tools: RepositoryTools) -> None:
    by_name = {tool.name: tool.description for tool in tools.tools()}
    assert f"{MAX_LINES:,} lines and {MAX_CHARACTERS:,} characters" in by_name["read_file"]
    assert f"{MAX_ENTRIES:,} entries" in by_name["list_directory"]
    assert f"{MAX_MATCHES} lines" in by_name["search"]


def test_search_is_there_only_when_asked_for(place: Path, tools: RepositoryTools) -> None:
    assert [tool.name for tool in RepositoryTools(place).tools()] == ["list_directory", "read_file"]
    found = run(tools, "search", query="TWO")
    assert found.result["matches"] == [{"path": "a.py", "line": 2, "text": "two"}]
    assert run(tools, "search", query="SECRET").result["matches"] == []
    assert run(tools, "search", query=" ").status == "error"


def test_search_is_cut(tmp_path: Path) -> None:
    tools = RepositoryTools(written(tmp_path, {"a.txt": "hit\n" * (MAX_MATCHES + 1)}), search=True)
    result = run(tools, "search", query="hit")
    assert result.cut_by == "tool" and len(result.result["matches"]) == MAX_MATCHES
