"""URLs taken apart, which hosts are this machine or the public network, and which proxy leads out.

Pure text and addresses: nothing here asks the network.
"""

from __future__ import annotations

import base64
import ipaddress
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, quote, unquote, urlsplit

from mmscore.error_text import without_secrets
from mmscore.errors import ConfigError

_SENT_AS_IT_IS = "%!#$&'()*+,/:;=?@[]~"
"""RFC 3986's own characters; with `%` among them, what is encoded already stays as it is."""

_NAT64 = ipaddress.ip_network("64:ff9b::/96")

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Url:
    """An http(s) URL taken apart.

    Attributes:
        text: The whole, without user and password, percent-encoded where need be.
        secure: Whether it is https.
        host: The host, without the brackets of an IPv6 address.
        port: The port, also where it is the usual one.
        target: Path and query, as a request line carries them.
    """

    text: str
    secure: bool
    host: str
    port: int
    target: str

    @property
    def place(self) -> str:
        """`host:port`, as errors and reports show it."""
        return f"{bracketed(self.host)}:{self.port}"

    @property
    def authority(self) -> str:
        """What the Host header says: the host in ASCII, the port where it is not the usual one."""
        host = bracketed(self.host).encode("idna").decode()
        return host if self.port == (443 if self.secure else 80) else f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy that leads out.

    Attributes:
        secure: Whether it is spoken to by TLS.
        host: Its host.
        port: Its port.
        authorization: What its user and password become in a header.
    """

    secure: bool
    host: str
    port: int
    authorization: str | None = field(repr=False)

    @property
    def place(self) -> str:
        """`host:port`, as errors show it."""
        return f"{bracketed(self.host)}:{self.port}"


def bracketed(host: str) -> str:
    """A host as URLs hold it: an IPv6 address stands in brackets."""
    return f"[{host}]" if ":" in host else host


def parse_url(text: str) -> Url:
    """Return `text` taken apart, with what a request line cannot carry percent-encoded.

    Raises:
        ConfigError: It is no http(s) URL.
    """
    try:
        parts = urlsplit(text)
        port = parts.port
        (parts.hostname or "").encode("idna")
    except ValueError as error:
        raise ConfigError(f"`{without_secrets(text)}` is no URL: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(
            f"`{without_secrets(text)}` is no http(s) URL",
            hint="give it like `http://127.0.0.1:8000/v1`",
        )
    secure = parts.scheme == "https"
    target = quote(parts.path or "/", safe=_SENT_AS_IT_IS)
    if parts.query:
        target += "?" + quote(parts.query, safe=_SENT_AS_IT_IS)
    place = bracketed(parts.hostname) + (f":{port}" if port else "")
    return Url(
        text=f"{parts.scheme}://{place}{target}",
        secure=secure,
        host=parts.hostname,
        port=port or (443 if secure else 80),
        target=target,
    )


def address_of(host: str) -> IpAddress | None:
    """The address that a host is, in whichever notation connecting understands; None for a name."""
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        pass
    try:
        return ipaddress.ip_address(socket.inet_aton(host))  # `127.1`, `0`, `0x7f000001`
    except (OSError, ValueError):
        return None


def is_this_machine(host: str) -> bool:
    """Whether `host` is this machine, which no proxy stands before: loopback, or no address."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    address = address_of(host)
    if address is None:
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_loopback or address.is_unspecified


def is_public(address: IpAddress) -> bool:
    """Whether an address is of the public network, also the one an IPv6 address wraps."""
    if isinstance(address, ipaddress.IPv6Address):
        wrapped = address.ipv4_mapped or address.sixtofour
        if wrapped is None and address in _NAT64:
            wrapped = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if wrapped is not None:
            return is_public(wrapped)
    return address.is_global and not address.is_multicast


def is_private_host(host: str) -> bool:
    """Whether a host names, by itself, this machine or an address that is not public."""
    address = address_of(host)
    return is_this_machine(host) or (address is not None and not is_public(address))


def proxy_for(url: Url, environ: Mapping[str, str] = os.environ) -> Proxy | None:
    """The proxy that leads to a URL by `HTTP(S)_PROXY`, `ALL_PROXY` and `NO_PROXY`.

    Raises:
        ConfigError: The variable names no http(s) proxy.
    """
    scheme = "https" if url.secure else "http"
    names = [n for name in (f"{scheme}_proxy", "all_proxy") for n in (name, name.upper())]
    variable = next((name for name in names if environ.get(name)), None)
    if variable is None or is_this_machine(url.host):
        return None
    # requests reads NO_PROXY as its users know it: names, suffixes, `*`, addresses, CIDR ranges.
    from requests.utils import should_bypass_proxies

    if should_bypass_proxies(url.text, no_proxy=None):
        return None
    value = environ[variable]
    try:
        proxy = urlsplit(value if "://" in value else f"http://{value}")
        port = proxy.port
    except ValueError as error:
        raise ConfigError(f"{variable} is no URL: {error}") from None
    if proxy.scheme not in ("http", "https") or not proxy.hostname:
        raise ConfigError(
            f"{variable} names the proxy `{proxy.scheme}://{proxy.hostname or ''}`, expected an "
            "http or https one",
            hint="NO_PROXY names hosts to reach without a proxy",
        )
    secure = proxy.scheme == "https"
    # Without a port, 80 and 443: what the clients around us take, though curl takes 1080.
    return Proxy(
        secure, proxy.hostname, port or (443 if secure else 80), basic_authorization(proxy)
    )


def basic_authorization(url: SplitResult) -> str | None:
    """What `user:password@` of a URL becomes in an Authorization header; None without it."""
    if url.username is None:
        return None
    pair = f"{unquote(url.username)}:{unquote(url.password or '')}"
    return "Basic " + base64.b64encode(pair.encode()).decode()
