"""The table of options: all that a user can set, a row each, whoever reads it.

From it come the command line's flags, what `TaskConfig` accepts and says of its fields, what a
run keeps of them, what going on and merging compare, which variables are read, and
`mmscore help options`. A new option is a row here and, where a task keeps it, a field there.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from mmscore.config.generation import GENERATION
from mmscore.config.kinds import (
    AMOUNT,
    ANY,
    ARGUMENTS,
    CONFIGURATION,
    DATASETS,
    FILTERS,
    FOLDERS,
    IDS,
    LIMIT,
    MAPPING,
    MODELS,
    ONOFF,
    PAIRS,
    PATH,
    PATIENCE,
    SAMPLE,
    SECONDS,
    SERVICES,
    SHARD,
    SIZE,
    SOME,
    STATUSES,
    SWITCH,
    TEMPLATE,
    TEXT,
    WORDS,
    choice,
    count,
)  # fmt: skip
from mmscore.config.option import Effect, Option
from mmscore.config.refused import REFUSED, STRATEGIES
from mmscore.config.variables import VARIABLES

DEFAULT_CONCURRENCY = 8
DEFAULT_TIMEOUT = 300.0
DEFAULT_RETRIES = 5
DEFAULT_WAIT_READY = 120.0

PROGRESS_FORMS = ("auto", "bar", "lines", "json", "none")
EVAL_TYPES = ("openai_api", "openai_responses_api", "anthropic_api", "server", "service")
PROVIDERS = ("openai", "responses", "anthropic")
BACKENDS = ("Native", "VLMEvalKit")
HUBS = ("modelscope", "huggingface", "local")

_ASKED = "models are asked at an endpoint, which loads them"

RUN = "run check"
DATA = "run check fetch info"
SCORED = "run check score"
ALSO_SCORE = DATA + " score"
ALL = "run check eval score report fetch cache compare merge table list info demo"
TELLS = "run check eval fetch"

ENDPOINT = (
    Option("model", MODELS, "the name the endpoint knows (repeat)", "--model", SCORED,
           evalscope="model", env=("MMSCORE_MODEL",),
           words={"score": "whose replies they are, for the report",
                  "eval": "the name the endpoint knows"},
           more="the model's name as the endpoint knows it; several are asked one after the other"),
    Option("services", SERVICES, "several services that are asked the same", stored=False,
           more="for each a mapping with `model`, and what else of `api_url`, `api_key`, "
           "`generation_config` ... is its own"),
    Option("api_url", TEXT, "the endpoint", "--api-url", RUN, evalscope="api_url", metavar="URL",
           env=("MMSCORE_API_URL", "OPENAI_BASE_URL"), late=True, effect="way",
           more="the endpoint, with or without `/v1` and `/chat/completions`"),
    Option("api_key", TEXT, "the endpoint's key", "--api-key", RUN, evalscope="api_key",
           metavar="KEY", env=("MMSCORE_API_KEY", "OPENAI_API_KEY"), late=True, effect="way",
           stored=False, secret=True,
           more="sent as a bearer token; `$NAME` takes it from the environment; never written"),
    Option("eval_type", choice(*EVAL_TYPES, metavar="TYPE", hint=_ASKED),
           ", ".join(EVAL_TYPES[:3]), evalscope="eval_type"),
    Option("provider", choice(*PROVIDERS, metavar="NAME"), ", ".join(PROVIDERS), "--provider", RUN,
           common=False,
           more="the interface that is spoken: `openai` (chat completions, which nearly all "
           "servers have), `responses` (OpenAI's Responses API), `anthropic` (its Messages API)"),
    Option("model_id", TEXT, "the model's name in reports, where it is another",
           evalscope="model_id", metavar="NAME", effect="score", common=False),
)  # fmt: skip

DATA_SETS = (
    Option("datasets", DATASETS, "benchmarks: see `mmscore list`", evalscope="datasets",
           stored=False),
    Option("dataset_args", ARGUMENTS, "per benchmark: local_path, subset_list ...",
           evalscope="dataset_args",
           more="per benchmark a mapping; its keys are the rows `dataset_args.*` of this table"),
    Option("dataset_dir", PATH, "a folder of data sets by name or hub id",
           evalscope="dataset_dir", metavar="DIR", effect="data"),
    Option("dataset_hub", choice(*HUBS, metavar="HUB"), "modelscope, huggingface or local",
           evalscope="dataset_hub", effect="data"),
    Option("dataset_args.*.local_path", PATH, "path, modelscope:ID, hf:ID or a URL",
           "--data", ALSO_SCORE, metavar="PLACE", effect="data",
           words={"score": "the data set's folder or file"},
           more="where its data are: a path, modelscope:ID, hf:ID or a URL"),
    Option("dataset_args.*.dataset_id", TEXT, "the data set's id at the hub", effect="data"),
    Option("dataset_args.*.subset_list", WORDS, "only this one (repeat)", "--subset", ALSO_SCORE,
           more="the subsets that are asked"),
    Option("limit", LIMIT, "first samples of a subset", "--limit", ALSO_SCORE, evalscope="limit",
           more="samples per subset: a number, or a share as a float below 1; 0 is no limit"),
    Option("dataset_args.*.shuffle", SWITCH, "EvalScope's: --limit draws at random"),
    Option("dataset_args.*.extra_params", PAIRS, "an option of this benchmark alone", "--extra",
           ALSO_SCORE, common=False,
           more="options of this benchmark alone"),
    Option("shard", SHARD, "the Kth of N parts; or auto", "--shard", DATA, effect="data",
           env=("MMSCORE_SHARD",),
           more="`K/N`: the Kth of N contiguous parts; `auto`, `auto/N`: as the engine says"),
    Option("media_root", PATH, "where relative media paths start", "--media-root", DATA,
           metavar="DIR", effect="data"),
    Option("allow_path", FOLDERS, "media may lie there too (repeat)", "--allow-path", DATA,
           effect="data", stored=False, common=False,
           more="further folders whose media the data may name, however a path leads there"),
    Option("keep", WORDS, "keep this column as a fact, and no others (repeat)", "--keep",
           DATA + " score", metavar="COLUMN", effect="score", common=False,
           more="columns of one's own files that are kept as facts of the samples; without it, "
           "those that mean nothing to the benchmark, cut short"),
    Option("group_by", WORDS, "break the report down by this fact (repeat)", "--group-by",
           SCORED, metavar="COLUMN", effect="score", common=False,
           more="facts of the samples by which the report is broken down"),
    Option("", WORDS, "break down by this fact (repeat)", "--group-by", "report compare",
           metavar="COLUMN"),
    Option("max_image_bytes", SIZE, "shrink to this base64 size: 5MB", "--max-image-bytes", DATA,
           more="largest image in bytes of its base64 form"),
    Option("dataset_args.*.max_image_bytes", SIZE, "the same for one benchmark"),
    Option("min_side", count(1), "enlarge smaller images", "--min-side", DATA, metavar="PX",
           more="smallest image side in pixels", common=False),
    Option("max_pixels", count(1), "shrink larger images", "--max-pixels", DATA,
           more="most pixels of an image", common=False),
    Option("skip_bad_media", SWITCH, "run what is left", "--skip-bad-media", DATA + " eval",
           default=False,
           more="run what is left when media are missing"),
    Option("inline_urls", SWITCH, "fetch media at URLs, send bytes", "--inline-urls", DATA,
           default=False,
           more="fetch media at http(s) URLs and send their bytes instead of the URLs"),
    Option("offline", SWITCH, "fetch nothing", "--offline", DATA, default=False, effect="way",
           more="make no request but to the endpoint"),
    Option("", SWITCH, "archives whole, not members asked", "--whole", "fetch"),
    Option("sample", SAMPLE, "so many drawn from each subset", "--sample", DATA, common=False,
           more="samples drawn from each subset instead: a number, or a share below 1"),
    Option("ids", IDS, "only these samples", "--ids", DATA, common=False,
           more="only the samples of these ids; in a string they stand between commas"),
    Option("from_run", PATH, "samples of an earlier run", "--from", DATA, metavar="RUN_DIR",
           stored=False, common=False,
           more="a run whose samples are asked again, those that `from_status` names"),
    Option("from_status", STATUSES, "wrong, failed, truncated, unjudged ... (repeat)", "--status",
           DATA, stored=False, common=False, default=["wrong", "failed"],
           more="`wrong`, `failed`, `truncated`, `unjudged` or another status"),
    Option("seed", count(0), "what --sample draws by", "--seed", DATA, evalscope="seed",
           common=False, metavar="S",
           more="what `sample` draws by; the same everywhere for the same number"),
)  # fmt: skip

OWN_SETS = (
    Option("dataset_args.*.extra_params.strict", SWITCH, "end at the first bad row", "--strict",
           RUN),
    Option("dataset_args.*.extra_params.multiple", SWITCH, "several options may be right",
           "--multiple", RUN, common=False),
    Option("dataset_args.*.extra_params.language", choice("en", "zh", metavar="LANG"),
           "en or zh choices", "--template", RUN, common=False),
    Option("dataset_args.*.extra_params.split", TEXT, "of files named SUBSET_SPLIT (test, val)",
           "--split", RUN, metavar="NAME", common=False),
    Option("dataset_args.*.eval_split", TEXT, "EvalScope's name of that split"),
    Option("dataset_args.*.metric_list", WORDS, "only this one (repeat)", "--metrics", RUN,
           more="the metrics that are reported, the primary one first"),
)  # fmt: skip

ASKING = (
    Option("eval_batch_size", count(1, 10_000), f"requests in flight ({DEFAULT_CONCURRENCY})",
           "--concurrency", SCORED, evalscope="eval_batch_size", effect="way",
           default=DEFAULT_CONCURRENCY, words={"score": "judge requests in flight"}),
    Option("generation_config", PAIRS, "into the request body; or JSON", "--generation", RUN,
           evalscope="generation_config", words={"eval": "JSON, or key=value,key=value"},
           more="goes into the request body as it is, but for `timeout`, `retries`, `stream`"),
    Option("dataset_args.*.system_prompt", TEXT, "a system message before each question",
           "--system", RUN),
    Option("dataset_args.*.prompt_template", TEMPLATE, "or @FILE; {question} stands in it",
           "--prompt-template", RUN,
           more="the words of a question, with {question} in them"),
    Option("repeats", count(1, 10_000), "ask each sample K times", "--repeats", RUN,
           evalscope="repeats", metavar="K", default=1),
    Option("stream", SWITCH, "ask for a stream", "--stream", RUN, evalscope="stream",
           more="ask for a stream of events"),
    Option("timeout", SECONDS, f"seconds a request ({DEFAULT_TIMEOUT:g})", "--timeout", RUN,
           evalscope="timeout", effect="way", more="seconds until one request must be answered"),
    Option("retries", count(0, 10_000), f"new attempts a sample ({DEFAULT_RETRIES})", "--retries",
           RUN, effect="way", more="new attempts after a failed one"),
    Option("wait_ready", PATIENCE, f"seconds a loading endpoint may take ({DEFAULT_WAIT_READY:g})",
           "--wait-ready", RUN, effect="way", common=False,
           more="seconds for which an endpoint that has never answered may say that it is loading"),
    Option("think", choice("strict", "reference", metavar="RULE"),
           "how <think> is split off: strict, reference", "--think", RUN + " score eval",
           default="strict", common=False),
    Option("dry_run", SWITCH, "show the first requests, send none", "--dry-run", RUN,
           evalscope="dry_run", default=False, stored=False),
    Option("", SWITCH, "say what is new, fetch no media", "--dry-run", "fetch"),
    Option("dataset_args.*.filters", FILTERS, "on replies before reading (repeat)", "--filter",
           SCORED,
           more="what happens to a reply before it is read: see `mmscore help filters`"),
    Option("ignore_errors", SWITCH, "no failed sample ends a run here",
           evalscope="ignore_errors", default=False, stored=False, effect="way",
           more="a sample that fails never ends a run, so this says nothing new"),
    Option("collect_perf", ONOFF, "times and tokens are always kept", evalscope="collect_perf",
           default=True, effect="way", common=False),
)  # fmt: skip

BUDGET = (
    Option("price", ANY, "what a million tokens cost", "--price", RUN, metavar="IN,OUT",
           effect="way", stored=False, common=False,
           more="`IN,OUT` for a million tokens, or a file of prices by model name"),
    Option("max_cost", AMOUNT, "stop when so much was spent", "--max-cost", RUN, effect="way",
           stored=False, common=False),
    Option("max_tokens_total", count(1), "stop when so many tokens were used",
           "--max-tokens-total", RUN, effect="way", stored=False, common=False),
    Option("max_time", SECONDS, "stop after so many seconds of asking", "--max-time", RUN,
           effect="way", stored=False, common=False),
    Option("cache_replies", PATH, "keep replies here across runs", "--cache-replies", RUN,
           metavar="DIR", effect="way", stored=False, common=False,
           more="a folder where replies are kept across runs; the same request to the same "
           "service is asked once"),
)  # fmt: skip

JUDGE = (
    Option("judge", MAPPING, "strategy, models, contract, repeats ...", "--judge", SCORED,
           evalscope="judge", effect="score",
           more="a model that scores replies: see `mmscore help judge`; keys are never written"),
    Option("judge.strategy", choice(*STRATEGIES), " ".join(STRATEGIES), "--judge-strategy",
           SCORED),
    Option("judge.models.*.model_id", TEXT, "the judge's name at its endpoint", "--judge-model",
           SCORED, metavar="MODEL"),
    Option("judge.models.*.api_url", TEXT, "the judge's endpoint", "--judge-api-url", SCORED,
           metavar="URL", env=("MMSCORE_JUDGE_API_URL", "MODELSCOPE_API_BASE"), late=True),
    Option("judge.models.*.api_key", TEXT, "its key", "--judge-api-key", SCORED,
           metavar="KEY", env=("MMSCORE_JUDGE_API_KEY", "MODELSCOPE_SDK_TOKEN"), late=True,
           secret=True),
    Option("judge.contract.system_prompt", TEXT, "a system message for the judge",
           env=("JUDGE_SYSTEM_PROMPT",), late=True),
    Option("judge.contract.prompt_template", TEXT, "what the judge is asked",
           env=("JUDGE_PROMPT_TEMPLATE",), late=True),
)  # fmt: skip

REPLIES = (
    Option("", PATH, "CSV, TSV, JSON Lines with id and reply; predictions of mmscore or EvalScope",
           "--replies", "score", metavar="FILE"),
    Option("", TEXT, "id, sample_id, index, qid", "--id-column", "score", metavar="NAME"),
    Option("", TEXT, "reply, prediction, response ...", "--reply-column", "score", metavar="NAME"),
    Option("", SWITCH, "not every sample has a reply", "--partial", "score"),
    Option("", PATH, "the run's own benchmark, a .py file", "--benchmark", "score", metavar="FILE"),
)  # fmt: skip

FOLDER = (
    Option("out", PATH, "the run's folder (outputs/<time>-<name>)", "--out", SCORED,
           metavar="DIR", env=("MMSCORE_OUT",), stored=False, effect="way",
           words={"score": "the folder to write (outputs/<time>-<name>)"},
           more="this run's own folder; one that holds this very run is gone on with"),
    Option("", PATH, "the merged run's folder", "--out", "merge", metavar="DIR", required=True),
    Option("", PATH, "the folder to write to; the run's own", "--out", "report", metavar="DIR"),
    Option("", SWITCH, "also where shards are missing", "--partial", "merge"),
    Option("", PATH, "keep the data and the run here", "--out", "demo", metavar="DIR"),
    Option("fresh", SWITCH, "refuse a folder that holds a run already", "--fresh", RUN,
           default=False, stored=False, effect="way", common=False),
    Option("name", TEXT, "the end of that folder's name", "--name", RUN, metavar="NAME",
           effect="way", common=False,
           more="the end of the run folder's name"),
    Option("resume", PATH, "go on with an earlier run", "--resume", RUN, metavar="RUN_DIR",
           stored=False, effect="way"),
    Option("use_cache", PATH, "go on with an earlier run", evalscope="use_cache",
           metavar="RUN_DIR", stored=False, effect="way"),
    Option("rerun_review", SWITCH, "score kept replies anew", evalscope="rerun_review",
           default=False, stored=False, effect="way"),
    Option("work_dir", PATH, "where run folders are made (outputs)", evalscope="work_dir",
           metavar="DIR", env=("MMSCORE_WORK_DIR",), default="outputs", stored=False,
           effect="way"),
    Option("no_timestamp", SWITCH, "write into that folder itself", evalscope="no_timestamp",
           default=False, stored=False, effect="way",
           more="write into `work_dir` itself"),
    Option("", PATH, "a task file: .toml, .json or .yaml", "--config", RUN, metavar="FILE",
           env=("MMSCORE_CONFIG",)),
)  # fmt: skip

OUTPUT = (
    Option("", SOME, "remove these, or all where none is named", "--clean", "cache",
           metavar="BENCH"),
    Option("", choice("text", "csv", "json", "markdown", metavar="FORM"),
           "text, csv, json, markdown", "--format", "table", default="text"),
    Option("", TEXT, "the benchmark's first one by default", "--metric", "compare",
           metavar="NAME"),
    Option("", SWITCH, "also over unlike data, by id", "--force", "compare"),
    Option("", PATH, "where the page is written (RUN_DIR/report.html)", "--html", "report",
           metavar="FILE"),
    Option("", PATH, "write a page with the runs side by side", "--html", "compare",
           metavar="FILE"),
    Option("", SWITCH, "write report.html too, with the images", "--html", "run"),
    Option("", SWITCH, "show the page in a browser", "--open", "report compare"),
    Option("", count(0, 8192), "longer side of the page's images (768); 0: none", "--image-side",
           "report compare run", metavar="PX", common=False),
    Option("", SWITCH, "JSON instead of text on stdout", "--json", ALL),
    Option("", choice(*PROGRESS_FORMS, metavar="FORM"),
           "how progress is told: " + ", ".join(PROGRESS_FORMS), "--progress", TELLS,
           default="auto"),
    Option("", SWITCH, "show where an error comes from", "--debug", ALL, common=False),
)  # fmt: skip

BACKEND = (
    Option("eval_backend", choice(*BACKENDS, hint="tasks of other backends are not read"),
           "VLMEvalKit, with --eval-config",
           evalscope="eval_backend",
           more="`VLMEvalKit` where `eval_config` is one of its configurations"),
    Option("eval_config", CONFIGURATION, "its configuration", evalscope="eval_config",
           stored=False,
           more="the configuration of that backend, or the path of its file"),
)  # fmt: skip

SECTIONS: dict[str, tuple[Option, ...]] = {
    "endpoint": ENDPOINT,
    "data": DATA_SETS,
    "sets of your own": OWN_SETS,
    "asking": ASKING,
    "keys of `generation_config`": GENERATION,
    "budget": BUDGET,
    "judge": JUDGE,
    "replies made elsewhere": REPLIES,
    "run folder": FOLDER,
    "another backend": BACKEND,
    "": OUTPUT,
    "variables alone": VARIABLES,
    "EvalScope's that have one value here": REFUSED,
}
"""Title -> its rows, in the order of help; those of no title stand beside `--help`."""

OPTIONS: tuple[Option, ...] = tuple(row for rows in SECTIONS.values() for row in rows)


@cache
def fields() -> dict[str, Option]:
    """Field of `TaskConfig` -> its row."""
    return {row.place: row for row in OPTIONS if row.place and "." not in row.place and row.kept}


@cache
def inside(place: str) -> dict[str, Option]:
    """Key of a mapping in a task (`dataset_args.*`) -> its row."""
    return {row.key: row for row in OPTIONS if row.place.rpartition(".")[0] == place}


@cache
def meaningless() -> dict[str, Option]:
    """Field of an EvalScope task that no field here holds -> its row."""
    return {
        row.place: row for row in OPTIONS if row.place and "." not in row.place and not row.kept
    }


def compared(config: Mapping[str, Any], *but: Effect) -> dict[str, Any]:
    """A run's stored configuration without the options whose change means only that much."""
    kept = {name: value for name, value in config.items() if not _means(fields(), name, but)}
    inner = inside("dataset_args.*")
    if kept.get("dataset_args"):
        kept["dataset_args"] = {
            benchmark: {key: value for key, value in one.items() if not _means(inner, key, but)}
            for benchmark, one in kept["dataset_args"].items()
        }
    return kept


def _means(rows: Mapping[str, Option], name: str, effects: tuple[Effect, ...]) -> bool:
    return name in rows and rows[name].effect in effects


def older_names() -> dict[str, Option]:
    """Older name of a field -> its row."""
    return {row.place: row for row in OPTIONS if row.instead}


def of_command(command: str) -> tuple[Option, ...]:
    """The rows whose flags a command takes."""
    return tuple(row for row in OPTIONS if row.takes(command))
