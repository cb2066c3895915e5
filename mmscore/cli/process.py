"""What the command line does to its process: streams, arguments, memory."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from mmscore.cli.keys import masked


class Sturdy(io.TextIOBase):
    """A text stream that goes silent when it cannot be written any more.

    Whoever reads a run's output may leave (`| head -1`), close it, or give it a full disk; a run
    that is paid for does not end for that, and its exit code stays what the run came to.

    Attributes:
        fault: Why writing failed, unless the reader has just left; None while all is well.
        written: Whether anything was written.
    """

    def __init__(self, stream: TextIO | None) -> None:
        """Wrap a stream; None stands for a closed one, as in `sys.stdout` after `>&-`."""
        self.fault: OSError | None = None
        self.written = False
        self._stream = stream

    @property
    def encoding(self) -> str:  # type: ignore[override]  # a class attribute in typeshed
        """The encoding of the stream."""
        return (self._stream and self._stream.encoding) or "utf-8"

    def isatty(self) -> bool:
        """Whether the stream is a terminal."""
        return self._stream is not None and self._stream.isatty()

    def writable(self) -> bool:
        """Whether it is written to; always, even where nothing comes of it."""
        return True

    def write(self, text: str) -> int:
        """Write what can be written."""
        self.written = self.written or bool(text)
        if self._stream is not None:
            try:
                self._stream.write(text)
            except UnicodeError:
                raise
            except (OSError, ValueError) as error:  # ValueError: it was closed
                self._give_up(error)
        return len(text)

    def flush(self) -> None:
        """Hand on what was written."""
        if self._stream is not None:
            try:
                self._stream.flush()
            except UnicodeError:
                raise
            except (OSError, ValueError) as error:  # ValueError: it was closed
                self._give_up(error)

    def _give_up(self, error: OSError | ValueError) -> None:
        stream, self._stream = self._stream, None
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            self.fault = error
        # What is left in the stream's buffer would fail once more when the interpreter ends.
        with contextlib.suppress(OSError, ValueError, AttributeError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())  # type: ignore[union-attr]  # suppressed
            os.close(nowhere)


def speak_utf8(out: TextIO | None, err: TextIO | None, *, as_json: bool) -> None:
    """Let no character of a question or a reply end the program, whatever the locale.

    JSON is UTF-8 everywhere: a `?` in its place would be another value.
    """
    for stream in (out, err):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    if as_json and isinstance(out, io.TextIOWrapper):
        out.reconfigure(encoding="utf-8", errors="replace")


def hide_keys(argv: Sequence[str]) -> None:
    """Blank keys given as arguments where other users' `ps` would show it (Linux)."""
    shown = masked(argv)
    if shown == list(argv):
        return
    with contextlib.suppress(OSError, ValueError, IndexError):
        fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        start, end = int(fields[45]), int(fields[46])  # arg_start and arg_end of proc(5)
        with Path("/proc/self/mem").open("r+b", buffering=0) as memory:
            memory.seek(start)
            words = memory.read(end - start).split(b"\0")
            # Ours are the last ones, with an empty one behind the NUL that ends them.
            before = words[: -len(shown) - 1]
            if words[-len(shown) - 1 : -1] != [os.fsencode(word) for word in argv]:
                return
            memory.seek(start)
            memory.write(b"\0".join([*before, *map(os.fsencode, shown), b""]))


def give_large_buffers_back() -> None:
    """Let glibc return a freed image to the system at once.

    Left alone, it keeps what each thread freed for that thread: with eight workers and images of
    4 MB that is 60 MB more, for no gain in time. Other C libraries have no such knob.
    """
    import ctypes

    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, 1 << 20)


_MMAP_THRESHOLD = -3
"""`M_MMAP_THRESHOLD` of glibc's <malloc.h>: larger buffers are mapped, and unmapped when freed."""


def own_code(stderr: TextIO) -> contextlib.redirect_stdout[TextIO]:
    """While it lasts, what a benchmark of the user's own prints goes to `stderr`: it is no data."""
    return contextlib.redirect_stdout(stderr)
