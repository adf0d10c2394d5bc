"""What does one fetch process do from its start to its end?

    python -m cobnut.fetcher.worker FD      FD: its end of the socket pair to the parent

It waits for `Begin`, fetches its parts, says how it stands twice a second, and is ready for the next round.
It ends at once when the parent is gone (nothing acknowledged is lost, the rest is read back), and never at an
interrupt: the parent decides.

Not here: which worker gets which part (`fetcher.pool`).
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import sys
import time
from pathlib import Path

from cobnut.errors import CobnutError
from cobnut.fetcher.identity import identity, limits
from cobnut.fetcher.lenient import LenientTries
from cobnut.fetcher.loop import Loop
from cobnut.fetcher.messages import Allow, Begin, Channel, Done, Failed, Finish, Idle, Passed, Progress, Stop
from cobnut.fetcher.prior import load
from cobnut.fetcher.results import PartOutput
from cobnut.fetcher.run import Run

PROGRESS_S = 0.5


class Worker:
    """One process, over all its rounds."""

    def __init__(self, link: socket.socket) -> None:
        self._channel = Channel(link, at_worker=True)
        self._passed_in = self._passed_out = 0
        self._finish = False
        self._run: Run | None = None

    def serve(self) -> None:
        """Runs round after round until the parent closes the channel."""
        link_fd = self._channel.fileno()
        while not self._channel.closed:
            wait_readable(link_fd)
            for message in self._channel.receive():
                if isinstance(message, Begin):
                    try:
                        self._round(message)
                    except CobnutError as error:
                        kind = type(error).__name__
                        self._channel.send(Failed(kind, error.what, error.where, error.remedy))

    def _round(self, begin: Begin) -> None:
        spec = begin.spec
        who, bounds = identity(spec.fetcher, spec.software.rpartition("/")[2], spec.proxy), limits(spec.fetcher)
        self._passed_in = self._passed_out = 0
        self._finish = False
        about = {"software": spec.software, "format": "WARC File Format 1.1", "http-header-user-agent": who.user_agent,
                 "robots": "obeyed (RFC 9309)"}  # fmt: skip
        segment = Path(spec.segment_path)
        (segment / "warc").mkdir(exist_ok=True)
        with contextlib.ExitStack() as stack:
            loop = Loop(
                who, bounds, spec.fetcher.connections, spec.fetcher.nameservers, time.monotonic, str(segment / "warc")
            )
            stack.callback(loop.close)
            lenient = LenientTries(who, bounds)
            stack.callback(lenient.close)
            outputs = [
                PartOutput(segment, part, spec.fetcher.warc_max_bytes, about, spec.owner) for part in begin.parts
            ]
            run = Run(spec, outputs, loop, lenient, who, bounds, time.monotonic, self._pass_on)
            self._run = run
            load(run, time.monotonic())
            run.allow(begin.pages, begin.kept)
            self._channel.send(Progress(run.counts, 0, run.queues.waiting, ()))
            loop.add_reader(self._channel.fileno(), self._hear)

            def take_lenient() -> None:
                for token, answer in lenient.take():
                    run.answered(token, answer)

            loop.add_reader(lenient.fd, take_lenient)
            self._hear()  # what came together with `Begin` has been read already: nothing would wake us for it
            self._until_finished(run, loop)
            run.close(whole=not run.stop_asked)
            self._run = None
            self._channel.send(Done(run.counts, time.process_time()))

    def _until_finished(self, run: Run, loop: Loop) -> None:
        said_idle: tuple[int, int, bool] | None = None
        next_progress = time.monotonic() + PROGRESS_S
        while not self._finish:
            sleep_s = run.turn()
            now = time.monotonic()
            if now >= next_progress:
                self._channel.send(Progress(run.counts, run.busy, run.queues.waiting, run.current_hosts()))
                for part_output in run.outputs:
                    part_output.alive()
                next_progress = now + PROGRESS_S
            if run.idle:
                here = (self._passed_in, self._passed_out, run.starved)
                if said_idle != here:
                    said_idle = here
                    self._channel.send(Progress(run.counts, 0, 0, ()))
                    self._channel.send(Idle(self._passed_in, self._passed_out, run.budget.give_back(), run.starved))
            else:
                said_idle = None
            if self._channel.unsent:
                self._channel.flush()
                sleep_s = min(sleep_s, 0.01)
            loop.turn(min(sleep_s, max(0.0, next_progress - now)), run.answered)

    def _hear(self) -> None:
        for message in self._channel.receive():
            if isinstance(message, Passed) and self._run is not None:
                self._passed_in += 1
                self._run.passed(message)
            elif isinstance(message, Allow) and self._run is not None:
                self._passed_in += 1
                self._run.allow(message.pages)
            elif isinstance(message, Stop) and self._run is not None:
                self._run.stop(asked=True)
            elif isinstance(message, Finish):
                self._finish = True
        if self._channel.closed:
            os._exit(0)

    def _pass_on(self, message: Passed) -> None:
        self._passed_out += 1
        self._channel.send(message)


def wait_readable(fd: int) -> None:
    """Sleeps until there is something to read."""
    import select

    poll = select.poll()
    poll.register(fd, select.POLLIN)
    poll.poll()


def raise_file_limit() -> None:
    """As many open files as the system lets this process have."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def main(arguments: list[str]) -> None:
    """The process' entry."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise_file_limit()
    Worker(socket.socket(fileno=int(arguments[0]))).serve()


if __name__ == "__main__":
    main(sys.argv[1:])
