"""What help says of an option."""

from __future__ import annotations

from mmscore.config.option import Option


def words_of(row: Option, command: str) -> str:
    """Its words for a command, and the variables that may say it instead."""
    words = row.words.get(command, row.help)
    if not row.env:
        return words
    return f"{words}; {'better' if row.secret else 'or'} {', '.join(row.env[:2])}"
