"""What each address answers, asked of a real server process on loopback."""

import re
import socket
from html.parser import HTMLParser
from urllib.parse import quote

import pytest
from search_pages import HOSTILE, Server, document, make_crawl, publish

from cobnut.web.view import tied

CSP = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    crawl = make_crawl(tmp_path_factory.mktemp("web") / "crawl")
    pages = [document(n) for n in range(155)]
    pages += [
        document(200, title=HOSTILE, text=f"wildwood {HOSTILE}", path="?x=" + quote(HOSTILE), language='x" onload="'),
        document(201, url="javascript:alert(1)", title="Not a link", text="quarry", description=HOSTILE),
        document(202, title="", text="untitled page about spindle", language="de", host="xn--bcher-kva.example"),
    ]
    publish(crawl, pages)
    with Server(crawl) as running:
        yield running


class Tags(HTMLParser):
    """Every element of a page with its attributes, and the visible text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())


ADDRESSES = [
    "/", "/search", "/search?q=hazel", "/search?q=hazel&explain=1", "/search?q=nothinglikeit", "/search?page=0&q=a",
    "/search?q=hazel&page=900", "/api/search?q=hazel", "/api/search?limit=x", "/healthz", "/robots.txt", "/nowhere",
    "/api/nowhere", "/static/cobnut.css", "/static/cobnut.svg", "/static/none.css", "/static/..%2fapp.py",
    "/favicon.ico", "/search/", "//search?q=hazel", "/search?" + "q" * 9_000,
]  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_answer_has_the_security_headers_and_no_cookie(server, address):
    answer = server.get(address)
    assert answer.status in (200, 204, 400, 404, 414)
    assert answer.headers["content-security-policy"] == CSP
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["x-frame-options"] == "DENY"
    assert "set-cookie" not in answer.headers
    assert answer.headers["cache-control"]
    assert b"Traceback" not in answer.body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "PROPFIND"])
@pytest.mark.parametrize("path", ["/", "/search", "/api/search", "/nowhere", "/healthz"])
def test_other_methods_are_refused(server, method, path):
    answer = server.get(path, method=method)
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("path", ["/", "/search?q=hazel", "/api/search?q=hazel", "/healthz", "/static/cobnut.css"])
def test_head_is_get_without_a_body(server, path):
    head, get = server.get(path, method="HEAD"), server.get(path)
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-type"] == get.headers["content-type"]


def test_home_has_a_labelled_form_and_counts_the_pages(server):
    page = Tags(server.get("/").text)
    assert page.all("html") == [{"lang": "en"}]
    (form,) = page.all("form")
    assert (form["role"], form["action"], form["method"]) == ("search", "/search", "get")
    assert page.all("label")[0]["for"] == page.all("input")[0]["id"]
    assert page.all("main")
    assert "158 pages to search" in page.text


def test_results_show_what_they_should(server):
    page = Tags(server.get("/search", q="Growing hazel").text)
    assert "155 results" in page.text
    assert page.all("input")[0]["value"] == "Growing hazel"
    hits = [a for a in page.all("a") if a["href"].startswith("http")]
    assert len(hits) == 10
    assert all(a["rel"] == "noopener nofollow" for a in hits)
    assert len(page.all("li")) >= 10
    assert {li.get("lang") for li in page.all("li") if li.get("class") == "hit"} == {"en"}
    assert page.all("mark")
    assert page.all("time")[0] == {"datetime": "2026-11-30"}
    assert "garden.example›/page›/" in page.text
    assert "Fetched 30 Nov 2026" in page.text


def test_paging_shows_every_result_once(server):
    seen = []
    for number in range(1, 17):
        page = Tags(server.get("/search", q="hazel", page=number).text)
        links = [a["href"] for a in page.all("a") if a["href"].startswith("http")]
        assert page.all("ol")[0]["start"] == str(number * 10 - 9)
        assert len(links) == (10 if number < 16 else 5)
        seen += links
    assert len(seen) == len(set(seen)) == 155


def test_page_links_lead_to_each_other(server):
    page = Tags(server.get("/search", q='hazel -"no such"', page=16, explain=1).text)
    previous = next(a["href"] for a in page.all("a") if a.get("rel") == "prev")
    assert previous == "/search?q=hazel+-%22no+such%22&page=15&explain=1"
    assert "page 15 of 16" in Tags(server.get(previous).text).text


def test_a_page_beyond_the_last_says_so(server):
    page = Tags(server.get("/search", q="hazel", page=17).text)
    assert "No results that far down" in page.text
    assert "/search?q=hazel&page=16" in [a["href"] for a in page.all("a")]


def test_without_a_query_there_is_just_the_form(server):
    for address in ("/search", "/search?q=", "/search?q=%20%00%E2%80%8E"):
        page = Tags(server.get(address).text)
        assert page.all("form")
        assert not page.all("ol")


def test_no_hits_help(server):
    page = Tags(server.get("/search", q='"no such thing" site:nowhere.example -hazel').text)
    assert "No page matches" in page.text
    assert "site:" in page.text
    assert len(page.all("li")) == 5


def test_a_long_query_fills_no_heading(server):
    text = Tags(server.get("/search", q="nothing " * 40).text).text
    assert "No page matches “nothing nothing" in text
    assert text.count("nothing") < 25  # the title and the heading, each cut


def test_the_last_dots_of_a_snippet_begin_no_line():
    assert tied("… of the two …") == "… of the two\xa0…"
    assert tied("all of it") == "all of it"
    assert len(tied("a …")) == len("a …")  # marks keep their places


@pytest.mark.parametrize(
    "query",
    [
        HOSTILE, "'\"><img src=x onerror=alert(1)>", "</title><script>alert(1)</script>", "{{ 7*7 }}{% raw %}",
        "&lt;script&gt;", "\x00\x1b[31m\u202e", "%s%n{0}", "hazel\r\nSet-Cookie: a=b", "javascript:alert(1)",
        "x" * 398 + '">', "--><svg>", "\ufeff\ud7ff",
    ],
)  # fmt: skip
@pytest.mark.parametrize("more", ["", "&explain=1", "&page=2"])
def test_queries_never_become_markup(server, query, more):
    answer = server.get(f"/search?q={quote(query)}{more}")
    assert answer.status == 200
    assert_harmless(answer.text)
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("query", ["wildwood", "quarry", "wildwood onload", "spindle", "alert"])
def test_pages_never_become_markup(server, query):
    answer = server.get("/search", q=query, explain=1)
    page = assert_harmless(answer.text)
    assert page.all("ol")


def assert_harmless(html: str) -> Tags:
    page = Tags(html)
    names = {name for name, _ in page.elements}
    assert not names & {"script", "svg", "iframe", "style", "object", "embed", "base"}
    assert len(page.all("img")) <= 1
    for name, attributes in page.elements:
        assert not [key for key in attributes if key.startswith("on") or key in ("style", "srcdoc")], (name, attributes)
        for key in ("href", "src", "action"):
            assert re.match(r"/|#|https?://", attributes.get(key) or "/"), (name, attributes)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e]", html)
    return page


def test_what_is_no_web_address_is_shown_without_a_link(server):
    page = Tags(server.get("/search", q="quarry").text)
    assert "Not a link" in page.text
    assert "javascript:alert(1)" in page.text
    assert not [a for a in page.all("a") if "javascript" in a["href"]]


def test_international_names_and_missing_titles(server):
    page = Tags(server.get("/search", q="spindle").text)
    assert "bücher.example/page/202.html" in page.text
    assert "de" in [li.get("lang") for li in page.all("li")]


def test_a_bad_language_is_left_out(server):
    page = Tags(server.get("/search", q="wildwood").text)
    assert [li.get("lang") for li in page.all("li") if li.get("class") == "hit"] == [None]


def test_explanations_add_up(server):
    assert not Tags(server.get("/search", q="hazel").text).all("details")
    html = server.get("/search", q="hazel", explain=1).text
    tables = re.findall(r"<tbody>(.*?)</tbody>", html, re.DOTALL)
    assert len(tables) == 10
    for table in tables:
        *parts, total = [float(v) for v in re.findall(r'<td class="number">(-?[\d.]+)</td>', table)]
        assert parts
        assert sum(parts) == pytest.approx(total, abs=0.001 * (len(parts) + 1))


@pytest.mark.parametrize("page", ["0", "x", "-1", "99999999999999999999", "1.0", "%00"])
def test_bad_pages_are_a_plain_message(server, page):
    answer = server.get(f"/search?q=hazel&page={page}")
    assert answer.status == 400
    assert "whole number from 1 to 1000" in Tags(answer.text).text


def test_a_long_query_is_cut_and_said_so(server):
    page = Tags(server.get("/search", q="hazel " + "x" * 500).text)
    assert "characters" in page.text or "too long" in page.text


def test_api(server):
    answer = server.get("/api/search", q="hazel", limit=3, offset=150)
    assert answer.headers["content-type"] == "application/json"
    found = answer.json()
    assert found["query"] == "hazel"
    assert found["total"] == 155
    assert found["took_ms"] >= 0
    assert len(found["hits"]) == 3
    for hit in found["hits"]:
        assert hit["url"].startswith("http://garden.example/page/")
        assert hit["title"].startswith("Page ")
        assert "hazel" in hit["snippet"]
        assert isinstance(hit["score"], float)


def test_api_and_page_agree(server):
    urls = [hit["url"] for hit in server.get("/api/search", q="hazel", limit=100).json()["hits"]]
    page = Tags(server.get("/search", q="hazel", page=2).text)
    assert [a["href"] for a in page.all("a") if a["href"].startswith("http")] == urls[10:20]


def test_api_explains(server):
    (hit,) = server.get("/api/search", q="hazel", limit=1, explain=1).json()["hits"]
    assert sum(f["contribution"] for f in hit["features"]) == pytest.approx(hit["score"], abs=1e-3)


def test_api_without_a_query_has_no_hits(server):
    found = server.get("/api/search").json()
    assert (found["query"], found["total"], found["hits"]) == ("", 0, [])


@pytest.mark.parametrize("query", ["limit=0", "limit=-1", "limit=a", "offset=-1", "offset=10001", "limit=%E2%91%A0"])
def test_api_errors_are_json(server, query):
    answer = server.get(f"/api/search?q=hazel&{query}")
    assert answer.status == 400
    assert "whole number" in answer.json()["error"]
    assert server.get("/api/nowhere").json() == {"error": "There is no such page."}


def test_robots_txt_keeps_others_off_the_results(server):
    answer = server.get("/robots.txt")
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.text == "User-agent: *\nDisallow: /search\nDisallow: /api/\n"


def test_healthz(server):
    assert server.get("/healthz").text == "ok\n"


def test_static_files_may_be_kept_while_their_address_is_current(server):
    page = Tags(server.get("/").text)
    for link in page.all("link"):
        answer = server.get(link["href"])
        assert answer.status == 200
        assert "immutable" in answer.headers["cache-control"]
    assert "immutable" not in server.get("/static/cobnut.css?v=old").headers["cache-control"]


def test_the_program_is_not_served(server):
    for path in ("/static/../app.py", "/static/..%2Fapp.py", "/static/%2Fetc%2Fpasswd", "/static/", "/app.py"):
        assert server.get(path).status == 404


def raw(server: Server, request: bytes) -> bytes:
    """What comes back for these very bytes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(request)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
        return answer


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: h\r\n\r\n", b" 431 "),
        (b"GET / HTTP/1.1\r\nHost: h\r\nX: " + b"a" * 100_000 + b"\r\n\r\n", b" 431 "),
        (b"GET / HTTP/1.1\r\nHost: h\r\n" + b"X: a\r\n" * 1000 + b"\r\n", b" 431 "),
        (b"GET /" + b"a" * 9_000 + b" HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", b" 414 "),
        (b"nonsense\r\n\r\n", b" 400 "),
        (b"GET /search?q=\xff\xfe HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", b" 400 "),
        (b"GET /search?q=caf\xc3\xa9 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", b" 200 "),
        (b"GET /%ff%00 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", b" 404 "),
        (b"GET http://other.example/ HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", b" 200 "),
    ],
    ids=["line", "header", "headers", "address", "no http", "raw bytes", "raw utf-8", "odd path", "absolute form"],
)
def test_odd_requests_get_a_status_and_the_server_lives_on(server, request_bytes, status):
    first_line = raw(server, request_bytes).partition(b"\r\n")[0]
    assert first_line.startswith(b"HTTP/1.1 ")
    assert status in first_line + b" "
    assert server.get("/healthz").status == 200
