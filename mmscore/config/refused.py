"""Rows of the table of options that EvalScope knows, and that have one value or none here."""

from __future__ import annotations

from mmscore.config.kinds import ANY, MAPPING, PAIRS, SWITCH, TEXT, Kind, choice, count
from mmscore.config.option import Option

STRATEGIES = ("auto", "rule", "llm", "llm_recall")
_NO_AGENTS = "mmscore runs no agents"
_NO_CODE = "mmscore runs no code of a model"


def _refused(name: str, kind: Kind, only: tuple[object, ...], reason: str) -> Option:
    return Option(
        name,
        kind,
        reason,
        evalscope=name,
        common=False,
        only=only,
        refused=reason,
        secret=kind in (PAIRS, MAPPING),
    )


_NO_EXAMPLES = "questions are asked without examples"


def _argument(name: str, only: tuple[object, ...], reason: str) -> Option:
    return Option(f"dataset_args.*.{name}", ANY, reason, only=only, refused=reason)


REFUSED = (
    _refused("model_args", PAIRS, ({},), "mmscore asks an endpoint and loads no model"),
    _refused("model_task", TEXT, ("text_generation",), "mmscore asks for text"),
    _refused("chat_template", TEXT, (), "the endpoint applies its own template"),
    _refused("agent_config", MAPPING, ({},), _NO_AGENTS),
    _refused("sandbox", MAPPING, ({}, {"enabled": False}), _NO_CODE),
    _refused("use_sandbox", SWITCH, (False,), _NO_CODE),
    _refused("sandbox_type", TEXT, ("docker",), _NO_CODE),
    _refused("sandbox_manager_config", MAPPING, ({},), _NO_CODE),
    _refused("analysis_report", SWITCH, (False,),
             "`mmscore report` writes the report, with no model's words"),
    _refused("enable_progress_tracker", SWITCH, (False,),
             "`--progress json` tells how far a run is"),
    _refused("judge_worker_num", count(1), (), "judges are asked `eval_batch_size` at a time"),
    Option("debug", ANY, "`--debug` is a flag of the command", ignored=True),
    Option("evalscope_version", ANY, "EvalScope writes it into its own configurations",
           ignored=True),
    Option("judge_strategy", choice(*STRATEGIES), "older name of `judge.strategy`",
           evalscope="judge_strategy", common=False, instead="judge.strategy"),
    Option("judge_model_args", MAPPING, "older name of `judge.models` and `judge.contract`",
           evalscope="judge_model_args", common=False, secret=True, instead="judge.models"),
    _argument("few_shot_num", (0,), _NO_EXAMPLES),
    _argument("few_shot_random", (False,), _NO_EXAMPLES),
    _argument("few_shot_prompt_template", ("",), _NO_EXAMPLES),
    _argument("train_split", ("",), _NO_EXAMPLES),
    _argument("shuffle_choices", (False,), "options stay in their order"),
    _argument("aggregation", ("mean",), "scores are means over samples"),
    _argument("force_redownload", (False,), "`mmscore cache --clean` lets data be fetched anew"),
    _argument("query_template", ("",), "`prompt_template` is the one there is"),
    Option("dataset_args.*.review_timeout", ANY, "scoring has no time limit to set", ignored=True),
)  # fmt: skip
