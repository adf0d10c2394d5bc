"""Which address answers what?

| address | answer |
|---|---|
| `/` | the search form, and how many pages there are to search |
| `/search?q=&page=&explain=1` | results as a page; `explain` shows what each score is made of |
| `/api/search?q=&limit=&offset=&explain=1` | results as JSON |
| `/bot` | about the crawler, when the settings name one |
| `/healthz` | `ok` while the process answers |
| `/robots.txt` | keeps other crawlers off the results |
| `/static/…` | style sheet and icon |

The layers, from the outside: `access_log`, `guard`, `gate`, and the addresses here.

A search runs where the request is handled: it is computation, not waiting, and there is one process per core.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Scope

import cobnut
from cobnut.errors import CobnutError
from cobnut.search.answer import as_json
from cobnut.web import pages, parameters, view
from cobnut.web.access_log import LogFile, logged
from cobnut.web.bot import bot_values
from cobnut.web.cache import AnswerCache
from cobnut.web.gate import Gate, Rules
from cobnut.web.guard import guarded, one_line
from cobnut.web.limiter import Table

if TYPE_CHECKING:
    from cobnut.config.sections import Settings
    from cobnut.search.searcher import Searcher
    from cobnut.web.source import Source

ROBOTS = b"User-agent: *\nDisallow: /search\nDisallow: /api/\n"

STATUS_TEXT = {
    400: "That cannot be answered",
    401: "Please log in",
    404: "There is no such page",
    405: "That is not done here",
    414: "The address is too long",
    421: "Not under this name",
    429: "Too many requests",
    500: "Something went wrong",
    503: "No search just now",
}


MIB = 1024 * 1024


def create_app(
    source: Source,
    settings: Settings,
    report: Callable[[str], None],
    *,
    rate_per_s: float = 0.0,
    table: Table | None = None,
    log: LogFile | None = None,
) -> ASGIApp:
    """The whole application with all its layers. `report` gets one line for every failure of our own; `rate_per_s` is
    the rate in force, counted in `table`; `log` gets the access log.
    """
    site = _Site(source, settings)
    routes = [
        Route("/", site.home),
        Route("/search", site.search),
        Route("/api/search", site.api_search),
        Route("/bot", site.bot),
        Route("/healthz", healthz),
        Route("/robots.txt", robots),
        Route("/favicon.ico", favicon),
        Route("/static/{name}", static),
    ]

    async def failed(request: Request, error: Exception) -> Response:
        if isinstance(error, parameters.BadRequest):
            return error_response(request.scope, 400, str(error))
        if isinstance(error, CobnutError):
            report(f"the index cannot be searched: {one_line(error)}")
            return error_response(request.scope, 503, "The index cannot be read just now.")
        status = error.status_code if isinstance(error, HTTPException) else 500
        return error_response(request.scope, status, "")

    handlers: dict[Any, Any] = dict.fromkeys((HTTPException, parameters.BadRequest, CobnutError, Exception), failed)
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False
    if settings.fetcher.agent_name:
        pages.tell_of_bot()
    serve = settings.serve
    rules = Rules(serve.hosts, rate_per_s, serve.rate_burst, serve.trusted_proxies, serve.basic_auth, serve.api_keys)
    gate = Gate(app, error_response, rules, table or Table.private(), time.monotonic, report)
    whole = guarded(gate, error_response, report)
    return logged(whole, log, serve.log_queries, time.monotonic, time.time) if log else whole


class _Site:
    """The addresses that need the index, or the settings."""

    def __init__(self, source: Source, settings: Settings) -> None:
        self._source, self._settings, self._fetcher = source, settings.search, settings.fetcher
        self._cache = AnswerCache(settings.serve.cache_mib * MIB)

    async def home(self, request: Request) -> Response:
        """The search form."""
        return self._form()

    def _form(self) -> Response:
        count = self._source.current().doc_count
        return pages.page("home", doc_count=count, focus=True, max_chars=self._settings.max_query_chars)

    async def search(self, request: Request) -> Response:
        """A page of results."""
        settings = self._settings
        asked = parameters.page_request(request.query_params, settings.per_page, settings.max_query_chars)
        if not asked.query:
            return self._form()
        searcher = self._source.current()
        key = ("page", self._source.version, asked)
        if (kept := self._cache.get(key)) is not None:
            return pages.html_response(kept)
        answer = self._found(asked, searcher)
        self._cache.put(key, bytes(answer.body))
        return answer

    def _found(self, asked: parameters.Asked, searcher: Searcher) -> Response:
        settings = self._settings
        form: dict[str, Any] = {"query": asked.query, "max_chars": settings.max_query_chars, "explain": asked.explain}
        if searcher.doc_count == 0:
            return pages.page("message", **form, **view.NOTHING_INDEXED)
        results = searcher.search(asked.query, limit=asked.limit, offset=asked.offset, explain=asked.explain)
        if not results.hits:
            return pages.page("message", **form, **view.no_hits(asked, results))
        return pages.page("results", **form, **view.results(asked, results))

    async def api_search(self, request: Request) -> Response:
        """Results as JSON; an empty query has none."""
        settings = self._settings
        asked = parameters.api_request(request.query_params, settings.per_page, settings.max_query_chars)
        searcher = self._source.current()
        key = ("api", self._source.version, asked)
        body = self._cache.get(key)
        if body is None:
            results = searcher.search(asked.query, limit=asked.limit, offset=asked.offset, explain=asked.explain)
            body = orjson.dumps(as_json(results))
            self._cache.put(key, body)
        return json_body(body)

    async def bot(self, request: Request) -> Response:
        """About the crawler. Without a name there is none that strangers could meet."""
        if not self._fetcher.agent_name:
            raise HTTPException(404)
        answer = pages.page("bot", layout="base.html", **bot_values(self._fetcher, cobnut.__version__))
        answer.headers["cache-control"] = "public, max-age=3600"
        return answer


async def healthz(request: Request) -> Response:
    """Whether this process answers; the index is not looked at."""
    return PlainTextResponse("ok\n", headers={"cache-control": "no-store"})


async def robots(request: Request) -> Response:
    """Other crawlers are to stay off the results."""
    return Response(ROBOTS, media_type="text/plain", headers={"cache-control": "public, max-age=86400"})


async def favicon(request: Request) -> Response:
    """Browsers ask for it unasked; the icon has another name."""
    return Response(status_code=204, headers={"cache-control": "public, max-age=86400"})


async def static(request: Request) -> Response:
    """A file of the page itself. Its address changes with its content, so it may be kept for ever."""
    file = pages.static_files().get(request.path_params["name"])
    if file is None:
        raise HTTPException(404)
    current = request.query_params.get("v") == file.tag
    kept = "public, max-age=31536000, immutable" if current else "public, max-age=300"
    return Response(file.body, headers={"content-type": file.media_type, "cache-control": kept})


def json_response(value: Any, status: int = 200) -> Response:
    """An answer of the API."""
    return json_body(orjson.dumps(value), status)


def json_body(body: bytes, status: int = 200) -> Response:
    """An answer of the API that is JSON already."""
    return Response(body, status, headers=pages.NOBODY_ELSES, media_type="application/json")


def again(scope: Scope) -> dict[str, str]:
    """A link to ask the same once more."""
    query = scope["query_string"].decode("latin-1")
    same = f"/search?{query}" if scope["path"] == "/search" and query else "/"
    return {"href": same, "text": "Try again"}


def error_response(scope: Scope, status: int, message: str) -> Response:
    """An error as a page, or as JSON under `/api/`."""
    heading = STATUS_TEXT.get(status, "That did not work")
    if scope["path"].startswith("/api/"):
        answer = json_response({"error": message or f"{heading}."}, status)
    else:
        onward = again(scope) if status in (401, 429, 503) else {"href": "/", "text": "To the search page"}
        lines = [message] if message else []
        answer = pages.page("message", status, heading=heading, lines=lines, hints=[], onward=onward)
    if status == 405:
        answer.headers["allow"] = "GET, HEAD"
    return answer
