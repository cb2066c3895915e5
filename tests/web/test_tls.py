"""Whom TLS trusts, and why a connection is refused: said once, in words, and not tried again."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

import pytest
from support import run_cli
from support.sockets import Listening, answer, listening, read_request

from mmscore.errors import ConfigError
from mmscore.web.connection import Connections
from mmscore.web.errors import TransportError
from mmscore.web.tls import VARIABLES, trusted
from mmscore.web.urls import parse_url

CERTIFICATES = Path(__file__).parent / "certificates"
AUTHORITY = CERTIFICATES / "authority.pem"


def secure(name: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / f"{name}.pem")
    return context


def serving(name: str):  # type: ignore[no-untyped-def]
    """A server with that certificate that answers with what it was asked."""
    context = secure(name)

    def serve(connection: socket.socket, number: int) -> None:
        with context.wrap_socket(connection, server_side=True) as one:
            while request := read_request(one):
                one.sendall(answer(request))

    return listening(serve)


def asked(server: Listening, environ: dict[str, str], host: str = "127.0.0.1") -> bytes:
    connections = Connections(parse_url(f"https://{host}:{server.port}/v1"), environ=environ)
    try:
        with connections.ask(
            connections.head("GET", {}), deadline=connections.deadline(10.0)
        ) as response:
            return response.read(100_000)
    finally:
        connections.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of certificates without OpenSSL's hashed names."""
    made = tmp_path / "certificates"
    made.mkdir()
    (made / "authority.crt").write_bytes(AUTHORITY.read_bytes())
    (made / "README").write_text("no certificate")
    return made


@pytest.mark.parametrize("variable", VARIABLES)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_every_variable_names_a_file_or_a_folder(variable: str, host: str, folder: Path) -> None:
    with serving("good") as server:
        for place in (AUTHORITY, folder):
            got = asked(server, {variable: str(place)}, host)
            assert got.startswith(b"GET /v1 HTTP/1.1\r\n")


def test_a_folder_may_have_hashed_names(folder: Path) -> None:
    (folder / "0123abcd.0").write_bytes(AUTHORITY.read_bytes())
    (folder / "authority.crt").unlink()
    with serving("good") as server, pytest.raises(TransportError, match="nobody this machine"):
        asked(server, {"SSL_CERT_DIR": str(folder)})  # looked up by its hash, and not found


def test_a_large_body_arrives_whole() -> None:
    body = bytes(range(256)) * 10_000
    with serving("good") as server:
        connections = Connections(
            parse_url(f"https://127.0.0.1:{server.port}/v1"),
            environ={"SSL_CERT_FILE": str(AUTHORITY)},
        )
        head = connections.head("POST", {})
        for _ in range(2):
            with connections.ask(
                head, [body[:7], body[7:]], deadline=connections.deadline(30.0)
            ) as response:
                assert response.read(1 << 24).endswith(body)
        assert server.accepted == 1
        connections.close()


REFUSED = [
    ("good", {}, "127.0.0.1", "issued by nobody this machine trusts", "SSL_CERT_FILE"),
    ("selfsigned", {}, "127.0.0.1", "is self-signed", "SSL_CERT_FILE"),
    ("expired", {"SSL_CERT_FILE": str(AUTHORITY)}, "127.0.0.1", "has expired", "clock"),
    ("early", {"SSL_CERT_FILE": str(AUTHORITY)}, "127.0.0.1", "is not valid yet", "clock"),
    ("other", {"SSL_CERT_FILE": str(AUTHORITY)}, "localhost", "is for another name", "name"),
    ("other", {"SSL_CERT_FILE": str(AUTHORITY)}, "127.0.0.1", "is for another address", "name"),
]


@pytest.mark.parametrize(("name", "environ", "host", "words", "hint"), REFUSED)
def test_a_refused_certificate_is_told_with_the_reason(
    name: str, environ: dict[str, str], host: str, words: str, hint: str
) -> None:
    with serving(name) as server:
        with pytest.raises(TransportError, match=words) as caught:
            asked(server, environ, host)
        assert f"{host}:{server.port}" in str(caught.value)
        assert server.accepted == 1
    assert (caught.value.kind, caught.value.retriable) == ("tls", False)
    assert hint in (caught.value.hint or "")


def test_a_certificate_may_itself_be_trusted() -> None:
    with serving("selfsigned") as server:
        assert asked(server, {"SSL_CERT_FILE": str(CERTIFICATES / "selfsigned.pem")})


def test_plain_http_behind_https_is_told() -> None:
    def plain(connection: socket.socket, number: int) -> None:
        connection.recv(1000)
        connection.sendall(answer(b"", "400 Bad Request"))

    refused = pytest.raises(TransportError, match="answers without TLS")
    with listening(plain) as server, refused as caught:
        asked(server, {})
    assert not caught.value.retriable and "http://" in (caught.value.hint or "")


def test_tls_behind_http_is_told() -> None:
    with serving("good") as server:
        connections = Connections(parse_url(server.url), environ={})
        asking = connections.ask(connections.head("GET", {}), deadline=connections.deadline(10.0))
        with pytest.raises(TransportError) as caught, asking as response:
            response.read(1000)
    # OpenSSL closes without a word, or with an alert.
    assert caught.value.kind in ("tls", "closed", "reset", "odd")


def test_a_handshake_that_breaks_off_is_tried_again() -> None:
    def breaks_off(connection: socket.socket, number: int) -> None:
        connection.recv(10)

    with listening(breaks_off) as server, pytest.raises(TransportError) as caught:
        asked(server, {})
    assert (caught.value.kind, caught.value.retriable) == ("connect", True)


@pytest.mark.parametrize("variable", VARIABLES)
def test_a_wrong_variable_is_the_users_error(variable: str, tmp_path: Path) -> None:
    empty, text = tmp_path / "empty", tmp_path / "text.pem"
    empty.mkdir()
    text.write_text("no certificate")
    for place in (tmp_path / "gone.pem", empty, text):
        with pytest.raises(ConfigError) as caught:
            trusted({variable: str(place)})
        assert variable in caught.value.message and str(place) in caught.value.message


def test_an_empty_variable_is_none() -> None:
    assert trusted(dict.fromkeys(VARIABLES, "")) is trusted({})


def test_a_run_says_it_before_it_makes_a_folder(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "gone.pem"))
    ran = run_cli(
        "run", "slake", "--data", str(data), "--api-url", "https://127.0.0.1:1", "--model", "m",
        "--out", str(tmp_path / "out"),
    )  # fmt: skip
    assert ran.code == 1
    assert "REQUESTS_CA_BUNDLE" in ran.err and "gone.pem" in ran.err and "fault of" not in ran.err
    assert not (tmp_path / "out").exists()


def test_a_run_against_an_untrusted_endpoint_ends_at_once(data: Path, tmp_path: Path) -> None:
    with serving("selfsigned") as server:
        url = server.url.replace("http", "https")
        ran = run_cli(
            "run", "slake", "--data", str(data), "--api-url", url, "--model", "m",
            "--concurrency", "1", "--progress", "none", "--out", str(tmp_path / "out"),
        )  # fmt: skip
        assert server.accepted == 1
    assert ran.code == 4 and "is self-signed" in ran.err and "SSL_CERT_FILE" in ran.err
