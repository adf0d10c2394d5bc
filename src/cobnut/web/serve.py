"""How does the search page run?

`serve` stays in the foreground. The parent process only watches; the worker processes, one per core, each have the
index open and answer requests. Before anything starts it is checked that the index can be read and the port is free.
The page's address is printed last, once a request was really answered.

Workers are spawned, never forked, and end with the parent, even when that is killed: each waits for the pipe to its
parent to close. A worker that dies is replaced; when its successor dies at once, the server ends with an error.

Not here: TLS, which a web server in front does; who may ask and how often (`gate`).
"""

from __future__ import annotations

import atexit
import errno
import http.client
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from multiprocessing import resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cobnut.errors import InputError, MachineError
from cobnut.web.exposure import exposure_line, is_exposed
from cobnut.web.limiter import Table, rate_in_force

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from cobnut.config.sections import Settings

HEADER_TIMEOUT_MS = 10_000
"""How long a visitor may take to send a request's head."""

HEADER_BYTES = 32 * 1024
"""A request's head is read in pieces until it is longer than this; one of some 48 KiB and more is answered with 431."""

STOP_AFTER_S = 5
"""How long workers may finish what they are answering when the server ends."""

NOTHING = "Nothing is indexed yet; what `cobnut crawl`, or `cobnut index` and `cobnut merge`, bring is shown at once"

_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}


def serve(path: Path, bind: str, port: int, workers: int, settings: Settings) -> None:
    """Serves the index at `path` (a crawl, or an index folder by itself) until a signal ends it.

    Port 0 takes a free port; 0 workers is one per core. After SIGTERM it returns; after SIGINT it raises
    `KeyboardInterrupt`, everything being stopped already. A `DataError` when there is no index, a `MachineError` when
    the port is in use or the workers keep failing, an `InputError` when `bind` is no address of this machine.
    """
    from cobnut.search.open import open_searcher
    from cobnut.web.access_log import open_log

    if settings.serve.access_log not in ("", "-"):
        os.close(open_log(settings.serve.access_log))
    with _signals_kept():
        searcher = open_searcher(path, settings.search)  # raises what is wrong with it before any process is started
        facts = [] if searcher.doc_count else [NOTHING]
        searcher.close()
        with lease_port(bind, port) as lease:
            host, taken = lease.getsockname()[:2]
            ended_by = _run(path, host, taken, workers or os.cpu_count() or 1, settings, facts)
    if ended_by == signal.SIGINT:
        raise KeyboardInterrupt


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Blocks SIGINT inside, and puts back how signals were handled.

    Ctrl-C goes to every process of the terminal, also to workers that are still starting and know no better than to
    complain. So it is blocked, which they and all threads inherit, and let through in one thread alone (see `_run`);
    the workers are then told to end.
    """
    handled = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    handlers = [signal.getsignal(each) for each in handled]
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        for each, handler in zip(handled, handlers, strict=True):
            signal.signal(each, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def lease_port(bind: str, port: int) -> socket.socket:
    """A socket bound to the port, so that nobody else gets it. It never listens; the workers' own sockets join it."""
    if not 0 <= port <= 65535:
        raise InputError(f"{port} is no port", remedy="give --port a number from 0 (any free one) to 65535")
    try:
        family, kind, _, _, address = socket.getaddrinfo(bind, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise InputError(f"{bind!r} is no address", remedy="give --bind an address of this machine") from None
    try:
        try:
            return _bound(family, kind, address, again=False)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            # Perhaps only connections of a server that ended just now are in the way.
            return _bound(family, kind, address, again=True)
    except OSError as error:
        raise _port_error(error, bind, port) from None


def _bound(family: int, kind: int, address: Any, *, again: bool) -> socket.socket:
    """A bound socket whose port nobody else listens on. Sharing is allowed only once it is ours, for the workers."""
    lease = socket.socket(family, kind)
    try:
        lease.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, again)
        lease.bind(address)
        lease.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    except OSError:
        lease.close()
        raise
    return lease


def _port_error(error: OSError, bind: str, port: int) -> InputError | MachineError:
    if error.errno == errno.EADDRINUSE:
        remedy = "choose another with --port; --port 0 takes any free one"
        return MachineError(f"port {port} is in use", where=bind, remedy=remedy)
    if error.errno == errno.EACCES:
        return MachineError(f"port {port} may not be used", where=bind, remedy="choose one above 1023 with --port")
    if error.errno == errno.EADDRNOTAVAIL:
        return InputError(f"{bind} is no address of this machine", remedy="choose another with --bind")
    return MachineError(f"cannot listen on port {port} ({error.strerror})", where=bind)


