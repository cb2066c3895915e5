"""Files that Git keeps in the place of large ones that were not fetched."""

from __future__ import annotations

from pathlib import Path

from mmscore.error_text import printable
from mmscore.errors import DataError

MARK = b"version https://git-lfs"
HINT = "git lfs pull fetches it"


def is_pointer(data: bytes) -> bool:
    """Whether the bytes of a file are a pointer's."""
    return data.startswith(MARK)


def require_fetched(path: Path) -> None:
    """Stop on a file that is a pointer; one that cannot be read is left to whoever reads it.

    Raises:
        DataError: It is one.
    """
    try:
        with path.open("rb") as file:
            head = file.read(len(MARK))
    except OSError:
        return
    if is_pointer(head):
        place = f"`{printable(str(path))}`"
        raise DataError(f"{place} is a Git LFS pointer, not the file itself", hint=HINT)
