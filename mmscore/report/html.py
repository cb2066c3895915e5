"""`report.html` and the page of a comparison: one file that opens by double click.

No server, no network. Replies and data are hostile: they travel as JSON whose `<`, `>` and `&` are
escaped, become text nodes in the page, and a content security policy lets no other script run and
nothing be loaded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import resources

from mmscore.report.page.images import PageImages
from mmscore.report.page.text import HiddenPaths
from mmscore.report.pairing import RunsBeside
from mmscore.report.summary import Report
from mmscore.store.run_folder import Run

_ALWAYS = ("base.js", "samples.js", "filters.js", "parts.js", "list.js", "keys.js", "patterns.js")


def html_pieces(report: Report, run: Run, images: PageImages) -> Iterator[str]:
    """The whole page of a run, one sample at a time.

    Args:
        report: What the run came to.
        run: The run it was built from.
        images: What its samples showed.
    """
    from mmscore.report.page.run_page import roots_of, run_pieces

    hidden = HiddenPaths(roots_of(run))
    title = hidden.sentence(f"{report.title} · {report.model}")
    yield from _page(title, ("run.js",), run_pieces(report, run, images, hidden))


def compare_html(laid: RunsBeside, images: PageImages) -> Iterator[str]:
    """The whole page of a comparison, one sample at a time.

    Args:
        laid: The runs.
        images: What their samples showed.
    """
    from mmscore.report.page.compare_page import compare_pieces
    from mmscore.report.page.run_page import roots_of

    hidden = HiddenPaths(root for run in laid.runs for root in roots_of(run))
    title = hidden.sentence(f"{laid.runs[0].benchmark.name} · {' / '.join(laid.names)}")
    yield from _page(title, ("compare.js",), compare_pieces(laid, images, hidden))


def _page(title: str, scripts: Iterable[str], data: Iterable[str]) -> Iterator[str]:
    """The template with everything in its place."""
    words = _file("words.json")
    script = "\n".join(_file(name) for name in (*_ALWAYS, *scripts, "start.js"))
    style = _file("page.css")
    parts = {
        "policy": _policy(script, style),
        "title": _escaped(title),
        "style": style,
        "script": script,
        "words": re.sub(r"\s*\n\s*", "", words),
    }
    # One pass: a mark inside what was filled in is never filled in itself.
    for place, text in enumerate(re.split(r"\{\{(\w+)\}\}", _file("page.html"))):
        if place % 2 == 0:
            yield text
        elif text == "data":
            yield from data
        else:
            yield parts[text]


def _file(name: str) -> str:
    return resources.files("mmscore.report.page").joinpath(name).read_text(encoding="utf-8")


def _escaped(text: str) -> str:
    from html import escape

    return escape(text)


def _policy(script: str, style: str) -> str:
    """A content security policy that knows this script and this style by their digests."""
    return (
        f"default-src 'none'; img-src data:; script-src {_digest(script)}; "
        f"style-src {_digest(style)}; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    from base64 import b64encode
    from hashlib import sha256

    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
