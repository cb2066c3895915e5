"""What a task says of its endpoint: address, key, request options, what media may measure."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from mmscore.config.evalscope import sent_options
from mmscore.config.options import DEFAULT_WAIT_READY
from mmscore.config.task import DEFAULT_RETRIES, DEFAULT_TIMEOUT, TaskConfig, resolve_secret
from mmscore.dataset.hub.cache import Cache
from mmscore.dataset.hub.linked_images import Links
from mmscore.dataset.media.image import ImageLimits
from mmscore.errors import ConfigError
from mmscore.model.attachments import MediaEncoder
from mmscore.model.client import Service
from mmscore.model.providers import Provider, provider_of
from mmscore.model.request import RequestMaker
from mmscore.web.session import Web


def service(task: TaskConfig) -> Service:
    """The endpoint of a task.

    Raises:
        ConfigError: No model or no endpoint is given.
    """
    url = _url(task)
    if not url:
        raise ConfigError("no endpoint given", hint="give --api-url or set MMSCORE_API_URL")
    if not task.model:
        raise ConfigError("no model given", hint="give the name the endpoint knows with --model")
    options = task.generation_config
    provider = provider_for(task)
    names = ("MMSCORE_API_KEY", *provider.key_variables)
    key = task.api_key or next((os.environ[n] for n in names if os.environ.get(n)), None)
    return Service(
        url=provider.url(url),
        model=task.model,
        api_key=resolve_secret(key),
        stream=streams(task),
        timeout=float(task.timeout or options.get("timeout") or DEFAULT_TIMEOUT),
        retries=task.retries if task.retries is not None else _retries(options),
        think="reference" if task.think == "reference" else "strict",
        provider=provider,
        wait_ready=DEFAULT_WAIT_READY if task.wait_ready is None else float(task.wait_ready),
    )


def _url(task: TaskConfig) -> str | None:
    return task.api_url or os.environ.get("MMSCORE_API_URL") or os.environ.get("OPENAI_BASE_URL")


def provider_for(task: TaskConfig) -> Provider:
    """What kind of service a task asks; needs no endpoint."""
    return provider_of(task.provider or task.eval_type, _url(task) or "")


def requests_of(task: TaskConfig, media: MediaEncoder) -> RequestMaker:
    """What makes a task's requests; needs no endpoint."""
    return RequestMaker(task.model or "", body_options(task), media.attach, provider_for(task))


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
    return provider_for(task).options(options, streams(task))


def limits(task: TaskConfig) -> ImageLimits:
    """What images may measure, by the task."""
    size = task.max_image_bytes
    return ImageLimits(
        max_bytes=size if isinstance(size, int) else None,
        min_side=task.min_side,
        max_pixels=task.max_pixels,
    )


def media_encoder(
    task: TaskConfig,
    notice: Callable[[str], None] = lambda _: None,
    *,
    data_host: str | None = None,
) -> MediaEncoder:
    """What turns a task's media into what is sent.

    Args:
        task: The task.
        notice: Hears of waits for what is fetched or decoded.
        data_host: The host that the records came from; None for the user's own files.
    """
    web = None if task.offline else Web(notice)
    links = Links(Cache(notice=notice), web, data_host=data_host)
    return MediaEncoder(
        limits(task),
        audio_as_uri=provider_for(task).sounds_as_uri,
        links=links,
        inline=task.inline_urls,
        notice=notice,
    )
