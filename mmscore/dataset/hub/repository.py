"""Data sets at their hubs: which URL a file has, which files there are, and what refusals mean.

A hub is a function from a data set's id and revision to a `Repository`, and a row in `HUBS`.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from mmscore.errors import ConfigError
from mmscore.web.errors import Target, WebError
from mmscore.web.session import Web

_PAGE = 200
_MOST_PAGES = 500


@dataclass(frozen=True, slots=True)
class Entry:
    """What a hub tells of a file; None where it does not."""

    size: int | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Repository:
    """A data set at a hub.

    Attributes:
        title: Hub, id and revision in words.
        page: Where a person reads about it.
        folder: Its folder in the cache, whatever mirror it comes from.
        target: From a file's path in it to where that is fetched.
        listing: All its files; None where the place cannot list them.
        only: The one file that a URL names; None for a whole data set.
    """

    title: str
    page: str
    folder: tuple[str, ...]
    target: Callable[[str], Target]
    listing: Callable[[Web], dict[str, Entry]] | None
    only: str | None = None


def modelscope(name: str, revision: str | None) -> Repository:
    """A data set on ModelScope or a mirror of it.

    `MODELSCOPE_ENDPOINT` (or the older `MODELSCOPE_DOMAIN`) names the mirror,
    `MODELSCOPE_API_TOKEN` the token.

    Raises:
        ConfigError: The id or the endpoint is none.
    """
    name, revision = _checked_id("modelscope", name), revision or "master"
    endpoint = _endpoint("MODELSCOPE_ENDPOINT", "MODELSCOPE_DOMAIN", "https://www.modelscope.cn")
    token = _token("MODELSCOPE_API_TOKEN")
    # Older servers know the token as a cookie, newer ones as a bearer token.
    secret = {"Authorization": f"Bearer {token}", "Cookie": f"m_session_id={token}"}
    page = f"https://www.modelscope.cn/datasets/{name}"
    hint = _Refusals("ModelScope", name, revision, page, "MODELSCOPE_API_TOKEN", bool(token))
    base = f"{endpoint}/api/v1/datasets/{name}/repo"

    def target(url: str, what: str) -> Target:
        return Target(url, what, secret if token else {}, hint.of)

    def file(path: str) -> Target:
        query = urlencode({"Source": "SDK", "Revision": revision, "FilePath": path})
        return target(f"{base}?{query}", f"`{path}`")

    def listing(web: Web) -> dict[str, Entry]:
        what = f"the file list of `{name}`"
        found: dict[str, Entry] = {}
        seen: set[str] = set()
        for number in range(1, _MOST_PAGES + 1):
            page_of = {"Recursive": "true", "PageNumber": number, "PageSize": _PAGE}
            query = urlencode({"Revision": revision, **page_of})
            asked = target(f"{base}/tree?{query}", what)
            items = _modelscope_items(asked, web.json(asked)[0])
            before = len(seen)
            seen.update(str(item["Path"]) for item in items)
            found.update(_modelscope_files(items))
            if len(items) < _PAGE or len(seen) == before:
                break  # the last page, or a server that knows no pages and repeats itself
        return found

    return Repository(
        f"`{name}` (revision {revision}) on ModelScope",
        page,
        ("modelscope", *name.split("/"), _safe(revision)),
        file,
        listing,
    )


def _modelscope_items(asked: Target, value: Any) -> list[dict[str, Any]]:
    """The files and folders of one page."""
    try:
        if value.get("Success") is False:
            said = str(value.get("Message"))[:200]
            raise WebError(f"cannot fetch {asked.what}: {asked.host} says `{said}`")
        return [item for item in value["Data"]["Files"] if item["Path"]]
    except (KeyError, TypeError, AttributeError):
        raise _odd_listing(asked) from None


def _modelscope_files(items: list[dict[str, Any]]) -> dict[str, Entry]:
    return {
        str(item["Path"]): Entry(_number(item.get("Size")), _sha256(item.get("Sha256")))
        for item in items
        if item.get("Type") != "tree"
    }


def huggingface(name: str, revision: str | None) -> Repository:
    """A data set on Hugging Face or a mirror: `HF_ENDPOINT` and `HF_TOKEN`.

    Raises:
        ConfigError: The id or the endpoint is none.
    """
    name, revision = _checked_id("hf", name), revision or "main"
    endpoint = _endpoint("HF_ENDPOINT", None, "https://huggingface.co")
    token = _token("HF_TOKEN")
    secret = {"Authorization": f"Bearer {token}"} if token else {}
    page = f"https://huggingface.co/datasets/{name}"
    hint = _Refusals("Hugging Face", name, revision, page, "HF_TOKEN", bool(token))

    def file(path: str) -> Target:
        url = f"{endpoint}/datasets/{name}/resolve/{quote(revision, safe='')}/{quote(path)}"
        return Target(url, f"`{path}`", secret, hint.of)

    def listing(web: Web) -> dict[str, Entry]:
        url = f"{endpoint}/api/datasets/{name}/tree/{quote(revision, safe='')}?recursive=1"
        found: dict[str, Entry] = {}
        for _ in range(_MOST_PAGES):
            asked = Target(url, f"the file list of `{name}`", secret, hint.of)
            value, headers = web.json(asked)
            found.update(_huggingface_page(asked, value))
            following = re.search(r'<([^>]+)>;\s*rel="next"', headers.get("link", ""))
            if following is None:
                break
            # The token goes along, so only the query is taken over, never another host.
            url = urlunsplit(urlsplit(url)._replace(query=following[1].partition("?")[2]))
        return found

    return Repository(
        f"`{name}` (revision {revision}) on Hugging Face",
        page,
        ("hf", *name.split("/"), _safe(revision)),
        file,
        listing,
    )


def _huggingface_page(asked: Target, value: Any) -> dict[str, Entry]:
    try:
        return {
            str(item["path"]): Entry(
                _number(item.get("size")), _sha256((item.get("lfs") or {}).get("oid"))
            )
            for item in value
            if item["type"] == "file"
        }
    except (KeyError, TypeError, AttributeError):
        raise _odd_listing(asked) from None


FILE_SUFFIXES = (".json", ".jsonl", ".csv", ".tsv", ".parquet", ".zip")
"""A URL that ends so names one file, any other the folder of a data set."""


def plain_url(url: str) -> Repository:
    """The files below a URL, or the one file it names; there is no list of them.

    Raises:
        ConfigError: It is no http(s) URL.
    """
    parts = urlsplit(url)
    if not parts.hostname:
        raise ConfigError(f"`{url}` is no URL with a host", hint="check --data")
    if parts.username is not None:
        raise ConfigError(
            f"the URL of {parts.hostname} holds a user name or password, which would end up in "
            "files and messages",
            hint="fetch the files yourself and give their folder",
        )
    folder, _, last = parts.path.rpartition("/")
    only = last if last.lower().endswith(FILE_SUFFIXES) else None
    base = parts.path.rstrip("/") if only is None else folder

    def file(path: str) -> Target:
        return Target(urlunsplit(parts._replace(path=f"{base}/{quote(path)}")), f"`{path}`")

    def hint(status: int, code: str) -> str | None:
        return "check the URL given with --data" if status in (401, 403, 404) else None

    shown = urlunsplit(("", parts.netloc.rpartition("@")[2], base, "", "")).lstrip("/")
    key = hashlib.sha256(f"{parts.scheme}://{shown}".encode()).hexdigest()[:16]
    return Repository(
        f"`{shown}`",
        f"{parts.scheme}://{shown}",
        ("url", f"{_safe(parts.hostname)}-{key}"),
        lambda path: Target(file(path).url, f"`{path}`", {}, hint),
        None,
        only,
    )


HUBS: dict[str, Callable[[str, str | None], Repository]] = {
    "modelscope": modelscope,
    "hf": huggingface,
}
"""The name before the colon in `--data` -> the hub."""

ALIASES = {"ms": "modelscope", "huggingface": "hf"}

DEFAULT_HUB = "modelscope"


def find_repository(data: str | None, ids: Mapping[str, str]) -> Repository | None:
    """The repository that `--data` means; None where it means a local path.

    Args:
        data: `HUB:ID[@REV]`, `HUB:` for the benchmark's own, a URL, a path; None for the
            benchmark's own at `MMSCORE_HUB` (ModelScope by default).
        ids: Hub -> the benchmark's own id there.

    Raises:
        ConfigError: The hub is unknown, or the id is none.
    """
    if data is None:
        hub = os.environ.get("MMSCORE_HUB") or DEFAULT_HUB
        hub = ALIASES.get(hub, hub)
        if hub not in HUBS:
            known = ", ".join(HUBS)
            raise ConfigError(f"MMSCORE_HUB is `{hub}`, expected one of {known}")
        return HUBS[hub](ids[hub], None)
    if re.match(r"https?://", data, re.IGNORECASE):
        return plain_url(data)
    head, colon, rest = data.partition(":")
    hub = ALIASES.get(head, head)
    if not colon or hub not in HUBS:
        return None
    name, _, revision = rest.partition("@")
    name = name or ids.get(hub, "")
    return HUBS[hub](name, revision or None)


@dataclass(frozen=True, slots=True)
class _Refusals:
    """What a hub's refusal means and what to do about it."""

    hub: str
    name: str
    revision: str
    page: str
    variable: str
    has_token: bool

    def of(self, status: int, code: str) -> str | None:
        if status == 404 and code == "EntryNotFound":
            return f"`{self.name}` on {self.hub} has no such file; see {self.page}"
        if code == "RevisionNotFound":
            return f"`{self.name}` on {self.hub} has no revision `{self.revision}`"
        if code == "GatedRepo" or (status in (401, 403) and self.has_token):
            return (
                f"the token in {self.variable} does not open `{self.name}`: check it, and for a "
                f"gated data set ask for access at {self.page}"
                if self.has_token
                else f"`{self.name}` is gated: ask for access at {self.page}, then set "
                f"{self.variable} to your token"
            )
        if status in (401, 403):
            return f"set {self.variable} to your token, and check the name `{self.name}`"
        if status == 404:
            private = "" if self.has_token else f"; a private data set needs {self.variable}"
            return f"check the name `{self.name}` and revision `{self.revision}`{private}"
        if status in (429, 503):
            return f"{self.hub} is busy: try again later, or take a mirror or another hub"
        return None


