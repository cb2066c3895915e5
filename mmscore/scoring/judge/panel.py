"""The judges of a run: after the rule, the judge; no verdict is asked for twice.

Each verdict is written to `judgements.jsonl` as it comes, with all that the judge said, and known
again by sample, judge and the hash of the whole request. A failed one is kept too, and asked again
by the next run. A judge that stops answering is left alone for the rest of the run, which goes on:
what it did not judge is counted as unjudged, never scored.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from mmscore.config.judge import JudgeConfig
from mmscore.config.secrets import without_secret_options
from mmscore.error_text import without_secrets
from mmscore.errors import EndpointError
from mmscore.model.request import rendered
from mmscore.scoring.judge.ask import Judge, JudgeAnswer, Prompt, ask, judge_of, probe, prompt_of
from mmscore.scoring.judge.verdicts import Aggregation, combine
from mmscore.store.info import JudgeInfo
from mmscore.store.journal import JUDGEMENTS, AppendFile
from mmscore.store.reader import LastRecords
from mmscore.store.records import Judgement, JudgementKey, JudgeSummary, Score
from mmscore.types import Message, Sample, Usage

ACCURACY = "accuracy"
"""The metric a judge gives, whatever the benchmark's own are called."""

PASSED = 0.99
"""A rule's score above this needs no judge, as in EvalScope 1.14.1."""

FAILURES_IN_A_ROW = 8
"""Requests in a row after whose failure a judge is not asked any more."""


