from dataclasses import dataclass
from mmscore import _core

data_uri = _core.data_uri


@dataclass(frozen=True)
class Limits:
    max_image_bytes: int | None = None
    min_side: int | None = None
    max_pixels: int | None = None


def prepare_image(data, limits):
    return data, _core.sniff(data), ()
