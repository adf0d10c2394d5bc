"""Statuses, headers, bodies and identity, without a network."""

import gzip
import hashlib
import zlib

import brotli
import pytest

from cobnut.config.sections import FetcherSettings
from cobnut.fetcher.answer import read_headers, retry_after_s
from cobnut.fetcher.archive import Archive, Response, next_number, read_tail, warc_files
from cobnut.fetcher.body import Body, BodyBudget
from cobnut.fetcher.exchange import HttpLimits, Request, without_userinfo
from cobnut.fetcher.identity import identity, user_agent
from cobnut.fetcher.lenient import dechunk, read_answer
from cobnut.fetcher.outcome import classify, curl_reason, is_host_failure
from cobnut.fetcher.results import FetchedRow
from cobnut.records.catalogue import FETCHED
from cobnut.records.outcomes import OUTCOMES, REASONS


def test_rows_are_those_of_the_table():
    assert FetchedRow._fields == FETCHED.column_names


@pytest.mark.parametrize(
    ("status", "condition", "target", "size", "expected"),
    [
        (200, False, False, 5, ("success", None)),
        (200, False, False, 0, ("success", "empty")),
        (204, False, False, 0, ("success", "http_other")),
        (203, False, False, 5, ("success", None)),
        (206, False, False, 5, ("success", "http_other")),
        (304, True, False, 0, ("not_modified", None)),
        (304, False, False, 0, ("retry", "http_other")),
        (301, False, True, 0, ("redirect_perm", None)),
        (308, False, True, 0, ("redirect_perm", None)),
        (300, False, True, 0, ("redirect_perm", None)),
        (302, False, True, 0, ("redirect_temp", None)),
        (307, False, True, 0, ("redirect_temp", None)),
        (302, False, False, 0, ("retry", "redirect_bad")),
        (401, False, False, 0, ("gone", "http_401")),
        (403, False, False, 0, ("retry", "http_403")),
        (404, False, False, 0, ("gone", "http_404")),
        (410, False, False, 0, ("gone", "http_410")),
        (429, False, False, 0, ("retry", "http_429")),
        (503, False, False, 0, ("retry", "http_503")),
        (599, False, False, 0, ("retry", "http_599")),
        (999, False, False, 0, ("retry", "http_other")),
    ],
)
def test_every_status_has_a_meaning(status, condition, target, size, expected):
    assert classify(status, had_condition=condition, has_target=target, body_bytes=size) == expected


def test_all_words_are_documented():
    for status in range(200, 1000):
        outcome, reason = classify(status, had_condition=False, has_target=True, body_bytes=1)
        assert outcome in OUTCOMES
        assert reason is None or reason in REASONS or (reason.startswith("http_") and 400 <= status < 600)
    for code in range(1, 100):
        assert curl_reason(code, connected=False, through_proxy=False) in REASONS


def test_what_counts_against_a_host():
    assert is_host_failure("connect_failed", None)
    assert is_host_failure(None, 503)
    assert is_host_failure(None, 429)
    assert not is_host_failure(None, 404)
    assert not is_host_failure("private_address", None)


def test_location_keeps_its_bytes():
    head = b"HTTP/1.1 301 x\r\nLocation: /fa/\xd8\xa7\xd8\xb9\r\nX: a\r\nx: b\r\nno colon\r\n folded\r\n\r\n"
    headers = read_headers(head)
    assert headers["location"] == "/fa/%D8%A7%D8%B9"
    assert headers["x"] == "a, b folded"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("120", 120), ("0", 0), ("", None), ("-5", None), ("Thu, 01 Jan 1970 00:01:00 GMT", 60), ("nonsense", None),
     ("99999999999999999999", 366 * 86400), ("Wed, 31 Dec 1969 00:00:00 GMT", 0)],
)  # fmt: skip
def test_retry_after(value, seconds):
    assert retry_after_s(value, 0.0) == seconds


@pytest.mark.parametrize(
    ("coding", "pack"),
    [("", bytes), ("gzip", gzip.compress), ("deflate", zlib.compress), ("br", brotli.compress),
     ("deflate", lambda d: zlib.compress(d)[2:-4]), ("gzip", lambda d: gzip.compress(d[:999]) + gzip.compress(d[999:])),
     ("gzip", lambda d: gzip.compress(d) + b"rubbish"), ("x-gzip", gzip.compress)],
)  # fmt: skip
@pytest.mark.parametrize("step", [1, 7, 100_000])
def test_the_digest_is_of_the_decoded_body(coding, pack, step):
    plain = b"<p>hello</p>" * 300
    sent = pack(plain)
    body = Body(10**6, coding, BodyBudget())
    for at in range(0, len(sent), step):
        assert body.add(sent[at : at + step])
    received, digest = body.finish()
    assert received == sent
    assert digest == hashlib.md5(plain).digest()
    assert not body.truncated
    assert not body.broken


def test_the_cap_is_exact_and_marked():
    body = Body(1000, "", BodyBudget())
    assert body.add(b"x" * 1000)
    assert not body.truncated
    assert not body.add(b"y")
    received, digest = body.finish()
    assert received == b"x" * 1000
    assert body.truncated
    assert digest == hashlib.md5(received).digest()


