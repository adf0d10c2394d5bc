"""Do the relational stages do to a crawl on disk what they promise?"""

import hashlib
import json
import time

import msgspec
import pytest

from cobnut.config.sections import (
    CrawlSettings,
    DbSettings,
    GenerateSettings,
    LinkdbSettings,
    Settings,
    StorageSettings,
)
from cobnut.crawl import steps
from cobnut.errors import DataError, InputError, MachineError
from cobnut.records import catalogue as tables
from cobnut.storage.layout import FETCHED
from cobnut.storage.parts import write_part
from cobnut.storage.tables import read_files
from cobnut.testing.clock import VirtualClock
from cobnut.testing.tables import (
    DAY_MS,
    MICRO,
    START_MS,
    by_key,
    inlink,
    key,
    link,
    new_crawl,
    page,
    rows_of,
    write_segment,
    write_table,
)
from cobnut.urls.keys import key_to_url

SETTINGS = Settings()
WEB = Settings(crawl=CrawlSettings(scope="web"))
FIRST, SECOND, THIRD = "20260101000000", "20260102000000", "20260103000000"
A, B, C, D = "http://a.example/", "http://a.example/b", "http://c.example/", "http://d.example/x"


@pytest.fixture
def crawl(tmp_path):
    return new_crawl(tmp_path / "crawl")


def inject(crawl, *lines, settings=SETTINGS, at=START_MS, **more):
    return steps.inject(crawl, settings, lines, clock=VirtualClock(at), **more)


def rows(crawl, table):
    return by_key(crawl.table(table).read())


def row(crawl, url, table=tables.CRAWLDB):
    return rows(crawl, table)[key(url)]


def generate(crawl, settings=WEB, at=START_MS, **more):
    return steps.generate(crawl, settings, clock=VirtualClock(at), **more)


def fetchlist(segment):
    return read_files(tables.FETCHLIST, segment.part_files(tables.FETCHLIST)).to_pylist()


def updatedb(crawl, settings=WEB, segments=None, at=START_MS):
    return steps.updatedb(crawl, settings, segments, clock=VirtualClock(at))


def digest(text):
    return hashlib.md5(text.encode()).digest()


# ---- inject


def test_seeds_enter_with_what_their_lines_say(crawl):
    report = inject(
        crawl, "# comment", "", f"{A}\tnutch.score=2.5\tnutch.fetchInterval=3600\tcolour=blau", "  \t ",
        f"{C}\tnutch.fetchInterval.fixed=60\tnutch.fetchInterval=7", "HTTP://D.example:80/x#y",
    )  # fmt: skip
    assert report.counts == {"lines": 3, "urls": 3, "injected": 3, "merged": 0, "rejected": 0, "crawldb": 3}
    assert row(crawl, A) == {
        **page(A), "url": None, "status": "unfetched", "reason": None, "due_at": START_MS, "fetched_at": None,
        "modified_at": None, "retries": 0, "interval_s": 3600, "fixed_interval_s": None, "score": 2_500_000,
        "signature": None, "outlink_count": None, "depth": 0,
    }  # fmt: skip
    assert row(crawl, A, tables.PAGES)["metadata"] == [("colour", "blau")]
    assert row(crawl, A, tables.PAGES)["discovered_via"] == "seed"
    fixed = row(crawl, C)
    assert (fixed["interval_s"], fixed["fixed_interval_s"], fixed["score"]) == (60, 60, MICRO)
    assert row(crawl, C, tables.PAGES)["metadata"] is None
    assert sorted(s["url"] for s in rows(crawl, tables.SEEDS).values()) == [A, C, D]
    assert row(crawl, D)["url"] is None


def test_what_is_no_url_or_refused_by_a_filter_is_counted_and_listed(crawl):
    report = inject(crawl, A, "http://", "ftp://a.example/", "http://a.example/x.png", "nonsense", "mailto:a@b.example")
    assert report.counts["injected"] == 1
    assert report.counts["rejected"] == 5 == sum(report.left_out.values())
    listed = {r["line"]: r["rule"] for r in report.details["rejected"]}
    assert listed.keys() == {2, 3, 4, 5, 6}
    assert listed[4] == "suffix"
    assert set(rows(crawl, tables.CRAWLDB)) == {key(A)} == set(rows(crawl, tables.SEEDS))


@pytest.mark.parametrize(
    ("pair", "column", "plain"),
    [
        ("nutch.score=viel", "score", MICRO),
        ("nutch.score=nan", "score", MICRO),
        ("nutch.score=1e99", "score", MICRO),
        ("nutch.score=", "score", MICRO),
        ("nutch.fetchInterval=1.5", "interval_s", 86_400),
        ("nutch.fetchInterval=-1", "interval_s", 86_400),
        ("nutch.fetchInterval=inf", "interval_s", 86_400),
        ("nutch.fetchInterval=9" + "9" * 30, "interval_s", 86_400),
        ("nutch.fetchInterval.fixed=x", "fixed_interval_s", None),
    ],
)
def test_bad_numbers_are_as_if_not_there_and_noted(crawl, pair, column, plain):
    report = inject(crawl, f"{A}\t{pair}")
    assert row(crawl, A)[column] == plain
    (note,) = report.details["notes"]
    assert note["line"] == 1
    assert pair.split("=")[0] in note["note"]
    assert not row(crawl, A, tables.PAGES)["metadata"]


@pytest.mark.parametrize(
    ("lines", "score", "metadata"),
    [
        ((f"{A}\tnutch.score=3\tn=1", f"{A}\tnutch.score=2\tn=2"), 3, "1"),
        ((f"{A}\tnutch.score=2\tn=1", f"{A}\tnutch.score=3\tn=2"), 3, "2"),
        ((f"{A}\tn=1", f"{A}\tn=2", "http://A.example\tn=3"), 1, "3"),
    ],
)
def test_one_url_twice_the_higher_score_then_the_later_line(crawl, lines, score, metadata):
    report = inject(crawl, *lines)
    assert report.counts["urls"] == report.counts["injected"] == 1
    assert row(crawl, A)["score"] == score * MICRO
    assert row(crawl, A, tables.PAGES)["metadata"] == [("n", metadata)]
    assert len(rows(crawl, tables.SEEDS)) == 1


@pytest.fixture
def known(crawl):
    """A crawl that knows one page well."""
    inject(crawl, f"{A}\tnutch.score=2\told=1\tboth=1")
    crawldb = {**row(crawl, A), "status": "fetched", "fetched_at": 5, "signature": b"s" * 16, "retries": 1, "depth": 3}
    pages = {**row(crawl, A, tables.PAGES), "etag": '"e"', "discovered_via": "link", "discovered_at": 3}
    write_table(crawl, tables.CRAWLDB, [crawldb])
    write_table(crawl, tables.PAGES, [pages])
    return crawl, crawldb, pages


SEED = f"{A}\tnutch.score=7\tnutch.fetchInterval=60\tnew=2\tboth=2"


