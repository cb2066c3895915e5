"""Whom TLS trusts, how a connection is made secure, and why one cannot be.

The certificates come from the variables that other clients read, for the endpoint and for data
alike; a wrong one is the user's error, told before anything is sent.
"""

from __future__ import annotations

import errno
import os
import re
import socket
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from mmscore.errors import ConfigError
from mmscore.web.errors import TransportError
from mmscore.web.wire import Deadline, os_words

if TYPE_CHECKING:
    from ssl import SSLContext, SSLError, SSLSocket

VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR")
"""What names the certificates to trust, a file or a folder; the first that is set counts."""

_HASHED = re.compile(r"[0-9a-f]{8}\.\d+")

_TRUST = "name the certificate of its issuer with SSL_CERT_FILE"
_WHY = {
    9: ("is not valid yet", "check the clock of this machine"),
    10: ("has expired", "check the clock of this machine, or have it renewed"),
    18: ("is self-signed", _TRUST),
    19: ("was issued by nobody this machine trusts (its chain ends self-signed)", _TRUST),
    20: ("was issued by nobody this machine trusts", _TRUST),
    21: ("was issued by nobody this machine trusts", _TRUST),
    23: ("was revoked", "have it renewed"),
    62: ("is for another name", "use a name that the certificate is for"),
    64: ("is for another address", "use a name that the certificate is for"),
}
"""OpenSSL's code of a refused certificate -> why, and what to do."""

_PLAIN = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL", "RECORD_LAYER_FAILURE")
"""OpenSSL's words where the other side answers something that is no TLS."""


def trusted(environ: Mapping[str, str] = os.environ) -> SSLContext:
    """What checks certificates: against those a variable names, else those of certifi.

    Raises:
        ConfigError: The variable names nothing that holds certificates.
    """
    variable = next((name for name in VARIABLES if environ.get(name)), None)
    return _context(variable, environ[variable] if variable else "")


@lru_cache(maxsize=4)
def _context(variable: str | None, place: str) -> SSLContext:
    import ssl

    if variable is None:
        import certifi

        return ssl.create_default_context(cafile=certifi.where())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        for one in place.split(os.pathsep) if variable == "SSL_CERT_DIR" else [place]:
            _load(context, Path(one))
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        why = "no certificates in PEM form" if isinstance(error, ssl.SSLError) else os_words(error)
        raise ConfigError(
            f"{variable} is `{place}`: {why}",
            hint=f"{variable} names a file of certificates in PEM form, or a folder of such files",
        ) from None
    return context


def _load(context: SSLContext, place: Path) -> None:
    """Trust the certificates in a file, or in a folder.

    Raises:
        OSError: There are none.
    """
    if not place.is_dir():
        place.open("rb").close()  # the system's own words where it cannot be read
        context.load_verify_locations(cafile=place)
        return
    files = sorted(place.iterdir())
    if any(_HASHED.fullmatch(file.name) for file in files):
        context.load_verify_locations(capath=place)  # OpenSSL looks a certificate up by its hash
        return
    files = [file for file in files if file.suffix in (".pem", ".crt", ".cer")]
    if not files:
        raise FileNotFoundError(errno.ENOENT, "no .pem or .crt file in it")
    for file in files:
        context.load_verify_locations(cafile=file)


def secured(
    plain: socket.socket, host: str, context: SSLContext, place: str, deadline: Deadline
) -> SSLSocket:
    """A TLS connection on a connected socket, its certificate checked for `host`.

    Raises:
        TransportError: There is none in time; says why.
    """
    import ssl

    wrapped = context.wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False)
    try:
        while True:
            wrapped.settimeout(deadline.slice())
            try:
                wrapped.do_handshake()
            except TimeoutError:
                continue
            return wrapped
    except (ssl.SSLError, ssl.CertificateError) as error:
        wrapped.close()
        raise refusal(error, place) from error
    except OSError as error:
        wrapped.close()
        raise TransportError(
            "connect", f"{place} broke off the TLS handshake: {os_words(error)}"
        ) from error
    except BaseException:
        wrapped.close()
        raise


def refusal(error: SSLError, place: str) -> TransportError:
    """Why there is no TLS connection; only a connection that broke off is worth another attempt."""
    import ssl

    if isinstance(error, ssl.SSLCertVerificationError):
        words, hint = _WHY.get(error.verify_code, (f"is refused: {error.verify_message}", _TRUST))
        if error.verify_code in (62, 64):
            words += f" ({error.verify_message.rstrip('.')})"
        return TransportError(
            "tls", f"the certificate of {place} {words}", retriable=False, hint=hint
        )
    if isinstance(error, ssl.SSLEOFError):
        return TransportError("connect", f"{place} broke off the TLS handshake")
    reason = (error.reason or str(error)).upper().replace(" ", "_")
    if any(word in reason for word in _PLAIN):
        return TransportError(
            "tls",
            f"{place} answers without TLS",
            retriable=False,
            hint="give its URL as http://",
        )
    said = (error.reason or str(error)).lower().replace("_", " ")
    return TransportError("tls", f"no TLS connection to {place}: {said}", retriable=False)
