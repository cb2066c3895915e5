"""The versions that a score depends on."""

from __future__ import annotations

import sys

import mmscore._core

VERSION: str = mmscore._core.__version__
"""The package's version: the core is built from the same one."""


def versions() -> dict[str, str]:
    """Names and versions of what a score depends on: mmscore, its core, Python."""
    return {"mmscore": VERSION, "core": VERSION, "python": sys.version.split()[0]}