def _run(path: Path, host: str, port: int, workers: int, settings: Settings, known: Sequence[str]) -> int | None:
    """Runs the server; returns the signal that ended it."""
    server = _server(host, port, workers)
    exposed = is_exposed(host)
    rate_per_s = rate_in_force(settings.serve.rate_per_s, exposed)
    facts = [*known, *([exposure_line(host, port, settings.serve, rate_per_s)] if exposed else [])]
    if settings.serve.hosts:
        facts.append(f"Answers under these names only: {', '.join(settings.serve.hosts)}")
    ended_by: list[int] = []

    def end(signum: int, frame: object = None) -> None:
        ended_by.append(signum)
        server.signal_handler_interrupt(signum, frame)

    hears, told = os.pipe()
    os.set_blocking(told, False)

    def listen() -> None:  # whichever thread a signal interrupts, it is written here; the main thread may be asleep
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        with open(hears, "rb", buffering=0) as numbers:
            while number := numbers.read(1):
                if number[0] in (signal.SIGINT, signal.SIGTERM):
                    end(number[0])

    def started() -> None:  # called when the server has set its own signal handlers, before it spawns
        signal.signal(signal.SIGINT, end)
        signal.signal(signal.SIGTERM, end)
        resource_tracker.ensure_running()  # of multiprocessing, for the workers; it unblocks the signal
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        signal.set_wakeup_fd(told, warn_on_full_buffer=False)
        threading.Thread(target=listen, daemon=True).start()
        threading.Thread(target=announce, args=(host, port, facts), daemon=True).start()

    server.on_startup(started)
    loader = partial(load_app, path.absolute(), settings, rate_per_s, Table.shared())
    method = multiprocessing.get_start_method(allow_none=True)
    multiprocessing.set_start_method("spawn", force=True)
    try:
        server.serve(target_loader=loader, wrap_loader=False)
    except SystemExit:  # the server's way to say that a worker was lost; in an orderly end it may seem so
        if not ended_by:
            remedy = "what they said stands above"
            raise MachineError("the search processes keep failing", where=str(path), remedy=remedy) from None
    finally:
        multiprocessing.set_start_method(method, force=True)
        signal.set_wakeup_fd(-1)
        os.close(told)
    return ended_by[0] if ended_by else None


def _server(host: str, port: int, workers: int) -> Any:
    from granian.constants import HTTPModes, Interfaces
    from granian.http import HTTP1Settings
    from granian.log import LogLevels
    from granian.server import Server

    handler = {"class": "logging.StreamHandler", "stream": "ext://sys.stderr", "formatter": "generic"}
    logger = {"handlers": ["console"], "level": "ERROR", "propagate": False}
    return Server(
        "cobnut.web",
        address=host,
        port=port,
        workers=workers,
        interface=Interfaces.ASGINL,
        http=HTTPModes.http1,
        websockets=False,
        # One answer a connection. The server has no limit on how long a visitor may take to read: one who asks for much
        # on a connection and reads nothing would hold it for ever. A single answer is the kernel's to deliver, and the
        # connection free again.
        http1_settings=HTTP1Settings(HEADER_TIMEOUT_MS, keep_alive=False, max_buffer_size=HEADER_BYTES),
        respawn_failed_workers=True,
        workers_kill_timeout=STOP_AFTER_S,
        log_level=LogLevels.error,
        log_dictconfig={
            "formatters": {"generic": {"format": "cobnut serve: %(message)s"}},
            "handlers": {"console": handler},
            "loggers": {"_granian": logger},
        },
    )


def load_app(path: Path, settings: Settings, rate_per_s: float, table: Table) -> ASGIApp:
    """The application of one worker process. Called in it, once."""
    from cobnut.web.access_log import LogFile
    from cobnut.web.app import create_app
    from cobnut.web.source import Source

    end_with_parent()
    # The server's own threads (not Python's) may still run when the interpreter takes itself apart, and would abort the
    # process with a complaint. A worker writes nothing, so it may leave before that.
    atexit.register(os._exit, 0)
    source = Source(path, settings.search, time.monotonic, report)
    log = LogFile(settings.serve.access_log, time.monotonic, report) if settings.serve.access_log else None
    return create_app(source, settings, report, rate_per_s=rate_per_s, table=table, log=log)


def end_with_parent() -> None:
    """Ends this process when its parent has ended, however that came about."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(1)  # nothing is lost: a worker writes nothing

    threading.Thread(target=wait, daemon=True, name="end-with-parent").start()


def report(line: str) -> None:
    """One line for the operator."""
    print(f"cobnut serve: {line}", file=sys.stderr, flush=True)


def announce(host: str, port: int, facts: Sequence[str]) -> None:
    """Prints what one should know, and the page's address, once the page was answered there."""
    reach = _ANYWHERE.get(host, host)
    while not answers(reach, port):
        time.sleep(0.02)
    for fact in facts:
        print(fact, flush=True)
    print(f"Search page: {page_address(reach, port)}", flush=True)


def page_address(host: str, port: int) -> str:
    """The page's URL."""
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def answers(host: str, port: int) -> bool:
    """Whether the server there answers that it is well."""
    connection = http.client.HTTPConnection(host, port, timeout=5)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
