"""Every error a user can meet: one sentence, a hint, an exit code.

The sentence says what failed, where, what was found and what was expected. The hint says what
to do next. `cli` prints both; nothing else does.
"""

from __future__ import annotations

import errno
from enum import IntEnum


class Exit(IntEnum):
    """What the process tells its caller."""

    COMPLETE = 0
    DATA = 1
    USAGE = 2
    INCOMPLETE = 3
    ENDPOINT = 4
    INTERRUPTED = 130


class MmscoreError(Exception):
    """The root of all errors that mmscore raises on purpose.

    Attributes:
        message: One sentence without a full stop.
        hint: What to do about it, or None.
        exit_code: What the command line exits with.
    """

    exit_code = Exit.DATA

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if hint is not None:
            # A traceback shows notes, so that who calls from Python is told too.
            self.add_note(f"hint: {hint}")


class ConfigError(MmscoreError):
    """An option or a configuration field is unknown, contradictory or out of range."""


class UsageError(MmscoreError):
    """The command line cannot be read."""

    exit_code = Exit.USAGE


class DataError(MmscoreError, ValueError):
    """The user's data are missing, damaged or of another shape than announced."""


class NumberTooLargeError(DataError, OverflowError):
    """A number is so large that the arithmetic of a score is not defined for it."""


class MediaError(DataError):
    """One image, sound or clip cannot be sent; its sample ends as `bad_media`."""


class StorageError(MmscoreError):
    """The run's folder cannot be written, or another run is writing it."""


class MachineError(MmscoreError):
    """This machine failed, not a sample, a service or the data; the run can be resumed later."""


class HubError(MmscoreError):
    """A data set could not be fetched from where it lives."""


class BenchmarkError(MmscoreError):
    """A benchmark of the user's own raises, or gives nonsense, where it reads or scores a reply."""


class MissingExtraError(MmscoreError):
    """An optional package is needed; the hint holds the install command."""


class BudgetError(MmscoreError):
    """What a run may cost is used up; it stops in order and can be gone on with."""

    exit_code = Exit.INCOMPLETE


class EndpointError(MmscoreError):
    """The model service cannot be used at all, so the run was stopped."""

    exit_code = Exit.ENDPOINT


_OF_THE_MACHINE = {
    errno.EMFILE: "raise the limit of open files (`ulimit -n`), or lower --concurrency",
    errno.ENFILE: "the whole machine has too many files open: end what holds them",
    errno.EIO: "look at the disk: the system's log says what failed",
    getattr(errno, "ESTALE", -1): "the network file system has lost the file: mount it anew",
}
"""The system's error number -> what to do, where no sample and no server is to blame."""


def machine_error(error: OSError, doing: str) -> MachineError | None:
    """The error that ends a run in order, where the machine is what failed; None for any other."""
    hint = _OF_THE_MACHINE.get(error.errno or 0)
    if hint is None:
        return None
    return MachineError(f"{doing} failed: {(error.strerror or str(error)).lower()}", hint=hint)
