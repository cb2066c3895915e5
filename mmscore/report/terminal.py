"""A report as text for a terminal: the reference's table, and below it what qualifies it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mmscore.report.boxes import Style, clean, cut, fitted_box, pad, plain, width, wrapped
from mmscore.report.labels import metric_labels, number, percent, seconds, span
from mmscore.report.repeats import Repeats
from mmscore.report.statistics import deviation, mean
from mmscore.report.summary import TRUNCATED_WARNING, Report, Row

_PLACEHOLDERS = frozenset({"", "-", "default"})
_VALUES_SHOWN = 12
_METRICS_SHOWN = 3
_REASONS_SHOWN = 3
_REASON_WIDTH = 160
_WAITED_SHOWN = 1.0
_BREAKDOWN_WIDTH = 32
"""Columns of a breakdown besides its names."""


def render(report: Report, style: Style = Style()) -> str:  # noqa: B008 - frozen
    """The whole report: table, breakdowns, coverage, tokens, time, warnings."""
    return "\n".join([table([report], style), *_below(report, style)])


def table(reports: Sequence[Report], style: Style = Style()) -> str:  # noqa: B008 - frozen
    """The table of one or more reports.

    Columns, rows, labels and rounding are those of EvalScope 1.14.1, with the 95 % interval as
    one more column at the end. An OVERALL row closes a metric with more than one subset; the
    category column is left out where there is nothing in it.
    """
    rows = [(report, row) for report in reports for row in _table_rows(report)]
    categorized = any(row.category.strip().casefold() not in _PLACEHOLDERS for _, row in rows)
    head = ["Model", "Dataset", "Metric", "Subset", "Num", "Score"]
    head += ["Category"] if categorized else []
    head += ["95% CI"]
    labels = {id(report): metric_labels(report.metrics) for report in reports}
    cells = []
    for report, row in rows:
        line = [report.model, report.title, labels[id(report)][row.metric], row.name]
        line += [str(row.num), percent(row.shown)]
        if categorized:
            known = row.category.strip().casefold() not in _PLACEHOLDERS
            line.append(row.category if known else "-")
        line.append(span(row.low, row.high))
        cells.append([clean(cell) for cell in line])
    if not style.boxes:  # before the widths are taken: an arrow that goes would leave a gap
        cells = [[plain(cell) for cell in row] for row in cells]
    drawn = fitted_box(
        head,
        cells,
        frozenset({"Num"}),
        style.columns,
        titled=[("Model", "Dataset"), ("Metric",)],
        dropped=["Category", "95% CI", "Dataset"],
    )
    return drawn if style.boxes else plain(drawn)


def _table_rows(report: Report) -> Iterator[Row]:
    for overall in report.overall:
        rows = [row for row in report.scores if row.metric == overall.metric]
        yield from rows
        if len(rows) > 1:
            yield overall


def notes(report: Report) -> list[tuple[str, str]]:
    """What qualifies the scores, as (name, sentence); the name is empty where one goes on."""
    return [pair for part in _PARTS for pair in part(report)]


def _below(report: Report, style: Style) -> list[str]:
    pairs = notes(report)
    size = max((width(name) for name, _ in pairs), default=0) + 2
    lines = [""]
    for name, text in pairs:
        told = wrapped(text, style.columns, size)
        if not text:
            told = [pad(name, size)] if name else [""]
        else:
            heads = [pad(name, size), *[" " * size] * (len(told) - 1)]
            told = [head + part for head, part in zip(heads, told, strict=True)]
        warning = name == "Warning" and style.color
        lines += [f"\x1b[33m{line}\x1b[0m" if warning else line for line in told]
    lines += _breakdowns(report, style)
    return lines if style.boxes else [plain(line) for line in lines]


def _averages(report: Report) -> Iterator[tuple[str, str]]:
    labels = metric_labels(report.metrics)
    few = len(report.metrics) <= _METRICS_SHOWN
    told = report.metrics if few else (report.primary,)
    subsets = sum(row.metric == report.primary and row.num > 0 for row in report.scores)
    if subsets > 1:
        for row in report.overall:
            if row.metric not in told:
                continue
            yield (
                labels[row.metric],
                f"micro (by sample) {percent(row.shown)}, 95% CI {span(row.low, row.high)}"
                f" · macro (mean of {subsets} subsets) {percent(report.macro[row.metric])}",
            )
    for row in report.overall:
        if row.metric in told and row.clustered is not None:
            yield (
                f"{labels[row.metric]} by image",
                f"95% CI {span(*row.clustered)}: the samples show {number(report.images)} images",
            )
    for metric in told if report.repeats else ():
        scores = report.repeats[metric].scores
        known = [score for score in scores if score is not None]
        spread = deviation(known)
        if spread is not None:
            yield (
                f"{labels[metric]} by repeat",
                f"{' '.join(percent(score) for score in scores)} · mean {percent(mean(known))}"
                f", standard deviation {spread * 100:.2f} points",
            )
        yield from _together(report.repeats[metric])


def _together(found: Repeats) -> Iterator[tuple[str, str]]:
    """What the replies of one sample come to together, in two lines."""
    if found.pass_at:
        parts = [f"pass@{k} {percent(one.score)}" for k, one in found.pass_at.items()]
        last = found.pass_at[max(found.pass_at)]
        yield "", f"{' · '.join(parts)}, 95% CI {span(last.low, last.high)}"
    if found.majority is not None:
        yield (
            "",
            f"majority vote {percent(found.majority.score)}, "
            f"95% CI {span(found.majority.low, found.majority.high)}",
        )


def _samples(report: Report) -> Iterator[tuple[str, str]]:
    cover = report.coverage
    parts = [f"{number(cover.scored)} scored"]
    parts += [f"{number(cover.failed)} failed"] if cover.failed else []
    parts += [f"{number(cover.no_score)} without a score"] if cover.no_score else []
    parts += [f"{number(cover.pending)} not scored yet"] if cover.pending else []
    parts += [f"{number(cover.not_asked)} not asked"] if cover.not_asked else []
    yield "Samples", f"{' · '.join(parts)} · of {number(cover.planned)} planned"
    ended = [f"{name} {number(count)}" for name, count in report.status.items() if count]
    if ended:
        yield "Status", " · ".join(ended)
    if cover.asked - cover.failed:
        yield (
            "Replies",
            f"truncated {percent(report.share('truncated'))}"
            f" · no answer {percent(report.share('no_answer'))}",
        )
    if unknown := report.unknown_reasons:
        words = " · ".join(
            f"`{clean(word)}` {number(num)}" for word, num in [*unknown.items()][:_REASONS_SHOWN]
        )
        yield "Ended", f"in a way that is not known, and scored: {words}"
    if report.changed_media:
        yield "Media", f"changed before sending in {number(report.changed_media)} samples"


def _failed(report: Report) -> Iterator[tuple[str, str]]:
    labels = metric_labels(report.metrics)
    for row in report.overall:
        bounds = report.bounds[row.metric]
        if bounds and row.metric == report.primary:
            yield (
                "Failed",
                f"{labels[row.metric]} {percent(row.shown)} over the {number(row.num)} scored"
                f" · {percent(bounds[0])} if all failed were wrong"
                f" · {percent(bounds[1])} if all were right",
            )
    for status, sentence, count in report.failures[:_REASONS_SHOWN]:
        yield "", f"{count} × {status}: {_short(sentence)}"
    hidden = sum(count for _, _, count in report.failures[_REASONS_SHOWN:])
    if hidden:
        yield "", f"{hidden} more, each with its reason in report.json"


def _short(sentence: str) -> str:
    text = clean(sentence)
    return text if len(text) <= _REASON_WIDTH else text[: _REASON_WIDTH - 1] + "…"


def _cost(report: Report) -> Iterator[tuple[str, str]]:
    usage, timing = report.usage, report.timing
    if usage["replies"]:
        text = f"{number(usage['prompt_tokens'])} in · {number(usage['completion_tokens'])} out"
        if usage["missing"]:
            text += f" · usage missing: {percent(usage['missing_share'])} of replies"
        if usage["cost"] is not None:
            text += f" · cost {usage['cost']:,.4g}"
        if usage["reused"]:
            text += f" · {number(usage['reused'])} replies of other runs"
        yield "Tokens", text
    if timing["requests"]:
        parts = [seconds(timing["seconds"])] if timing["seconds"] is not None else []
        parts.append(f"{number(timing['requests'])} requests, {number(timing['retries'])} retries")
        if latency := timing["latency"]:
            parts.append(f"latency {seconds(latency['p50'])} median, {seconds(latency['p99'])} p99")
        if first := timing["first_token"]:
            parts.append(f"first token {seconds(first['p50'])} median")
        if timing["waited"] >= _WAITED_SHOWN:
            parts.append(f"waits and retries {seconds(timing['waited'])} in all")
        if timing["output_tokens_per_second"]:
            parts.append(f"{timing['output_tokens_per_second']:,.1f} tokens/s out")
        yield "Time", " · ".join(parts)


def _judged(report: Report) -> Iterator[tuple[str, str]]:
    judge = report.judge
    if not judge:
        return
    who = ", ".join(clean(name) for name in judge.get("models") or {}) or "unnamed"
    how = " · ".join(clean(judge[name]) for name in ("strategy", "prompt") if judge.get(name))
    yield "Judge", f"{who} · {how}" if how else who
    text = f"{percent(judge['share'])} of replies judged ({number(judge['judged'])})"
    text += f" · {number(judge['incomplete'])} without all verdicts" if judge["incomplete"] else ""
    tokens = judge["usage"]
    if tokens["prompt_tokens"] or tokens["completion_tokens"]:
        text += f" · {number(tokens['prompt_tokens'])} tokens in"
        text += f" · {number(tokens['completion_tokens'])} out"
    if judge["requests"]:
        text += f" · {number(judge['requests'])} requests, {seconds(judge['seconds'])}"
    yield "", text
    if judge["failed"]:
        stands = "their rule's score stands" if judge.get("strategy") != "llm" else "not scored"
        yield "Unjudged", f"{number(judge['failed'])} replies without a verdict: {stands}"
        for reason in judge["errors"][:_REASONS_SHOWN]:
            yield "", f"{reason['num']} × {_short(reason['error'])}"


def _warnings(report: Report) -> Iterator[tuple[str, str]]:
    cover = report.coverage
    why = report.info.stopped
    if cover.not_asked or why:
        text = f"unfinished: {number(cover.not_asked)} of {number(cover.planned)} not asked"
        yield "Warning", f"{text} ({_short(str(why))})" if why else text
    share = report.share("truncated")
    if share > TRUNCATED_WARNING:
        yield (
            "Warning",
            f"{percent(share)} of replies were cut off by the token limit: raise max_tokens"
            f" (finished replies alone: {percent(report.finished[report.primary])})",
        )
    if cover.asked and not cover.scored:
        yield "Warning", "nothing was scored"


_PARTS = (_averages, _samples, _failed, _cost, _judged, _warnings)


def _breakdowns(report: Report, style: Style) -> Iterator[str]:
    """Each category and group, one line a value, for the primary metric."""
    every = [("category", report.categories), *report.groups.items()]
    parts = [(name, [r for r in rows if r.metric == report.primary]) for name, rows in every]
    size = max((width(clean(r.name)) for _, rows in parts for r in rows[:_VALUES_SHOWN]), default=0)
    size = max(size, *(width(name) + 1 for name, _ in parts), 0)
    if style.columns:
        size = min(size, max(8, style.columns - _BREAKDOWN_WIDTH))
    for name, rows in parts:
        if not rows:
            continue
        head = f"{pad(cut(f'By {clean(name)}', size + 2), size + 2)}   Num   Score   95% CI"
        yield ""
        yield f"\x1b[1m{head}\x1b[0m" if style.color else head
        for row in rows[:_VALUES_SHOWN]:
            cells = f"{row.num:>6}  {pad(percent(row.shown), 6, right=True)}   "
            yield f"  {pad(cut(clean(row.name), size), size)}{cells}{span(row.low, row.high)}"
        if len(rows) > _VALUES_SHOWN:
            yield f"  … {len(rows) - _VALUES_SHOWN} more in report.json"
