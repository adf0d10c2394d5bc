"""The outermost layer, around applications that misbehave."""

import asyncio

import pytest
from starlette.responses import PlainTextResponse

from cobnut.config.sections import Settings
from cobnut.errors import DataError
from cobnut.web.app import create_app, error_response
from cobnut.web.guard import MAX_TARGET_BYTES, guarded


def ask(app, path="/", method="GET", query=b"", kind="http"):
    """All messages that an application sends for one request."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    scope = {
        "type": kind, "method": method, "path": path, "raw_path": path.encode(), "query_string": query, "headers": [],
        "root_path": "", "http_version": "1.1", "scheme": "http", "server": ("h", 80), "client": ("h", 1),
    }  # fmt: skip
    asyncio.run(app(scope, receive, send))
    return sent


def wrap(app):
    lines = []
    return guarded(app, error_response, lines.append), lines


async def fails(scope, receive, send):
    raise ValueError("secret\n/srv/secret/file")


async def fails_late(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    raise ValueError("late")


async def bakes_cookies(scope, receive, send):
    await PlainTextResponse("ok", headers={"Set-Cookie": "a=b"})(scope, receive, send)


def test_a_failure_is_a_plain_page_and_one_line_for_the_operator():
    app, lines = wrap(fails)
    start, body = ask(app)
    assert start["status"] == 500
    assert b"Something went wrong" in body["body"]
    assert b"secret" not in body["body"]
    assert len(lines) == 1
    assert "ValueError: secret /srv/secret/file at " in lines[0]
    assert "\n" not in lines[0]


def test_a_failure_under_api_is_json():
    start, body = ask(wrap(fails)[0], path="/api/search")
    assert (start["status"], body["body"]) == (500, b'{"error":"Something went wrong on this side."}')


def test_a_failure_after_the_answer_began_sends_nothing_more():
    app, lines = wrap(fails_late)
    assert len(ask(app)) == 1
    assert len(lines) == 1


def test_no_cookie_leaves():
    start, _ = ask(wrap(bakes_cookies)[0])
    assert b"set-cookie" not in {name.lower() for name, _ in start["headers"]}


@pytest.mark.parametrize(("length", "status"), [(MAX_TARGET_BYTES - 1, 200), (MAX_TARGET_BYTES, 414)])
def test_the_longest_address(length, status):
    start, *_ = ask(wrap(bakes_cookies)[0], query=b"q" * length)
    assert start["status"] == status


def test_what_is_no_request_is_left_alone():
    assert ask(wrap(fails)[0], kind="lifespan") == []


class Broken:
    """An index that cannot be read."""

    version = 0

    def current(self):
        raise DataError("the index is damaged", where="/srv/secret/crawl")


class Faulty(Broken):
    """An index that shows a fault of our own."""

    def current(self):
        raise ValueError("secret")


@pytest.mark.parametrize("path", ["/", "/search", "/api/search"])
def test_a_fault_of_our_own_is_a_page_or_json_and_one_line(path):
    lines = []
    start, body = ask(create_app(Faulty(), Settings(), lines.append), path=path, query=b"q=hazel")
    assert start["status"] == 500
    assert (b"<h1>Something went wrong</h1>" if path != "/api/search" else b'{"error":') in body["body"]
    assert b"content-security-policy" in {name for name, _ in start["headers"]}
    assert b"secret" not in body["body"]
    assert len(lines) == 1


@pytest.mark.parametrize("path", ["/", "/search", "/api/search"])
def test_an_index_that_cannot_be_read_is_said_without_its_place(path):
    lines = []
    start, body = ask(create_app(Broken(), Settings(), lines.append), path=path, query=b"q=hazel")
    assert start["status"] == 503
    assert b"cannot be read just now" in body["body"]
    assert b"secret" not in body["body"]
    assert "the index is damaged: /srv/secret/crawl" in lines[0]
