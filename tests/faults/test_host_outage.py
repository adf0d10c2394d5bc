"""A host that is down for days: none of its pages is gone for it, none loses a try, the host is asked ever more seldom,
and once it answers everything goes on. Every day is run with what is on disk alone."""

import time

import pytest
from aged import pass_time

from cobnut.config.sections import Settings
from cobnut.crawl import steps
from cobnut.parsers.pool import ParsePool
from cobnut.records.catalogue import CRAWLDB, HOSTDB
from cobnut.testing.fakeweb import Answer
from cobnut.urls.keys import key_to_url

DAY_S = 86_400
PAGES = [f"http://a.test/{name}" for name in ("", "1", "2")]
WELL = {"/robots.txt": Answer(404), "*": "page"}


class Days:
    """Rounds of a crawl, a day apart."""

    def __init__(self, bench, parsers):
        self.bench, self.crawl, self.settings, self.parsers = bench, bench.crawl, bench.settings, parsers

    def round(self):
        """One round, as commands typed one by one do it; the reports of generate and fetch."""
        segment, made = steps.generate(self.crawl, self.settings)
        if segment is None:
            return made, None
        fetched = steps.fetch(self.crawl, self.settings, segment, pool=self.bench.pool)
        steps.parse(self.crawl, self.settings, segment, pool=self.parsers)
        steps.updatedb(self.crawl, self.settings)
        return made, fetched

    def pages(self, host="a.test"):
        rows = self.crawl.table(CRAWLDB).read().to_pylist()
        return {"/" + key_to_url(row["url_key"]).split("/", 3)[3]: row for row in rows if row["host"] == host}

    def host(self, host="a.test"):
        return next(row for row in self.crawl.table(HOSTDB).read().to_pylist() if row["host"] == host)

    def statuses(self):
        return {path: (row["status"], row["retries"]) for path, row in self.pages().items()}


@pytest.fixture(scope="module")
def parsers():
    with ParsePool(Settings(), workers=1) as pool:
        yield pool


@pytest.fixture
def days(bench, web, parsers):
    web.site("a.test", WELL).site("b.test", {"*": "other"})
    made = Days(bench, parsers)
    steps.inject(bench.crawl, bench.settings, [*PAGES, "http://b.test/"])
    made.round()
    assert set(made.statuses().values()) == {("fetched", 0)}
    return made


def refused(days, web):
    to = (f"a.test:127.0.0.1:{unused_port()}", f"*:127.0.0.1:{web.port}")
    days.settings = days.bench.with_settings(resolve=to)


def unused_port():
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def nameless(days, web):
    days.settings = days.bench.with_settings(
        resolve=(f"b.test:127.0.0.1:{web.port}",), nameservers=(f"127.0.0.1:{unused_port()}",)
    )


def all_of_it(web, answer):
    web.site("a.test", {"/robots.txt": answer, "*": answer})


def silent(days, web):
    all_of_it(web, Answer(delay_s=30))
    days.settings = days.bench.with_settings(timeout_s=0.3)


def busy(days, web):
    all_of_it(web, Answer(503, headers={"Retry-After": "7200"}))


def broken(days, web):
    all_of_it(web, Answer(500))


def pages_broken(days, web):
    web.site("a.test", {"/robots.txt": Answer(404), "*": Answer(500)})


def pages_silent(days, web):
    web.site("a.test", {"/robots.txt": Answer(404), "*": Answer(delay_s=30)})
    days.settings = days.bench.with_settings(timeout_s=0.3)


@pytest.mark.parametrize("fails", [refused, nameless, silent, busy, broken, pages_broken, pages_silent])
def test_an_outage_of_days_costs_the_pages_nothing(days, web, fails):
    before = days.host()
    fails(days, web)
    backoffs, waits = [], []
    for _ in range(4):
        pass_time(days.crawl, 1.1 * DAY_S)
        days.round()
        assert set(days.statuses().values()) <= {("fetched", 0), ("not_modified", 0)}
        host = days.host()
        backoffs.append(host["backoff_s"])
        waits.append((host["next_fetch_at"] or 0) / 1000 - time.time())
        assert host["last_error_at"] > host["last_success_at"]
    assert host["failures"] >= 4
    assert host["error_count"] > before["error_count"]
    assert backoffs == sorted(backoffs)
    assert backoffs[-1] > backoffs[0] or fails is busy
    assert min(waits[-2:]) > 60
    assert days.pages("b.test")["/"]["status"] == "not_modified"

    # well again: the rest of the pause is over, then all is as it was
    web.site("a.test", WELL)
    days.settings = days.bench.settings
    pass_time(days.crawl, 1.1 * DAY_S)
    days.round()
    assert set(days.statuses().values()) == {("not_modified", 0)}
    host = days.host()
    assert (host["failures"], host["backoff_s"]) == (0, 0)
    assert host["last_success_at"] > host["last_error_at"]
    assert host["next_fetch_at"] is None or host["next_fetch_at"] < time.time() * 1000


