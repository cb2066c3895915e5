"""Which hosts are this machine, which addresses are public, and which proxy leads to a URL."""

from __future__ import annotations

import ipaddress

import pytest

from mmscore.errors import ConfigError
from mmscore.web.urls import (
    Proxy,
    is_private_host,
    is_public,
    is_this_machine,
    parse_url,
    proxy_for,
)


@pytest.mark.parametrize(
    ("text", "place", "authority", "target"),
    [
        ("http://h", "h:80", "h", "/"),
        ("HTTPS://H.Example:443/a?b=c#d", "h.example:443", "h.example", "/a?b=c"),
        ("http://h:8000/v1", "h:8000", "h:8000", "/v1"),
        ("http://user:pass@h/x", "h:80", "h", "/x"),
        ("http://[::1]:8000/v1", "[::1]:8000", "[::1]:8000", "/v1"),
        ("http://bücher.example/ü?q=ü", "bücher.example:80", "xn--bcher-kva.example",
         "/%C3%BC?q=%C3%BC"),
        ("http://h/a b%20c\td", "h:80", "h", "/a%20b%20cd"),
        ("http://h/%00?x=\x7f\u2028", "h:80", "h", "/%00?x=%7F%E2%80%A8"),
    ],
)  # fmt: skip
def test_a_url_is_taken_apart(text: str, place: str, authority: str, target: str) -> None:
    url = parse_url(text)
    assert (url.place, url.authority, url.target) == (place, authority, target)
    assert "pass" not in url.text and parse_url(url.text) == url


@pytest.mark.parametrize(
    "text",
    ["", "h", "ftp://h/", "http://", "http:///x", "http://[x/a.png", "http://h:99999/", "http://h:x",
     "http://h:-1/", f"http://{'a' * 64}.example/", "http://a..b/", "http://[::1", "data:,x"],
)  # fmt: skip
def test_what_is_no_url_is_one_error(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_url(text)


THIS_MACHINE = [
    "localhost", "LOCALHOST", "localhost.", "a.localhost", "127.0.0.1", "127.9.9.9", "127.1", "0",
    "0.0.0.0", "0x7f000001", "2130706433", "::1", "::", "::ffff:127.0.0.1", "::ffff:0.0.0.0",
]  # fmt: skip
PRIVATE = [
    "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "fe80::1%eth0", "fd00::1",
    "100.64.0.1", "224.0.0.1", "ff02::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::",
    "64:ff9b::7f00:1", "255.255.255.255", "198.18.0.1", "10.1",
]  # fmt: skip
PUBLIC = ["8.8.8.8", "2001:4860:4860::8888", "64:ff9b::808:808", "2002:808:808::", "::ffff:8.8.8.8"]
NAMES = ["example.com", "localhost.example.com", "10.example", "xn--bcher-kva.example"]


@pytest.mark.parametrize("host", THIS_MACHINE)
def test_this_machine_is_known_in_every_notation(host: str) -> None:
    assert is_this_machine(host) and is_private_host(host)


@pytest.mark.parametrize("host", [*PRIVATE, *PUBLIC, *NAMES])
def test_other_hosts_are_not_this_machine(host: str) -> None:
    assert not is_this_machine(host)
    assert is_private_host(host) == (host in PRIVATE)


@pytest.mark.parametrize("text", [*PRIVATE, *PUBLIC, "127.0.0.1", "::1", "0.0.0.0", "::"])
def test_only_addresses_of_the_public_network_are_public(text: str) -> None:
    if text != "10.1":
        assert is_public(ipaddress.ip_address(text.partition("%")[0])) == (text in PUBLIC)


HTTP, HTTPS = "http://model.example/v1", "https://model.example/v1"


@pytest.mark.parametrize(
    ("url", "environ", "place", "secure"),
    [
        (HTTP, {}, None, False),
        (HTTP, {"http_proxy": "http://p:3128"}, "p:3128", False),
        (HTTP, {"HTTP_PROXY": "p:3128"}, "p:3128", False),
        (HTTP, {"http_proxy": "http://a:1", "HTTP_PROXY": "http://b:2"}, "a:1", False),
        (HTTP, {"https_proxy": "http://p:3128"}, None, False),
        (HTTP, {"http_proxy": ""}, None, False),
        (HTTP, {"ALL_PROXY": "http://p:1"}, "p:1", False),
        (HTTP, {"http_proxy": "https://p"}, "p:443", True),
        (HTTP, {"http_proxy": "http://p"}, "p:80", False),
        (HTTPS, {"http_proxy": "http://p:1"}, None, False),
        (HTTPS, {"HTTPS_PROXY": "http://[::1]:8"}, "[::1]:8", False),
        *((f"http://{host}/v1", {"http_proxy": "http://p:1"}, None, False)
          for host in ("0.0.0.0", "[::]", "127.0.0.1", "[::1]", "localhost", "0", "127.1")),
        ("http://10.1.2.3/v1", {"http_proxy": "http://p:1"}, "p:1", False),
    ],
)  # fmt: skip
def test_a_proxy_is_found_as_other_clients_find_it(
    url: str, environ: dict[str, str], place: str | None, secure: bool
) -> None:
    proxy = proxy_for(parse_url(url), environ)
    assert (proxy and (proxy.place, proxy.secure)) == (place and (place, secure))


@pytest.mark.parametrize(
    ("said", "url", "through"),
    [
        ("*", HTTP, False),
        ("model.example", HTTP, False),
        (".example", HTTP, False),
        ("other.example", HTTP, True),
        ("10.0.0.0/8", "http://10.1.2.3/v1", False),
        ("10.0.0.0/8", "http://11.1.2.3/v1", True),
    ],
)
def test_no_proxy_names_hosts_to_reach_without(
    said: str, url: str, through: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", said)
    assert (proxy_for(parse_url(url), {"http_proxy": "http://p:1"}) is not None) == through


def test_a_proxys_password_is_sent_and_not_shown() -> None:
    proxy = proxy_for(parse_url(HTTP), {"http_proxy": "http://me:p%40ss@p:1"})
    assert proxy == Proxy(False, "p", 1, "Basic bWU6cEBzcw==")
    assert "bWU6" not in repr(proxy)


@pytest.mark.parametrize(
    "value", ["socks5://user:SECRET@p:1", "http://", "http://p:99999", "http://["]
)
def test_what_is_no_proxy_is_told_without_its_password(value: str) -> None:
    with pytest.raises(ConfigError, match="ALL_PROXY") as caught:
        proxy_for(parse_url(HTTP), {"ALL_PROXY": value})
    assert "SECRET" not in str(caught.value)