class JudgePanel:
    """All judges of a run; called from any number of workers."""

    def __init__(
        self,
        config: JudgeConfig,
        metrics: Sequence[str],
        judges: Iterable[Judge],
        earlier: LastRecords[Judgement] | None,
        file: AppendFile | None,
        notice: Callable[[str], None],
        concurrency: int = 1,
    ) -> None:
        """Bring them together; nothing is asked yet.

        Args:
            config: How replies are judged.
            metrics: Those of the benchmark, the primary one first.
            judges: Whom to ask; those without a client say only what they said before.
            earlier: What they said before; closed with the panel.
            file: Where what they say is written.
            notice: Who hears of oddities.
            concurrency: How many requests may fail at once.
        """
        self.config = config
        self.prompt: Prompt = prompt_of(config)
        self._has_accuracy = ACCURACY in metrics
        self._primary = metrics[0]
        self._judges = [*judges]
        self._earlier = earlier
        self._file = file
        self._notice = notice
        self._patience = max(FAILURES_IN_A_ROW, 2 * concurrency)
        self._lock = threading.Lock()
        self._probing = threading.Lock()
        self._probed = False
        self._unusable: EndpointError | None = None
        self._failures = dict.fromkeys((judge.id for judge in self._judges), 0)

    def __call__(self, sample: Sample, repeat: int, reply: str, score: Score) -> Score:
        """The score with the judges' word in it.

        Raises:
            EndpointError: A judge cannot be used from the start.
            StorageError: A verdict cannot be written.
        """
        metrics = score.metrics
        if self.prompt.needs_gold and sample.target is None:
            return replace(score, metrics=self._merged(metrics, None))
        if self.config.strategy == "llm_recall" and metrics.get(self._primary, 0.0) > PASSED:
            passed = {} if self._has_accuracy else {ACCURACY: 1.0}
            return replace(score, metrics={**passed, **metrics})
        summary = self._summary(sample, repeat, reply)
        return replace(score, metrics=self._merged(metrics, summary.value), judge=summary)

    def __len__(self) -> int:
        """How many judges there are."""
        return len(self._judges)

    def ready(self) -> None:
        """Ask each judge once whether it can judge at all; later calls do nothing.

        Raises:
            EndpointError: One does not answer.
        """
        with self._probing:
            if self._unusable is not None:
                raise self._unusable
            if self._probed:
                return
            try:
                for judge in self._judges:
                    if judge.client is not None and (odd := probe(judge, self.prompt)):
                        self._notice(odd)
            except EndpointError as error:
                self._unusable = error
                raise
            self._probed = True

    def stop(self, *, abort: bool = False) -> None:
        """Wait for nothing any more; with `abort`, end requests in flight too."""
        for judge in self._judges:
            if judge.client is not None:
                judge.client.stop()
                if abort:
                    judge.client.abort()

    def close(self) -> None:
        """Close idle connections, and what was said before."""
        if self._earlier is not None:
            self._earlier.close()
        for judge in self._judges:
            if judge.client is not None:
                judge.client.close()

    def _merged(self, metrics: Mapping[str, float], value: float | None) -> dict[str, float]:
        """The rule's metrics and the judges' accuracy.

        Under `llm` theirs stands alone. Under `llm_recall` it takes the place of the benchmark's
        accuracy where it is higher; where the benchmark has none, it stands first.
        """
        if self.config.strategy == "llm":
            return {} if value is None else {ACCURACY: value}
        if value is None:
            return dict(metrics)
        if self._has_accuracy:
            value = max(value, metrics.get(ACCURACY, 0.0))
        return {ACCURACY: value, **{k: v for k, v in metrics.items() if k != ACCURACY}}

    def _summary(self, sample: Sample, repeat: int, reply: str) -> JudgeSummary:
        """What `scores.jsonl` keeps of the judges' work on one reply."""
        texts = (rendered(sample.messages), sample.target or "", reply)
        messages = self.prompt.messages(*map(_sendable, texts))
        said = [
            self._one((sample.id, repeat, judge.id, number), judge, messages)
            for judge in self._judges
            for number in range(self.config.repeats)
        ]
        values: dict[str, list[float | None]] = {}
        for one in said:
            values.setdefault(one.judge, []).append(one.value)
        outcome = combine(
            values, cast(Aggregation, self.config.aggregation), self.config.min_valid_judges
        )
        reasons = [one.error for one in said if one.error]
        error = outcome.error if len(self._judges) > 1 or not reasons else reasons[0]
        if outcome.error and len(self._judges) > 1 and reasons:
            error = f"{outcome.error}: {reasons[0]}"
        return JudgeSummary(
            value=outcome.value,
            error=error if outcome.error else None,
            complete=outcome.complete,
            verdicts=tuple(one.vote for one in said),
            usage=Usage(
                sum(one.usage.prompt_tokens or 0 for one in said),
                sum(one.usage.completion_tokens or 0 for one in said),
            ),
            requests=sum(one.requests for one in said),
            seconds=round(sum(one.seconds for one in said), 6),
        )

    def _one(self, key: JudgementKey, judge: Judge, messages: Sequence[Message]) -> Judgement:
        """One judge's word on one reply: what it said before, or what it says now."""
        request = judge.request(messages).hash
        before = self._earlier.get(key) if self._earlier is not None else None
        known = before if before is not None and before.request == request else None
        if known is not None and (known.error is None or judge.client is None):
            return known
        if judge.client is None:
            answer = JudgeAnswer().fail("not_asked", "it has not been asked")
        elif self._failures[judge.id] >= self._patience:
            answer = JudgeAnswer().fail("not_asked", "it had stopped answering and was not asked")
        else:
            self.ready()
            answer = ask(judge, self.prompt, messages)
            self._count(judge, answer)
        judgement = _judgement(key, request, answer)
        if self._file is not None and answer.requests:
            self._file.append(judgement)
        return judgement

    def _count(self, judge: Judge, answer: JudgeAnswer) -> None:
        with self._lock:
            before = self._failures[judge.id]
            failures = before + 1 if answer.kind == "transport" else 0
            now = max(failures, self._patience) if answer.hopeless else failures
            self._failures[judge.id] = now
        if before < self._patience <= now:
            times = "" if answer.hopeless else f" {self._patience} times in a row"
            self._notice(
                f"the judge `{judge.id}` failed{times} and is not asked any more: {answer.error}; "
                "what it did not judge can be judged later with --resume"
            )


