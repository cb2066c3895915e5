"""Pages from the command line: which files were written, how a page is made, a browser for it."""

from __future__ import annotations

import shlex
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mmscore.error_text import listed
from mmscore.errors import ConfigError
from mmscore.report.boxes import Style
from mmscore.report.result import Result


def files_line(files: Sequence[Path]) -> str:
    """Which files were written, in one line for each folder they are in."""
    folders: dict[Path, list[str]] = {}
    for file in files:
        folders.setdefault(file.parent, []).append(file.name)
    return "\n".join(
        f"wrote {listed(names, mark='')} in {folder}" for folder, names in folders.items()
    )


def last_line(result: Result) -> str:
    """What a run ends with: the line that makes its page, or what was written with the page."""
    if any(file.suffix == ".html" for file in result.files):
        return files_line(result.files)
    return f"see why: mmscore report {shlex.quote(str(result.folder))} --open"


def reported(folder: Path, arguments: Namespace, notice: Callable[[str], None]) -> Result:
    """A run's report, written with its page, or only told where its folder cannot be written."""
    from mmscore.run.pages import report_with_page

    return report_with_page(
        folder,
        html=Path(arguments.html) if arguments.html else None,
        image_side=arguments.image_side,
        out=Path(arguments.out) if arguments.out else None,
        group_by=arguments.group_by or (),
        must_write=False,
        notice=notice,
    )


def with_page(result: Result, arguments: Namespace) -> Result:
    """What a run came to, its page written too where `--html` asks for it."""
    if not getattr(arguments, "html", False):
        return result
    from mmscore.run.pages import report_with_page

    return report_with_page(result.folder, image_side=arguments.image_side)


def compared(arguments: Namespace, style: Style) -> tuple[str, Path | None]:
    """What `mmscore compare` prints, and the page that it wrote.

    Raises:
        ConfigError: A page is to be shown, and none is written.
        DataError: A folder holds no run, or the runs are of unlike benchmarks or data.
        StorageError: The page cannot be written.
    """
    from mmscore.report import compare, load, several

    if arguments.open and not arguments.html:
        raise ConfigError("--open shows a page, and none is written", hint="add --html FILE")
    places = [arguments.run_a, arguments.run_b, *arguments.more_runs]
    runs = [load(Path(place), hold=False, group_by=arguments.group_by or ()) for place in places]
    how = {"metric": arguments.metric, "force": arguments.force}
    if len(runs) > 2:
        every = several.several(runs, **how)
        text = several.to_json(every) if arguments.json else several.to_text(every, style) + "\n"
    else:
        both = compare.compare(*runs, **how)
        text = compare.to_json(both) if arguments.json else compare.to_text(both, style) + "\n"
    if not arguments.html:
        return text, None
    from mmscore.run.pages import write_comparison

    side = arguments.image_side
    return text, write_comparison(runs, Path(arguments.html), image_side=side, **how)


def show(page: Path, environment: Mapping[str, str]) -> bool:
    """Show a page in the reader's browser; whether there is one.

    Without a screen a text browser might take over the terminal, so none is looked for.
    """
    import webbrowser

    screen = any(environment.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    if not screen and sys.platform not in ("win32", "darwin"):
        return False
    return webbrowser.open(page.resolve().as_uri())