def test_an_existing_row_wins(known):
    crawl, crawldb, pages = known
    report = inject(crawl, SEED, C, at=START_MS + 1)
    assert (report.counts["injected"], report.counts["merged"]) == (1, 1)
    assert row(crawl, A) == {**crawldb, "depth": 0}, "a seed has depth 0, whatever else stays"
    assert row(crawl, A, tables.PAGES) == pages


def test_overwrite_begins_anew(known):
    crawl, _, pages = known
    report = inject(crawl, SEED, at=START_MS + 1, overwrite=True)
    assert (report.counts["injected"], report.counts["merged"]) == (0, 1)
    new = row(crawl, A)
    assert (new["status"], new["fetched_at"], new["signature"], new["retries"]) == ("unfetched", None, None, 0)
    assert (new["score"], new["interval_s"], new["due_at"]) == (7 * MICRO, 60, START_MS + 1)
    told = row(crawl, A, tables.PAGES)
    assert told["etag"] is None
    assert told["metadata"] == [("new", "2"), ("both", "2")]
    assert (told["discovered_via"], told["discovered_at"]) == ("link", pages["discovered_at"])


def test_overwrite_keeps_what_is_stored_of_the_page(known):
    """What was shown stays so until the page is fetched again; what was taken back stays hidden."""
    crawl, _, pages = known
    write_table(crawl, tables.PAGES, [{**pages, "segment": FIRST, "warc_file": "w", "warc_offset": 7, "checked_at": 5}])
    inject(crawl, SEED, at=START_MS + 1, overwrite=True)
    told = row(crawl, A, tables.PAGES)
    assert (told["segment"], told["warc_file"], told["warc_offset"], told["checked_at"]) == (FIRST, "w", 7, 5)
    assert (told["etag"], told["last_modified"]) == (None, None)


def test_update_renews_what_the_seed_says(known):
    crawl, crawldb, _ = known
    inject(crawl, SEED, update=True)
    assert row(crawl, A) == {**crawldb, "depth": 0, "score": 7 * MICRO, "interval_s": 60}
    assert dict(row(crawl, A, tables.PAGES)["metadata"]) == {"old": "1", "both": "2", "new": "2"}
    inject(crawl, A, update=True)
    assert row(crawl, A)["score"] == 7 * MICRO, "a seed without a score renews none"


def test_filter_existing_drops_what_the_filters_refuse_now(crawl):
    old = [{**page(u), "url": None} for u in (A, "http://a.example/x.png", "http://a.example/y.zip")]
    write_table(crawl, tables.CRAWLDB, old)
    write_table(crawl, tables.PAGES, [{k: v for k, v in r.items() if k != "url"} for r in old])
    inject(crawl, C)
    assert len(rows(crawl, tables.CRAWLDB)) == 4
    report = inject(crawl, D, A, filter_existing=True)
    assert (report.counts["injected"], report.counts["merged"], report.counts["crawldb"]) == (1, 1, 3)
    assert set(rows(crawl, tables.CRAWLDB)) == {key(A), key(C), key(D)} == set(rows(crawl, tables.PAGES))


def test_a_seed_is_in_scope_by_being_one_and_order_does_not_matter(crawl, tmp_path):
    lines = [f"http://h{i % 9}.example/{i % 5}\tnutch.score={i % 3}\tn={i}" for i in range(60)]
    inject(crawl, *lines)
    other = new_crawl(tmp_path / "other")
    inject(other, *lines, settings=Settings(storage=StorageSettings(partition_rows=4)))
    assert other.table(tables.CRAWLDB).manifest()["partitions"] == 16
    for table in (tables.CRAWLDB, tables.PAGES, tables.SEEDS):
        assert rows(crawl, table) == rows(other, table)


def test_many_injections_make_one_table(crawl):
    small = Settings(storage=StorageSettings(partition_rows=4))
    for start in range(0, 40, 10):
        inject(crawl, *(f"http://h{i}.example/" for i in range(start, start + 13)), settings=small)
    assert len(rows(crawl, tables.CRAWLDB)) == len(rows(crawl, tables.PAGES)) == len(rows(crawl, tables.SEEDS)) == 43


# ---- generate


def crawldb_of(crawl, **urls):
    """Rows of the crawldb: name to (url, what it says)."""
    write_table(crawl, tables.CRAWLDB, [{**page(u), "url": None, **more} for u, more in urls.values()])


def test_best_score_first_then_depth_then_key(crawl):
    crawldb_of(
        crawl,
        a=(A, {"score": 5, "depth": 2}),
        b=(B, {"score": 5, "depth": 1}),
        c=(C, {"score": 9, "depth": 9}),
        d=(D, {"score": 5, "depth": 1}),
    )
    segment, report = generate(crawl, num_fetchers=1)
    assert [r["url"] for r in fetchlist(segment)] == [C, B, D, A]
    assert report.counts == {"selected": 4, "hosts": 3}
    assert segment.state() == "generated"
    assert all(r["fetch"] and r["part"] == 0 and not r["fetched_before"] for r in fetchlist(segment))


def test_limits(crawl):
    inject(crawl, *(f"http://h{h}.example/{i}\tnutch.score={h + i / 10}" for h in range(4) for i in range(5)))
    segment, _ = generate(crawl, top_n=3)
    assert sorted(r["url"] for r in fetchlist(segment)) == [f"http://h3.example/{i}" for i in (2, 3, 4)]
    segment, _ = generate(crawl, max_per_host=2, at=START_MS + 1000)
    by_host = {}
    for r in fetchlist(segment):
        by_host.setdefault(r["host"], set()).add(r["url"][-1])
    assert by_host == {f"h{h}.example": {"3", "4"} for h in range(3)} | {"h3.example": {"0", "1"}}
    assert generate(crawl, top_n=0, at=START_MS + 2000)[0] is None


def test_limits_hold_over_all_partitions(crawl):
    small = msgspec.structs.replace(WEB, storage=StorageSettings(partition_rows=5))
    inject(
        crawl,
        *(f"http://h{h}.example/{i}\tnutch.score={h + i / 10}" for h in range(9) for i in range(5)),
        settings=small,
    )
    assert crawl.table(tables.CRAWLDB).manifest()["partitions"] > 4
    segment, _ = generate(crawl, small, top_n=8, max_per_host=3, num_fetchers=1)
    best = [f"http://h{h}.example/{i}" for h in (8, 7, 6) for i in (4, 3, 2)][:8]
    assert [r["url"] for r in fetchlist(segment)] == best


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
def test_a_host_is_in_exactly_one_part_and_parts_are_even(crawl, parts):
    inject(crawl, *(f"http://h{h}.example/{i}" for h in range(12) for i in range(1 + h % 4)))
    segment, _ = generate(crawl, num_fetchers=parts)
    files = segment.part_files(tables.FETCHLIST)
    assert [f.name for f in files] == [f"part-{n:05d}.parquet" for n in range(parts)]
    found = [read_files(tables.FETCHLIST, [f]).to_pylist() for f in files]
    for number, part in enumerate(found):
        assert {r["part"] for r in part} <= {number}
        assert [r["score"] for r in part] == sorted((r["score"] for r in part), reverse=True)
    hosts = [{r["host"] for r in part} for part in found]
    assert sum(len(h) for h in hosts) == len(set().union(*hosts)) == 12
    sizes = [len(part) for part in found]
    assert sum(sizes) == 30
    assert max(sizes) - min(sizes) <= 4