@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_a_bomb_stops_early(coding):
    packed = gzip.compress(b"\0" * 50_000_000) if coding == "gzip" else brotli.compress(b"\0" * 50_000_000, quality=1)
    body = Body(1_000_000, coding, BodyBudget())
    went_on = True
    taken = 0
    for at in range(0, len(packed), 64):
        went_on = body.add(packed[at : at + 64])
        taken += 64
        if not went_on:
            break
    assert not went_on
    assert body.truncated
    assert body.finish()[1] == hashlib.md5(b"\0" * 1_000_000).digest()


def test_a_coding_that_does_not_decode_counts_as_received():
    body = Body(1000, "gzip", BodyBudget())
    assert body.add(b"plain text")
    assert body.broken
    assert body.finish() == (b"plain text", hashlib.md5(b"plain text").digest())


def test_an_empty_body_is_an_empty_body():
    body = Body(1000, "gzip", BodyBudget())
    assert body.add(b"")
    assert body.finish() == (b"", None)
    assert not body.broken


def test_large_bodies_leave_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("cobnut.fetcher.body.SPILL_ALL_BYTES", 1000)
    monkeypatch.setattr("cobnut.fetcher.body.SPILL_ONE_BYTES", 500)
    budget = BodyBudget(str(tmp_path))
    body = Body(10**6, "", budget)
    for _ in range(100):
        body.add(b"abcdefghij" * 10)
    assert budget.held == 0
    received, digest = body.finish()
    assert received == b"abcdefghij" * 1000
    assert digest == hashlib.md5(received).digest()


def test_identity():
    settings = FetcherSettings(
        agent_name="Nut", agent_version="2", agent_url="https://a.test/bot", agent_contact="me@a.test"
    )
    assert user_agent(settings, "9") == "Nut/2 (+https://a.test/bot; me@a.test)"
    assert "From: me@a.test" in identity(settings, "9", "").headers
    assert "Accept-Encoding: gzip, br" in identity(settings, "9", "").headers
    assert user_agent(FetcherSettings(), "9") == "Cobnut/9"
    assert "\n" not in user_agent(FetcherSettings(agent_name="A\r\nX: y"), "9")


def test_credentials_in_a_link_are_not_sent():
    assert without_userinfo("http://u:p@a.test/x@y") == "http://a.test/x@y"
    assert without_userinfo("http://a.test/x@y") == "http://a.test/x@y"


LIMITS = HttpLimits(1000, 1000, 1, 1, 1000, 1000)
REQUEST = Request("http://a.test/", "127.0.0.1", 80)


@pytest.mark.parametrize(
    ("data", "status", "body", "truncated"),
    [
        (b"HTTP/1.0 200 OK\nServer: GoAhead\nContent-Type: text/html\n\n<p>device</p>", 200, b"<p>device</p>", None),
        (b"HTTP/1.1 200 OK\r\nno colon here\r\nContent-Length: 2\r\n\r\nhixx", 200, b"hi", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi", 200, b"hi", "disconnect"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", 200, b"hi", None),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\nzz\r\n", 200, b"hi", "disconnect"),
        (b"<html><p>HTTP/0.9</p></html>", 200, b"<html><p>HTTP/0.9</p></html>", None),
        (b"SSH-2.0-OpenSSH_9.2\r\n", None, b"", None),
        (b"", None, b"", None),
    ],
)
def test_lenient_reading(data, status, body, truncated):
    answer = read_answer(data, None, REQUEST, LIMITS, 1)
    assert (answer.status, answer.body, answer.truncated) == (status, body, truncated)


def test_dechunk_survives_rubbish():
    for data in (b"", b"-5\r\nx", b"ffffffffffffffffffff\r\nx", b"5;" + b"x" * 5000, b"\r\n\r\n"):
        assert dechunk(data)[1] is False


def _response(n, body=b"<p>hi"):
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
    return Response(f"http://a.test/{n}", 1_800_000_000_123, head, body, "192.0.2.1", score=7, depth=2, hop_from="k")


def test_records_come_back_and_a_cut_member_ends_the_file(tmp_path):
    archive = Archive(tmp_path, 3, 0, 10**9, {"software": "test"})
    places = [archive.write(_response(n, b"x" * (n * 70_000))) for n in range(30)]
    archive.close()
    (path,) = warc_files(tmp_path, 3)
    found = list(read_tail(path, -1))
    assert [f.place for f in found] == places
    back = found[3].response
    assert back._replace(head=b"") == _response(3, b"x" * 210_000)._replace(head=b"")
    assert b"X-Archive-Orig-Transfer-Encoding: chunked" in back.head
    assert [f.place for f in read_tail(path, places[27].offset)] == places[28:]
    data = path.read_bytes()
    path.write_bytes(data[:-20])
    assert [f.place for f in read_tail(path, -1)] == places[:-1]
    path.write_bytes(data + b"\x1f\x8b\x08")
    assert [f.place for f in read_tail(path, -1)] == places
    assert next_number(tmp_path, 3) == 1


def test_files_are_rotated(tmp_path):
    archive = Archive(tmp_path, 0, 5, 2000, {"software": "test"})
    for n in range(20):
        archive.write(_response(n, bytes(str(n) * 300, "ascii")))
    archive.close()
    names = [path.name for path in warc_files(tmp_path, 0)]
    assert names[0] == "part-00000-00005.warc.gz"
    assert len(names) > 1
    assert sum(len(list(read_tail(path, -1))) for path in warc_files(tmp_path, 0)) == 20
