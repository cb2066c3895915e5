"""Which options are keys, or may be: they are sent, and never written anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SECRET_OPTIONS = frozenset({"api_key", "extra_headers", "extra_query", "headers", "query"})
"""Options of a model that hold keys, or may."""


def without_secret_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that may stand in a run's folder."""
    return {name: value for name, value in options.items() if name not in SECRET_OPTIONS}
