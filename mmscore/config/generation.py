"""Rows of the table of options for keys of `generation_config`: which steer, which are sent."""

from __future__ import annotations

from mmscore.config.kinds import ANY, MAPPING, SECONDS, SWITCH, Kind, count
from mmscore.config.option import Option


def _steers(name: str, kind: Kind, words: str) -> Option:
    return Option(f"generation_config.{name}", kind, words, evalscope=name, steers=True)


def _sent(name: str, words: str, evalscope: str = "") -> Option:
    return Option(f"generation_config.{name}", ANY, words, evalscope=evalscope or name)


GENERATION = (
    _steers("timeout", SECONDS, "seconds until one request must be answered"),
    _steers("retries", count(0, 10_000), "new attempts after a failed one"),
    _steers("retry_interval", ANY, "EvalScope's; how long to wait is decided here"),
    _steers("stream", SWITCH, "ask for a stream of events"),
    _steers("batch_size", ANY, "EvalScope's; `eval_batch_size` is what counts"),
    _sent("temperature", "0.0 where nothing is said; null leaves it out"),
    _sent("max_tokens", "how long a reply may be"),
    _sent("top_p", "sampling: a share of the likeliest tokens"),
    _sent("top_k", "sampling: so many of the likeliest tokens"),
    _sent("stop", "where a reply ends", "stop_seqs"),
    _sent("seed", "the endpoint's seed"),
    _sent("n", "above 1 it is `repeats`: each reply is asked and kept on its own"),
    _sent("frequency_penalty", "sent as it is"),
    _sent("presence_penalty", "sent as it is"),
    _sent("repetition_penalty", "sent as it is"),
    _sent("logit_bias", "sent as it is"),
    _sent("logprobs", "sent as it is"),
    _sent("top_logprobs", "sent as it is"),
    _sent("reasoning_effort", "sent as it is"),
    Option("generation_config.extra_body", MAPPING, "laid over the request body as it is",
           evalscope="extra_body"),
)  # fmt: skip
"""What EvalScope 1.14.1 sends to an OpenAI-compatible endpoint, and what only steers it."""
