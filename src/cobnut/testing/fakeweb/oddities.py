"""Which broken and hostile answers are there?

Hosts of the quirk `strange` answer each of `ODDITIES` under /x/<name>: answers cut short, too long, endless, compressed
beyond measure, mislabelled, or no HTTP at all. Each is one thing that real servers do.

Not here: scripted faults of a single test (`scripted`).
"""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Sequence
from functools import lru_cache

from cobnut.testing.fakeweb.messages import Response, Stream, Write

ODDITIES = (
    "giant", "endless", "bomb", "drip", "reset", "short", "long", "badchunk", "hugeheader", "http09", "noctype",
    "pdf-as-html", "html-as-text", "png-as-html", "empty", "nul", "base", "refresh", "refresh-loop", "frames",
    "dup-header", "badgzip", "deep-nest", "many-links", "bad-urls", "status-204", "status-410", "utf16",
    "latin-meta-utf8",
)  # fmt: skip

_OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"

RAW: dict[str, bytes] = {
    "reset": b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Le",
    "short": _OK + b"Content-Length: 5000\r\n\r\n<title>cut</title><p>only this much",
    "long": _OK + b"Content-Length: 10\r\n\r\n<p>more bytes than were told of here</p>",
    "badchunk": _OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nZZ\r\nworld\r\n0\r\n\r\n",
    "hugeheader": _OK + b"X-Big: " + b"a" * 300000 + b"\r\nContent-Length: 2\r\n\r\nok",
    "http09": b"<html><title>no head at all</title></html>",
    "dup-header": b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Type: text/html\r\n"
    b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
    "noctype": b"HTTP/1.1 200 OK\r\nContent-Length: 38\r\n\r\n<html><title>untyped</title>text</html>",
}
"""Sent byte by byte as they stand, then the connection is closed."""

PLAIN: dict[str, bytes] = {
    "pdf-as-html": b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj<<>>endobj\n",
    "png-as-html": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8,
    "empty": b"",
    "nul": b"<title>nul\0byte</title><p>a\0b <a href='/p/1.html\0'>x</a>",
    "refresh": b"<meta http-equiv=refresh content='0; url=/p/2.html'>",
    "refresh-loop": b"<meta http-equiv=refresh content='0'>",
    "frames": b"<frameset cols='50%,50%'><frame src='/p/1.html'><frame src='/p/2.html'>"
    b"<noframes><a href='/p/3.html'>3</a></noframes></frameset>",
    "deep-nest": b"<div>" * 100000 + b"deep",
    "bad-urls": "<a href='http://[::1'>a</a><a href='http://exa mple/'>b</a><a href='//'>c</a><a href='http:///p'>d</a>"
    "<a href='javascript:x()'>e</a><a href='mailto:a@b'>f</a><a href='data:,x'>g</a><a href='http://x:99999/'>h</a>"
    "<a href='  /p/1.html\n'>ok</a><a href='/p/%zz'>i</a><a href='http://xn--a/'>j</a><a href='/p/1.html#é'>ok2</a>"
    "<a href='".encode()
    + b"/"
    + b"y" * 70000
    + b"'>k</a>",
    "utf16": "\ufeff<title>шестнадцать</title><p>utf-16 with a mark".encode("utf-16-le"),
    "latin-meta-utf8": b"<meta charset=utf-8><title>caf\xe9</title><p>na\xefve r\xe9sum\xe9",
}
"""Ordinary answers of type text/html whose body is the oddity."""


def odd_answer(name: str, *, first_host: str, page_count: int, sentences: Sequence[str], wait: float) -> Response:
    """The answer of /x/<name> on a host with `page_count` pages; `wait` multiplies every pause."""
    if name in RAW:
        return Response(200, stream=_send([RAW[name]]))
    if name in PLAIN:
        return Response(200, "text/html", PLAIN[name])
    if name == "giant":
        return Response(200, "text/html", _giant(tuple(sentences)))
    if name == "endless":
        return Response(200, stream=_endless)
    if name == "bomb":
        return Response(200, "text/html", _bomb(), [("Content-Encoding", "gzip")])
    if name == "drip":
        return Response(200, stream=_send([_OK + b"Content-Length: 60\r\n\r\n", *[b"."] * 60], pause_s=2 * wait))
    if name == "badgzip":
        return Response(200, "text/html", b"this is not gzip", [("Content-Encoding", "gzip")])
    if name == "html-as-text":
        page = b"<html><title>source</title><a href='/p/2.html'>not a link</a></html>"
        return Response(200, "text/plain", page)
    if name == "base":
        page = f"<base href='http://{first_host}/p/'><a href='3.html'>elsewhere by base</a>".encode()
        return Response(200, "text/html", page)
    if name == "many-links":
        links = "".join(f"<a href='/p/{i % page_count}.html?v={i}'>l{i}</a> " for i in range(50000))
        return Response(200, "text/html", links.encode())
    if name == "status-204":
        return Response(204)
    if name == "status-410":
        return Response(410, "text/html", b"gone")
    return Response(404, "text/html", b"not among the strange")


def _send(chunks: Sequence[bytes], pause_s: float = 0.0) -> Stream:
    async def stream(write: Write) -> None:
        for chunk in chunks:
            await write(chunk)
            if pause_s:
                await asyncio.sleep(pause_s)

    return stream


async def _endless(write: Write) -> None:
    await write(_OK + b"Connection: close\r\n\r\n<p>")
    for _ in range(4096):
        await write(b"endless words and more " * 700)
        await asyncio.sleep(0)


@lru_cache(maxsize=1)
def _bomb() -> bytes:
    return gzip.compress(b"<p>" + b"0" * (200 << 20), 9, mtime=0)


@lru_cache(maxsize=2)
def _giant(sentences: tuple[str, ...]) -> bytes:
    paragraphs = b"".join(b"<p>%d %b</p>\n" % (i, sentences[i & 1023].encode()) for i in range(300000))
    return b"<html><title>giant</title><body>" + paragraphs + b"<a href='/p/9.html'>at the end</a>"
