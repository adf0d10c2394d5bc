"""Commands that are ended by SIGKILL at a border, or at any moment, or find the disk full.

What a border is: `at_borders.borders`. Processes that a command starts are watched too, and go with it. `Zygote` is a
process that has imported everything and forks once a command, so that hundreds of them can be killed in a short time.
The clock of the commands stands still, so that what they make can be compared.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from crawling import environment

HERE = Path(__file__).resolve().parent

IMPORTS = """
import duckdb, pyarrow.compute, pyarrow.dataset, pyarrow.parquet, tantivy
import cobnut.engines.local, cobnut.stages.fetch, cobnut.stages.index, cobnut.stages.merge, cobnut.stages.rank
import cobnut.stages.forget, cobnut.storage.backup, cobnut.crawl.steps, cobnut.crawl.cleaning, cobnut.crawl.mergedb
import cobnut.crawl.freegen, cobnut.inspect.dump, cobnut.index.publish, cobnut.interop.intake
import cobnut.interop.nutch_export, cobnut.interop.nutch_import.run, cobnut.interop.warc.export
from cobnut.cli.main import main
"""
"""What commands import, and the function `main` that runs one."""

PROGRAM = """
import json, os, resource, signal, sys, time
from borders import watch

answers = os.fdopen(os.dup(1), "w")

def run(request):
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(request["err"], 2)
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)
    if request["now_s"]:
        now_s = request["now_s"]
        time.time, time.time_ns = lambda: float(now_s), lambda: now_s * 10**9
    if request["limit"] >= 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (request["limit"], request["limit"]))
    else:
        borders = (request["border"], request["told"], request["root"], os.getpid())
        os.environ["WATCHED_BORDERS"] = json.dumps(borders)
        watch(*borders)
    code = main(request["words"])
    sys.stdout.flush(), sys.stderr.flush()
    os._exit(code)

for line in sys.stdin:
    request = json.loads(line)
    read, request["err"] = os.pipe()
    os.set_blocking(read, False)
    pid = os.fork()
    if pid == 0:
        try:
            run(request)
        except BaseException:
            import traceback
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(99)
    if request["after_s"] is not None:
        until = time.monotonic() + request["after_s"]
        done = 0
        while not done and time.monotonic() < until:
            done, status = os.waitpid(pid, os.WNOHANG)
            time.sleep(0.002)
        if not done:
            os.kill(pid, signal.SIGKILL)
            _, status = os.waitpid(pid, 0)
    else:
        _, status = os.waitpid(pid, 0)
    code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    try:
        err = os.read(read, 65_536)
    except BlockingIOError:
        err = b""
    os.close(read), os.close(request["err"])
    print(json.dumps([code, err.decode("utf-8", "replace")]), file=answers, flush=True)
"""


class Ran(NamedTuple):
    """How one command ended: its exit code (minus the signal), the borders it came to, what it said."""

    code: int
    borders: int
    err: str


class Zygote:
    """Runs commands in forks of one process. `folder`: what lies below it counts. A context manager."""

    def __init__(self, folder: Path, now_s: int = 0, imports: str = IMPORTS) -> None:
        self.folder, self.now_s = folder, now_s
        path = os.pathsep.join(filter(None, (str(HERE / "at_borders"), str(HERE), os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(
            [sys.executable, "-c", imports + PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**environment(), "PYTHONPATH": path},
        )  # fmt: skip

    def run(self, *words: Any, border: int = 0, after_s: float | None = None, limit: int = -1, later_s: int = 0) -> Ran:
        """A command to its end, or to a border (1 is the first), or so long, or with no file larger than `limit`;
        `later_s`: so long after the time at which the clock stands."""
        told = self.folder / "told"
        request = {
            "words": [str(word) for word in words], "border": border, "after_s": after_s, "limit": limit,
            "told": str(told), "now_s": self.now_s + later_s, "root": str(self.folder.parent),
        }  # fmt: skip
        told.write_bytes(b"")
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        assert answer, "the process that forks has ended"
        code, err = json.loads(answer)
        return Ran(code, told.stat().st_size, err)

    def __enter__(self) -> Zygote:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
