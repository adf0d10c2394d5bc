"""Who comes through to the search: real server processes, asked by name, too often, and with credentials."""

import base64
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from search_pages import Server, document, make_crawl, publish

from cobnut.config.credentials import new_api_key, new_login
from cobnut.web.access import MAX_HEADER_BYTES
from cobnut.web.gate import ALL_TRIES, FILES_PER_REQUEST, TRIES

PASSWORD = "pass:wörd"
KEY, ENTRY = new_api_key("ci")
CLOSED = [
    "/",
    "/search",
    "/search?q=hazel",
    "/api/search?q=hazel",
    "/nowhere",
    "/api/nowhere",
    "//",
    "/healthz/",
    "/bot/",
]
OPEN = ["/healthz", "/robots.txt", "/bot", "/favicon.ico", "/static/cobnut.css", "/static/cobnut.svg", "/static/none"]


@pytest.fixture(scope="module")
def crawl(tmp_path_factory):
    path = make_crawl(tmp_path_factory.mktemp("gate") / "crawl")
    publish(path, [document(n) for n in range(30)])
    return path


@pytest.fixture(scope="module")
def closed(crawl):
    logins = ",".join(new_login(user, PASSWORD).text() for user in ("alice", "bob"))
    settings = [
        f"serve.basic_auth={logins}", f"serve.api_keys={ENTRY.text()}", "serve.trusted_proxies=127.0.0.1",
        "fetcher.agent_name=NutBot",
    ]  # fmt: skip
    with Server(crawl, workers=2, settings=settings) as running:
        yield running


def basic(user, password, **more):
    pair = base64.b64encode(f"{user}:{password}".encode()).decode()
    return {"Authorization": f"Basic {pair}"} | more


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


def behind(client):
    return {"X-Forwarded-For": client}


@pytest.mark.parametrize("path", CLOSED)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_without_credentials_there_is_nothing(closed, path, method):
    answer = closed.get(path, method=method)
    assert answer.status == 401
    assert 'Basic realm="Cobnut", charset="UTF-8"' in answer.headers["www-authenticate"]
    assert "content-security-policy" in answer.headers
    assert b"hazel" not in answer.body.lower().replace(b"q=hazel", b"")


@pytest.mark.parametrize("path", OPEN)
def test_what_needs_none(closed, path):
    assert closed.get(path).status in (200, 204, 404)


@pytest.mark.parametrize("path", ["/", "/search?q=hazel", "/api/search?q=hazel"])
@pytest.mark.parametrize("headers", [basic("alice", PASSWORD), basic("bob", PASSWORD), bearer(KEY)])
def test_with_them_there_is_everything(closed, path, headers):
    for _ in range(3):
        assert closed.get(path, headers=headers).status == 200


