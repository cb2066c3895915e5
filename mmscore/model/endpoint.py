"""What a task says of its endpoint: address, key, request options, what media may measure."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from mmscore.config.evalscope import sent_options
from mmscore.config.task import DEFAULT_RETRIES, DEFAULT_TIMEOUT, TaskConfig, resolve_secret
from mmscore.dataset.hub.cache import Cache
from mmscore.dataset.hub.linked_images import Links
from mmscore.dataset.media.image import ImageLimits
from mmscore.errors import ConfigError
from mmscore.model.attachments import MediaEncoder
from mmscore.model.client import Service, completions_url, request_options
from mmscore.web.session import Web


def service(task: TaskConfig) -> Service:
    """The endpoint of a task.

    Raises:
        ConfigError: No model or no endpoint is given.
    """
    url = task.api_url or os.environ.get("MMSCORE_API_URL") or os.environ.get("OPENAI_BASE_URL")
    if not url:
        raise ConfigError("no endpoint given", hint="give --api-url or set MMSCORE_API_URL")
    if not task.model:
        raise ConfigError("no model given", hint="give the name the endpoint knows with --model")
    key = task.api_key or os.environ.get("MMSCORE_API_KEY") or os.environ.get("OPENAI_API_KEY")
    options = task.generation_config
    return Service(
        url=completions_url(url),
        model=task.model,
        api_key=resolve_secret(key),
        stream=streams(task),
        timeout=float(task.timeout or options.get("timeout") or DEFAULT_TIMEOUT),
        retries=task.retries if task.retries is not None else _retries(options),
        think="reference" if task.think == "reference" else "strict",
    )


def streams(task: TaskConfig) -> bool:
    """Whether a task's replies come as a stream of events; needs no endpoint."""
    if task.stream is not None:
        return task.stream
    return bool(task.generation_config.get("stream", False))


def _retries(options: Mapping[str, Any]) -> int:
    retries = options.get("retries")
    return DEFAULT_RETRIES if retries is None else int(retries)


def body_options(task: TaskConfig) -> dict[str, Any]:
    """The generation options as they go into the request body."""
    options = sent_options(task.generation_config, task.eval_type)
    return request_options(options, stream=streams(task))


def limits(task: TaskConfig) -> ImageLimits:
    """What images may measure, by the task."""
    size = task.max_image_bytes
    return ImageLimits(
        max_bytes=size if isinstance(size, int) else None,
        min_side=task.min_side,
        max_pixels=task.max_pixels,
    )


def attacher(task: TaskConfig, notice: Callable[[str], None] = lambda _: None) -> MediaEncoder:
    """What turns a task's media into what is sent; `notice` hears of waits for what is fetched."""
    links = Links(Cache(notice=notice), None if task.offline else Web(notice))
    return MediaEncoder(
        limits(task),
        # DashScope takes sounds as data URIs only; the reference tells it by its address too.
        audio_as_uri="dashscope" in (task.api_url or "").lower(),
        links=links,
        inline=task.inline_urls,
        notice=notice,
    )