def _judgement(key: JudgementKey, request: str, answer: JudgeAnswer) -> Judgement:
    """What is kept of a judge's answer."""
    verdict = answer.verdict
    return Judgement(
        *key,
        request=request,
        verdict=verdict.said if verdict else None,
        value=verdict.value if verdict else None,
        reasoning=verdict.reasoning if verdict else None,
        kind=answer.kind,
        error=answer.error,
        attempts=tuple(answer.attempts),
        usage=Usage(answer.prompt_tokens, answer.completion_tokens),
        requests=answer.requests,
        seconds=round(answer.seconds, 6),
    )


def _sendable(text: str) -> str:
    """The text as the run's folder will hold it: a lone surrogate becomes U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


# --- a panel, from a task or from a run's folder -----------------------------------------------


def panel_of(
    config: JudgeConfig,
    metrics: Sequence[str],
    folder: Path,
    file: AppendFile | None,
    notice: Callable[[str], None],
    concurrency: int = 1,
) -> JudgePanel | None:
    """The judges of a run's folder; None where none is wanted.

    Args:
        config: How replies are judged, the environment's word included.
        metrics: Those of the benchmark, the primary one first.
        folder: The run's folder.
        file: Its `judgements.jsonl`, to be written; None asks nobody and reads what was said.
        notice: Who hears of oddities.
        concurrency: Workers.

    Raises:
        ConfigError: A judge has no address.
        DataError: What was said before cannot be read.
    """
    if not config.asks:
        return None
    judges = [judge_of(model, ask=file is not None) for model in config.models]
    return JudgePanel(
        config, metrics, judges, read_judgements(folder, notice), file, notice, concurrency
    )


def read_judgements(
    folder: Path, notice: Callable[[str], None] = lambda _: None
) -> LastRecords[Judgement] | None:
    """What judges said in a run, the last word of each; None where none was asked. Close it.

    Args:
        folder: The run's folder.
        notice: Who hears of a damaged line, which is passed over: a verdict can be asked for again.
    """
    path = folder / JUDGEMENTS
    if not path.exists():
        return None
    return LastRecords(
        path, Judgement, damaged=lambda why: notice(f"{why}: that verdict is asked for again")
    )


def described(config: JudgeConfig) -> dict[str, Any]:
    """The judge as a run's folder keeps it: enough to judge again, and no secrets."""
    contract = config.contract
    return {
        "strategy": config.strategy,
        "models": [
            {
                "model_id": model.model_id,
                "judge_id": model.judge_id,
                **({"api_url": without_secrets(model.api_url)} if model.api_url else {}),
                "generation_config": without_secret_options(model.generation_config),
                **({"eval_type": model.eval_type} if model.eval_type else {}),
            }
            for model in config.models
        ],
        "contract": {
            name: getattr(contract, name)
            for name in ("system_prompt", "prompt_template", "score_mapping", "score_type")
            if getattr(contract, name) is not None
        },
        "repeats": config.repeats,
        "aggregation": config.aggregation,
        "min_valid_judges": config.min_valid_judges,
    }


def info_of(config: JudgeConfig) -> JudgeInfo | None:
    """What a run's folder says of the judge; None where none is asked."""
    if not config.asks:
        return None
    return JudgeInfo(
        strategy=config.strategy,
        models={model.judge_id: model.model_id for model in config.models},
        prompt=prompt_of(config).id,
        repeats=config.repeats,
        aggregation=config.aggregation,
    )


def metrics_with(config: JudgeConfig, metrics: Iterable[str]) -> tuple[str, ...]:
    """The metrics of a run; where a judge is asked, its accuracy first, under `llm` alone."""
    names = tuple(metrics)
    if not config.asks:
        return names
    return (ACCURACY,) if config.strategy == "llm" else tuple(dict.fromkeys((ACCURACY, *names)))
