"""A benchmark of the user's own, out of the Python file that defines it.

The file's functions are strangers: whatever they raise becomes one sentence that names file, line
and function, and what they return is checked before it can become a score.
"""

from __future__ import annotations

import hashlib
import importlib.util
import math
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from mmscore.benchmarks import own_class as own
from mmscore.benchmarks.base import Benchmark, Files, Options
from mmscore.dataset.media.columns import columns_of, media_part
from mmscore.dataset.media.paths import Roots
from mmscore.dataset.rows import Cell, Row
from mmscore.error_text import shown, text_of, what
from mmscore.errors import BenchmarkError, ConfigError, DataError, MmscoreError
from mmscore.types import Extracted, Media, Message, Sample, Text

SUFFIX = ".py"

HINT = "see `Your own benchmark` in mmscore's README"

RAISED = (Exception, SystemExit)
"""What a stranger's function may raise: `sys.exit` in one does not end the run in silence."""


def load_benchmark(path: Path) -> Benchmark:
    """The `BENCHMARK` that a Python file defines.

    Raises:
        ConfigError: There is no such file, it raises, or it defines no benchmark.
    """
    if not path.is_file():
        raise ConfigError(f"no benchmark file `{path}`")
    version = path.resolve(), hashlib.sha256(path.read_bytes()).hexdigest()
    if version not in _LOADED:
        _LOADED[version] = _loaded(path, version[1])
    return _LOADED[version]


_LOADED: dict[tuple[Path, str], Benchmark] = {}
"""What files define, by their bytes: each is run once a process, whoever asks, until it changes."""


def _loaded(path: Path, sha256: str) -> Benchmark:
    defined = getattr(_module(path), "BENCHMARK", None)
    if isinstance(defined, Benchmark):
        return replace(defined, file=path.resolve())
    if not isinstance(defined, own.Benchmark):
        found = "no `BENCHMARK`" if defined is None else f"`BENCHMARK` as {_kind(defined)}"
        raise ConfigError(f"`{path}` defines {found}, expected a `Benchmark`", hint=HINT)
    _check(path, defined)
    task = _Task(path, defined)
    return Benchmark(
        name=defined.name,
        title=defined.title or defined.name,
        about=defined.about or f"your own benchmark in `{path}`",
        paper="",
        dataset=None,
        subsets={},
        metrics=tuple(defined.metrics),
        groups=tuple(defined.groups),
        prompt={},
        scorer=f"{defined.name}/{sha256[:12]}",
        samples=task.samples,
        parse=task.parse,
        score=task.score,
        file=path.resolve(),
    )


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"mmscore_own_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"`{path}` cannot be loaded as Python")
    module = importlib.util.module_from_spec(spec)
    folder = str(path.parent.resolve())
    sys.path.insert(0, folder)  # its neighbours are its to import
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        place = f"`{error.filename}` line {error.lineno}"
        raise ConfigError(f"{place} is no Python: {error.msg}") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise ConfigError(f"`{path}` cannot be used: {_raised(error, path)}") from error
    finally:
        sys.path.remove(folder)
    return module


def _check(path: Path, defined: own.Benchmark) -> None:
    """Stop on a benchmark that is put together wrongly."""
    if not isinstance(defined.name, str) or not defined.name.strip():
        raise ConfigError(f"the benchmark of `{path}` has the name {defined.name!r}")
    for name in ("load", "prompt", "parse", "score"):
        if not callable(getattr(defined, name)):
            found = _kind(getattr(defined, name))
            raise ConfigError(f"`{name}` of `{path}` is {found}, expected a function", hint=HINT)
    for name in ("metrics", "groups", "keep"):
        names = getattr(defined, name)
        if isinstance(names, str) or not all(isinstance(one, str) for one in names):
            raise ConfigError(f"`{name}` of `{path}` is {names!r}, expected names in a tuple")
    if not defined.metrics:
        raise ConfigError(f"the benchmark of `{path}` has no metrics")


