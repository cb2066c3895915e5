"""Which samples are asked: by limit, by lot, by name, by shard; and how often the data are read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import run_cli
from support.server import reply, serve

from mmscore.dataset.rows.text import TextFile
from mmscore.errors import ConfigError
from mmscore.plan.selection import Selection, Wanted, select
from mmscore.plan.survey import survey
from mmscore.types import Sample


def samples(*subsets: str, unit: int = 1) -> list[Sample]:
    """Samples of these subsets in order, `unit` of them to a unit."""
    return [
        Sample(f"s{n}", name, (), None, unit=f"u{n // unit}" if unit > 1 else None)
        for n, name in enumerate(subsets)
    ]


def chosen(of: list[Sample], wanted: Wanted, ids: frozenset[str] | None = None) -> Selection:
    return select(survey(of, seed=wanted.seed, ids=ids), wanted)


def names(of: list[Sample], wanted: Wanted) -> list[str]:
    found = chosen(of, wanted, wanted.ids)
    return [sample.id for _, sample, _ in found.items(of)]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Wanted(), "s0 s1 s2 s3 s4 s5"),
        (Wanted(limit=1), "s0 s1"),
        (Wanted(limit=2), "s0 s1 s2 s3"),
        (Wanted(limit=99), "s0 s1 s2 s3 s4 s5"),
        (Wanted(limit=0.99), "s0 s1 s2 s3"),  # a share is rounded down, in each subset
        (Wanted(limit=0.2), ""),
        (Wanted(shard="1/2"), "s0 s1 s2"),
        (Wanted(shard="2/2"), "s3 s4 s5"),
        (Wanted(shard="7/7"), "s5"),
        (Wanted(limit=2, shard="2/2"), "s2 s3"),
        (Wanted(ids=frozenset({"s4", "s1"})), "s1 s4"),
        (Wanted(ids=frozenset({"s4", "s2", "s1"}), limit=1), "s1 s2"),
        (Wanted(repeats=2, limit=1), "s0 s0 s1 s1"),
    ],
)
def test_what_is_asked(wanted: Wanted, expected: str) -> None:
    of = samples("a", "b", "a", "b", "a", "b")
    assert names(of, wanted) == expected.split()
    assert sum(chosen(of, wanted, wanted.ids).planned.values()) == len(expected.split())


def test_a_limit_takes_or_leaves_a_unit_whole() -> None:
    of = samples(*"aaaaaaa", unit=3)
    assert names(of, Wanted(limit=2)) == ["s0", "s1", "s2", "s3", "s4", "s5"]
    assert names(of, Wanted(limit=0.4)) == ["s0", "s1", "s2"]
    assert len(names(of, Wanted(sample=1, seed=3))) in (1, 3)


def test_reading_ends_where_the_limit_is_full() -> None:
    read = []

    def passing() -> Iterator[Sample]:
        for sample in samples(*"abaabbb"):
            read.append(sample.id)
            yield sample

    wanted = Wanted(limit=2)
    found = survey(passing(), enough=wanted.enough(["a", "b"]))
    assert read == ["s0", "s1", "s2", "s3", "s4", "s5"], "the one behind the last that counts"
    assert [s.id for _, s, _ in select(found, wanted).items(samples(*"abaabbb"))] == [
        *("s0", "s1", "s2", "s4"),
    ]


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=40), st.integers(1, 9))
def test_shards_are_whole_apart_and_balanced(subsets: list[str], parts: int) -> None:
    of = samples(*subsets)
    shards = [names(of, Wanted(shard=f"{part}/{parts}")) for part in range(1, parts + 1)]
    assert [name for shard in shards for name in shard] == [sample.id for sample in of]
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


@given(st.permutations(range(12)), st.integers(0, 5))
def test_a_draw_depends_on_seed_and_ids_alone(order: list[int], count: int) -> None:
    of = samples(*"ab" * 6)
    wanted = Wanted(sample=count, seed=7)
    drawn = set(names(of, wanted))
    assert set(names([of[at] for at in order], wanted)) == drawn
    assert Counter(name[0] for name in drawn) == Counter({"s": 2 * count} if count else {})


def test_seeds_draw_differently_and_by_a_fixed_rule() -> None:
    of = samples(*"a" * 50)
    draws = [tuple(names(of, Wanted(sample=3, seed=seed))) for seed in range(5)]
    assert len(set(draws)) == 5
    # Fixed for good: a published draw must be found again by every later version.
    assert draws[0] == ("s0", "s25", "s34")


def test_a_limit_and_a_draw_together_are_refused() -> None:
    with pytest.raises(ConfigError, match="both given"):
        chosen(samples("a"), Wanted(limit=1, sample=1))


# --- how often the data are read -----------------------------------------------------------------


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts how often the rows of each file are begun to be read, by its name."""
    counts: Counter[str] = Counter()
    begin = TextFile.__init__

    def counting(self: TextFile, path: Path, *args: Any, **values: Any) -> None:
        counts[path.name] += 1
        begin(self, path, *args, **values)

    monkeypatch.setattr(TextFile, "__init__", counting)
    return counts


def table(folder: Path, rows: int) -> Path:
    path = folder / "set.tsv"
    lines = [f"{n}\tWhat is {n}?\tA\tone\ttwo\n" for n in range(rows)]
    path.write_text("index\tquestion\tanswer\tA\tB\n" + "".join(lines))
    return path


@pytest.mark.parametrize(("rows", "most"), [(5, 1), (5000, 2)])
@pytest.mark.parametrize("options", [(), ("--shard", "2/3"), ("--limit", "4")])
def test_a_table_is_read_once_to_survey_and_once_to_ask(
    tmp_path: Path, reads: Counter[str], rows: int, most: int, options: tuple[str, ...]
) -> None:
    path = table(tmp_path, rows)
    with serve(reply("ANSWER: A")) as server:
        ran = run_cli(
            *("run", "general_vmcq", "--data", str(path), "--model", "m"),
            *("--api-url", server.url, "--out", str(tmp_path / "out"), *options),
        )
    assert ran.code == 0, ran.err
    assert reads["set.tsv"] <= most


def test_a_check_reads_a_small_table_once(tmp_path: Path, reads: Counter[str]) -> None:
    ran = run_cli("check", "general_vmcq", "--data", str(table(tmp_path, 50)))
    assert ran.code == 0, ran.out
    assert reads["set.tsv"] == 1
    assert "50 rows" in ran.out


def test_the_dry_run_and_the_check_show_one_request(tmp_path: Path) -> None:
    path = table(tmp_path, 3)
    common = ("general_vmcq", "--data", str(path), "--model", "m", "--json")
    dry = json.loads(run_cli("run", *common, "--dry-run").out)
    checked = json.loads(run_cli("check", *common).out)[0]
    assert checked["request"][1] == next(iter(dry["first"].values()))
