"""Lists written as text in a cell of a table, as JSON or as Python writes them."""

from __future__ import annotations

import ast
import json
import warnings

LONGEST = 1 << 18
"""Characters of a Python literal that are read; JSON has no such limit."""


def read_literal(text: str) -> object:
    """The list that a text is in JSON, else the value that it is as a Python literal.

    Nothing in it is ever executed.

    Raises:
        ValueError: It is neither.
    """
    try:
        value = json.loads(text)
        if isinstance(value, list):
            return value
    except (ValueError, RecursionError):
        pass
    if len(text) > LONGEST:
        raise ValueError(f"{len(text)} characters, expected at most {LONGEST}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an unknown escape in the user's text is no news
            return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise ValueError("neither JSON nor a Python literal") from None
