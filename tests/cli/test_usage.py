"""Where people go wrong at a command line: the sentence says what was meant, and holds no key."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import run_cli, script_path
from support.server import hang, serve

from mmscore.cli.hints import fitting
from mmscore.cli.keys import keys_in, masked, without_keys
from mmscore.cli.options import COMMANDS, parse
from mmscore.config import options
from mmscore.errors import UsageError

KEY = "sk-0123456789"


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("rn slake", "did you mean `mmscore run`?"),
        ("Run slake", "did you mean `mmscore run`?"),
        ("zzz", "mmscore --help lists them"),
        ("run slake --temperature 0.3 --model m",
         "type: mmscore run slake --generation temperature=0.3 --model m"),
        ("run slake --max-tokens=64", "type: mmscore run slake --generation max_tokens=64"),
        ("run slake --temperature 0 --top-p 1",
         "type: mmscore run slake --generation temperature=0 --generation top_p=1"),
        ("eval --temperature 0 --max-tokens 9",
         "type: mmscore eval --generation-config temperature=0,max_tokens=9"),
        ("run slake -m m", "type: mmscore run slake --model m"),
        ("run slake --batch-size 4", "type: mmscore run slake --concurrency 4"),
        ("eval --batch-size 4", "type: mmscore eval --eval-batch-size 4"),
        ("run slake --eval-batch-size 4", "type: mmscore run slake --concurrency 4"),
        ("run --datasets slake pmc_vqa --limit 3", "type: mmscore run slake pmc_vqa --limit 3"),
        (f"run slake --key {KEY}", "type: mmscore run slake --api-key KEY"),
        (f"run slake --api-kye {KEY}", "did you mean `--api-key`?"),
        (f"run slake --api-kye={KEY}", "did you mean `--api-key`?"),
        ("run slake --api_url http://h/v1", "type: mmscore run slake --api-url http://h/v1"),
        ("run slake --xyzzy", "mmscore run --help-all lists them"),
        ("report runs/a --judge x", "`--judge` is a flag of: check, run, score"),
        ("run slake --system -x", "a value that begins with a dash is written --system=-VALUE"),
        ("merge a", "mmscore merge --help"),
        ("list a b", "mmscore list --help"),
    ],
)  # fmt: skip
def test_the_line_to_type_is_told(typed: str, hint: str) -> None:
    ran = run_cli(*shlex.split(typed))
    assert ran.code == 2 and ran.err.splitlines()[1] == f"hint: {hint}"
    assert KEY not in ran.err and len(ran.err.splitlines()) == 2
    if hint.startswith("type: "):
        parse(shlex.split(hint)[2:])  # it is one that can be typed


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("run SLAKE --model m --api-url http://127.0.0.1:1", "did you mean `slake`?"),
        ("check PMC-VQA", "did you mean `pmc_vqa`?"),
        ("run slake --data= --model m --api-url http://127.0.0.1:1", "--data is empty"),
        ("run slake --data DATA --subset en_open,zh_open --dry-run",
         "repeat the flag: --subset en_open --subset zh_open"),
        ("run general_vqa --data DATA --subset a,b --dry-run", "--subset a --subset b"),
        ("run slake --concurrency 0", "--concurrency is `0`, expected a whole number from 1"),
        ("eval --datasets slake --eval-batch-size 0", "--eval-batch-size is `0`"),
        ("run slake --think loud", "--think is `loud`, expected strict, reference"),
        ("run slake --shard 5", "--shard is `5`, expected K/N"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_told_by_the_flag_that_was_typed(
    typed: str, words: str, data: Path
) -> None:
    ran = run_cli(*shlex.split(typed.replace("DATA", str(data))))
    assert ran.code in (1, 2) and words in ran.err


def test_benchmarks_may_stand_on_both_sides_of_a_flag() -> None:
    assert parse(["run", "slake", "--limit", "1", "pmc_vqa"]).benchmarks == ["slake", "pmc_vqa"]


def test_a_wrong_usage_is_json_under_json() -> None:
    ran = run_cli("run", "slake", "--nonsense", "--json")
    error = json.loads(ran.out)["error"]
    assert ran.code == 2 and error["exit_code"] == 2 and "`--nonsense`" in error["message"]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_flag_of_a_command_is_unknown_to_it(command: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse([command, "--no-such-flag", "x"])
    assert "--no-such-flag" in caught.value.message or "needs" in caught.value.message


# --- hints in the words of the command -----------------------------------------------------------


@pytest.mark.parametrize(
    ("hint", "command", "told"),
    [
        ("check --api-url and --model", "eval", "check --api-url and --model"),
        ("lower --concurrency", "eval", "lower --eval-batch-size"),
        ("give --data", "eval", "give `local_path` in --dataset-args"),
        ("see --judge-model", "eval", "see `models.model_id` in --judge"),
        ("go on with --resume", "eval", "go on with `mmscore run` with --resume"),
        ("go on with --resume", "run", "go on with --resume"),
        ("mmscore score a --replies b", "run", "mmscore score a --replies b"),
        ("leave --fresh out", "report", "leave `mmscore run` with --fresh out"),
        ("use --nobody-knows", "run", "use --nobody-knows"),
    ],
)
def test_a_hint_names_no_flag_that_the_command_lacks(hint: str, command: str, told: str) -> None:
    assert fitting(hint, command) == told


# --- keys ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        (["run", "--api-key", "k-1"], ["k-1"]),
        (["run", "--api-key=k-1"], ["k-1"]),
        (["run", "--judge-api-key", "k-1"], ["k-1"]),
        (["eval", "--model-args", "api_key=k-1,precision=fp16"], ["k-1"]),
        (["eval", "--model-args", '{"api_key": "k-1"}'], ["k-1"]),
        (["eval", "--judge-model-args", '{"api_key": "k-1", "model_id": "m"}'], ["k-1"]),
        (["run", "--judge", '{"models": [{"api_key": "k-1"}, {"api_key": "k-22"}]}'],
         ["k-22", "k-1"]),
        (["run", "--judge", '{"models": {"api_key": "k-1"'], ["k-1"]),
        (["run", "--judge",
          '{"models": {"generation_config": {"extra_headers": {"X-Any": "Bearer abc"}}}}'],
         ["Bearer abc", "abc"]),
        (["run", "--generation", '{"extra_query": {"code": "k-1"}, "max_tokens": 5}'], ["k-1"]),
        (["run", "--generation", "max_tokens=512"], []),
        (["run", "--api-url", "http://user:pw@h/v1?sig=abc&x=1"], ["sig=abc&x=1", "user:pw"]),
        (["fetch", "slake", "--data", "https://h/a.zip?token=abc"], ["token=abc"]),
        (["run", "--api-key", "EMPTY"], []),
        (["run", "--api-key", "$NAME", "--model", "m"], ["$NAME"]),
        (["run", "slake", "--data", "C:\\sets"], []),
    ],
)  # fmt: skip
def test_the_keys_of_a_line_are_known(typed: list[str], keys: list[str]) -> None:
    assert keys_in(typed) == keys
    shown = masked(typed)
    assert [len(word) for word in shown] == [len(word) for word in typed]
    assert not [key for key in keys if any(key in word for word in shown)]


@pytest.mark.parametrize("flag", [row.flag for row in options.OPTIONS if row.secret and row.flag])
def test_the_value_of_a_secret_flag_is_a_key(flag: str) -> None:
    assert any("k-1" in key for key in keys_in(["run", flag, "NAME=k-1"]))


def test_keys_of_the_environment_are_masked_too() -> None:
    text = without_keys(f"cannot send {KEY}", [], {"OPENAI_API_KEY": KEY})
    assert text == "cannot send ***"


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="the process title is Linux's")
def test_the_process_title_shows_no_key(data: Path) -> None:
    judge = json.dumps({"strategy": "rule", "models": {"model_id": "j", "api_key": KEY}})
    with serve(hang()) as server:
        url = server.url.replace("http://", f"http://user:{KEY}@") + f"?code={KEY}"
        words = [
            script_path(), "run", "slake", "--data", str(data), "--model", "m", "--api-url", url,
            "--api-key", KEY, "--judge", judge, "--progress", "none", "--out", str(data / "out"),
        ]  # fmt: skip
        with subprocess.Popen(words, stderr=subprocess.DEVNULL) as process:
            while not server.requests and process.poll() is None:
                time.sleep(0.01)
            title = Path(f"/proc/{process.pid}/cmdline").read_bytes()
            process.kill()
    assert b"--api-key\0" in title and b"slake" in title and KEY.encode() not in title
    assert sys.platform == "linux"
