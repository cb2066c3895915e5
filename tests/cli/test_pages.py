"""Pages from the command line: what was written, the line that makes a page, a browser for it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from support import run_cli
from support.pages import Page
from support.runs import sample, write_run
from support.server import reply, serve


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "a run", [sample(n, float(n % 2)) for n in range(4)])


def test_report_says_which_files_it_wrote(run: Path) -> None:
    ran = run_cli("report", str(run))
    assert ran.code == 0
    assert f"wrote report.json, report.csv, report.html in {run}\n" in ran.err
    assert {path.name for path in run.glob("report.*")} == {
        *("report.json", "report.csv", "report.html"),
    }


def test_the_page_is_written_where_it_is_wanted(run: Path, tmp_path: Path) -> None:
    ran = run_cli("report", str(run), "--html", str(tmp_path / "why.html"))
    assert ran.code == 0 and not (run / "report.html").exists()
    assert f"wrote why.html in {tmp_path}" in ran.err
    assert Page((tmp_path / "why.html").read_text(encoding="utf-8")).data("page")["kind"] == "run"
    nowhere = run_cli("report", str(run), "--html", str(tmp_path / "no" / "why.html"))
    assert nowhere.code == 1 and "cannot write" in nowhere.err


def test_a_run_ends_with_the_line_that_makes_its_page(data: Path, tmp_path: Path) -> None:
    with serve(reply("ANSWER: x")) as server:
        asked = ("run", "slake", "--data", str(data), "--model", "m", "--api-url", server.url)
        plain = run_cli(*asked, "--out", str(tmp_path / "one run"))
        paged = run_cli(*asked, "--out", str(tmp_path / "two"), "--html", "--image-side", "100")
    folder = str(tmp_path / "one run")
    assert plain.err.endswith(f"see why: mmscore report {shlex.quote(folder)} --open\n")
    assert not (tmp_path / "one run" / "report.html").exists()
    again = run_cli(*shlex.split(plain.err.splitlines()[-1])[3:])
    assert again.code == 0 and (tmp_path / "one run" / "report.html").exists()
    assert paged.err.endswith(f"report.html in {tmp_path / 'two'}\n")
    page = Page((tmp_path / "two" / "report.html").read_text(encoding="utf-8"))
    assert len(page.data("images")) == 6 and page.data("samples")["images"] == [100, []]


def test_the_demos_page_has_its_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run_cli("demo")
    command = shlex.split(ran.err.splitlines()[-1])[3:]
    assert command[0] == "report"
    shown: list[str] = []
    monkeypatch.setenv("DISPLAY", ":0")

    def remember(address: str) -> bool:
        shown.append(address)
        return True

    monkeypatch.setattr("webbrowser.open", remember)
    assert run_cli(*command).code == 0
    (address,) = shown
    page = (Path(command[1]) / "report.html").resolve()
    assert address == page.as_uri()
    assert len(Page(page.read_text(encoding="utf-8")).data("images")) == 6


def test_without_a_screen_no_browser_is_looked_for(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("webbrowser.open", lambda _: pytest.fail("a text browser may open"))
    ran = run_cli("report", str(run), "--open")
    assert ran.code == 0
    assert f"no browser can be shown here; the page is {run / 'report.html'}" in ran.err


def test_two_runs_have_a_page_side_by_side(run: Path, tmp_path: Path) -> None:
    other = write_run(tmp_path / "b", [sample(n, 1.0) for n in range(4)], model="other")
    file = tmp_path / "compare.html"
    ran = run_cli("compare", str(run), str(other), "--html", str(file), "--json")
    assert json.loads(ran.out)["counts"]["gained"] == 2
    assert f"wrote compare.html in {tmp_path}" in ran.err
    page = Page(file.read_text(encoding="utf-8"))
    assert page.data("page")["kind"] == "compare" and page.data("page")["names"] == ["m", "other"]


def test_three_runs_are_compared_on_the_terminal_and_in_json(run: Path, tmp_path: Path) -> None:
    more = [
        write_run(tmp_path / str(k), [sample(n, float(n < k)) for n in range(4)], model=f"m{k}")
        for k in range(2)
    ]
    ran = run_cli("compare", str(run), *map(str, more))
    assert ran.code == 0 and "Cochran's Q" in ran.out and "Holm p" in ran.out
    value = json.loads(run_cli("compare", str(run), *map(str, more), "--json").out)
    assert len(value["pairs"]) == 3 and value["names"] == ["m", "m0", "m1"]


def test_a_page_that_is_not_written_cannot_be_shown(run: Path) -> None:
    ran = run_cli("compare", str(run), str(run), "--open")
    assert ran.code == 1 and "--html FILE" in ran.err
