"""How does a test get a web? `FakeWeb` puts hosts together and serves them from a thread of this process.

    with FakeWeb(synth="hosts=10,pages=200").site("a.test", {"/": "<p>hello"}) as web:
        ...  # web.port, web.proxy_url, web.requests("a.test"), web.stats("a.test").most_at_once

Hosts and pages may be added, changed and taken away while it runs: a page changes between two crawls, a host goes down
and comes back.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import IO

from cobnut.errors import MachineError
from cobnut.testing.fakeweb.authority import Authority
from cobnut.testing.fakeweb.messages import Handler
from cobnut.testing.fakeweb.net import HostStats, LogEntry, Net
from cobnut.testing.fakeweb.scripted import Answer, Page, ScriptedSites
from cobnut.testing.fakeweb.server import Connection
from cobnut.testing.fakeweb.sites import Sites
from cobnut.testing.fakeweb.synthweb import SynthWeb, options


class FakeWeb:
    """A small internet. It serves between `start` and `stop`, or inside a `with`.

    `synth` is a `SynthWeb` or its options as text; `sites` a folder of <host>/ folders; `ca` a folder for the
    throw-away certificate authority, which turns CONNECT and `tls_port` on. Scripted pages go before all others,
    so that one path of a made-up host can be made to fail. `port` 0 takes a free one.
    """

    def __init__(
        self,
        *,
        synth: SynthWeb | str | None = None,
        sites: Path | None = None,
        ca: Path | None = None,
        address: str = "127.0.0.1",
        port: int = 0,
        keep_log: bool = True,
        log_file: IO[str] | None = None,
        stats_host: str = "fakeweb.invalid",
    ) -> None:
        self._scripted = ScriptedSites()
        self.synth = SynthWeb(**options(synth)) if isinstance(synth, str) else synth
        self._authority = Authority(ca) if ca is not None else None
        handlers: list[Handler] = [self._scripted]
        if sites is not None:
            handlers.append(Sites(sites))
        if self.synth is not None:
            handlers.append(self.synth)
        self.net = Net(handlers, stats_host=stats_host, keep_log=keep_log, log_file=log_file, authority=self._authority)
        self.address, self.port, self.tls_port = address, port, 0
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped: asyncio.Event | None = None

    # What it serves

    def site(self, host: str, pages: Mapping[str, Page]) -> FakeWeb:
        """Add pages to a host, replacing those of the same path; the list of turns of a replaced page begins anew."""
        self._scripted.put(host, pages)
        return self

    def remove(self, host: str, path: str | None = None) -> FakeWeb:
        """Take one scripted page, or a whole scripted host, away."""
        self._scripted.remove(host, path)
        return self

    def down(self, host: str, page: Page | None = None) -> FakeWeb:
        """Let a host fail: it answers everything with `page`, and drops every connection when that is None."""
        self._scripted.set_down(host, Answer(drop=True) if page is None else page)
        return self

    def up(self, host: str) -> FakeWeb:
        """Let a host that was `down` work again."""
        self._scripted.set_down(host, None)
        return self

    # What was asked of it

    @property
    def log(self) -> list[LogEntry]:
        """Every request so far, in the order of arrival."""
        return list(self.net.log)

    def requests(self, host: str | None = None, path: str | None = None) -> list[LogEntry]:
        """The requests for a host and a path with its query; None is any."""
        return [
            entry
            for entry in self.log
            if (host is None or entry.host == host) and (path is None or entry.target == path)
        ]

    def stats(self, host: str) -> HostStats:
        """The figures of a host; all zero when nobody asked for it."""
        return self.net.stats.get(host) or HostStats()

    def reset(self) -> None:
        """Forget the log and all figures."""
        self.net.reset()

    # Where it is

    @property
    def proxy_url(self) -> str:
        """Its address as a forward proxy."""
        return f"http://{self.address}:{self.port}"

    @property
    def ca_file(self) -> Path:
        """The certificate to trust; only with `ca`."""
        if self._authority is None:
            raise ValueError("this web was made without a certificate authority")
        return self._authority.ca_file

    def start(self) -> FakeWeb:
        """Serve from a thread; returns when the port is open. After a `stop` it takes the same port again."""
        opened: Future[None] = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(opened)), name="fake web", daemon=True)
        self._thread.start()
        opened.result()
        return self

    def stop(self) -> None:
        """Close the port and all connections, and end the thread."""
        if self._thread and self._loop and self._stopped:
            self._loop.call_soon_threadsafe(self._stopped.set)
            self._thread.join()
            self._thread = None

    async def run(self) -> None:
        """Serve in the running event loop until cancelled; prints where, once the port is open."""
        opened: Future[None] = Future()
        serving = asyncio.ensure_future(self._serve(opened))
        while not opened.done():
            await asyncio.sleep(0.01)
        opened.result()
        hosts = sum(len(handler.hosts) for handler in self.net.handlers)
        tls = f", TLS on port {self.tls_port}, trust {self.ca_file}" if self._authority else ""
        print(f"fake web: {self.proxy_url}, {hosts} hosts{tls}", flush=True)
        await serving

    async def _serve(self, opened: Future[None]) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        try:
            plain = await self._listen("http", self.port)
            self.port = plain.sockets[0].getsockname()[1]
            servers = [plain]
            if self._authority:
                secure = await self._listen("https", 0)
                self.tls_port = secure.sockets[0].getsockname()[1]
                servers.append(secure)
        except OSError as error:
            opened.set_exception(
                MachineError(f"the fake web cannot listen: {error.strerror}", where=f"{self.address}:{self.port}")
            )
            return
        except Exception as error:
            opened.set_exception(error)
            return
        opened.set_result(None)
        try:
            await self._stopped.wait()
        finally:
            for server in servers:
                server.close()
            for transport in list(self.net.transports):
                transport.abort()
            await asyncio.sleep(0)

    async def _listen(self, scheme: str, port: int) -> asyncio.Server:
        loop = asyncio.get_running_loop()
        context = self._authority.by_name() if scheme == "https" and self._authority else None
        return await loop.create_server(
            lambda: Connection(self.net, scheme), self.address, port, backlog=4096, ssl=context
        )

    def __enter__(self) -> FakeWeb:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
