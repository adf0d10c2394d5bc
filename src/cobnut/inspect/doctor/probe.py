"""How is a file asked about that may end whoever opens it?

Libraries that decode Parquet files and search indexes are compiled code: bytes that were made to hurt can end the
process. So a child process opens them. It takes one question a line and gives one answer a line; when it ends over a
question, that is an answer too, and another child takes the next question.

Not here: the questions (`asked_files`, `asked_relations`, `asked_index`).
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
from types import TracebackType
from typing import IO, Any

QUESTIONS = {
    "file": ("asked_files", "look"),
    "replaced": ("asked_files", "replaced"),
    "keys": ("asked_relations", "keys"),
    "places": ("asked_relations", "places"),
    "segment": ("asked_relations", "segment"),
    "pages": ("asked_relations", "pages_of_segment"),
    "offsets": ("asked_relations", "offsets"),
    "index": ("asked_index", "look"),
}
"""Name of each question: the module and the function that answer it."""

scratch: str | None = None
"""In the child: a folder for what does not fit in memory."""

PATIENCE_S = 3_600.0
_LONGEST_ANSWER = 256 << 20


class Broken(Exception):
    """The question has no answer: `str` says why, in the words of a finding."""


class Probe:
    """A child process that answers; started when it is first asked. A context manager."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._child: subprocess.Popen[bytes] | None = None
        self._scratch: tempfile.TemporaryDirectory[str] | None = None

    def ask(self, question: str, **arguments: Any) -> Any:
        """The answer; `Broken` when the child ended over it, took too long, or could not make sense of the bytes."""
        child = self._child if self._child is not None and self._child.poll() is None else self._start()
        assert child.stdin is not None
        assert child.stdout is not None
        line = json.dumps([question, arguments]).encode() + b"\n"
        try:
            child.stdin.write(line)
            child.stdin.flush()
            answer = self._answer(child.stdout)
        except BrokenPipeError:
            answer = b""
        if not answer:
            raise Broken(self._last_words())
        value = json.loads(answer)
        if "failed" in value:
            raise Broken(str(value["failed"]))
        return value["answer"]

    def _answer(self, stream: IO[bytes]) -> bytes:
        """One line, or nothing when the child ends or time is over."""
        pieces = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(stream, selectors.EVENT_READ)
            while not pieces.endswith(b"\n"):
                if not selector.select(self._patience_s) or len(pieces) > _LONGEST_ANSWER:
                    self.close()
                    return b""
                block = os.read(stream.fileno(), 1 << 16)
                if not block:
                    return b""
                pieces += block
        return bytes(pieces)

    def _start(self) -> subprocess.Popen[bytes]:
        self.close()
        self._scratch = tempfile.TemporaryDirectory(prefix="cobnut-doctor-", ignore_cleanup_errors=True)
        self._child = subprocess.Popen(
            [sys.executable, "-c", "import sys; from cobnut.inspect.doctor.probe import serve; serve(sys.argv[1])",
             self._scratch.name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )  # fmt: skip
        return self._child

    def _last_words(self) -> str:
        child, self._child = self._child, None
        if child is None:
            return "no answer in time"
        code = child.wait()
        _close_pipes(child)
        if code < 0:
            with contextlib.suppress(ValueError):
                return f"the program that opened it was ended by {signal.Signals(-code).name}"
        return f"the program that opened it ended unexpectedly (exit code {code})"

    def close(self) -> None:
        """Ends the child."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.wait()
            _close_pipes(child)
        if self._scratch is not None:
            self._scratch.cleanup()
            self._scratch = None

    def __enter__(self) -> Probe:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _close_pipes(child: subprocess.Popen[bytes]) -> None:
    for stream in (child.stdin, child.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


def serve(folder: str) -> None:
    """The child: answers questions until its parent goes."""
    import importlib

    global scratch
    scratch = folder
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # whatever a library prints is no answer
    for line in sys.stdin.buffer:
        question, arguments = json.loads(line)
        module, function = QUESTIONS[question]
        value: dict[str, Any]
        try:
            found = getattr(importlib.import_module(f"cobnut.inspect.doctor.{module}"), function)(**arguments)
            value = {"answer": found}
        except MemoryError:
            value = {"failed": "it asks for more memory than there is"}
        except BaseException as error:  # engines break off with exceptions of their own, which are no `Exception`
            value = {"failed": _first_line(error)}
            if module == "asked_relations":
                importlib.import_module(f"cobnut.inspect.doctor.{module}").begin_anew()
        answers.write(json.dumps(value, ensure_ascii=True).encode() + b"\n")


def _first_line(error: BaseException) -> str:
    lines = str(error).splitlines()
    return (lines[0] if lines else type(error).__name__)[:200]
