"""What hostile, broken and ordinary servers answer, fetched by a real worker over real sockets."""

import asyncio
import gzip
import hashlib
import threading

import brotli
import pytest

from cobnut.testing.fakeweb import Answer, moved

PAGE = "<title>t</title><p>hello"


@pytest.mark.parametrize(
    ("name", "answer", "outcome", "reason", "status"),
    [
        ("plain", PAGE, "success", None, 200),
        ("gzip", Answer(body=PAGE * 50, compress=True), "success", None, 200),
        ("chunked", Answer(body=PAGE, chunked=True), "success", None, 200),
        ("br", Answer(body=brotli.compress(PAGE.encode()), headers={"Content-Encoding": "br"}), "success", None, 200),
        ("empty", "", "success", "empty", 200),
        ("empty gzip", Answer(body=b"", headers={"Content-Encoding": "gzip"}), "success", "empty", 200),
        ("no gzip", Answer(body="plain", headers={"Content-Encoding": "gzip"}), "success", "bad_encoding", 200),
        ("204", Answer(204), "success", "http_other", 204),
        ("304 unasked", Answer(304), "retry", "http_other", 304),
        ("401", Answer(401), "gone", "http_401", 401),
        ("403", Answer(403), "retry", "http_403", 403),
        ("404", Answer(404, "no"), "gone", "http_404", 404),
        ("410", Answer(410), "gone", "http_410", 410),
        ("500", Answer(500, "oh"), "retry", "http_500", 500),
        ("302 nowhere", Answer(302), "retry", "redirect_bad", 302),
        ("302 bad", Answer(302, headers={"Location": "http://[::1"}), "retry", "redirect_bad", 302),
        ("dropped", Answer(drop=True), "retry", "connect_failed", None),
        ("lf only", Answer(raw=b"HTTP/1.0 200 OK\nContent-Type: text/html\n\n<p>device page</p>\n"),
         "success", None, 200),
        ("no colon", Answer(raw=b"HTTP/1.1 200 OK\r\nBroken line\r\nContent-Length: 2\r\n\r\nhi"),
         "success", None, 200),
        ("http/0.9", Answer(raw=b"<html><p>old times</p></html>"), "success", None, 200),
        ("not http", Answer(raw=b"SSH-2.0-OpenSSH_9.2p1\r\n"), "retry", "protocol_error", None),
        ("bad chunk", Answer(raw=b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n"),
         "success", None, 200),
        ("cut", Answer(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\nhello"), "success", None, 200),
        ("huge head", Answer(raw=b"HTTP/1.1 200 OK\r\n" + b"X-A: " + b"a" * 90_000 + b"\r\nX-B: " + b"b" * 90_000),
         "retry", "protocol_error", None),
        ("100 first", Answer(raw=b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"),
         "success", None, 200),
    ],
)  # fmt: skip
def test_every_kind_of_answer_has_a_row(bench, web, name, answer, outcome, reason, status):
    web.site("a.test", {"/x": answer})
    report = bench.fetch("http://a.test/x")
    row = bench.row("http://a.test/x")
    assert (row["outcome"], row["reason"], row["http_status"]) == (outcome, reason, status)
    assert report.sealed
    assert report.rows == 1
    assert bench.segment.state() == "fetched"
    if status is not None:
        fields, archived_status, body = bench.record_of(row)
        assert archived_status == status
        assert len(body) == row["body_bytes"]
        assert fields["WARC-Target-URI"] == "http://a.test/x"
        assert fields["WARC-IP-Address"] == "127.0.0.1"
        assert ("WARC-Truncated" in fields) == row["truncated"]


def test_cut_answers_are_kept_and_marked(bench, web):
    web.site("a.test", {
        "/cut": Answer(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\nhello"),
        "/chunk": Answer(raw=b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n"),
        "/whole": "hello",
    })  # fmt: skip
    bench.fetch("http://a.test/cut", "http://a.test/chunk", "http://a.test/whole")
    for path in ("cut", "chunk"):
        row = bench.row(f"http://a.test/{path}")
        assert row["truncated"]
        fields, _, body = bench.record_of(row)
        assert fields["WARC-Truncated"] == "disconnect"
        assert body == b"hello"
    assert not bench.row("http://a.test/whole")["truncated"]


def test_the_digest_is_of_the_decoded_body_and_the_archive_keeps_what_came(bench, web):
    web.site("a.test", {"/plain": PAGE * 99, "/gz": Answer(body=PAGE * 99, compress=True)})
    bench.fetch("http://a.test/plain", "http://a.test/gz")
    plain, packed = bench.row("http://a.test/plain"), bench.row("http://a.test/gz")
    assert plain["digest"] == packed["digest"] == hashlib.md5((PAGE * 99).encode()).digest()
    assert packed["body_bytes"] < plain["body_bytes"]
    assert dict(packed["headers"])["content-encoding"] == "gzip"
    assert gzip.decompress(bench.record_of(packed)[2]) == (PAGE * 99).encode()


def test_limits_of_size(bench, web):
    zeros = gzip.compress(b"\0" * 30_000_000)
    web.site("a.test", {
        "/exact": "x" * 100_000,
        "/long": "x" * 100_001,
        "/bomb": Answer(body=zeros, headers={"Content-Encoding": "gzip"}),
        "/pdf": Answer(body="x" * 150_000, content_type="application/pdf"),
    })  # fmt: skip
    settings = bench.with_settings(html_max_bytes=100_000, other_max_bytes=200_000)
    bench.fetch(*(f"http://a.test/{p}" for p in ("exact", "long", "bomb", "pdf")), settings=settings)
    rows = {url.rpartition("/")[2]: row for url, row in bench.rows().items()}
    assert {name: (row["reason"], row["truncated"]) for name, row in rows.items()} == {
        "exact": (None, False), "long": ("too_large", True), "bomb": ("too_large", True), "pdf": (None, False),
    }  # fmt: skip
    assert rows["long"]["body_bytes"] == 100_000
    assert bench.record_of(rows["long"])[0]["WARC-Truncated"] == "length"
    assert rows["bomb"]["body_bytes"] < len(zeros)


def test_a_server_that_drips_is_given_up(bench, web):
    drip = Answer(raw=(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhello", *(b"x",) * 60), pause_s=0.2)
    silent = Answer(PAGE, delay_s=30)
    web.site("a.test", {"/drip": drip, "/head": Answer(raw=(b"HTTP/1.1 200 OK\r\n", *(b"X",) * 60), pause_s=0.2)})
    web.site("b.test", {"/silent": silent})
    settings = bench.with_settings(timeout_s=1.5)
    bench.fetch("http://a.test/drip", "http://a.test/head", "http://b.test/silent", settings=settings)
    row = bench.row("http://a.test/drip")
    assert row["outcome"] == "success"
    assert row["truncated"]
    assert bench.record_of(row)[0]["WARC-Truncated"] == "time"
    assert bench.row("http://a.test/head")["reason"] == "timeout"
    assert bench.row("http://b.test/silent")["reason"] == "timeout"


def test_conditional_requests(bench, web):
    web.site("a.test", {"/x": Answer(body=PAGE, etag='"v1"', last_modified="Sat, 01 Jan 2022 00:00:00 GMT")})
    bench.fetch("http://a.test/x")
    first = bench.row("http://a.test/x")
    assert (first["etag"], first["last_modified_at"]) == ('"v1"', 1_640_995_200_000)
    assert not first["had_condition"]
    bench.fetchlist("http://a.test/x", etag=first["etag"], last_modified=first["last_modified"])
    bench.fetch()
    again = bench.row("http://a.test/x")
    assert (again["outcome"], again["http_status"], again["had_condition"]) == ("not_modified", 304, True)
    sent = web.requests("a.test", "/x")[-1].headers
    assert sent["if-none-match"] == '"v1"'
    assert sent["if-modified-since"] == "Sat, 01 Jan 2022 00:00:00 GMT"


def test_requests_say_who_we_are_and_only_what_was_asked(bench, web):
    web.site("a.test", {"*": PAGE})
    settings = bench.with_settings(
        agent_name="Nut", agent_version="2", agent_url="https://n.test/", agent_contact="me@n.test"
    )
    urls = (
        "http://a.test/x/http%3A%2F%2Fcdn.test%2Fa%28b%29.jpg?sig=q%27%27z", "http://a.test/?B=1&A=2",
        "http://user:secret@a.test/p",
    )  # fmt: skip
    bench.fetch(*urls, settings=settings)
    for entry in web.requests("a.test"):
        assert entry.agent == "Nut/2 (+https://n.test/; me@n.test)"
        assert entry.headers["from"] == "me@n.test"
        assert entry.headers["host"] == "a.test"
        assert entry.headers["accept-encoding"] == "gzip, br"
        assert "authorization" not in entry.headers
    targets = {entry.target for entry in web.requests("a.test")}
    assert {"/x/http%3A%2F%2Fcdn.test%2Fa%28b%29.jpg?sig=q%27%27z", "/?B=1&A=2", "/p"} <= targets


def test_the_environment_has_no_say(tmp_path, web, bench_class, monkeypatch):
    from cobnut.fetcher.pool import FetchPool

    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "*")
    web.site("a.test", {"/": PAGE})
    with FetchPool(1) as pool:
        bench = bench_class(tmp_path / "c", web, pool)
        bench.fetch("http://a.test/")
        assert bench.row("http://a.test/")["outcome"] == "success"
        proxied = bench.with_settings(resolve=(), proxy=web.proxy_url)
        bench.fetch("http://a.test/", settings=proxied)
        assert bench.row("http://a.test/")["outcome"] == "success"
        assert web.requests("a.test")[-1].proxy


def test_everything_that_answered_is_archived(bench, web):
    web.site("a.test", {"/robots.txt": "User-agent: *\n", "/": moved("/b"), "/b": Answer(404, "gone"), "/c": PAGE})
    bench.fetch("http://a.test/", "http://a.test/c")
    assert sorted((url, status) for url, _, status, _ in bench.records()) == [
        ("http://a.test/", 301), ("http://a.test/b", 404), ("http://a.test/c", 200), ("http://a.test/robots.txt", 200),
    ]  # fmt: skip
    digests = {fields["WARC-Payload-Digest"] for _, fields, _, _ in bench.records()}
    assert all(digest.startswith("sha1:") for digest in digests)


class _Resetting:
    """A server that resets every connection in the middle of the body."""

    def __enter__(self):
        ready = threading.Event()

        async def serve():
            async def handle(reader, writer):
                await reader.readuntil(b"\r\n\r\n")
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhello")
                await writer.drain()
                await asyncio.sleep(0.1)
                writer.transport.abort()

            server = await asyncio.start_server(handle, "127.0.0.1", 0)
            self.port = server.sockets[0].getsockname()[1]
            self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
            ready.set()
            await self._stop.wait()
            server.close()

        self._thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
        self._thread.start()
        ready.wait()
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()


def test_a_reset_in_the_body_keeps_what_came(bench):
    with _Resetting() as server:
        settings = bench.with_settings(resolve=(f"*:127.0.0.1:{server.port}",))
        bench.fetch("http://a.test/x", settings=settings)
    row = bench.row("http://a.test/x")
    assert (row["outcome"], row["truncated"], row["body_bytes"]) == ("success", True, 5)
