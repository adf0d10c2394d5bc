"""How does one process parse pages without being able to hang, to grow, or to outlive its work?

`python -m cobnut.parsers.worker` is started by `parsers.pool`. It reads batches from its standard input,
answers on its standard output, and ends when the input ends. Before each page it writes the page's place into
shared memory and arms a CPU timer whose signal ends the process in the kernel, whatever the page makes the
parser do and whether or not the supervisor is still there. It writes the parts itself: first `links`, then
`parsed`, so that a part of `parsed` means that both are whole.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from cobnut.config.sections import Settings
from cobnut.errors import CobnutError
from cobnut.parsers.tasks import (
    NO_PAGE,
    Answer,
    Batch,
    BatchDone,
    BatchFailed,
    PageTask,
    WorkerStart,
    read_message,
    write_message,
)

_PR_SET_PDEATHSIG = 1
_MAX_HEADER_BYTES = 1 << 20


def main() -> None:
    """Serves batches until the supervisor closes the pipe."""
    shared_fd, parent = int(sys.argv[1]), int(sys.argv[2])
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not look like an answer
    _die_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    serve(requests, answers, mmap.mmap(shared_fd, mmap.PAGESIZE), parent)


def serve(requests: BinaryIO, answers: BinaryIO, place: mmap.mmap, parent: int) -> None:
    """Batch after batch."""
    first = read_message(requests)
    if first is None:
        return
    settings = msgspec.msgpack.decode(first, type=WorkerStart).settings
    worker: Worker | None = None
    answer: Answer
    try:
        worker = Worker(settings, place)
    except CobnutError as error:  # it cannot begin: whoever asks it hears why
        answer = BatchFailed(error.what, error.where, error.remedy)
    _limit_memory(settings.parser.memory_mib)
    while (message := read_message(requests)) is not None:
        batch = msgspec.msgpack.decode(message, type=Batch)
        try:
            if worker is not None:
                answer = worker.run(batch)
        except CobnutError as error:
            answer = BatchFailed(error.what, error.where, error.remedy)
        if os.getppid() != parent:
            return
        write_message(answers, answer)


class Worker:
    """Parses batches of one crawl's settings."""

    def __init__(self, settings: Settings, place: mmap.mmap) -> None:
        import pyarrow as pa
        import pyarrow.compute
        import pyarrow.parquet  # loaded here, not inside the first batch

        from cobnut.parsers import columns, page
        from cobnut.parsers.extractor import extractor
        from cobnut.text.language import detect

        pa.set_memory_pool(pa.system_memory_pool())
        pa.set_cpu_count(1)
        pa.set_io_thread_count(1)
        detect("A few words, so that the language model is loaded before the first page is timed.")
        extractor(settings.parser.main_text)  # loaded before, too
        self.settings, self.place = settings, place
        self.agent = settings.fetcher.agent_name
        self.timeout_s = settings.parser.page_timeout_s
        self._page, self._columns = page, columns
        self._told = Counter[str]()

    def run(self, batch: Batch) -> BatchDone:
        """Parses a batch and makes its parts durable."""
        from cobnut.records.catalogue import LINKS, PARSED
        from cobnut.storage.parts import write_part

        started = time.process_time_ns()
        rows = self._columns.PageColumns()
        archive = Archive(Path(batch.segment) / "warc")
        for i, task in enumerate(batch.tasks):
            rows.add(task, self.one(i, task, batch, archive))
        archive.close()
        segment = Path(batch.segment)
        links = rows.links_batch()
        write_part(segment / LINKS.name, LINKS, batch.name, [links])
        write_part(segment / PARSED.name, PARSED, batch.name, [rows.parsed_batch()])
        return BatchDone(
            name=batch.name,
            pages=rows.pages,
            statuses=dict(Counter(rows.parsed["parse_status"])),
            reasons=dict(Counter(r for r in rows.parsed["reason"] if r is not None)),
            links=links.num_rows - (embeds := sum(rows.parsed["embed_count"])),
            dropped=sum(rows.parsed["links_dropped"]),
            cpu_ms=(time.process_time_ns() - started) // 1_000_000,
            embeds=embeds,
            flags=dict(Counter(flag for flags in rows.parsed["flags"] for flag in flags or ())),
            score_failures=self._failures(),
        )

    def _failures(self) -> dict[str, int]:
        """On how many pages since the last batch each scoring rule failed."""
        counted = self._page.passed_scores(self.settings.scoring).failures
        failures = {name: count - self._told[name] for name, count in counted.items() if count > self._told[name]}
        self._told.update(failures)
        return failures

    def one(self, i: int, task: PageTask, batch: Batch, archive: Archive) -> Any:
        """One page, with the timer armed; whatever goes wrong becomes its reason."""
        bad = batch.bad.get(i)
        if bad is not None:
            return self._columns.failed_page(bad)
        self.place[:4] = i.to_bytes(4, "little", signed=True)
        signal.setitimer(signal.ITIMER_PROF, self.timeout_s)
        try:
            answer = archive.read(task)
            if answer is None:
                return self._columns.failed_page("parse_error")
            headers, body = answer
            return self._page.parse_page(
                self._page.PageInput(task.url, body, headers, task.truncated, self.agent, task.score, task.digest),
                self.settings,
            )
        except MemoryError:
            return self._columns.failed_page("parse_crashed")
        except CobnutError:  # no fault of the page: a part that is missing or broken fails on every one
            raise
        except Exception as error:  # a page must not take the others of its batch with it
            print(f"cobnut: parsing {task.url[:200]} failed: {error!r}", file=sys.stderr)
            return self._columns.failed_page("parse_error")
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            self.place[:4] = NO_PAGE.to_bytes(4, "little", signed=True)


