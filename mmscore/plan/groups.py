"""The facts of samples by which a report is to be broken down, looked for before the run."""

from __future__ import annotations

from itertools import islice

from mmscore.error_text import listed, nearest_hint, shown
from mmscore.errors import ConfigError
from mmscore.plan.plan import Plan

LOOKED_AT = 200
"""Samples in which facts to group by are looked for."""


def check_groups(plan: Plan) -> None:
    """Stop on a fact to break down by that no sample has: it would be missed after the run.

    Raises:
        ConfigError: None of the first samples has a fact of that name.
    """
    wanted = plan.task.group_by
    if not wanted:
        return
    names: dict[str, None] = {}
    for sample in islice(plan.samples(), LOOKED_AT):
        names.update(dict.fromkeys((*sample.metadata, *sample.columns)))
    for name in wanted:
        if name not in names:
            known = listed(names, 20) or "none"
            raise ConfigError(
                f"no sample has a fact {shown(name)} to group by, known are {known}",
                hint=nearest_hint(name, names) if names else None,
            )
