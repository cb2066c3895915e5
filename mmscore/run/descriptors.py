"""How many workers the system's limit of open files allows: raised where it can be, else fewer.

The usual soft limits (1,024, macOS 256) are below what many requests in flight need; without a
look at them each sample beyond would fail for want of a descriptor.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

RESERVED = 64
"""Descriptors left for what else a run opens: its files, helpers, and ranges read ahead."""


def workers_within_limit(wanted: int, each: int, notice: Callable[[str], None]) -> int:
    """How many workers can run at once, at least one; told where they are fewer than wanted.

    Args:
        wanted: How many the user asked for.
        each: Descriptors that one of them needs at most.
        notice: Who hears of it.
    """
    try:
        import resource
    except ImportError:  # Windows, where sockets are no files
        return wanted
    needed = _open_now() + RESERVED + wanted * each
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    if soft == unlimited or soft >= needed:
        return wanted
    raised = needed if hard == unlimited else min(needed, hard)
    with suppress(ValueError, OSError):  # macOS has a third limit, which nothing tells
        resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
        soft = raised
    fit = max(1, (soft - _open_now() - RESERVED) // each)
    if fit >= wanted:
        return wanted
    notice(
        f"the limit of open files ({soft}) allows {fit} requests in flight, not {wanted}: "
        f"`ulimit -n {needed}` allows all"
    )
    return fit


def _open_now() -> int:
    """How many descriptors this process holds; 0 where the system does not tell."""
    try:
        return len(os.listdir("/dev/fd"))  # noqa: PTH208 - one call, and no paths are wanted
    except OSError:
        return 0