class Archive:
    """Answers by file and offset; files stay open for a batch."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: dict[str, BinaryIO] = {}

    def read(self, task: PageTask) -> tuple[Sequence[tuple[str, str]], bytes] | None:
        """Headers and body as received; None when the record is not there, is cut, or is another page's."""
        from fastwarc import ArchiveIterator, WarcRecordType

        if task.warc_file is None or task.warc_offset is None:
            return (), b""
        try:
            file = self.files.get(task.warc_file)
            if file is None:
                name = Path(task.warc_file).name
                file = self.files[task.warc_file] = open(self.folder / name, "rb")  # noqa: SIM115 (kept for the batch)
            file.seek(task.warc_offset)
            for record in ArchiveIterator(
                file, record_types=WarcRecordType.response, parse_http=False, quirks_mode=True
            ):
                uri = (record.headers.get("WARC-Target-URI") or "").strip("<>")
                if uri != task.url:
                    return None
                record.parse_http(auto_decode="none", max_header_len=_MAX_HEADER_BYTES, quirks_mode=True)
                headers = record.http_headers.to_tuples() if record.http_headers is not None else ()
                body = record.reader.read()
                return (headers, body) if len(body) == record.content_length else None  # a cut record reads short
        except (OSError, ValueError):
            return None
        return None

    def close(self) -> None:
        """Closes the files."""
        for file in self.files.values():
            file.close()
        self.files.clear()


def _limit_memory(mib: int) -> None:
    """Caps the address space at what is in use now plus `mib`."""
    with open("/proc/self/statm") as statm:
        pages = int(statm.read().split()[0])
    cap = pages * resource.getpagesize() + mib * 1024 * 1024
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        cap = min(cap, hard)
    resource.setrlimit(resource.RLIMIT_AS, (cap, hard))


def _die_with(parent: int) -> None:
    """Asks the kernel to end this process with the supervisor: it must not write parts beside a new run."""
    with contextlib.suppress(OSError, AttributeError):  # not Linux: the end of the input ends it after its batch
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit(0)


if __name__ == "__main__":
    main()
