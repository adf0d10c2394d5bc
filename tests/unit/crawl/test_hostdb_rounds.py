"""What rounds learn of hosts becomes one row a host: in whatever pieces it comes, and however often it is applied."""

import random

import pytest

from cobnut.config.sections import CrawlSettings, Settings
from cobnut.crawl import steps
from cobnut.records.catalogue import CRAWLDB, HOSTDB
from cobnut.testing.clock import VirtualClock
from cobnut.testing.tables import DAY_MS, START_MS, new_crawl, page, write_segment
from cobnut.urls.hosts import bucket_of

SETTINGS = Settings(crawl=CrawlSettings(scope="web"))
HOSTS = [f"h{n}.example" for n in range(7)]


def told(rng, at):
    """Rows about hosts as workers write them: several a host, some of robots.txt."""
    rows = []
    for host in HOSTS:
        for piece in range(rng.randint(0, 4)):
            errors = rng.randint(0, 3)
            rows.append({
                "host": host, "bucket": bucket_of(host), "seen_at": at + piece * 1000 + rng.randint(0, 1) * 500,
                "event": "traffic", "reason": rng.choice([None, "timeout", "http_503"]),
                "request_count": rng.randint(errors, 9), "success_count": rng.randint(0, 5), "error_count": errors,
                "dns_error_count": rng.randint(0, errors), "failures": rng.randint(0, 9),
                "next_fetch_at": rng.choice([None, at + 5_000]), "backoff_s": rng.choice([0, 60]),
                "body_bytes": rng.randint(0, 10**9), "elapsed_ms": rng.randint(0, 10**5),
                "last_success_at": rng.choice([None, at + piece]), "last_error_at": rng.choice([None, at + piece]),
                "retry_after_at": rng.choice([None, at + 7_000, at + 9_000]),
            })  # fmt: skip
        if rng.random() < 0.5:
            rows.append({"host": host, "bucket": bucket_of(host), "seen_at": at, "event": "robots",
                         "origin": f"http://{host}", "state": "rules", "body": b"", "crawl_delay_ms": 500})  # fmt: skip
    return rows


def hostdb_of(folder, order, parts, twice=False):
    crawl = new_crawl(folder)
    steps.inject(crawl, SETTINGS, [f"http://{host}/" for host in HOSTS], clock=VirtualClock(START_MS))
    rng = random.Random(5)
    for number in range(1, 4):
        rows = told(rng, START_MS + number * DAY_MS)
        random.Random(order).shuffle(rows)
        name = f"2026010{number}000000"
        write_segment(crawl, name, parts=parts, hosts=rows, fetchlist=[], fetched=[], parsed=[], links=[])
        clock = VirtualClock(START_MS + number * DAY_MS)
        steps.updatedb(crawl, SETTINGS, clock=clock)
        if twice:
            steps.updatedb(crawl, SETTINGS, [name], clock=VirtualClock(START_MS + 9 * DAY_MS))
    return crawl.table(HOSTDB).read().sort_by("host").to_pylist()


def test_pieces_order_and_repetition_do_not_matter(tmp_path):
    expected = hostdb_of(tmp_path / "a", 0, 1)
    assert {row["host"] for row in expected} == set(HOSTS)
    for order in (1, 2):
        assert hostdb_of(tmp_path / f"o{order}", order, 1 + order) == expected
    assert hostdb_of(tmp_path / "twice", 3, 2, twice=True) == expected
    rng = random.Random(5)
    rows = [row for number in (1, 2, 3) for row in told(rng, START_MS + number * DAY_MS) if row["event"] == "traffic"]
    for name in ("request_count", "success_count", "error_count", "dns_error_count", "body_bytes", "elapsed_ms"):
        assert sum(row[name] for row in rows) == sum(row[name] for row in expected), name
    for host in expected:
        mine = [row for row in rows if row["host"] == host["host"]]
        for name in ("last_success_at", "last_error_at"):
            assert host[name] == max((row[name] for row in mine if row[name]), default=None)


def test_latency_of_late_follows_the_rounds(tmp_path):
    crawl = new_crawl(tmp_path / "c")
    steps.inject(crawl, SETTINGS, ["http://h.example/"], clock=VirtualClock(START_MS))
    seen = []
    for number, (requests, elapsed_ms) in enumerate([(4, 401), (2, 1000), (0, 0), (1, 99)], 1):
        at = START_MS + number * DAY_MS
        row = {"host": "h.example", "bucket": bucket_of("h.example"), "seen_at": at, "event": "traffic",
               "request_count": requests, "elapsed_ms": elapsed_ms}  # fmt: skip
        write_segment(crawl, f"2026010{number}000000", hosts=[row], fetchlist=[], fetched=[], parsed=[], links=[])
        steps.updatedb(crawl, SETTINGS, clock=VirtualClock(at))
        seen.append(crawl.table(HOSTDB).read().to_pylist()[0]["recent_ms"])
    assert seen == [100, 200, 200, 174]


@pytest.mark.parametrize(
    ("rows", "before", "retries"),
    [
        # outcomes at the minutes of the round; `a` is the page in question, `before` its last visit, by http_status
        ({"a": (1, "retry", 500), "b": (2, "success", 200)}, 200, 1),  # another was answered afterwards
        ({"a": (1, "retry", 500), "b": (2, "gone", 404)}, 200, 1),
        ({"a": (2, "retry", 500), "b": (1, "success", 200)}, 200, 0),  # it was the last one: who knows
        ({"a": (2, "retry", 500), "b": (1, "success", 200)}, 500, 1),  # for the second time
        ({"a": (1, "retry", 500), "b": (2, "retry", 500)}, 200, 0),
        ({"a": (1, "retry", 502), "b": (2, "retry", 503)}, 200, 0),
        ({"a": (1, "retry", None)}, 200, 0),  # timeout
        ({"a": (1, "retry", None), "b": (2, "success", 200)}, 200, 1),
        ({"a": (1, "retry", None)}, None, 1),
        ({"a": (1, "retry", 403)}, 200, 1),  # a word of the host's about the page
    ],
)
def test_whose_fault_a_failure_is(tmp_path, rows, before, retries):
    crawl = new_crawl(tmp_path / "c")
    steps.inject(crawl, SETTINGS, ["http://h.example/a", "http://h.example/b"], clock=VirtualClock(START_MS))

    def apply(number, outcomes, traffic_at):
        at = START_MS + number * DAY_MS
        fetched = [
            page(f"http://h.example/{name}", outcome=outcome, http_status=status, fetched_at=at + minute * 60_000,
                 reason=None if outcome == "success" else f"http_{status}" if status else "timeout",
                 digest=b"d" * 16 if outcome == "success" else None)
            for name, (minute, outcome, status) in outcomes.items()
        ]  # fmt: skip
        hosts = [{"host": "h.example", "bucket": bucket_of("h.example"), "seen_at": traffic_at, "event": "traffic",
                  "last_success_at": traffic_at}]  # fmt: skip
        write_segment(crawl, f"2026010{number}000000", hosts=hosts, fetched=fetched, fetchlist=[], parsed=[], links=[])
        steps.updatedb(crawl, SETTINGS, clock=VirtualClock(at))
        found = crawl.table(CRAWLDB).read().to_pylist()
        return next(row for row in found if row["url_key"].endswith("/a"))

    first = {"a": (1, "success" if before == 200 else "retry", before)}
    old = apply(1, first, START_MS + DAY_MS + 90_000)
    assert old["retries"] == 0
    new = apply(2, rows, START_MS + 2 * DAY_MS)
    assert new["retries"] == retries
    assert new["status"] == ("unfetched" if retries else old["status"])
