"""The site behind the files that real Nutch wrote (`tests/formats/nutch`): the same bytes, headers and statuses.

Nutch crawled `http://127.0.0.1:18099` and `http://127.0.0.2:18099`, two names of one server, and links in the pages
name that port. The fixture serves the very same bytes on a free port; a client keeps the URLs as they are and is told
where they lead (`NutchSite.resolve`, for `--resolve`). So a crawl of it has the URLs, the MD5s and the host names of
the golden files, and nothing has to be mapped. `http://127.0.0.1/embedded.html`, which stands in the plain text,
refuses connections as it did there.

    with NutchSite() as site:
        cobnut("crawl", folder, *SEEDS, *site.options)
        site.paths()  # what was asked for

What the golden files do not show is free: `robots.txt`, and the bodies of errors and of pages that nobody fetched.
"""

from __future__ import annotations

import gzip
import socket
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

PORT = 18099
"""The port in the golden URLs."""

HOME = f"http://127.0.0.1:{PORT}"
SECOND = f"http://127.0.0.2:{PORT}"

SEEDS = (f"{HOME}/", f"{HOME}/a.html", f"{HOME}/lm.html")
"""What 0.7.2 was given; 1.23 was given `b.html` as well."""

EMBEDDED = "http://127.0.0.1/embedded.html"
"""Named in the plain text only; nothing listens there."""

SERVER = "BaseHTTP/0.6 Python/3.11.7"
DATE = "Mon, 02 Jan 2023 00:00:00 GMT"
LAST_MODIFIED = "Sun, 01 Jan 2023 00:00:00 GMT"
HTML = "text/html; charset=utf-8"


@dataclass(frozen=True)
class Served:
    """What one path answers."""

    body: bytes = b""
    status: int = 200
    content_type: str = HTML
    headers: dict[str, str] = field(default_factory=dict)
    gzipped: bool = False


def _home() -> bytes:
    """The start page; some links are relative, one goes to the other host, two must not be followed."""
    first = (
        ("a.html", "first   page"), ("/b.html", "second page"), ("./dup1.html", "dup one"), ("dup2.html", "dup two"),
        ("/moved", "moved"), ("/temp", "temp"), ("/missing.html", "missing"), ("/gone.html", "gone"),
    )  # fmt: skip
    then = (
        ("/error500.html", "err"), ("/private/x.html", "private"), ("/noindex.html", "noindex"),
        ("/refresh.html", "refresh"), ("/zh.html", "中文 链接"), ("/latin1.html", "latin"), ("/canon.html", "canon"),
        ("/plain.txt", "text"), ("/gz.html", "gz"), ("/lm.html", "lastmod"), (f"{SECOND}/ext.html", "external"),
        ("/a.html#frag", "frag"), ("/forbidden.html", "forb"), ("/slow503.html", "503"), ("/empty.html", "empty"),
    )  # fmt: skip
    nofollow = (("/a.html", "nf"), ("/only-nofollow.html", "only nf"))
    links = [" ".join(f'<a href="{to}">{text}</a>' for to, text in part) for part in (first, then)]
    links[1] += "".join(f' <a href="{to}" rel="nofollow">{text}</a>' for to, text in nofollow)
    head = (
        '<title>Home page</title><meta name="description" content="the home">'
        '<meta name="keywords" content="alpha,beta">'
    )
    return f"<html><head>{head}</head><body><h1>Welcome</h1>\n{links[0]}\n{links[1]}</body></html>".encode()


def _page(title: str, body: str, more: str = "") -> bytes:
    return f"<html><head><title>{title}</title>{more}</head><body>{body}</body></html>".encode()


def _bare(title: str, body: str) -> bytes:
    """A page without <head>."""
    return f"<html><title>{title}</title><body>{body}</body></html>".encode()


_DUPLICATE = Served(_page("Dup", "Exactly the same content in two places."))

