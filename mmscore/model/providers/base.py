"""What differs between model services: where they are asked, how, and what they answer.

A service is a value, `Provider`: a few functions over plain data. Sending, retrying, deadlines and
how a reply is read and scored are the same for all and know none of them by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit, urlunsplit

from mmscore.error_text import without_secrets
from mmscore.errors import ConfigError
from mmscore.model.media_slots import MediaSlots
from mmscore.model.replies import Spoken
from mmscore.types import Message
from mmscore.web.urls import parse_url


class StreamReader(Protocol):
    """Puts a streamed reply together, event by event."""

    def add(self, event: Mapping[str, Any]) -> bool:
        """Take one event in; return whether it brought something that was said.

        Raises:
            ReplyError: It tells of a failure.
        """

    def ended(self, *, done: bool) -> Spoken:
        """What came.

        Args:
            done: Whether the stream said that it had ended.

        Raises:
            ReplyError: It was cut short.
        """


@dataclass(frozen=True, slots=True)
class Provider:
    """A kind of service.

    Attributes:
        name: What it is called.
        title: What its interface is called, in words for errors.
        route: The end of its URLs.
        eval_type: What EvalScope calls it.
        headers: The headers it wants, with a key or without.
        options: Generation options by OpenAI's names -> fields of a request's body.
        body: A request's body; raises MediaError for media that it cannot carry.
        read: What was said in a plain JSON answer; raises ReplyError where it is none.
        stream: What reads a stream.
        is_reply: Whether an answer has the form of its replies.
        sounds_as_uri: Whether a sound goes out as a data URI, not as bare base64.
        key_variables: Where the environment may hold its key.
        other_routes: Ends of URLs of something else, and what to do about them.
    """

    name: str
    title: str
    route: str
    eval_type: str
    headers: Callable[[str | None], Mapping[str, str]]
    options: Callable[[Mapping[str, Any], bool], dict[str, Any]]
    body: Callable[[str, Sequence[Message], MediaSlots, Mapping[str, Any]], dict[str, Any]]
    read: Callable[[Mapping[str, Any]], Spoken]
    stream: Callable[[], StreamReader]
    is_reply: Callable[[Mapping[str, Any]], bool]
    sounds_as_uri: bool = False
    key_variables: tuple[str, ...] = ()
    other_routes: Mapping[str, str] = field(default_factory=dict)

    @property
    def flag(self) -> str:
        """What a user types to ask it."""
        return f"--provider {self.name}"

    def url(self, api_url: str) -> str:
        """The whole URL to ask, given a host, `.../v1` or the whole route.

        Raises:
            ConfigError: It is no http(s) URL, or the route of something else.
        """
        parse_url(api_url)
        parts = urlsplit(api_url)
        path = parts.path.rstrip("/")
        if not path.endswith(self.route):
            for route, hint in self.other_routes.items():
                if path.endswith(route):
                    given = without_secrets(api_url)
                    raise ConfigError(f"`{given}` is no URL of {self.title}", hint=hint)
            path += self.route if path else f"/v1{self.route}"
        return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))