def test_what_is_left_out_has_a_reason(crawl):
    settings = Settings(crawl=CrawlSettings(scope="host", depth=2), generate=GenerateSettings(min_score=0.5))
    inject(crawl, A)
    later, soon = START_MS + DAY_MS, START_MS + 5_000
    crawldb_of(
        crawl,
        a=(A, {}),
        not_due=(B, {"due_at": later}),
        low=("http://a.example/low", {"score": MICRO // 2 - 1}),
        deep=("http://a.example/deep", {"depth": 3}),
        out=(C, {}),
        resting=("http://d.example/", {}),
        image=("http://a.example/x.png", {}),
    )
    write_table(crawl, tables.HOSTDB, [
        {"host": "d.example", "bucket": page(D)["bucket"], "next_fetch_at": soon},
        {"host": "a.example", "bucket": page(A)["bucket"], "next_fetch_at": START_MS},
    ])  # fmt: skip
    segment, report = generate(crawl, settings)
    assert [r["url"] for r in fetchlist(segment)] == [A]
    assert report.left_out == {
        "not_due": 1, "min_score": 1, "max_depth": 1, "filtered_by:scope": 1, "filtered_by:suffix": 1,
        "host_backoff": 1,
    }  # fmt: skip
    assert report.details["next_due_at"] == report.details["host_ready_at"] == soon
    assert generate(crawl, settings, at=START_MS + 1000)[1].left_out["in_segment"] == 1


def test_nothing_due_makes_no_segment_and_says_when(crawl):
    crawldb_of(crawl, a=(A, {"due_at": START_MS + 1}), b=(B, {"due_at": START_MS + 9}))
    segment, report = generate(crawl)
    assert segment is None
    assert crawl.segments() == []
    assert report.details["next_due_at"] == START_MS + 1
    assert generate(new_crawl(crawl.path.parent / "empty"))[0] is None


def test_segments_that_wait_are_left_out_until_they_are_applied(crawl):
    inject(crawl, A, C)
    first, _ = generate(crawl, top_n=1)
    second, _ = generate(crawl, at=START_MS + 1000)
    assert {r["url"] for r in fetchlist(first)} | {r["url"] for r in fetchlist(second)} == {A, C}
    assert generate(crawl, at=START_MS + 2000)[0] is None
    for segment in (first, second):
        segment.set_state("parsed")
    updatedb(crawl, at=START_MS + 3000)
    third, _ = generate(crawl, at=START_MS + 4000)
    assert {r["url"] for r in fetchlist(third)} == {A, C}, "what a round did not reach is in the next fetchlist"


def test_a_second_segment_in_the_same_second_waits_for_the_next(crawl):
    inject(crawl, A, C)
    clock = VirtualClock(START_MS)
    names = [steps.generate(crawl, WEB, top_n=1, clock=clock)[0].name for _ in range(2)]
    assert names == ["20260101000000", "20260101000001"]
    assert sum(clock.slept) == pytest.approx(1.0)
    assert time.strftime("%Y%m%d%H%M%S", time.gmtime(START_MS / 1000)) == names[0]


@pytest.mark.parametrize("back_s", [1, 90])
def test_a_clock_set_back_a_little_is_waited_for(crawl, back_s):
    inject(crawl, A, C)
    generate(crawl, top_n=1, at=START_MS + 3_600_000)
    clock = VirtualClock(START_MS + 3_600_000 - back_s * 1000)
    segment, _ = steps.generate(crawl, WEB, clock=clock)
    assert segment.name == "20260101010001"
    assert sum(clock.slept) == pytest.approx(back_s + 1, abs=0.1)


def test_a_clock_that_stands_before_the_newest_segment_is_refused(crawl):
    inject(crawl, A, C)
    generate(crawl, top_n=1, at=START_MS + DAY_MS)
    with pytest.raises(DataError, match="the clock stands before the newest segment"):
        generate(crawl)
    assert len(crawl.segments()) == len(list(crawl.segments_path.iterdir())) == 1


def test_a_fetchlist_carries_what_a_conditional_request_needs(crawl):
    inject(crawl, f"{A}\tcolour=blau")
    crawldb_of(crawl, a=(A, {"fetched_at": 5, "signature": b"s" * 16, "url": "http://a.example/#"}))
    write_table(crawl, tables.PAGES, [{**row(crawl, A, tables.PAGES), "etag": '"e"', "last_modified": "then"}])
    (told,) = fetchlist(generate(crawl)[0])
    assert (told["etag"], told["last_modified"], told["signature"]) == ('"e"', "then", b"s" * 16)
    assert told["fetched_before"]
    assert told["metadata"] == [("colour", "blau")]
    assert told["url"] == "http://a.example/#", "requested as found"


# ---- updatedb


def success(url, text="text", **more):
    return page(url, outcome="success", digest=digest(text), **more)


def parsed(url, text="text", **more):
    return page(url, signature=digest(text), **more)


def test_one_round(crawl):
    inject(crawl, f"{A}\tnutch.score=4", C)
    write_segment(
        crawl, FIRST, fetchlist=[page(A), page(C)],
        fetched=[success(A, score=4 * MICRO, warc_file="w", warc_offset=7, etag='"e"', http_status=200),
                 page(C, outcome="gone", reason="http_410", http_status=410)],
        parsed=[parsed(A, outlink_count=2, media_type="text/html")],
        links=[link(A, B, 0, contribution=2 * MICRO), link(A, D, 1, contribution=2 * MICRO),
               link(A, C, 2, nofollow=True, contribution=0), link(A, "http://a.example/x.png", 3)],
        hosts=[{"host": "a.example", "bucket": page(A)["bucket"], "seen_at": START_MS, "request_count": 3,
                "body_bytes": 9},
               {"host": "a.example", "bucket": page(A)["bucket"], "seen_at": START_MS, "event": "robots",
                "origin": "http://a.example", "state": "rules", "body": b"x", "crawl_delay_ms": 500}],
    )  # fmt: skip
    report = updatedb(crawl, at=START_MS + 5)
    assert report.segments == [FIRST]
    assert report.counts == {"new": 2, "crawldb": 4}
    assert report.left_out == {"filtered_by:suffix": 1}
    found = rows(crawl, tables.CRAWLDB)
    assert set(found) == {key(u) for u in (A, B, C, D)}
    a, b, c = (found[key(u)] for u in (A, B, C))
    assert (a["status"], a["signature"], a["outlink_count"], a["score"]) == ("fetched", digest("text"), 2, 4 * MICRO)
    assert (b["status"], b["depth"], b["score"], b["due_at"]) == ("unfetched", 1, 2 * MICRO, START_MS + 5)
    assert (c["status"], c["reason"], c["score"]) == ("gone", "http_410", MICRO)
    pages = rows(crawl, tables.PAGES)
    assert (pages[key(B)]["discovered_from"], pages[key(B)]["discovered_via"]) == (key(A), "link")
    assert (pages[key(A)]["discovered_from"], pages[key(A)]["discovered_via"]) == (None, "seed")
    stored = pages[key(A)]
    assert (stored["segment"], stored["warc_file"], stored["warc_offset"], stored["etag"]) == (FIRST, "w", 7, '"e"')
    assert (stored["http_status"], pages[key(C)]["http_status"]) == (200, 410)
    host = by_key(crawl.table(tables.HOSTDB).read(), "host")["a.example"]
    assert (host["request_count"], host["body_bytes"], host["crawl_delay_ms"]) == (3, 9, 500)
    assert by_key(crawl.table(tables.ROBOTS).read(), "origin")["http://a.example"]["body"] == b"x"


def test_a_segment_is_applied_once(crawl):
    inject(crawl, A)
    segment = write_segment(crawl, FIRST, fetchlist=[page(A)], fetched=[success(A)], parsed=[parsed(A)],
                            links=[link(A, B, contribution=5)])  # fmt: skip
    updatedb(crawl)
    before = {t: (crawl.table(t).manifest(), rows(crawl, t)) for t in (tables.CRAWLDB, tables.PAGES)}
    assert steps.applied_segments(crawl) == [FIRST]
    assert updatedb(crawl, at=START_MS + DAY_MS).segments == []
    report = updatedb(crawl, segments=[FIRST], at=START_MS + DAY_MS)
    assert report.segments == []
    assert report.messages == [f"segment {FIRST} is in the crawldb already: nothing to do"]
    assert {t: (crawl.table(t).manifest(), rows(crawl, t)) for t in before} == before
    write_part(segment.folder(tables.LINKS), tables.LINKS, "part-99999", [rows_of(tables.LINKS, [link(A, C, 1)])])
    assert "has changed since" in updatedb(crawl, segments=[FIRST]).messages[1]


@pytest.mark.parametrize(
    ("outcome", "reason", "stands"),
    [("gone", "http_404", False), ("gone", "http_410", False), ("denied", "robots_denied", False),
     ("redirect_perm", None, False), ("redirect_temp", None, False),
     ("retry", "timeout", True), ("retry", "http_503", True), ("not_modified", None, True)],
)  # fmt: skip
def test_a_full_answer_stands_until_the_page_takes_it_back(crawl, outcome, reason, stands):
    """Validators are kept with it: a page that comes back is asked for in full."""
    inject(crawl, A)
    write_segment(crawl, FIRST, fetchlist=[page(A)], fetched=[success(A, etag='"e"', warc_file="w", warc_offset=7)],
                  parsed=[parsed(A)])  # fmt: skip
    updatedb(crawl)
    write_segment(crawl, SECOND, fetchlist=[page(A)], fetched=[
        page(A, outcome=outcome, reason=reason, fetched_at=START_MS + DAY_MS,
             redirect_key=key(B) if outcome.startswith("redirect") else None)
    ])  # fmt: skip
    updatedb(crawl)
    told = row(crawl, A, tables.PAGES)
    full = (FIRST, "w", 7, '"e"') if stands else (None, None, None, None)
    assert (told["segment"], told["warc_file"], told["warc_offset"], told["etag"]) == full
    assert told["checked_at"] == START_MS + DAY_MS
    assert (told["redirect_key"] is not None) == outcome.startswith("redirect")


def checked(crawl, *ages_s):
    """Pages http://a.example/0, /1 … tried so long before START_MS; their rows of crawldb."""
    urls = [f"{A}{n}" for n in range(len(ages_s))]
    inject(crawl, *urls)
    write_table(crawl, tables.PAGES, [
        {**r, "checked_at": None if age is None else START_MS - age * 1000}
        for r, age in zip((row(crawl, u, tables.PAGES) for u in urls), ages_s, strict=True)
    ])  # fmt: skip
    return urls


def due(crawl, urls, *in_s):
    write_table(crawl, tables.CRAWLDB, [
        {**row(crawl, u), "due_at": START_MS + s * 1000, "interval_s": 86_400} for u, s in zip(urls, in_s, strict=True)
    ])  # fmt: skip


def listed(crawl, **more):
    segment, _ = generate(crawl, **more)
    return [] if segment is None else [r["url"].rpartition("/")[2] for r in fetchlist(segment)]


def test_a_run_takes_what_is_nearly_due_once(crawl):
    """A tenth of the interval; a step by itself takes what is due and no more."""
    urls = checked(crawl, 90_000, 90_000, 90_000, -1, None)
    due(crawl, urls, 0, 8_640, 8_641, 8_640, 8_640)
    assert sorted(listed(crawl, begun_ms=START_MS)) == ["0", "1"]


def test_a_step_by_itself_takes_what_is_due(crawl):
    urls = checked(crawl, 90_000, 90_000, 90_000)
    due(crawl, urls, 0, 8_640, -5)
    assert sorted(listed(crawl)) == ["0", "2"]


def test_refresh_takes_all_that_was_not_tried_since_the_run_began(crawl):
    urls = checked(crawl, 90_000, 1, 0, -1, 90_000)
    due(crawl, urls, 86_400, 86_400, 86_400, 86_400, 10**9)
    assert sorted(listed(crawl, begun_ms=START_MS, refresh=True)) == ["0", "1", "4"]


def test_refresh_obeys_the_pause_a_host_asked_for(crawl):
    urls = checked(crawl, 90_000)
    due(crawl, urls, 86_400)
    write_table(crawl, tables.HOSTDB, [
        {"host": "a.example", "bucket": page(A)["bucket"], "next_fetch_at": START_MS + 5_000}
    ])  # fmt: skip
    segment, report = generate(crawl, begun_ms=START_MS, refresh=True)
    assert segment is None
    assert report.details["host_ready_at"] == START_MS + 5_000


def test_segments_are_applied_in_name_order(crawl):
    inject(crawl, A)
    for name, text in ((SECOND, "two"), (FIRST, "one")):
        write_segment(crawl, name, fetchlist=[page(A)], fetched=[success(A, text)], parsed=[parsed(A, text)])
    assert updatedb(crawl, segments=[SECOND, FIRST, FIRST]).segments == [FIRST, SECOND]
    assert row(crawl, A)["signature"] == digest("two")
    assert row(crawl, A, tables.PAGES)["segment"] == SECOND


def test_an_older_segment_is_refused_with_the_remedy(crawl):
    inject(crawl, A)
    write_segment(crawl, SECOND, fetched=[success(A)], parsed=[parsed(A)])
    updatedb(crawl)
    write_segment(crawl, FIRST, fetched=[success(A)], parsed=[parsed(A)])
    for segments in (None, [FIRST]):
        with pytest.raises(DataError, match=f"segment {FIRST} is older than {SECOND}.*remove it") as caught:
            updatedb(crawl, segments=segments)
        assert caught.value.exit_code == 3
    assert steps.applied_segments(crawl) == [SECOND]


@pytest.mark.parametrize(("state", "step"), [("generated", "fetch"), ("fetched", "parse")])
def test_what_is_not_parsed_is_refused_and_bars_the_later_ones(crawl, state, step):
    inject(crawl, A)
    write_segment(crawl, FIRST, state=state, fetched=[success(A)])
    write_segment(crawl, SECOND, fetched=[success(A)], parsed=[parsed(A)])
    with pytest.raises(InputError, match=f"segment {FIRST} is only {state}"):
        updatedb(crawl, segments=[FIRST])
    report = updatedb(crawl)
    assert report.segments == []
    (message,) = report.messages
    assert message.startswith(f"segment {FIRST} is only {state}: run `cobnut {step} {crawl.path}`")
    assert "remove it" in message
    with pytest.raises(InputError, match=r"no segment is called 'nowhere'.*20260102000000"):
        updatedb(crawl, segments=["nowhere"])


def test_a_page_fetched_again_passes_no_score_to_known_pages(crawl):
    inject(crawl, f"{A}\tnutch.score=4")
    links = [link(A, B, 0, contribution=2 * MICRO), link(A, C, 1, contribution=2 * MICRO)]
    write_segment(crawl, FIRST, fetchlist=[page(A)], fetched=[success(A)], parsed=[parsed(A)], links=links[:1])
    updatedb(crawl)
    write_segment(
        crawl, SECOND, fetchlist=[page(A, fetched_before=True)], fetched=[success(A)], parsed=[parsed(A)], links=links
    )
    updatedb(crawl)
    assert row(crawl, B)["score"] == 2 * MICRO, "passed on once"
    assert row(crawl, C)["score"] == 2 * MICRO, "new: has its share"


def test_redirects_of_a_page_fetched_again_pass_no_score_on_again(crawl):
    inject(crawl, f"{A}\tnutch.score=4")
    hops = [page(A, outcome="redirect_perm", redirect_key=key(B)),
            page(B, outcome="redirect_temp", redirect_key=key(C), hop_from=key(A)),
            success(C, hop_from=key(B))]  # fmt: skip
    links = [link(A, B, kind="redirect", contribution=4 * MICRO), link(B, C, kind="redirect", contribution=4 * MICRO),
             link(C, D, contribution=MICRO)]  # fmt: skip
    for round_, at in enumerate((START_MS, START_MS + 2 * DAY_MS)):
        segment, _ = generate(crawl, at=at, top_n=1)
        (told,) = fetchlist(segment)
        assert (told["url"], told["fetched_before"]) == (A, bool(round_))
        write_segment(crawl, segment.name, fetched=hops, parsed=[parsed(C)], links=links)
        updatedb(crawl, at=at)
        scores = {u: row(crawl, u)["score"] for u in (A, B, C, D)}
        assert scores == {A: 4 * MICRO, B: 4 * MICRO, C: 4 * MICRO, D: MICRO}, f"round {round_}"
    found = rows(crawl, tables.CRAWLDB)
    assert [found[key(u)]["status"] for u in (A, B, C)] == ["redirect_perm", "redirect_temp", "not_modified"]
    assert [found[key(u)]["depth"] for u in (A, B, C, D)] == [0, 0, 0, 1], "a hop costs no depth"
    assert row(crawl, B, tables.PAGES)["discovered_via"] == "redirect"
    assert row(crawl, B, tables.PAGES)["discovered_from"] == key(A)
    assert row(crawl, A, tables.PAGES)["redirect_key"] == key(B)


def test_a_failure_does_not_take_back_where_a_page_redirects_to(crawl):
    inject(crawl, A)
    write_segment(crawl, FIRST, fetchlist=[page(A)], fetched=[page(A, outcome="redirect_perm", redirect_key=key(C))])
    write_segment(crawl, SECOND, fetchlist=[page(A)], fetched=[page(A, outcome="retry", reason="timeout")])
    updatedb(crawl)
    assert row(crawl, A, tables.PAGES)["redirect_key"] == key(C), "the scope hangs on it"
    write_segment(crawl, THIRD, fetchlist=[page(A)], fetched=[success(A)], parsed=[parsed(A)])
    updatedb(crawl)
    assert row(crawl, A, tables.PAGES)["redirect_key"] is None


def test_a_page_named_by_several_is_as_near_as_the_nearest(crawl):
    inject(crawl, A)
    write_segment(
        crawl, FIRST, fetchlist=[page(A)], fetched=[success(A)], parsed=[parsed(A)],
        links=[link(C, D, 0, from_depth=4, contribution=1), link(B, D, 5, from_depth=1, contribution=2),
               link(A, D, 3, from_depth=1, contribution=4), link(A, D, 9, from_depth=1, contribution=8)],
    )  # fmt: skip
    updatedb(crawl)
    assert (row(crawl, D)["depth"], row(crawl, D)["score"]) == (2, 15)
    assert row(crawl, D, tables.PAGES)["discovered_from"] == key(A), "of equally near ones the first by key"


def test_depth_and_filters_keep_new_pages_out_and_known_ones_in(crawl):
    settings = Settings(crawl=CrawlSettings(scope="host", depth=1))
    inject(crawl, A)
    crawldb_of(crawl, a=(A, {}), known=(C, {"depth": 9, "score": 1}))
    deep = "http://a.example/deep"
    write_segment(
        crawl, FIRST, fetchlist=[page(A)], fetched=[success(A)], parsed=[parsed(A)],
        links=[link(A, B, 0, contribution=1), link(A, D, 1, contribution=1), link(A, C, 2, contribution=1),
               link(B, deep, 0, from_depth=1, contribution=1)],
    )  # fmt: skip
    report = updatedb(crawl, settings)
    assert report.left_out == {"filtered_by:scope": 1}
    assert set(rows(crawl, tables.CRAWLDB)) == {key(u) for u in (A, B, C, deep)}, "depth holds back in generate"
    assert generate(crawl, settings)[1].left_out["max_depth"] == 1
    assert (row(crawl, C)["score"], row(crawl, C)["depth"]) == (2, 1), "known: only the score and the depth"
    assert set(rows(crawl, tables.PAGES)) >= {key(A), key(B)}
    assert key(D) not in rows(crawl, tables.PAGES)


def test_a_page_answered_twice_in_one_round_has_one_row(crawl):
    inject(crawl, A)
    write_segment(
        crawl, FIRST, fetchlist=[page(A)], parts=2,
        fetched=[page(A, outcome="retry", reason="timeout", fetched_at=START_MS), success(A, fetched_at=START_MS + 1),
                 success(A, fetched_at=START_MS + 1)],
        parsed=[parsed(A, fetched_at=START_MS + 1), parsed(A, "older", fetched_at=START_MS)],
    )  # fmt: skip
    updatedb(crawl)
    assert (row(crawl, A)["status"], row(crawl, A)["signature"]) == ("fetched", digest("text"))


def test_the_default_schedule_keeps_the_interval(crawl):
    for schedule, expected in (("default", [600, 600]), ("adaptive", [3600, 3600])):
        at = new_crawl(crawl.path.parent / schedule)
        settings = Settings(db=DbSettings(schedule=schedule))
        inject(at, f"{A}\tnutch.fetchInterval=600")
        intervals = []
        for name, text in ((FIRST, "one"), (SECOND, "two")):
            write_segment(at, name, fetchlist=[page(A)], fetched=[success(A, text)], parsed=[parsed(A, text)])
            updatedb(at, settings)
            intervals.append(row(at, A)["interval_s"])
        assert intervals == expected


def test_hosts_add_up_and_the_newest_robots_txt_stays(crawl):
    place = {"host": "a.example", "bucket": page(A)["bucket"]}
    robots = {**place, "event": "robots", "origin": "http://a.example", "state": "rules"}
    inject(crawl, A)
    write_segment(crawl, FIRST, hosts=[
        {**place, "seen_at": 5, "request_count": 2, "error_count": 1, "failures": 1, "next_fetch_at": 9,
         "reason": "timeout"},
        {**place, "seen_at": 9, "request_count": 3, "failures": 0},
        {**robots, "seen_at": 5, "body": b"old", "crawl_delay_ms": 5}, {**robots, "seen_at": 9, "body": b"new"},
    ])  # fmt: skip
    only_robots = {**robots, "host": "d.example", "bucket": page(D)["bucket"], "origin": "http://d.example"}
    write_segment(
        crawl, SECOND, hosts=[{**only_robots, "state": "disallow_all"}, {**place, "seen_at": 7, "request_count": 1}]
    )
    updatedb(crawl)
    hosts = by_key(crawl.table(tables.HOSTDB).read(), "host")
    host = hosts["a.example"]
    assert (host["request_count"], host["error_count"], host["failures"], host["next_fetch_at"]) == (6, 1, 0, None)
    assert host["last_error"] is None
    assert hosts["d.example"]["updated_at"] == START_MS
    assert by_key(crawl.table(tables.ROBOTS).read(), "origin")["http://a.example"]["body"] == b"new"


def test_partitions_change_nothing(crawl, tmp_path):
    """Inject, update and invert in one piece, and in several: the same rows."""
    urls = [f"http://h{i % 23}.example/{i}" for i in range(90)]
    links = [link(urls[i], urls[(i * 7 + n) % 90], n, contribution=i, anchor=f"w{i}", from_score=i % 5)
             for i in range(45) for n in range(3)]  # fmt: skip
    found = []
    for name, partition_rows in (("one", 10**6), ("several", 25)):
        there = new_crawl(tmp_path / name)
        settings = msgspec.structs.replace(WEB, storage=StorageSettings(partition_rows=partition_rows))
        inject(there, *urls[:60], settings=settings)
        write_segment(there, FIRST, parts=3, fetchlist=[page(u) for u in urls[:45]],
                      fetched=[success(u) for u in urls[:45]],
                      parsed=[parsed(u) for u in urls[:45]], links=links)  # fmt: skip
        updatedb(there, settings)
        steps.invertlinks(there, settings)
        manifests = [there.table(t).manifest()["partitions"] for t in (tables.CRAWLDB, tables.PAGES, tables.LINKDB)]
        assert (max(manifests) == 1) if name == "one" else (min(manifests) >= 4)
        linkdb = {(r["to_key"], r["from_key"]): r for r in there.table(tables.LINKDB).read().to_pylist()}
        found.append([rows(there, tables.CRAWLDB), rows(there, tables.PAGES), rows(there, tables.SEEDS), linkdb])
    assert found[0] == found[1]
    assert set(found[0][0]) == {key(u) for u in urls[:60]} | {x["to_key"] for x in links}
    assert len(found[0][3]) == len({(x["to_key"], x["from_key"]) for x in links})


def test_a_run_does_not_write_on_top_of_what_it_has_not_read(crawl):
    inject(crawl, A)
    write_segment(crawl, FIRST, fetched=[success(A)], parsed=[parsed(A)])

    class FasterProcess(VirtualClock):
        """Another inject is done between the reading of the manifest and the taking of the lock."""

        def now_ms(self):
            inject(crawl, C)
            return super().now_ms()

    with pytest.raises(MachineError, match=r"another process has written .* meanwhile.*run the command again"):
        steps.updatedb(crawl, WEB, clock=FasterProcess())
    assert set(rows(crawl, tables.CRAWLDB)) == {key(A), key(C)}
    assert updatedb(crawl).segments == [FIRST]


# ---- invertlinks


def invert(crawl, **more):
    return steps.invertlinks(crawl, msgspec.structs.replace(WEB, linkdb=LinkdbSettings(**more)))


def linkdb(crawl):
    return {(r["to_key"], r["from_key"]): r for r in crawl.table(tables.LINKDB).read().to_pylist()}


def round_of(crawl, name, links, pages=None, **more):
    keys = dict.fromkeys(x["from_key"] for x in links)
    urls = pages if pages is not None else [key_to_url(k) for k in keys]
    write_segment(crawl, name, fetchlist=[page(u) for u in urls], fetched=[success(u) for u in urls],
                  parsed=[parsed(u, **more) for u in urls], links=links)  # fmt: skip
    updatedb(crawl)


def test_links_are_turned_around(crawl):
    inject(crawl, A, C)
    round_of(crawl, FIRST, [
        link(A, B, 0, from_score=7), link(A, B, 1, anchor="words"), link(A, B, 2, anchor="other"),
        link(C, B, 0, nofollow=True, anchor="paid"), link(A, D, 3),
    ])  # fmt: skip
    report = invert(crawl)
    assert report.segments == [FIRST]
    assert report.counts == {"links": 5, "embeds": 0, "linkdb": 3}
    found = linkdb(crawl)
    assert set(found) == {(key(B), key(A)), (key(B), key(C)), (key(D), key(A))}
    assert found[key(B), key(A)]["anchor"] == "words", "of several links the first with words"
    assert found[key(B), key(C)]["nofollow"]
    assert found[key(D), key(A)]["anchor"] is None
    assert found[key(D), key(A)]["to_host"] == "d.example"
    again = invert(crawl)
    assert again.segments == []
    assert again.messages == ["no new segments: the linkdb stays as it is"]


def test_links_of_a_page_parsed_again_replace_its_former_ones(crawl):
    inject(crawl, A, C)
    round_of(crawl, FIRST, [link(A, B, anchor="old"), link(A, D, 1), link(C, D)])
    invert(crawl)
    round_of(crawl, SECOND, [link(A, B, anchor="new")])
    invert(crawl)
    found = linkdb(crawl)
    assert set(found) == {(key(B), key(A)), (key(D), key(C))}
    assert (found[key(B), key(A)]["anchor"], found[key(B), key(A)]["segment"]) == ("new", SECOND)
    round_of(crawl, THIRD, [], pages=[A], parse_status="failed")
    invert(crawl)
    assert set(linkdb(crawl)) == set(found), "what could not be read says nothing"


def test_both_rounds_at_once_give_the_same_as_one_after_the_other(crawl, tmp_path):
    rounds = {FIRST: [link(A, B, anchor="old"), link(A, D, 1), link(C, D)], SECOND: [link(A, B, anchor="new")]}
    other = new_crawl(tmp_path / "other")
    for there, at_once in ((crawl, True), (other, False)):
        inject(there, A, C)
        for name, links in rounds.items():
            round_of(there, name, links)
            if not at_once:
                invert(there)
        invert(there)
    assert linkdb(crawl) == linkdb(other)


def test_links_of_segments_the_crawldb_has_not_taken_in_wait(crawl):
    inject(crawl, A)
    write_segment(crawl, FIRST, fetched=[success(A)], parsed=[parsed(A)], links=[link(A, B)])
    assert invert(crawl).segments == []
    updatedb(crawl)
    assert invert(crawl).segments == [FIRST]


def test_the_best_inlinks_are_kept(crawl):
    sources = [f"http://s{i}.example/" for i in range(6)]
    inject(crawl, *sources)
    scores = [3, 9, 3, 1, 9, 2]
    round_of(crawl, FIRST, [link(u, B, from_score=s) for u, s in zip(sources, scores, strict=True)])
    invert(crawl, max_inlinks=3)
    assert {f for _, f in linkdb(crawl)} == {key(sources[i]) for i in (1, 4, 0)}, "equal ones by key"


def test_internal_links_can_be_left_out(crawl):
    inject(crawl, A, C)
    round_of(crawl, FIRST, [link(A, B), link(C, B)])
    invert(crawl, ignore_internal=True)
    assert set(linkdb(crawl)) == {(key(B), key(C))}


# ---- dedup


def duplicates(crawl):
    steps.dedup(crawl, WEB)
    return {
        (r["url_key"], r["segment"]): (r["representative_key"], r["representative_segment"], r["kind"], r["rule"])
        for r in crawl.table(tables.DUPLICATES).read().to_pylist()
    }


def test_the_same_url_in_several_segments_the_newest_stays(crawl):
    for name in (SECOND, FIRST, THIRD):
        write_segment(crawl, name, parsed=[parsed(A, name)])
    assert duplicates(crawl) == {
        (key(A), n): (key(A), THIRD, "same_url", "newest") for n in (FIRST, SECOND)
    }  # fmt: skip
    report = steps.dedup(crawl, WEB)
    assert report.left_out == {"same_url": 2}


def test_what_failed_to_parse_replaces_nothing(crawl):
    write_segment(crawl, FIRST, parsed=[parsed(A)])
    write_segment(crawl, SECOND, parsed=[parsed(A, parse_status="failed")])
    assert duplicates(crawl) == {}


EXACT = [
    ("score", {"rank": 5}, {"rank": 6}, "B", "score"),
    ("crawldb score", {"score": 5}, {"score": 4}, "A", "score"),
    ("newest", {"fetched_at": START_MS}, {"fetched_at": START_MS + DAY_MS}, "B", "fetched_at"),
    ("same day", {"fetched_at": START_MS}, {"fetched_at": START_MS + 1000}, "A", "url_length"),
    ("shortest", {}, {}, "A", "url_length"),
]


@pytest.mark.parametrize(("name", "a", "b", "stays", "rule"), EXACT, ids=[e[0] for e in EXACT])
def test_the_same_content_under_two_urls(crawl, name, a, b, stays, rule):
    crawldb_of(
        crawl,
        a=(A, {"status": "fetched", "score": a.get("score", 1)}),
        b=(B, {"status": "fetched", "score": b.get("score", 1)}),
    )
    places = [{k: v for k, v in page(u).items() if k != "url"} for u in (A, B)]
    write_table(
        crawl, tables.RANKS, [{**p, "page_rank": x.get("rank", 1)} for p, x in zip(places, (a, b), strict=True)]
    )
    write_segment(
        crawl, FIRST, parsed=[parsed(u, fetched_at=x.get("fetched_at", START_MS)) for u, x in ((A, a), (B, b))]
    )
    kept, lost = (A, B) if stays == "A" else (B, A)
    assert duplicates(crawl) == {(key(lost), FIRST): (key(kept), FIRST, "exact", rule)}


def test_equal_in_everything_the_first_by_key(crawl):
    write_segment(crawl, FIRST, parsed=[parsed("http://b.example/"), parsed(C), parsed(A)])
    assert duplicates(crawl) == {
        (key(u), FIRST): (key(A), FIRST, "exact", "url_key") for u in ("http://b.example/", C)
    }  # fmt: skip


def test_empty_text_is_no_duplicate(crawl):
    write_segment(crawl, FIRST, parsed=[page(A), page(C)])
    assert duplicates(crawl) == {}


def test_only_the_newest_version_counts_as_content(crawl):
    write_segment(crawl, FIRST, parsed=[parsed(A, "one"), parsed(C, "one")])
    write_segment(crawl, SECOND, parsed=[parsed(A, "two")])
    assert duplicates(crawl) == {(key(A), FIRST): (key(A), SECOND, "same_url", "newest")}


HIDDEN = [
    ("gone", {"status": "gone"}),
    ("redirects now", {"status": "redirect_perm"}),
    ("404 once", {"status": "unfetched", "reason": "http_404"}),
    ("noindex", {"status": "fetched", "reason": "noindex"}),
]


@pytest.mark.parametrize(("name", "says"), HIDDEN, ids=[h[0] for h in HIDDEN])
def test_what_is_not_shown_stands_for_no_other(crawl, name, says):
    crawldb_of(crawl, a=(A, {"score": 9, **says}), c=(C, {"status": "fetched"}), d=(D, {"status": "fetched"}))
    write_segment(crawl, FIRST, parsed=[parsed(A), parsed(C), parsed(D)])
    assert duplicates(crawl) == {(key(D), FIRST): (key(C), FIRST, "exact", "url_length")}


def test_a_noindex_version_stands_for_no_other(crawl):
    write_segment(crawl, FIRST, parsed=[parsed(A, noindex=True), parsed(C)])
    assert duplicates(crawl) == {}


def test_canonical_of_the_same_host_stays(crawl):
    write_segment(crawl, FIRST, parsed=[
        parsed(A, "long", canonical_key=key(B)), parsed(B, "short", canonical_key=key(B)),
        parsed(C, "other", canonical_key=key(B)), parsed(D, "own", canonical_key=key(D)),
    ])  # fmt: skip
    assert duplicates(crawl) == {(key(A), FIRST): (key(B), FIRST, "canonical", "canonical")}


@pytest.mark.parametrize("target", ["nowhere", "elsewhere"])
def test_a_canonical_that_leads_on_or_nowhere_is_not_followed(crawl, target):
    other = "http://a.example/c"
    pages = [parsed(A, "one", canonical_key=key(B))]
    if target == "elsewhere":
        pages += [parsed(B, "two", canonical_key=key(other)), parsed(other, "three", canonical_key=key(A))]
    write_segment(crawl, FIRST, parsed=pages)
    assert duplicates(crawl) == {}


def test_whoever_stands_for_another_stays(crawl):
    """A canonical page that is itself a duplicate does not stand for anything."""
    crawldb_of(
        crawl,
        a=(A, {"status": "fetched"}),
        b=(B, {"status": "fetched"}),
        c=(C, {"status": "fetched", "score": 9 * MICRO}),
    )
    write_segment(crawl, FIRST, parsed=[parsed(A, "long", canonical_key=key(B)), parsed(B, "same"), parsed(C, "same")])
    found = duplicates(crawl)
    assert found[key(A), FIRST] == (key(C), FIRST, "canonical", "canonical")
    assert found[key(B), FIRST] == (key(C), FIRST, "exact", "score")


def test_without_segments_there_are_no_duplicates(crawl):
    assert duplicates(crawl) == {}


# ---- rank


def ranks(crawl):
    steps.rank(crawl, WEB)
    return {r["url_key"]: r["page_rank"] for r in crawl.table(tables.RANKS).read().to_pylist()}


def test_ranks_of_a_ring_are_equal(crawl):
    inject(crawl, A, C, D)
    round_of(crawl, FIRST, [link(A, C), link(C, D), link(D, A)])
    assert set(ranks(crawl).values()) == {MICRO}


def test_ranks_of_a_star(crawl):
    """Three pages link to one, which links to none: with damping d = 0.85, and dangling weight spread over all four,
    rank of a leaf x and of the centre c solve  x = 1 - d + d c / 4  and  c = x + 3 d x."""
    leaves = [f"http://l{i}.example/" for i in range(3)]
    inject(crawl, A, *leaves)
    round_of(crawl, FIRST, [link(u, A, n) for u in leaves for n in range(2)])
    x = 0.15 / (1 - 0.85 / 4 * (1 + 3 * 0.85))
    found = ranks(crawl)
    assert found[key(A)] == pytest.approx((x + 3 * 0.85 * x) * MICRO, abs=2_000)
    assert [found[key(u)] for u in leaves] == [pytest.approx(x * MICRO, abs=2_000)] * 3
    assert sum(found.values()) == pytest.approx(4 * MICRO, abs=8)


def test_links_to_itself_nofollow_and_unknown_pages_do_not_count(crawl):
    inject(crawl, A, C)
    round_of(crawl, FIRST, [link(A, A), link(A, C, 1, nofollow=True), link(A, "http://a.example/x.png", 2)])
    assert set(ranks(crawl).values()) == {MICRO}


def test_only_the_newest_version_of_a_page_links(crawl):
    inject(crawl, A, C, D)
    round_of(crawl, FIRST, [link(A, C)])
    round_of(crawl, SECOND, [link(A, D)])
    found = ranks(crawl)
    assert found[key(C)] < found[key(D)]


def test_hosts_are_ranked_by_links_between_them(crawl):
    inject(crawl, A, B, C)
    round_of(crawl, FIRST, [link(A, B), link(B, C), link(C, "http://c.example/more")])
    steps.rank(crawl, WEB)
    hosts = {r["host"]: r["host_rank"] for r in crawl.table(tables.RANKS).read().to_pylist()}
    assert hosts["c.example"] > hosts["a.example"]


def test_an_empty_crawl_has_no_ranks(crawl):
    assert ranks(crawl) == {}


# ---- updatesegs


def linked(segment):
    return by_key(read_files(tables.LINKED, segment.part_files(tables.LINKED)))


@pytest.mark.parametrize("partition_rows", [10**6, 2])
def test_scores_and_anchors_reach_every_segment(crawl, partition_rows):
    settings = msgspec.structs.replace(WEB, storage=StorageSettings(partition_rows=partition_rows))
    crawldb_of(crawl, a=(A, {"score": 3}), b=(B, {"score": 4}), c=(C, {"score": 5}))
    places = [{k: v for k, v in page(u).items() if k != "url"} for u in (A, B, C)]
    write_table(crawl, tables.RANKS, [{**p, "page_rank": 7, "host_rank": 8} for p in places])
    write_table(crawl, tables.LINKDB, [
        inlink(A, B, anchor="own host", from_score=99), inlink(C, B, anchor="best", from_score=9),
        inlink(D, B, anchor="good", from_score=5), inlink("http://d.example/y", B, from_score=7),
        inlink(B, B, anchor="itself"),
    ])  # fmt: skip
    first = write_segment(crawl, FIRST, parsed=[parsed(A), parsed(B)])
    second = write_segment(crawl, SECOND, parsed=[parsed(B), parsed("http://unknown.example/")])
    waiting = write_segment(crawl, THIRD, state=FETCHED, fetched=[success(A)])
    report = steps.updatesegs(crawl, settings)
    assert report.counts == {"pages": 4, "segments": 2}
    assert linked(first)[key(B)] == linked(second)[key(B)]
    told = linked(first)[key(B)]
    assert (told["score"], told["page_rank"], told["host_rank"]) == (4, 7, 8)
    assert (told["inlink_count"], told["inlink_host_count"]) == (4, 2)
    assert [a["anchor"] for a in told["anchors"]] == ["best", "good", "own host"]
    assert told["anchors"][0]["from_key"] == key(C)
    assert linked(first)[key(A)]["anchors"] is None
    unknown = linked(second)[key("http://unknown.example/")]
    assert (unknown["score"], unknown["page_rank"], unknown["inlink_count"]) == (0, 0, 0)
    assert waiting.part_files(tables.LINKED) == []
    again = steps.updatesegs(crawl, settings)
    assert again.counts == report.counts
    assert linked(first)[key(B)] == told


def test_without_parsed_segments_there_is_nothing_to_do(crawl):
    assert steps.updatesegs(crawl, WEB).messages == ["no parsed segments: nothing to do"]


# ---- reports


def test_every_run_leaves_a_report(crawl):
    inject(crawl, A)
    generate(crawl)
    steps.dedup(crawl, WEB)
    found = sorted((json.loads(p.read_text()) for p in crawl.reports_path.iterdir()), key=lambda r: r["stage"])
    assert [r["stage"] for r in found] == ["dedup", "generate", "inject"]
    assert found[2]["counts"]["injected"] == 1
    assert all(r["wall_s"] >= 0 and r["started_at"] for r in found)