def test_a_resting_host_is_left_out_and_counted(days, web):
    refused(days, web)
    for _ in range(3):
        pass_time(days.crawl, 1.1 * DAY_S)
        days.round()
    steps.inject(days.crawl, days.settings, ["http://a.test/new"])
    asked = days.host()["request_count"]
    made, fetched = days.round()
    assert fetched is None
    assert made.left_out["host_backoff"] == 1
    assert made.details["host_ready_at"] == days.host()["next_fetch_at"]
    assert days.host()["request_count"] == asked
    assert days.pages()["/new"]["retries"] == 0


def test_a_host_is_asked_again_as_soon_as_its_rest_is_over(days, web):
    all_of_it(web, Answer(500))
    steps.inject(days.crawl, days.settings, ["http://a.test/new"])
    pass_time(days.crawl, 1.1 * DAY_S)
    days.round()
    host = days.host()
    assert host["next_fetch_at"] - host["last_error_at"] == 1000 * host["backoff_s"] > 0
    web.site("a.test", WELL)
    steps.inject(days.crawl, days.settings, ["http://a.test/newer"])
    assert days.round()[1] is None
    pass_time(days.crawl, host["backoff_s"])
    days.round()
    assert days.pages()["/newer"]["status"] == "fetched"
    assert days.host()["failures"] == 0


def test_a_page_that_fails_while_others_answer_is_gone_in_the_end(days, web):
    web.site("a.test", {"/": Answer(500)})
    states = []
    for _ in range(5):
        pass_time(days.crawl, 1.1 * DAY_S)
        days.round()
        states.append(days.statuses()["/"])
        assert {days.statuses()[path][0] for path in ("/1", "/2")} == {"not_modified"}
    assert states[-1][0] == "gone"
    assert days.host()["failures"] <= 1


def test_pages_that_are_due_apart_from_all_others_are_gone_in_the_end(days, web):
    """Alone they look like an outage, but the host answered others since they failed before."""
    web.site("a.test", {"/": Answer(500), "/1": Answer(500)})
    settings = days.settings
    for _ in range(6):
        pass_time(days.crawl, 1.1 * DAY_S)
        days.settings = settings
        for where in ("url <> 'http://a.test/2'", "url = 'http://a.test/2'"):
            segment, _ = steps.generate(days.crawl, settings, where=where)
            if segment is not None:
                steps.fetch(days.crawl, settings, segment, pool=days.bench.pool)
                steps.parse(days.crawl, settings, segment, pool=days.parsers)
                steps.updatedb(days.crawl, settings)
    assert [days.statuses()[path][0] for path in ("/", "/1", "/2")] == ["gone", "gone", "not_modified"]


@pytest.mark.parametrize(
    ("status", "value", "least_s", "most_s"),
    [
        (429, "600", 590, 601),
        (503, "DATE", 590, 602),
        (503, "99999999999999999999", 86_390, 86_401),
        (503, "-600", None, None),
        (301, "600", None, None),
    ],
)
def test_retry_after_holds_in_later_rounds(days, web, status, value, least_s, most_s):
    if value == "DATE":
        value = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 600))
    headers = {"Retry-After": value, **({"Location": "/1"} if status == 301 else {})}
    busy = Answer(status, headers=headers)
    web.site("a.test", {"/new": busy if least_s else [busy, "page"]})
    steps.inject(days.crawl, days.settings, ["http://a.test/new"])
    days.round()
    told = days.host()["retry_after_at"]
    if least_s is None:
        assert told is None
        return
    assert least_s <= told / 1000 - time.time() <= most_s
    assert 0 <= days.host()["next_fetch_at"] - told < 1000
    steps.inject(days.crawl, days.settings, ["http://a.test/newer"])
    asked = len(web.requests("a.test"))
    made, fetched = days.round()
    assert (fetched, made.left_out["host_backoff"]) == (None, 1)
    assert len(web.requests("a.test")) == asked
    web.site("a.test", {"/new": "page"})
    pass_time(days.crawl, most_s)
    days.round()
    assert days.pages()["/newer"]["status"] == "fetched"
    assert days.host()["retry_after_at"] == told - most_s * 1000  # told, and over
