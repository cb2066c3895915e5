"""The Rust core. Import it through the modules of this package, not directly."""

from os import PathLike
from typing import final

__version__: str

# Archives, media types, data URIs.

@final
class Zip:
    """A local zip archive, read by position: any number of threads may read at once.

    Members are the archive's files, numbered from 0 in the order of its directory. Folders,
    `__MACOSX/` and `._name` companions are not members; of several entries with one name the last
    is the member, as in `zipfile`. Every read is checked by size and CRC-32.
    """

    @staticmethod
    def open(path: str | PathLike[str]) -> Zip:
        """The archive at `path`.

        Raises:
            OSError: The file cannot be opened, in Python's own kinds.
            DataError: It is no zip archive, is cut short, or its directory is damaged.
        """

    def __len__(self) -> int: ...
    def names(self) -> list[str]:
        """All members' names; `names()[i]` is the name of member `i`."""

    def name(self, index: int) -> str:
        """The name of a member."""

    def size(self, index: int) -> int:
        """The unpacked size of a member in bytes, as the directory says."""

    def find(self, name: str) -> int:
        """The number of the member called `name`, else of the only one whose name ends in it.

        Whole parts are compared: `b.jpg` finds `a/b.jpg`, not `ab.jpg`. A backslash counts as `/`.

        Raises:
            DataError: No such member (names the nearest), several (lists them), or a name that
                leads out of the archive.
        """

    def get(self, name: str) -> int | None:
        """As `find`, but None for no such member, without a search for the nearest."""

    def read(self, index: int) -> bytes:
        """A member's bytes.

        Raises:
            DataError: It is encrypted, packed by another method than deflate, larger than
                512 MiB, a decompression bomb, damaged, or its name leads out of the archive.
            OSError: The file cannot be read.
        """

    def data_uri(self, index: int, mime: str | None = None) -> bytes:
        """A member as `data:MIME;base64,...`, read, unpacked and encoded in one step.

        Args:
            index: The member.
            mime: Its type; None to sniff it (`application/octet-stream` where unknown).

        Raises:
            DataError: As `read`.
            OSError: As `read`.
        """

@final
class ZipOpening:
    """A zip archive known by its length only: says which bytes it needs to find its directory.

    For archives that are read by ranges: fetch `need()`, hand it to `feed()`, until that returns
    the directory. Two rounds for a large archive, one where the directory lies in the last 128 KiB.
    """

    def __new__(cls, archive: str, size: int) -> ZipOpening:
        """Starts with an archive of `size` bytes, called `archive` in errors."""

    def need(self) -> tuple[int, int]:
        """The next range of bytes: first position and the one after the last."""

    def feed(self, data: bytes) -> ZipDirectory | None:
        """Takes exactly the bytes of `need()`; None means that more are needed.

        Raises:
            DataError: The archive is no zip, is cut short, or its directory is damaged.
        """

@final
class ZipDirectory:
    """The members of an archive that is read by ranges; as `Zip`, with the bytes given."""

    def __len__(self) -> int: ...
    def names(self) -> list[str]:
        """All members' names; `names()[i]` is the name of member `i`."""

    def name(self, index: int) -> str:
        """The name of a member."""

    def size(self, index: int) -> int:
        """The unpacked size of a member in bytes, as the directory says."""

    def find(self, name: str) -> int:
        """As `Zip.find`."""

    def get(self, name: str) -> int | None:
        """As `Zip.get`."""

    def span(self, index: int) -> tuple[int, int]:
        """The range that surely holds a member: first position and the one after the last.

        It reaches to the next member or the directory, at most 64 KiB more than the member needs,
        and in ordinary archives exactly the member.

        Raises:
            DataError: The member must not be read, as `Zip.read`.
        """

    def decode(self, index: int, data: bytes) -> bytes:
        """A member's bytes out of exactly the bytes of its `span`.

        Raises:
            DataError: As `Zip.read`.
        """

def sniff(data: bytes, /) -> str | None:
    """The MIME type by the first bytes, as the package `filetype` 1.2.0 decides; else None."""

def look(data: bytes, /) -> tuple[int, int, bool, int] | None:
    """What the structure of an image says, without decoding it.

    Returns:
        Stored width and height in pixels, whether the end mark is there, and the EXIF orientation
        (1 to 8). None for anything but JPEG, PNG, GIF, WebP and BMP, and where the structure
        breaks off before the dimensions.
    """

def data_uri(data: bytes, mime: str, /) -> bytes:
    """`data:MIME;base64,...` as ASCII bytes."""

def decode_base64(text: str | bytes, /) -> bytes:
    """The bytes of base64 with or without a `data:` prefix, line breaks or padding.

    Both the standard and the URL-safe alphabet are read.

    Raises:
        DataError: Names the position of the first character that cannot be.
    """
