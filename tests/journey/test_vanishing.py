"""Does a page that goes, in whichever way, end in the documented state, leave the index, and say why; and come back?

One crawl on a web that a test writes; between two runs everything happens to it that can take a page away.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from crawling import cobnut, indexed_urls, to_web

from cobnut.testing.fakeweb import Answer, FakeWeb, moved

HOME = "http://a.test/"
LINKED = (
    "stays", "gone410", "gone404", "denied", "noindex", "headers", "moved", "moved-temp", "refreshed", "canonical",
    "filtered", "forgotten", "broken", "down500", "unreadable", "list",
)  # fmt: skip
ALONE = ("orphan", "listed-page")
"""Pages that only the page `list` links to."""
WORD = "marzipan"
ROBOTS = Answer(body="User-agent: *\nDisallow:\n", content_type="text/plain")


def page(name: str, links: tuple[str, ...] = (), head: str = "") -> str:
    # texts that differ, so that none is a copy of another
    anchors = "".join(f'<a href="/{link}">{link}</a> ' for link in links)
    return f"<title>{name}</title>{head}<p>{WORD} {name} {name * 3}</p>{anchors}"


PAGES: dict[str, Any] = {
    "/": page("home", LINKED),
    **{f"/{name}": page(name) for name in (*LINKED, *ALONE)},
    "/list": page("list", ALONE),
    "/robots.txt": ROBOTS,
}
ALL = {HOME, *(HOME + name for name in (*LINKED, *ALONE))}
SETTINGS = ("-s", "fetcher.robots_ttl_s=0", "-s", "fetcher.failures_per_host=1000", "-s", "fetcher.backoff_s=0")
ORPHANS = ("-s", "db.orphan_after_s=86400")
AT_ONCE = ("-s", "db.orphan_after_s=1")


class End(NamedTuple):
    """What became of a page: status and reason in the crawldb, whether it is shown, and what `why` says of it."""

    status: str
    reason: str | None
    shown: bool
    told: str


AFTER = {
    "stays": End("not_modified", None, True, "It is in the index"),
    "gone410": End("gone", "http_410", False, "its state is gone (http_410"),
    "gone404": End("unfetched", "http_404", False, "fetching it failed (http_404"),
    "denied": End("gone", "robots_denied", False, "its state is gone (robots_denied"),
    "noindex": End("fetched", "noindex", False, "forbids indexing (noindex)"),
    "headers": End("not_modified", "noindex", False, "forbids indexing (noindex)"),
    "moved": End("redirect_perm", None, False, "it redirects to http://a.test/new-place"),
    "moved-temp": End("redirect_temp", None, False, "it redirects to http://a.test/stays"),
    "canonical": End("fetched", None, False, "http://a.test/stays is shown instead (canonical"),
    "filtered": End("fetched", None, False, "the filter `rules:"),
    "forgotten": End("fetched", None, False, "this crawl was told to forget it"),
    "orphan": End("not_modified", None, False, "no page leads to it any more"),
    "listed-page": End("not_modified", None, True, "It is in the index"),
    "broken": End("fetched", None, True, "It is in the index"),
    "down500": End("unfetched", "http_500", True, "It is in the index"),
    "unreadable": End("fetched", "media_type", False, "it could not be parsed (media_type"),
}


def happens(web: FakeWeb) -> None:
    """Everything that can take a page away, and some things that cannot."""
    web.remove("a.test", "/gone404")
    web.site(
        "a.test",
        {
            "/gone410": Answer(410, "gone"),
            "/noindex": page("noindex", head='<meta name="robots" content="noindex">'),
            "/headers": Answer(body=PAGES["/headers"], headers={"X-Robots-Tag": "noindex"}),
            "/moved": moved("/new-place"),
            "/new-place": page("new-place"),
            "/moved-temp": moved("/stays", 302),
            "/canonical": page("canonical", head='<link rel="canonical" href="/stays">'),
            "/list": page("list", ("listed-page",)),
            "/broken": Answer(drop=True),
            "/down500": Answer(500, "oops"),
            "/unreadable": Answer(body=b"\x00\x01\x02binary" * 100, content_type="application/octet-stream"),
            "/robots.txt": Answer(body="User-agent: *\nDisallow: /denied\n", content_type="text/plain"),
        },
    )


@pytest.fixture
def web() -> Iterator[FakeWeb]:
    with FakeWeb().site("a.test", PAGES) as running:
        yield running


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vanishing") / "crawl"
    with FakeWeb().site("a.test", PAGES) as web:
        cobnut("crawl", folder, HOME, *to_web(web.port), *SETTINGS, *ORPHANS)
    assert indexed_urls(folder) == ALL
    return folder


@pytest.fixture
def crawl(first_run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(first_run, tmp_path / "crawl"))


def again(crawl: Path, web: FakeWeb, *more: str) -> str:
    return cobnut("crawl", crawl, "--refresh", *to_web(web.port), *SETTINGS, *more).stdout


def rows(crawl: Path) -> dict[str, dict[str, Any]]:
    lines = cobnut("read", "crawldb", crawl, "--json").stdout.splitlines()
    return {row["url"]: row for row in map(json.loads, lines)}


def fetched(crawl: Path) -> list[dict[str, Any]]:
    """All rows about requests, of all segments."""
    names = sorted(path.name for path in (crawl / "segments").iterdir() if path.name.isdigit())
    told = [cobnut("read", "segment", crawl, name, "--table", "fetched", "--json").stdout for name in names]
    return [json.loads(line) for text in told for line in text.splitlines()]


def found(crawl: Path) -> set[str]:
    """What a searcher gets for the word that stands on every page."""
    hits = json.loads(cobnut("search", crawl, WORD, "--json", "--limit", "100").stdout)["hits"]
    return {hit["url"] for hit in hits}


@pytest.fixture
def rules(tmp_path: Path) -> tuple[str, str]:
    """A new rule, as an option."""
    file = tmp_path / "rules.txt"
    file.write_text("- suffix /filtered\n+ all\n")
    return ("-s", f'urls.filters=["scheme", "rules:{file}", "scope"]')


def test_each_way_to_go_ends_in_its_state_and_out_of_the_index(
    web: FakeWeb, crawl: Path, rules: tuple[str, str]
) -> None:
    happens(web)
    cobnut("forget", crawl, HOME + "forgotten")
    again(crawl, web, *ORPHANS, *rules)
    time.sleep(1.1)  # the orphan's time
    cobnut("merge", crawl, *AT_ONCE, *rules)
    crawldb, shown = rows(crawl), indexed_urls(crawl)
    assert found(crawl) == shown
    for name, end in AFTER.items():
        row, url = crawldb[HOME + name], HOME + name
        why = cobnut("why", crawl, url, *ORPHANS, *rules).stdout
        got = End(row["status"], row["reason"], url in shown, end.told if end.told in why else why)
        assert got == end, f"{name}: {got}"
    assert shown - {HOME + name for name in AFTER} == {HOME, HOME + "list", HOME + "new-place", HOME + "refreshed"}
    # when that was stays known when its segment is removed
    for segment in (crawl / "segments").iterdir():
        shutil.rmtree(segment)
    for name in ("gone410", "denied", "noindex", "unreadable"):
        year = time.strftime("%Y-")
        assert f", as the visit of {year}" in cobnut("why", crawl, HOME + name).stdout, name


def test_what_comes_back_is_shown_again(web: FakeWeb, crawl: Path, rules: tuple[str, str]) -> None:
    """Each state is left as it was entered: nothing is lost for good, and nothing needs a hand."""
    happens(web)
    cobnut("forget", crawl, HOME + "forgotten")
    again(crawl, web, *ORPHANS, *rules)
    time.sleep(1.1)
    cobnut("merge", crawl, *AT_ONCE, *rules)
    assert HOME + "orphan" not in indexed_urls(crawl)
    web.site("a.test", PAGES)
    cobnut("forget", crawl, "--undo", HOME + "forgotten")
    again(crawl, web, *ORPHANS)
    assert found(crawl) == ALL | {HOME + "new-place"}
    assert {
        url: row["status"] for url, row in rows(crawl).items() if row["status"] not in ("fetched", "not_modified")
    } == {}
    time.sleep(1.1)
    cobnut("merge", crawl, *AT_ONCE)
    assert indexed_urls(crawl) == ALL  # only the redirect led to the new place


def test_orphans_stay_unless_asked_for(web: FakeWeb, crawl: Path) -> None:
    web.site("a.test", {"/list": page("list")})
    again(crawl, web)
    assert HOME + "orphan" in indexed_urls(crawl)
    assert "Orphan" not in cobnut("why", crawl, HOME + "orphan").stdout
    cobnut("merge", crawl, *AT_ONCE)  # it is not known yet since when
    assert HOME + "orphan" in indexed_urls(crawl)
    cobnut("invertlinks", crawl, *ORPHANS)
    told = cobnut("why", crawl, HOME + "orphan").stdout
    assert "It is in the index" in told
    assert "Orphan        no page leads to it any more, since" in told
    assert {row["url_key"] for row in orphans(crawl)} == {f"test,a)http/{name}" for name in ALONE}
    time.sleep(1.1)
    cobnut("merge", crawl, *AT_ONCE)
    assert indexed_urls(crawl) == ALL - {HOME + name for name in ALONE}
    cobnut("merge", crawl)
    assert indexed_urls(crawl) == ALL


def test_the_page_that_leads_to_it_is_gone(web: FakeWeb, crawl: Path) -> None:
    """Links of a page that does not stand any more lead nowhere; those of one that only fails for now do."""
    web.site("a.test", {"/list": Answer(503, "later")})
    again(crawl, web, *ORPHANS, "--max-time", "3")
    assert orphans(crawl) == []
    web.site("a.test", {"/list": Answer(410, "gone")})
    again(crawl, web, *ORPHANS)
    since = {row["url_key"]: row["since"] for row in orphans(crawl)}
    assert set(since) == {f"test,a)http/{name}" for name in ALONE}
    again(crawl, web, *ORPHANS)
    assert {row["url_key"]: row["since"] for row in orphans(crawl)} == since
    refused = cobnut("invertlinks", crawl, *ORPHANS, "-s", "linkdb.ignore_internal=true")
    assert "no orphans are looked for" in refused.stdout + refused.stderr


def test_what_another_crawl_saw_go_is_gone_here_too(web: FakeWeb, crawl: Path, tmp_path: Path) -> None:
    """Its states come with `mergedb`, the later visit wins; what only failed there for now stays shown here."""
    other = Path(shutil.copytree(crawl, tmp_path / "other"))
    happens(web)
    again(other, web)
    told = cobnut("mergedb", crawl, other).stdout
    assert "none lost, none twice" in told
    cobnut("merge", crawl)
    names = ("gone410", "gone404", "denied", "noindex", "headers", "moved", "moved-temp", "unreadable")
    hidden = {HOME + name for name in names}
    assert indexed_urls(crawl) == ALL - hidden
    for name in names:
        end, row = AFTER[name], rows(crawl)[HOME + name]
        assert (row["status"], row["reason"]) == (end.status, end.reason), name
        assert "It is not in the index: " in cobnut("why", crawl, HOME + name).stdout, name
    cobnut("mergedb", crawl, other)
    cobnut("merge", crawl)
    assert indexed_urls(crawl) == ALL - hidden
    again(crawl, web)
    assert indexed_urls(crawl) == (ALL | {HOME + "new-place"}) - hidden - {HOME + "canonical"}


def orphans(crawl: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in cobnut("read", "orphans", crawl, "--json").stdout.splitlines()]


def test_a_narrower_scope_stops_fetching_and_shows_what_there_is(tmp_path: Path) -> None:
    folder, other = tmp_path / "crawl", "http://b.test/"
    with FakeWeb().site("a.test", {"/": f"<p>a <a href={other}>b</a>"}).site("b.test", {"/": "<p>b"}) as web:
        cobnut("crawl", folder, HOME, "--scope", "web", *to_web(web.port))
        assert indexed_urls(folder) == {HOME, other}
        web.reset()
        again(folder, web, "--scope", "host")
        assert {entry.host for entry in web.requests()} == {"a.test"}
        assert indexed_urls(folder) == {HOME, other}


def test_what_was_taken_out_of_the_crawldb(web: FakeWeb, crawl: Path, rules: tuple[str, str]) -> None:
    """It is out of the index, too, whatever the filters say later; found again, it is shown again."""
    cobnut("inject", crawl, "-", "--filter-existing", *rules, stdin=f"{HOME}\n")
    assert set(rows(crawl)) == ALL - {HOME + "filtered"}
    cobnut("merge", crawl)
    assert indexed_urls(crawl) == ALL - {HOME + "filtered"}
    again(crawl, web)
    assert indexed_urls(crawl) == ALL


def test_what_pages_embed_is_recorded_and_no_part_of_the_crawl(tmp_path: Path) -> None:
    pages = {
        "/": '<title>t</title><link rel=stylesheet href=/s><script src=/j></script><p>text <img src=/i alt="words456">'
        "<a href=/x>x</a>",
        "/x": "<title>x</title><p>the other page",
        "/s": Answer(body="p {}", content_type="text/css"), "/j": Answer(body="1", content_type="text/javascript"),
        "/i": Answer(body=b"GIF89a", content_type="image/gif"),
    }  # fmt: skip
    folder = tmp_path / "crawl"
    with FakeWeb().site("a.test", pages) as web:
        cobnut("crawl", folder, HOME, *to_web(web.port))
        assert set(rows(folder)) == {HOME, HOME + "x"}
        kinds = {row["to_key"][-1]: row["kind"] for row in embedded(folder)}
        assert kinds == {"s": "style", "j": "script", "i": "image", "x": "link"}
        linkdb = [json.loads(line) for line in cobnut("read", "linkdb", folder, "--json").stdout.splitlines()]
        assert {row["kind"] for row in linkdb} == {"link"}
        assert rows(folder)[HOME]["outlink_count"] == 1
        assert "3 embeds" in cobnut("why", folder, HOME).stdout
        told = [json.loads(path.read_text())["counts"] for path in folder.glob("reports/*-invertlinks-*.json")]
        assert [(counts["links"], counts["embeds"]) for counts in told] == [(1, 3)]
        assert not {e.target for e in web.requests()} & {"/s", "/j", "/i"}
        again(folder, web, "-s", "parser.follow_embeds=true")
        assert {HOME + name for name in "sji"} <= set(rows(folder))
        assert rows(folder)[HOME + "i"]["reason"] == "media_type"
        linkdb = [json.loads(line) for line in cobnut("read", "linkdb", folder, "--json").stdout.splitlines()]
        assert {row["kind"] for row in linkdb} == {"link"}


def embedded(crawl: Path) -> list[dict[str, Any]]:
    name = next(path.name for path in sorted((crawl / "segments").iterdir()) if path.is_dir() and path.name.isdigit())
    lines = cobnut("read", "segment", crawl, name, "--table", "links", "--json").stdout.splitlines()
    return [row for row in map(json.loads, lines) if row["from_key"] == "test,a)http/"]


def test_flags_are_counted(tmp_path: Path) -> None:
    app = "<title>App</title><div id=root></div><script src=/app.js></script>"
    wall = "<title>In</title><form><input name=u><input type=password></form>"
    pages = {"/": "<p>home <a href=/app>app</a> <a href=/in>in</a>", "/app": app, "/in": wall}
    folder = tmp_path / "crawl"
    with FakeWeb().site("a.test", pages) as web:
        told = cobnut("crawl", folder, HOME, *to_web(web.port)).stdout
    assert "Fetched, and no page to be read:" in told
    assert "1  needs_javascript: Next to no text" in told
    assert "1  login_wall: A reader" in told
    assert "needs_javascript: Next to no text" in cobnut("why", folder, HOME + "app").stdout


def test_refusals_that_are_a_challenge_or_want_a_login_are_told(tmp_path: Path) -> None:
    challenge = "<title>Just a moment...</title><script>window._cf_chl_opt={}</script>" + WORD
    basic = {"WWW-Authenticate": 'Basic realm="in"'}
    pages = {
        "/": page("home", ("check", "in", "plain", "page")), "/page": page("page"), "/check": Answer(403, challenge),
        "/in": Answer(401, WORD, headers=basic), "/plain": Answer(403, "<h1>Forbidden</h1>" + WORD),
    }  # fmt: skip
    folder = tmp_path / "crawl"
    busy = "http://busy.test/x"
    with FakeWeb().site("a.test", pages).site("busy.test", {
        "/x": Answer(503, challenge, headers={"Retry-After": "1000"}), "/robots.txt": ROBOTS,
    }) as web:  # fmt: skip
        told = cobnut("crawl", folder, HOME, busy, *to_web(web.port), expect=1).stdout
    assert "Refused, and not to everybody:\n          2  bot_challenge: The server wants" in told
    assert "1  login_wall: A reader has to log in first.\n" in told
    assert indexed_urls(folder) == {HOME, HOME + "page"}
    why = cobnut("why", folder, HOME + "check").stdout
    assert "fetching it failed (http_403: The server answered 403 (Forbidden); bot_challenge: The server wants" in why
    assert why.count("bot_challenge: The server wants to know first whether a person asks") == 2  # verdict and visit
    assert "state is gone (http_401" in (why := cobnut("why", folder, HOME + "in").stdout)
    assert "; login_wall: A reader has to log in first), as the visit of " in why
    assert "_challenge" not in cobnut("why", folder, HOME + "plain").stdout
    state = rows(folder)
    assert {url: row["status"] for url, row in state.items() if row["status"] != "fetched"} == {
        HOME + "check": "unfetched", HOME + "in": "gone", HOME + "plain": "unfetched", busy: "unfetched",
    }  # fmt: skip
    assert {row["url"]: row["flags"] for row in fetched(folder) if row["flags"]} == {
        HOME + "check": ["bot_challenge"], busy: ["bot_challenge"], HOME + "in": ["login_wall"],
    }  # fmt: skip


def test_links_that_do_not_enter_are_counted_over_all_rounds(tmp_path: Path) -> None:
    links = {"/": ("a", "x.png"), "/a": ("y.png", "z.png", "b"), "/b": ("w.png",)}
    folder, rule = tmp_path / "crawl", tmp_path / "rules.txt"
    rule.write_text("- suffix /b\n+ all\n")
    with FakeWeb().site("a.test", {path: page(path[1:] or "home", to) for path, to in links.items()}) as web:
        told = cobnut("crawl", folder, HOME, *to_web(web.port)).stdout
        assert "Links that did not enter, counted round by round:\n          4  filtered_by:suffix: " in told
        filters = f'urls.filters=["scheme", "rules:{rule}", "suffix", "scope"]'
        told = again(folder, web, "-s", filters)
    held = told.partition("Known, and held back:\n")[2].splitlines()[0]
    assert held.split()[:2] == ["1", "filtered_by:rules:rules.txt:"]