SITE: dict[str, Served] = {
    "/": Served(_home()),
    "/a.html": Served(
        _page(
            "Page A",
            '<p>Alpha page text with <b>bold</b> words.</p><a href="/">home</a><a href="/b.html">to b</a>',
        )
    ),
    "/b.html": Served(
        _page("Page B", f'Beta &amp; gamma. <a href="/a.html">to a</a> <a href="{SECOND}/ext.html">ext again</a>')
    ),
    "/dup1.html": _DUPLICATE,
    "/dup2.html": _DUPLICATE,
    "/moved": Served(status=301, headers={"Location": "/target.html"}),
    "/target.html": Served(_bare("Target", "target of the permanent redirect")),
    "/temp": Served(status=302, headers={"Location": f"{HOME}/target2.html"}),
    "/target2.html": Served(_bare("Target2", "target of the temporary redirect")),
    "/refresh.html": Served(_page("R", "refreshing", '<meta http-equiv="refresh" content="0; URL=/target3.html">')),
    "/target3.html": Served(_bare("Target3", "target of meta refresh")),
    "/missing.html": Served(b"no such page", 404),
    "/gone.html": Served(b"gone for good", 410),
    "/error500.html": Served(b"broken", 500),
    "/forbidden.html": Served(b"not for you", 403),
    "/slow503.html": Served(b"later", 503),
    "/private/x.html": Served(_page("Private", "robots.txt keeps crawlers out")),
    "/noindex.html": Served(
        _page(
            "NI",
            'not for the index <a href="/hidden.html">hidden</a>',
            '<meta name="robots" content="noindex,nofollow">',
        )
    ),
    "/hidden.html": Served(_page("Hidden", "linked only where links must not be followed")),
    "/only-nofollow.html": Served(_page("Only nofollow", "linked only by a nofollow link")),
    "/canon.html": Served(_page("Canon", "Has a canonical link.", '<link rel="canonical" href="/a.html">')),
    "/zh.html": Served(_page("纳奇 搜索引擎", '网络爬虫与查询。 emoji 😀 end. <a href="/">主页</a>')),
    "/latin1.html": Served(
        "<html><head><title>Café</title></head><body>naïve façade</body></html>".encode("latin-1"),
        content_type="text/html; charset=iso-8859-1",
    ),
    "/gz.html": Served(_bare("Gz", "compressed body"), gzipped=True),
    "/plain.txt": Served(f"just plain text {EMBEDDED}\n".encode(), content_type="text/plain"),
    "/lm.html": Served(_bare("LM", "has last-modified"), headers={"Last-Modified": LAST_MODIFIED}),
    "/empty.html": Served(),
    "/ext.html": Served(_page("Ext", f'external page <a href="{HOME}/">back</a>')),
}
"""The 28 paths; the server answers on both hosts alike."""

ROBOTS = Served(b"User-agent: *\nDisallow: /private/\n", content_type="text/plain")
_UNKNOWN = Served(b"no such page", 404)


@dataclass(frozen=True)
class Asked:
    """One request, as it came in."""

    host: str
    path: str
    status: int


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        page = ROBOTS if self.path == "/robots.txt" else SITE.get(self.path, _UNKNOWN)
        known = page.headers.get("Last-Modified")
        if known and self.headers.get("If-Modified-Since") == known:
            page = Served(status=304, headers=page.headers)
        with self.server.lock:
            self.server.asked.append(Asked(self.headers.get("Host", ""), self.path, page.status))
        body = gzip.compress(page.body, 9, mtime=0) if page.gzipped else page.body
        self.send_response(page.status)
        self.send_header("Content-Type", page.content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in page.headers.items():
            self.send_header(name, value)
        if page.gzipped:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        if self.command != "HEAD" and page.status != 304:
            self.wfile.write(body)

    do_HEAD = do_GET

    def version_string(self) -> str:
        return SERVER

    def date_time_string(self, timestamp: float | None = None) -> str:
        return DATE

    def log_message(self, format: str, *args: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[Asked] = []
        self.lock = threading.Lock()


class NutchSite:
    """The site, served on a free port of 127.0.0.1 inside a `with`."""

    def __enter__(self) -> NutchSite:
        self._server = _Server()
        self.port = int(self._server.server_address[1])
        # bound and never listening: a connection to it is refused, and nobody else can take it meanwhile
        self._refusing = socket.socket()
        self._refusing.bind(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._refusing.close()

    @property
    def resolve(self) -> tuple[str, ...]:
        """Rules for `--resolve` (`fetcher.resolve`) that lead the golden URLs here."""
        return (
            f"127.0.0.1:{PORT}:127.0.0.1:{self.port}",
            f"127.0.0.2:{PORT}:127.0.0.1:{self.port}",
            f"127.0.0.1:80:127.0.0.1:{self._refusing.getsockname()[1]}",
        )

    @property
    def options(self) -> tuple[str, ...]:
        """The same as options of the command line."""
        return tuple(word for rule in self.resolve for word in ("--resolve", rule))

    def asked(self) -> list[Asked]:
        """Every request so far, in order of arrival."""
        with self._server.lock:
            return list(self._server.asked)

    def paths(self) -> set[str]:
        """The paths asked for so far, `/robots.txt` among them."""
        return {one.path for one in self.asked()}