@dataclass(frozen=True, slots=True)
class _Task:
    """The functions of the user's, each with what can go wrong in it."""

    path: Path
    own: own.Benchmark

    def samples(self, files: Files, options: Options) -> Iterator[Sample]:
        """Yield a sample for each row; one that `prompt` cannot ask has a problem."""
        if options.prompt_template is not None:
            raise ConfigError(f"`{self.own.name}` has no prompt template, `prompt` writes it")
        for number, row in enumerate(self._rows(files), 1):
            sample = self._sample(row, number, files, options)
            if not options.subsets or sample.subset in options.subsets:
                yield sample

    def _rows(self, files: Files) -> Iterator[Mapping[str, Any]]:
        try:
            rows = iter(self.own.load(files))
        except RAISED as error:
            self._fail("load", error)
        while True:
            try:
                row = next(rows)
            except StopIteration:
                return
            except RAISED as error:
                self._fail("load", error)
            if not isinstance(row, Mapping):
                raise DataError(f"`load` of `{self.path}` gave {_kind(row)}, expected mappings")
            yield row

    def _sample(
        self, row: Mapping[str, Any], number: int, files: Files, options: Options
    ) -> Sample:
        place = row.place if isinstance(row, Row) else f"row {number}"
        named = (row[column] for column in ("id", "index") if row.get(column) not in (None, ""))
        name = str(next(named, number))
        subset = str(row.get("subset") or self.own.name)
        kept = (*self.own.groups, *self.own.keep, *options.keep)
        facts = {column: _plain(row[column]) for column in kept if column in row}
        answer, choices = row.get("answer"), row.get("choices") or ()
        target = None if answer is None or answer == "" else str(answer)
        try:
            messages = self._messages(row, self._roots(row, files, options), options.system)
        except DataError as error:
            problem = f"{place}: {error.message}"
            return Sample(name, subset, (), None, metadata=facts, problem=problem)
        return Sample(name, subset, messages, target, tuple(map(str, choices)), facts)

    def _roots(self, row: Mapping[str, Any], files: Files, options: Options) -> Roots:
        """Where relative media paths start: beside the data, then beside the user's file."""
        beside = row.path.parent if isinstance(row, Row) else getattr(files, "root", Path())
        return options.roots(files, beside / self.path.name, self.path.parent)

    def _messages(
        self, row: Mapping[str, Any], roots: Roots, given: str | None
    ) -> tuple[Message, ...]:
        try:
            asked = self.own.prompt(row)
        except RAISED as error:
            raise DataError(self._sentence("prompt", error)) from error
        said = self.own.system if given is None else given
        system = () if said is None else (Message("system", said),)
        if isinstance(asked, str | own.Medium):
            asked = [asked]
        if not isinstance(asked, Sequence) or not asked:
            raise DataError(f"`prompt` gave {_kind(asked)}, expected a text or a list of parts")
        if all(isinstance(part, Message) for part in asked):
            return (*system, *(part for part in asked if isinstance(part, Message)))
        content = tuple(_part(part, number, roots) for number, part in enumerate(asked, 1))
        return (*system, Message("user", content))

    def parse(self, reply: str, sample: Sample) -> Extracted:
        """What the user's `parse` reads out of a reply."""
        try:
            answer = self.own.parse(reply, sample)
        except RAISED as error:
            self._fail("parse", error, sample)
        if answer is not None and not isinstance(answer, str):
            raise BenchmarkError(
                f"`parse` of `{self.path}` gave {_kind(answer)} for sample `{sample.id}`, "
                "expected a text or None"
            )
        return Extracted(answer, "parse")

    def score(self, answer: str | None, sample: Sample) -> Mapping[str, float]:
        """What the user's `score` gives, each a number from 0 to 1."""
        try:
            found = self.own.score(answer, sample)
        except RAISED as error:
            self._fail("score", error, sample)
        if found is None:
            return {}
        if not isinstance(found, Mapping):
            found = {self.own.metrics[0]: found}
        return {str(name): self._value(str(name), value, sample) for name, value in found.items()}

    def _value(self, name: str, value: object, sample: Sample) -> float:
        place = f"`score` of `{self.path}` gave"
        if name not in self.own.metrics:
            listed = ", ".join(f"`{metric}`" for metric in self.own.metrics)
            raise BenchmarkError(
                f"{place} `{name}` for sample `{sample.id}`, expected {listed}",
                hint=f'name it in the benchmark: metrics=("{name}",)',
            )
        number = _number(value)
        if number is None or not 0.0 <= number <= 1.0:
            raise BenchmarkError(
                f"{place} {shown(value)} as `{name}` for sample `{sample.id}`, "
                "expected a number from 0 to 1"
            )
        return number

    def _fail(self, name: str, error: BaseException, sample: Sample | None = None) -> NoReturn:
        if isinstance(error, MmscoreError):
            raise error
        where = f" for sample `{sample.id}`" if sample is not None else ""
        raise BenchmarkError(self._sentence(name, error) + where) from error

    def _sentence(self, name: str, error: BaseException) -> str:
        if isinstance(error, MmscoreError):
            return error.message
        return f"`{name}` of `{self.path}` failed: {_raised(error, self.path)}"


def _raised(error: BaseException, path: Path) -> str:
    """What was raised, and in which line of the user's file."""
    frames = traceback.extract_tb(error.__traceback__)
    own_file = str(path.resolve())
    lines = [f.lineno for f in frames if str(Path(f.filename).resolve()) == own_file]
    at = f"line {lines[-1]} raised " if lines else ""
    text = " ".join(str(error).split())
    return f"{at}{type(error).__name__}" + (f": {text[:200]}" if text else "")


def _part(part: object, number: int, roots: Roots) -> Text | Media:
    where = f"part {number} of the prompt"
    if isinstance(part, str):
        return Text(text_of(part, where))
    if not isinstance(part, own.Medium):
        raise DataError(f"{where} is {_kind(part)}, expected a text, `image`, `audio` or `video`")
    value = part.value
    held = value.read() if isinstance(value, Cell) and not value.head else value
    if isinstance(held, bytes | bytearray):
        value = {"bytes": value}
    found = columns_of({f"{part.kind}_1": value}).get(part.kind)
    if not found:
        raise DataError(f"{where} is an {part.kind} of {what(value)}, expected where it is")
    return replace(media_part(found[1], where, roots), detail=None)


def _number(value: object) -> float | None:
    """A finite number, also one of a library's own kind (numpy's, for instance)."""
    try:
        number = float(value)  # type: ignore[arg-type]  # refused below
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and not isinstance(value, str | bytes) else None


def _plain(value: object) -> object:
    """A value that JSON can hold."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else str(value)


def _kind(value: object) -> str:
    return f"`{type(value).__name__}`"