WRONG = [
    basic("alice", "wrong"),
    basic("alice", PASSWORD + "x"),
    basic("alice", ""),
    basic("carol", PASSWORD),
    basic("", PASSWORD),
    basic("", ""),
    bearer(KEY + "x"),
    bearer(KEY[:-1]),
    bearer(""),
    bearer("x" * 5_000),
    bearer(ENTRY.text()),
    basic("alice", "x" * MAX_HEADER_BYTES),
    {"Authorization": "Basic"},
    {"Authorization": "Basic !!!"},
    {"Authorization": "Basic " + base64.b64encode(b"\xff\xfe:\xff").decode()},
    {"Authorization": "Basic " + base64.b64encode(b"alice").decode()},
    {"Authorization": f"Digest {KEY}"},
    {"Authorization": KEY},
    {"Authorization": ""},
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_ones_are_refused(closed, number):
    answer = closed.get("/api/search?q=hazel", headers=WRONG[number] | behind(f"198.51.100.{number}"))
    assert answer.status == 401
    assert set(answer.json()) == {"error"}


def test_both_ways_to_prove_it_are_named(closed, crawl):
    both = 'Basic realm="Cobnut", charset="UTF-8", Bearer realm="Cobnut"'
    assert closed.get("/").headers["www-authenticate"] == both
    with Server(crawl, settings=[f"serve.api_keys={ENTRY.text()}"]) as keys_only:
        assert keys_only.get("/search").headers["www-authenticate"] == 'Bearer realm="Cobnut"'
        assert keys_only.get("/search?q=hazel", headers=bearer(KEY)).status == 200
        assert keys_only.get("/search?q=hazel", headers=basic("ci", KEY)).status == 401


def test_guessing_is_slow(closed):
    answers = [closed.get("/", headers=basic("alice", f"guess{n}") | behind("203.0.113.1")) for n in range(TRIES + 15)]
    statuses = [answer.status for answer in answers]
    assert statuses[:TRIES] == [401] * TRIES
    assert 429 in statuses
    assert int(next(a for a in answers if a.status == 429).headers["retry-after"]) >= 1
    # from elsewhere, and for who was known before, all is as ever
    assert closed.get("/", headers=basic("bob", PASSWORD) | behind("203.0.113.2")).status == 200
    assert closed.get("/", headers=bearer(KEY) | behind("203.0.113.1")).status == 200


def test_a_right_password_is_not_a_guess(closed):
    for _ in range(TRIES * 2):
        assert closed.get("/", headers=basic("bob", PASSWORD) | behind("203.0.113.3")).status == 200


def test_many_passwords_at_once_leave_it_answering(closed):
    done = threading.Event()

    def guess(number):
        return closed.get("/", headers=basic("alice", f"g{number}") | behind(f"192.0.2.{number}")).status

    with ThreadPoolExecutor(40) as pool:
        guesses = [pool.submit(guess, number) for number in range(120)]
        assert closed.get("/search?q=hazel", headers=bearer(KEY)).status == 200
        statuses = {each.result() for each in guesses}
        done.set()
    assert statuses <= {401, 503}
    assert closed.get("/", headers=basic("alice", PASSWORD)).status == 200


def test_no_secret_is_shown(crawl, tmp_path):
    log = tmp_path / "access.log"
    settings = [
        f"serve.basic_auth={new_login('alice', PASSWORD).text()}", f"serve.api_keys={ENTRY.text()}",
        f"serve.access_log={log}", "serve.log_queries=true",
    ]  # fmt: skip
    with Server(crawl, settings=settings) as server:
        bodies = [server.get("/search?q=hazel", headers=h).text for h in (bearer(KEY), bearer(KEY + "x"))]
        bodies += [server.get("/search?q=hazel", headers=basic("alice", p)).text for p in (PASSWORD, "hunter2")]
        _, out, err = server.end()
    shown = "".join([*server.lines, out, err, log.read_text(), *bodies])
    for secret in (KEY, PASSWORD, "hunter2", "Bearer", "Basic", basic("alice", PASSWORD)["Authorization"].split()[1]):
        assert secret not in shown
    assert '"who":"ci"' in shown
    assert '"who":"alice"' in shown


@pytest.fixture(scope="module")
def slow(crawl):
    settings = ["serve.rate_per_s=0.02", "serve.rate_burst=5", "serve.trusted_proxies=127.0.0.1"]
    with Server(crawl, workers=2, settings=settings) as running:
        yield running


def test_too_many_requests_are_refused_whichever_process_answers(slow):
    answers = [slow.get("/search?q=hazel", headers=behind("198.51.100.1")) for _ in range(20)]
    statuses = [answer.status for answer in answers]
    # on a busy machine an answer may take long, and then counts for more than one
    assert 1 <= statuses.count(200) <= 5
    assert statuses == sorted(statuses)
    assert set(statuses) == {200, 429}
    last = answers[-1]
    assert 1 <= int(last.headers["retry-after"]) <= 50
    assert f"Try again in {last.headers['retry-after']} second" in last.text
    assert '<a href="/search?q=hazel">Try again</a>' in last.text
    hostile = slow.get('//evil.example/"><script>?q="><script>', headers=behind("198.51.100.1")).text
    assert "<script" not in hostile
    assert "evil" not in hostile
    assert "content-security-policy" in last.headers
    assert slow.get("/search?q=hazel", headers=behind("198.51.100.2")).status == 200


def test_the_api_says_it_in_json(slow):
    answers = [slow.get("/api/search?q=hazel", headers=behind("198.51.100.3")) for _ in range(6)]
    assert answers[-1].status == 429
    assert "Try again" in answers[-1].json()["error"]


def test_a_made_up_chain_does_not_help(slow):
    answers = [slow.get("/", headers=behind(f"203.0.113.{n}, 198.51.100.4")) for n in range(10)]
    assert 1 <= [answer.status for answer in answers].count(200) <= 5


def test_what_a_page_consists_of_and_its_health_do_not_count_as_searches(slow):
    for _ in range(10):
        for path in ("/healthz", "/static/cobnut.css", "/favicon.ico"):
            assert slow.get(path, headers=behind("198.51.100.5")).status in (200, 204)


def test_on_loopback_nobody_is_limited_unless_told(crawl):
    with Server(crawl) as server:
        assert {server.get("/api/search?q=hazel").status for _ in range(100)} == {200}


def test_a_proxy_that_nobody_named_is_told_of_once(crawl):
    with Server(crawl, settings=["serve.rate_per_s=100"]) as server:
        for n in range(5):
            server.get("/", headers=behind(f"198.51.100.{n}"))
        _, _, err = server.end()
    assert err.count("serve.trusted_proxies") == 1


def test_only_names_that_are_ours(crawl):
    with Server(crawl, settings=["serve.hosts=search.example.org,*.nuts.example,[::1]"]) as server:
        assert "search.example.org" in server.lines[0]
        for host in (
            "search.example.org",
            "SEARCH.example.org:8080",
            "search.example.org.",
            "a.nuts.example",
            "[::1]:1",
        ):
            assert server.get("/search?q=hazel", headers={"Host": host}).status == 200, host
        for host in ("evil.example", "nuts.example", "search.example.org.evil.example", "127.0.0.1", "", "[::2]"):
            answer = server.get("/api/search?q=hazel", headers={"Host": host})
            assert answer.status == 421, host
            assert b"hazel" not in answer.body
        assert server.get("/healthz", headers={"Host": "evil.example"}).status == 200


def test_what_is_exposed_is_said_in_one_line(crawl):
    with Server(crawl, bind="0.0.0.0") as server:
        assert server.lines[0].startswith(f"Listening on all addresses of this machine, port {server.port}: ")
        assert "no password" in server.lines[0]
        assert "10 requests a second per client" in server.lines[0]
        assert len(server.lines) == 2
    with Server(crawl, bind="0.0.0.0", settings=[f"serve.api_keys={ENTRY.text()}", "serve.rate_per_s=0"]) as server:
        assert "has a password or key" in server.lines[0]
        assert "unencrypted" in server.lines[0]
        assert "no limit per client" in server.lines[0]
    with Server(crawl) as server:
        assert len(server.lines) == 1


def test_wrong_tries_for_another_user_do_not_lock_one_out(closed):
    for n in range(12):
        closed.get("/", headers=basic("mallory", f"guess{n}") | behind("203.0.113.20"))
    assert closed.get("/", headers=basic("mallory", "guess") | behind("203.0.113.20")).status == 429
    assert closed.get("/", headers=basic("bob", PASSWORD) | behind("203.0.113.20")).status == 200


def test_a_password_that_was_right_passes_in_every_process_however_many_were_wrong(closed):
    there = behind("203.0.113.21")
    assert closed.get("/", headers=basic("bob", PASSWORD) | there).status == 200
    for n in range(TRIES + 2):
        closed.get("/", headers=basic("bob", f"guess{n}") | there)
    assert closed.get("/", headers=basic("bob", "guess") | there).status == 429
    assert {closed.get("/", headers=basic("bob", PASSWORD) | there).status for _ in range(16)} == {200}


def test_made_up_users_have_an_end(closed):
    answers = [closed.get("/", headers=basic(f"u{n}", "x") | behind("203.0.113.22")) for n in range(ALL_TRIES + 20)]
    assert [answer.status for answer in answers[:ALL_TRIES]] == [401] * ALL_TRIES
    assert 429 in {answer.status for answer in answers[ALL_TRIES:]}


def test_files_of_the_page_have_a_limit_of_their_own(slow):
    paths = ["/static/cobnut.css", "/static/none", "/favicon.ico"] * 10
    statuses = [slow.get(path, headers=behind("198.51.100.6")).status for path in paths]
    assert statuses.count(429) == len(paths) - 5 * FILES_PER_REQUEST
    assert slow.get("/search?q=hazel", headers=behind("198.51.100.6")).status == 200
    assert slow.get("/healthz", headers=behind("198.51.100.6")).status == 200
