"""Samples in, records out: a window of workers, each taking the next sample as it is done.

There are no batches, so one slow reply holds up nobody. A worker reads a sample's media, asks,
scores and writes before it takes the next; memory depends on the number of workers, not samples.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from mmscore.benchmarks.base import Benchmark
from mmscore.error_text import shown
from mmscore.errors import (
    BenchmarkError,
    BudgetError,
    DataError,
    EndpointError,
    HubError,
    MachineError,
    MmscoreError,
    machine_error,
)
from mmscore.model.client import Client
from mmscore.model.request import Attachment, Request, RequestMaker
from mmscore.plan.events import Progress
from mmscore.run.budget import Budget
from mmscore.run.descriptors import workers_within_limit
from mmscore.run.interrupts import Interrupts
from mmscore.run.kept_replies import KeptReplies
from mmscore.run.record import prediction_of, score_of
from mmscore.scoring.judge.panel import JudgePanel
from mmscore.store.journal import AppendFile
from mmscore.store.records import Key, Prediction, Score
from mmscore.store.texts import TextFile
from mmscore.types import FAILED, SCORED, Reply, Sample

_STOP_WAIT = 0.2

Item = tuple[int, Sample, int]


@dataclass(frozen=True, slots=True)
class Earlier:
    """What an earlier run of the same folder left.

    Attributes:
        predictions: The last record of each sample that has a reply, read when it is looked up.
        scores: The last score record of each, likewise.
    """

    predictions: Mapping[Key, Prediction] = field(default_factory=dict)
    scores: Mapping[Key, Score] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunJob:
    """All that asking needs, as values and functions.

    Attributes:
        benchmark: What reads and scores a reply.
        client: What sends a request.
        requests: What makes them.
        filter: What happens to a reply before it is parsed.
        predictions: Where replies are written.
        scores: Where scores are written.
        texts: Where texts are kept that many messages share.
        concurrency: Requests in flight.
        earlier: What need not be asked again.
        judges: Who is asked about a reply after the rule; None where nobody is.
        drop_downloads: Ends what is being fetched of the data, when the user stops the run.
        budget: What the run may cost; None without limits.
        kept_replies: Replies of other runs, asked before the endpoint is; None where none count.
    """

    benchmark: Benchmark
    client: Client
    requests: RequestMaker
    filter: Callable[[str], str]
    predictions: AppendFile
    scores: AppendFile
    texts: TextFile
    concurrency: int
    earlier: Earlier = field(default_factory=Earlier)
    judges: JudgePanel | None = None
    drop_downloads: Callable[[], None] = lambda: None
    budget: Budget | None = None
    kept_replies: KeptReplies | None = None


class RunLoop:
    """One asking of all items; `run` returns when all ended or the run was stopped."""

    def __init__(
        self,
        asking: RunJob,
        items: Iterator[Item],
        total: int,
        on_progress: Callable[[Progress], None],
        notice: Callable[[str], None],
    ) -> None:
        self.asking = asking
        self.progress = Progress(total)
        self.changed = 0
        self.reused = 0
        self._items = items
        self._on_progress = on_progress
        self._notice = notice
        self._take_lock = threading.Lock()
        self._count_lock = threading.Lock()
        self._stopping = threading.Event()
        # A worker holds its connection, those to the judges, and a medium's file or connection.
        each = 2 + (len(asking.judges) if asking.judges is not None else 0)
        wanted = max(1, min(asking.concurrency, total))
        self._working = workers_within_limit(wanted, each, notice)
        self._ended = threading.Event()
        self._error: BaseException | None = None
        self._answered = False
        self._failures_in_a_row = 0
        self._started = time.monotonic()

    def run(self, interrupts: Interrupts) -> Progress:
        """Ask everything.

        Args:
            interrupts: How often the user has asked to stop: once lets what is in flight finish,
                twice does not.

        Raises:
            EndpointError: The endpoint is unusable; what was answered is kept.
            MmscoreError: The data or the run's folder failed.
            KeyboardInterrupt: Asked to stop; what was in flight has been finished and written.
        """
        threads = [
            threading.Thread(target=self._work, name=f"worker-{number}", daemon=True)
            for number in range(self._working)
        ]
        interrupted = self._wait_for(threads, interrupts)
        self.progress.seconds = time.monotonic() - self._started
        self._on_progress(replace(self.progress))
        if self.progress.kept:
            asked = self.progress.done - self.progress.kept
            self._notice(f"{self.progress.kept} earlier replies stand, {asked} samples were asked")
        if self.reused:
            self._notice(f"{self.reused} replies of other runs were taken from --cache-replies")
        if self.changed:
            self._notice(
                f"{self.changed} earlier replies were to other requests (model, prompt, options or "
                "images changed) and were asked again"
            )
        if interrupted and isinstance(self._error, HubError):
            raise KeyboardInterrupt  # a dropped download is its consequence
        if self._error is not None:
            raise self._error
        if interrupted:
            raise KeyboardInterrupt
        return self.progress

    def _wait_for(self, threads: list[threading.Thread], interrupts: Interrupts) -> bool:
        """Start the workers and wait for all; return whether the user asked to stop.

        Workers say themselves that they ended: a `Thread.join` that is interrupted may take one
        that runs for one that has ended (CPython gh-90882), and its reply would be lost.
        """
        for number, thread in enumerate(threads):
            try:
                thread.start()
            except RuntimeError:  # the system gives no more of them, as containers may
                self._leave(len(threads) - number)
                if number == 0:
                    raise MachineError(
                        "the system gives no thread to ask with",
                        hint="raise the limit of processes (`pids.max`, `ulimit -u`) to 2 or more",
                    ) from None
                self._notice(f"the system gives {number} threads: no more requests are in flight")
                break
        answered = 0
        while not self._ended.wait(_STOP_WAIT):
            while answered < interrupts.count:
                answered += 1
                self._interrupted(answered)
            self._look_at_budget()
        return interrupts.count > 0

    def _look_at_budget(self) -> None:
        """Stop where time ran out while nothing ended that could have told."""
        if self.asking.budget is None or self._stopping.is_set():
            return
        try:
            self.asking.budget.check()
        except BudgetError as error:
            self._stop(error)

    def _interrupted(self, times: int) -> None:
        self._stopping.set()
        self.asking.drop_downloads()
        self._end_waits(abort=times > 1)
        if times == 1:
            self._notice("stopping: finishing the requests in flight (Ctrl-C again to drop them)")

    def _end_waits(self, *, abort: bool = False) -> None:
        """Wait for no next attempt any more, and with `abort` for no answer either.

        The samples of those who waited are asked on resume.
        """
        if abort:
            self.asking.client.abort()
        self.asking.client.stop()
        if self.asking.judges is not None:
            self.asking.judges.stop(abort=abort)

    def _work(self) -> None:
        try:
            while not self._stopping.is_set():
                with self._take_lock:
                    item = next(self._items, None)
                if item is None:
                    return
                self._one(*item)
        except OSError as error:
            self._stop(machine_error(error, "reading what a sample needs") or error)
        except BaseException as error:
            self._stop(error)
        finally:
            self._leave(1)

    def _leave(self, workers: int) -> None:
        with self._count_lock:
            self._working -= workers
            if self._working == 0:
                self._ended.set()

    def _stop(self, error: BaseException) -> None:
        with self._count_lock:
            if self._error is None:
                self._error = error
            self._stopping.set()
        self._end_waits()

    def _one(self, index: int, sample: Sample, repeat: int) -> None:
        asking = self.asking
        if sample.problem is not None:
            reply = Reply(status="bad_media", error=sample.problem)
            self._record(index, sample, repeat, reply, None, ())
            return
        try:
            request, attachments = asking.requests.make(sample.messages)
        except DataError as error:
            reply = Reply(status="bad_media", error=error.message)
            self._record(index, sample, repeat, reply, None, ())
            return
        except Exception as error:
            reply = Reply(status="error", error=fault_of_sample(error))
            self._record(index, sample, repeat, reply, None, ())
            return
        if self._keep(sample, repeat, request):
            return
        reply = self._reply(request, repeat)
        if self._cut_short(reply):
            return
        self._record(index, sample, repeat, reply, request, attachments)
        self._judge_endpoint(reply)
        if asking.budget is not None and reply.attempts:
            asking.budget.spend(reply.usage)

    def _reply(self, request: Request, repeat: int) -> Reply:
        """The reply to a request: one that an earlier run got, else the endpoint's."""
        kept = self.asking.kept_replies
        found = kept.find(request.hash, repeat) if kept is not None else None
        if found is not None:
            with self._count_lock:
                self.reused += 1
            return found
        try:
            reply = self.asking.client.ask(request.body)
        except Exception as error:
            return Reply(status="error", attempts=1, error=fault_of_sample(error))
        if kept is not None:
            kept.keep(request.hash, repeat, reply)
        return reply

    def _keep(self, sample: Sample, repeat: int, request: Request) -> bool:
        """Whether an earlier reply to the very same request stands."""
        earlier, key = self.asking.earlier, (sample.id, repeat)
        prediction = earlier.predictions.get(key)
        if prediction is None:
            return False
        if prediction.request != request.hash:
            with self._count_lock:
                self.changed += 1
            return False
        score = self._score(sample, repeat, prediction.reply)
        if score != earlier.scores.get(key):
            self.asking.scores.append(score)
        self._count(prediction.status, score.metrics, kept=True)
        return True

    def _cut_short(self, reply: Reply) -> bool:
        """Whether the reply failed only because the run was told to stop."""
        return self._stopping.is_set() and reply.status in FAILED

    def _record(
        self,
        index: int,
        sample: Sample,
        repeat: int,
        reply: Reply,
        request: Request | None,
        attachments: tuple[Attachment, ...] | list[Attachment],
    ) -> None:
        asking = self.asking
        prediction = prediction_of(index, sample, repeat, reply, request, attachments)
        asking.predictions.append(asking.texts.share(prediction))
        metrics: Mapping[str, float] = {}
        if reply.status in SCORED:
            score = self._score(sample, repeat, reply.text)
            asking.scores.append(score)
            metrics = score.metrics
        self._count(reply.status, metrics, requests=reply.attempts)

    def _score(self, sample: Sample, repeat: int, text: str) -> Score:
        asking = self.asking
        try:
            return score_of(asking.benchmark, sample, repeat, text, asking.filter, asking.judges)
        except BenchmarkError as error:
            # One that never scored anything is wrong as a whole, and told before it costs more.
            if not self.progress.scored:
                raise
            sentence = error.message
        except Exception as error:
            sentence = fault_of_sample(error)
        return Score(sample.id, repeat, None, "none", {}, error=sentence)

    def _count(
        self,
        status: str,
        metrics: Mapping[str, float],
        *,
        requests: int = 0,
        kept: bool = False,
    ) -> None:
        value = metrics.get(self.asking.benchmark.metrics[0])
        with self._count_lock:
            progress = self.progress
            progress.done += 1
            progress.kept += kept
            progress.failed += status in FAILED
            progress.requests += requests
            if value is not None:
                progress.scored += 1
                progress.right += value
            progress.seconds = time.monotonic() - self._started
            self._on_progress(replace(progress))

    def _judge_endpoint(self, reply: Reply) -> None:
        """Stop the run where the endpoint, not the samples, is what fails."""
        with self._count_lock:
            if reply.status in SCORED:
                self._answered = True
                self._failures_in_a_row = 0
                return
            self._failures_in_a_row += 1
            failures, answered = self._failures_in_a_row, self._answered
        unreachable = not self.asking.client.reached and reply.status == "error"
        if not answered and (unreachable or reply.hopeless):
            raise self._unusable(reply, "")
        enough = max(8, 2 * self.asking.concurrency) if answered else min(8, self.progress.total)
        if failures >= enough:
            words = "in a row" if answered else "of the first requests"
            raise self._unusable(reply, f" ({failures} failures {words})")

    def _unusable(self, reply: Reply, more: str) -> EndpointError:
        place = self.asking.client.place
        return EndpointError(
            f"the endpoint {place} cannot be used: {reply.error}{more}",
            hint=reply.hint
            or "check that the server runs and --api-url; go on later with --resume",
        )


def fault_of_sample(error: Exception) -> str:
    """The sentence of an exception that nobody foresaw: one sample's error, never the run's end.

    Raises:
        MmscoreError: It was foreseen after all, and concerns the run.
    """
    if isinstance(error, OSError):
        error = machine_error(error, "working on a sample") or error
    if isinstance(error, MmscoreError):
        raise error
    import traceback
    from pathlib import Path

    *_, last = traceback.extract_tb(error.__traceback__)
    place = "/".join(Path(last.filename).parts[-2:])
    words = f": {shown(str(error))}" if str(error) else ""
    return f"a fault of mmscore, {type(error).__name__} at {place}:{last.lineno}{words}"
