"""What a run may cost, and what it need not pay twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import Ran, run_cli
from support.server import Request, Response, reply, serve

from mmscore.config.price import Price, price_of
from mmscore.errors import BudgetError, ConfigError
from mmscore.run.budget import Budget, Limits
from mmscore.types import Usage


@pytest.fixture
def run(data: Path, tmp_path: Path) -> Callable[..., Ran]:
    def call(url: str, *more: str, out: str = "out") -> Ran:
        return run_cli(
            *("run", "slake", "--data", str(data), "--model", "m", "--api-url", url),
            *("--out", str(tmp_path / out), "--concurrency", "2", *more),
        )

    return call


def report(folder: Path) -> Any:
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))


# --- prices --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (None, None),
        ("2.5,10", Price(2.5, 10.0)),
        (" 0 , 0 ", Price(0.0, 0.0)),
        ([1, 2], Price(1.0, 2.0)),
        ({"input": 1, "output": 2}, Price(1.0, 2.0)),
    ],
)
def test_a_price_is_read(said: Any, expected: Price | None) -> None:
    assert price_of(said, "m") == expected


def test_a_file_of_prices_is_read_by_the_models_name(tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text('"org/m:7b" = [1, 2]\nn = "3,4"\n[o]\ninput = 5\noutput = 6\n')
    assert price_of(str(file), "org/m:7b") == Price(1.0, 2.0)
    assert price_of(str(file), "n") == Price(3.0, 4.0)
    assert price_of(str(file), "o") == Price(5.0, 6.0)
    with pytest.raises(ConfigError, match="no price of the model `nn`") as caught:
        price_of(str(file), "nn")
    assert caught.value.hint == "did you mean `n`?"


@pytest.mark.parametrize(
    "said", ["1", "1,2,3", "-1,2", "1,nan", "inf,1", "cheap", [1], [1, "x"], {"input": 1}, 5, True]
)
def test_what_is_no_price_is_refused(said: Any) -> None:
    with pytest.raises(ConfigError):
        price_of(said, "m")


def test_what_tokens_cost() -> None:
    assert Price(2.5, 10).of(1_000_000, 100_000) == 3.5
    assert Price(2.5, 10).of(None, None) == 0


# --- limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "fits", "words"),
    [
        (Limits(tokens=100), 9, "110 tokens were used, of 100"),
        (Limits(cost=1.0), 9, "1.1 was spent, of 1 "),
        (Limits(seconds=50), 4, "60 s went by, of 50"),
    ],
)
def test_a_limit_ends_a_run_and_says_which(limits: Limits, fits: int, words: str) -> None:
    now = [0.0]
    budget = Budget(limits, Price(10_000, 10_000), clock=lambda: now[0])
    for _ in range(fits):
        now[0] += 10
        budget.spend(Usage(9, 1) if limits.seconds is None else Usage())
    now[0] += 20 if limits.seconds else 0
    with pytest.raises(BudgetError) as caught:
        budget.spend(Usage(15, 5))
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--max-tokens-total", "60"), "--max-tokens-total"),
        (("--max-cost", "0.0006", "--price", "10,10"), "--max-cost"),
    ],
)
def test_a_run_stops_in_order_and_goes_on(
    run: Any, tmp_path: Path, options: tuple[str, ...], word: str
) -> None:
    usage = {"prompt_tokens": 8, "completion_tokens": 2}
    with serve(reply("ANSWER: x", usage=usage)) as server:
        ran = run(server.url, *options)
        assert ran.code == 3, ran.err
        assert "the budget is used up" in ran.err and word in ran.err
        assert "OVERALL" in ran.out and "unfinished" in ran.out
        asked = len(server.requests)
        assert 6 <= asked <= 8, "what was in flight is finished, no more is begun"
        assert run(server.url).code == 0, "the same folder without the limit"
        assert len(server.requests) == 24
    assert report(tmp_path / "out")["num"] == 24


def test_time_runs_out_though_nothing_ends(run: Any, tmp_path: Path) -> None:
    def limited(request: Request) -> Response:
        return Response(429, (("Retry-After", "60"),), (b"{}",))

    with serve(limited) as server:
        ran = run(server.url, "--max-time", "0.3")
    assert ran.code == 3 and "--max-time" in ran.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--max-cost", "1"), "without a price"),
        (("--max-cost", "0", "--price", "1,1"), "--max-cost is `0.0`, expected a number above 0"),
        (("--max-tokens-total", "-5"), "expected a whole number from 1"),
        (("--max-time", "nan"), "expected seconds above 0"),
        (("--price", "much"), "expected IN,OUT"),
    ],
)
def test_a_budget_that_is_none_is_told_first(run: Any, options: Any, words: str) -> None:
    ran = run("http://127.0.0.1:1", *options)
    assert ran.code == 1 and words in ran.err


def test_the_cost_is_in_table_and_report(run: Any, tmp_path: Path) -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 100}
    with serve(reply("ANSWER: x", usage=usage)) as server:
        ran = run(server.url, "--price", "1,10")
    assert ran.code == 0 and "cost 0.048" in ran.out
    assert report(tmp_path / "out")["usage"]["cost"] == pytest.approx(24 * 0.002)


# --- replies kept across runs ---------------------------------------------------------------------


def test_the_same_request_is_asked_once(run: Any, tmp_path: Path) -> None:
    kept = ("--cache-replies", str(tmp_path / "kept"))
    with serve(reply("ANSWER: x")) as server:
        assert run(server.url, *kept).code == 0
        ran = run(server.url, *kept, out="second")
        assert ran.code == 0 and "24 replies of other runs" in ran.err
        assert "24 replies of other runs" in ran.out
        assert len(server.requests) == 24
        changed = run(server.url, *kept, "--generation", "temperature=0.5", out="third")
        assert changed.code == 0 and len(server.requests) == 48
    first, second = report(tmp_path / "out"), report(tmp_path / "second")
    assert first["scores"] == second["scores"]
    with serve(reply("ANSWER: y")) as other:
        assert run(other.url, *kept, out="fourth").code == 0
        assert len(other.requests) == 24, "another service is another's replies"


def test_repeats_are_kept_apart(run: Any, tmp_path: Path) -> None:
    kept = ("--cache-replies", str(tmp_path / "kept"), "--repeats", "2")
    with serve(reply("ANSWER: x")) as server:
        assert run(server.url, *kept).code == 0
        assert len(server.requests) == 48


def test_failures_and_damaged_files_are_no_replies(run: Any, tmp_path: Path) -> None:
    kept = ("--cache-replies", str(tmp_path / "kept"))
    with serve(reply("ANSWER: x")) as server:
        assert run(server.url, *kept).code == 0
        files = sorted((tmp_path / "kept").rglob("*.json"))
        assert len(files) == 24
        for file, content in zip(
            files, (b"", b"{", b"[]", b'{"format": 1}', b"\xff", b"[" * 99_999), strict=False
        ):
            file.write_bytes(content)
        assert run(server.url, *kept, out="second").code == 0
        assert len(server.requests) == 30


def test_a_place_that_cannot_keep_replies_is_told_first(run: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ran = run("http://127.0.0.1:1", "--cache-replies", str(tmp_path / "file"))
    assert ran.code == 1 and "replies cannot be kept in" in ran.err
