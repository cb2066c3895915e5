"""What a task says about its judge, checked: EvalScope 1.14.1's `judge` mapping.

Unknown keys are errors that name the nearest, and whatever would make a judge useless is told
before anything is asked: a strategy that asks nobody known, two judges of one name, a template
that never shows the reply.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, cast

from mmscore.config.options import EVAL_TYPES
from mmscore.config.refused import STRATEGIES
from mmscore.error_text import listed, nearest_hint, shown, what
from mmscore.errors import ConfigError

Strategy = Literal["auto", "rule", "llm", "llm_recall"]
AGGREGATIONS = ("mean", "median", "majority_vote")
SCORE_TYPES = ("pattern", "numeric")


@dataclass(frozen=True, slots=True)
class JudgeModel:
    """One model that judges.

    Attributes:
        model_id: Its name at the endpoint.
        judge_id: Its name in this run; the model's own unless two judges share one.
        api_url: Its endpoint.
        api_key: Sent as a bearer token; `$NAME` takes it from the environment. Never written.
        generation_config: Goes into the request body; replaces the default as a whole.
        eval_type: What kind of service it is; None is `openai_api`.
    """

    model_id: str
    judge_id: str
    api_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    generation_config: Mapping[str, Any] = field(default_factory=dict)
    eval_type: str | None = None


@dataclass(frozen=True, slots=True)
class JudgeContract:
    """What all judges of a run are asked, and which verdicts they may give.

    Attributes:
        system_prompt: A system message before the question.
        prompt_template: Replaces the built-in one; `{question}`, `{gold}`, `{pred}` are filled in.
        score_mapping: Verdict -> score, 0 to 1; None is A for right and B for wrong.
        score_type: `pattern` grades against the reference answer by labels, `numeric` rates from 0
            to 1 without one.
    """

    system_prompt: str | None = None
    prompt_template: str | None = None
    score_mapping: Mapping[str, float] | None = None
    score_type: str = "pattern"


@dataclass(frozen=True, slots=True)
class JudgeConfig:
    """How replies are judged.

    Attributes:
        strategy: `rule` and `auto` ask no judge; `llm` asks it about every reply, instead of the
            rule; `llm_recall` about those the rule failed, which it can only raise.
        models: The judges.
        contract: What they are asked.
        repeats: How often each is asked about a reply.
        aggregation: How verdicts are combined.
        min_valid_judges: With fewer judges' verdicts than this, a reply has no verdict.
    """

    strategy: Strategy = "auto"
    models: tuple[JudgeModel, ...] = ()
    contract: JudgeContract = JudgeContract()
    repeats: int = 1
    aggregation: str = "mean"
    min_valid_judges: int = 1

    @property
    def asks(self) -> bool:
        """Whether any judge will be asked."""
        return self.strategy in ("llm", "llm_recall")

    @classmethod
    def from_dict(cls, values: object) -> JudgeConfig:
        """The judge that a task's `judge` mapping describes.

        Raises:
            ConfigError: A key is unknown, a value has no such meaning, or the parts do not fit.
        """
        known = [f.name for f in fields(cls)]
        given = _mapping(values, "judge", [*known, "position_swap"])
        if given.get("position_swap", "auto") not in ("auto", "off"):
            raise ConfigError(
                "`judge.position_swap` cannot be on: these judges see one reply, not a pair"
            )
        config = cls(
            strategy=cast(Strategy, _one_of(given, "judge", "strategy", STRATEGIES)),
            models=_models(given.get("models")),
            contract=_contract(given.get("contract") or {}),
            repeats=_count(given, "repeats"),
            aggregation=_one_of(given, "judge", "aggregation", AGGREGATIONS, "mean"),
            min_valid_judges=_count(given, "min_valid_judges"),
        )
        if config.asks and not config.models:
            raise ConfigError(
                f"`judge.strategy` is `{config.strategy}`, but there is no judge to ask",
                hint='name one: --judge-model, or "models": {"model_id": ..., "api_url": ...}',
            )
        if config.models and config.min_valid_judges > len(config.models):
            raise ConfigError(
                f"`judge.min_valid_judges` is {config.min_valid_judges}, expected at most the "
                f"number of judges, {len(config.models)}"
            )
        return config


def _mapping(value: object, place: str, known: Iterable[str]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"`{place}` is {what(value)}, expected a mapping")
    names = list(known)
    for key in value:
        if key not in names:
            raise ConfigError(f"`{place}` has no field `{key}`", hint=nearest_hint(str(key), names))
    return value


def _one_of(
    given: Mapping[str, Any], place: str, key: str, known: tuple[str, ...], default: str = "auto"
) -> str:
    value = given.get(key, default)
    if value not in known:
        listed = ", ".join(f"`{name}`" for name in known)
        raise ConfigError(f"`{place}.{key}` is {shown(value)}, expected one of {listed}")
    return str(value)


def _count(given: Mapping[str, Any], key: str) -> int:
    value = given.get(key, 1)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigError(f"`judge.{key}` is {shown(value)}, expected a whole number from 1")
    return value


def _text(given: Mapping[str, Any], place: str, key: str) -> str | None:
    value = given.get(key)
    if value is not None and not isinstance(value, str):
        raise ConfigError(f"`{place}.{key}` is {what(value)}, expected a string")
    return value or None


# --- models ------------------------------------------------------------------------------------

_MODEL_KEYS = (
    "model_id", "judge_id", "api_key", "api_url", "eval_type", "model_args", "generation_config",
)  # fmt: skip


def _models(given: object) -> tuple[JudgeModel, ...]:
    entries = [given] if isinstance(given, Mapping) else given or []
    if not isinstance(entries, list | tuple):
        raise ConfigError(f"`judge.models` is {what(given)}, expected a mapping or a list of them")
    models = [_model(entry, f"judge.models[{at}]") for at, entry in enumerate(entries)]
    ids = [model.model_id for model in models]
    for place, (entry, model) in enumerate(zip(entries, models, strict=True)):
        if not entry.get("judge_id") and ids.count(model.model_id) > 1:
            raise ConfigError(
                f"`judge.models` names the model `{model.model_id}` more than once",
                hint="give each of those entries a `judge_id` of its own",
            )
        if model.judge_id in [earlier.judge_id for earlier in models[:place]]:
            raise ConfigError(f"`judge.models` has two judges with the id `{model.judge_id}`")
    return tuple(models)


def _model(value: object, place: str) -> JudgeModel:
    entry = _mapping(value, place, _MODEL_KEYS)
    model_id = _text(entry, place, "model_id")
    if model_id is None:
        raise ConfigError(f"`{place}` has no `model_id`", hint="the name the endpoint knows it by")
    if entry.get("eval_type") not in (None, *EVAL_TYPES):
        raise ConfigError(
            f"`{place}.eval_type` is {shown(entry['eval_type'])}, expected one of "
            f"{listed(EVAL_TYPES)}"
        )
    if entry.get("model_args"):
        raise ConfigError(
            f"`{place}.model_args` is not supported", hint="what a request needs goes into "
            "`generation_config`",
        )  # fmt: skip
    generation = entry.get("generation_config") or {}
    if not isinstance(generation, Mapping):
        raise ConfigError(f"`{place}.generation_config` is {what(generation)}, expected a mapping")
    for key in ("timeout", "retries"):
        number = generation.get(key)
        if number is not None and (isinstance(number, bool) or not isinstance(number, int | float)):
            raise ConfigError(
                f"`{place}.generation_config.{key}` is {shown(number)}, expected a number"
            )
    return JudgeModel(
        model_id=model_id,
        judge_id=_text(entry, place, "judge_id") or model_id,
        api_url=_text(entry, place, "api_url"),
        api_key=_text(entry, place, "api_key"),
        generation_config=dict(generation),
        eval_type=entry.get("eval_type"),
    )


# --- the contract ------------------------------------------------------------------------------


def _contract(value: object) -> JudgeContract:
    place = "judge.contract"
    given = _mapping(value, place, [f.name for f in fields(JudgeContract)])
    contract = JudgeContract(
        system_prompt=_text(given, place, "system_prompt"),
        prompt_template=_text(given, place, "prompt_template"),
        score_mapping=_score_mapping(given.get("score_mapping")),
        score_type=_one_of(given, place, "score_type", SCORE_TYPES, "pattern"),
    )
    if contract.prompt_template is not None:
        check_template(contract.prompt_template, contract.score_type)
    return contract


def check_template(template: str, score_type: str) -> None:
    """Stop on a template that lacks a placeholder it needs.

    Raises:
        ConfigError: It names the placeholder.
    """
    needed = ("{pred}", "{gold}") if score_type == "pattern" else ("{pred}",)
    for placeholder in needed:
        if placeholder not in template:
            shows = {"{pred}": "the reply to judge", "{gold}": "the reference answer"}[placeholder]
            raise ConfigError(
                f"the judge's prompt template has no `{placeholder}`, so it never shows {shows}",
                hint="a judge that needs no reference answer has `score_type` `numeric`"
                if placeholder == "{gold}"
                else None,
            )


def _score_mapping(value: object) -> dict[str, float] | None:
    if not value:
        return None
    place = "judge.contract.score_mapping"
    if not isinstance(value, Mapping):
        raise ConfigError(f"`{place}` is {what(value)}, expected a mapping from verdicts to scores")
    for label, score in value.items():
        number = isinstance(score, int | float) and not isinstance(score, bool)
        if not isinstance(label, str) or not label:
            raise ConfigError(f"`{place}` has the verdict {shown(label)}, expected a string")
        if not number or not math.isfinite(score) or not 0 <= score <= 1:
            raise ConfigError(
                f"`{place}` scores `{label}` as {shown(score)}, expected a number from 0 to 1",
                hint="scores are fractions: divide by the highest",
            )
    return {label: float(score) for label, score in value.items()}