def _endpoint(variable: str, older: str | None, default: str) -> str:
    name = variable if os.environ.get(variable) or older is None else older
    value = os.environ.get(name, "").strip().rstrip("/") or default
    if "://" not in value:
        value = f"https://{value}"  # MODELSCOPE_DOMAIN is a bare host
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"{name} is `{value}`, expected a URL such as {default}")
    return value


def _token(variable: str) -> str | None:
    token = os.environ.get(variable, "").strip()
    if not token.isprintable() or not token.isascii():
        raise ConfigError(f"{variable} holds characters that no token has")
    return token or None


def _checked_id(hub: str, name: str) -> str:
    if not re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", name, re.ASCII):
        raise ConfigError(
            f"`{hub}:{name}` names no data set", hint=f"give it like {hub}:OWNER/NAME[@REVISION]"
        )
    return name


def _safe(name: str) -> str:
    return quote(name, safe="").strip(".") or "-"


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _sha256(value: object) -> str | None:
    text = str(value or "").lower().removeprefix("sha256:")
    return text if re.fullmatch(r"[0-9a-f]{64}", text) else None


def _odd_listing(asked: Target) -> WebError:
    return WebError(
        f"{asked.what} from {asked.host} has another form than expected",
        hint="check the endpoint: something else than this hub answers there",
    )
