"""Do rounds of `updatedb` come to the rows that `frontier.transition` says, from raw links and answers on?

A model in a few lines of Python sums up what the links of a round say of each page, and asks the rule.
"""

from __future__ import annotations

import random

import msgspec
import pytest

from cobnut.config.sections import CrawlSettings, DbSettings, Settings, StorageSettings
from cobnut.crawl import steps
from cobnut.frontier.transition import Answer, Row, Rules, Target, transition
from cobnut.records import catalogue as tables
from cobnut.testing.clock import VirtualClock
from cobnut.testing.tables import DAY_MS, MICRO, START_MS, by_key, key, link, new_crawl, page, write_segment

URLS = [f"http://h{n % 7}.test/{n}" for n in range(70)]
DB = DbSettings(interval_s=86_400, min_interval_s=3_600, retry_max=2)
KINDS = ("link", "link", "link", "redirect", "refresh", "sitemap")
ANSWERS = (
    ("success", None, 200, "ok"), ("success", None, 200, "ok"), ("success", None, 200, "failed"),
    ("not_modified", None, 304, None), ("redirect_perm", None, 301, None), ("redirect_temp", None, 302, None),
    ("gone", "http_404", 404, None), ("gone", "http_410", 410, None), ("denied", "robots_denied", None, None),
    ("retry", "http_other", 204, None), ("retry", "dns_failed", None, None),
)  # fmt: skip


def one_round(rng, at):
    """The URLs of a fetchlist, its requests, what was parsed, and the links of the pages."""
    asked = {url: rng.random() < 0.4 for url in rng.sample(URLS, 25)}
    fetched, parsed, links = [], [], []
    for url in asked:
        outcome, reason, status, parse_status = rng.choice(ANSWERS)
        when, signature = at + rng.randrange(1_000), rng.choice((None, b"a" * 16, b"b" * 16))
        answer = page(url, outcome=outcome, reason=reason, http_status=status, fetched_at=when, digest=signature,
                      score=rng.randrange(MICRO), depth=rng.randrange(4),
                      last_modified_at=rng.choice((None, at - DAY_MS, when)))  # fmt: skip
        fetched.append(answer)
        if outcome == "success":
            parsed.append(page(url, parse_status=parse_status, signature=signature, outlink_count=rng.randrange(9),
                               noindex=rng.random() < 0.2, fetched_at=when))  # fmt: skip
            depth = rng.randrange(3)
            for position in range(rng.randrange(14)):
                links.append(link(
                    url, rng.choice(URLS), position, contribution=rng.randrange(MICRO), from_depth=depth,
                    kind=rng.choice(KINDS), nofollow=rng.random() < 0.2,
                    changed_at=rng.choice((None, at - 2 * DAY_MS, at - 1, at - 1, at + DAY_MS)),
                    to_url=rng.choice((None, None, f"{url}#{position}")),
                ))  # fmt: skip
    return asked, fetched, parsed, links


def target_of(links, is_new, refetched):
    """What the links to one page say."""
    links = [one for one in links if not one["nofollow"]]
    if not links:
        return None
    depths = [one["from_depth"] + (one["kind"] != "redirect") for one in links]
    nearest = min(
        (one for one, depth in zip(links, depths, strict=True) if depth == min(depths)),
        key=lambda one: (one["from_key"], one["position"]),
    )
    own = [one["changed_at"] for one in links if one["from_host"] == one["to_host"] and one["changed_at"] is not None]
    return Target(
        url_key=nearest["to_key"], url=nearest["to_url"], host=nearest["to_host"], bucket=nearest["to_bucket"],
        depth=min(depths), changed_at=max(own, default=None),
        contribution=sum(one["contribution"] for one in links if is_new or one["from_key"] not in refetched),
    )  # fmt: skip


def answer_of(row, parsed):
    if row is None:
        return None
    names = (
        "url_key",
        "url",
        "host",
        "bucket",
        "outcome",
        "reason",
        "fetched_at",
        "depth",
        "score",
        "last_modified_at",
    )
    told = {} if parsed is None else parsed
    return Answer(
        **{name: row[name] for name in names}, parse_status=told.get("parse_status"), parse_reason=None,
        noindex=told.get("noindex"), outlink_count=told.get("outlink_count"),
        signature=row["digest"] if parsed is None else told["signature"],
    )  # fmt: skip


def model(rows, now_ms, asked, fetched, parsed, links):
    """The crawldb after a round, by key."""
    rules = Rules(
        now_ms=now_ms, interval_s=DB.interval_s, min_interval_s=DB.min_interval_s, max_interval_s=DB.max_interval_s,
        grow=1 + DB.increase, shrink=1 - DB.decrease, gone_grow=DB.gone_factor, retry_max=DB.retry_max,
        retry_delay_s=DB.retry_delay_s,
    )  # fmt: skip
    refetched = {key(url) for url, before in asked.items() if before}
    answers, texts = {one["url_key"]: one for one in fetched}, {one["url_key"]: one for one in parsed}
    to: dict[str, list] = {}
    for one in links:
        to.setdefault(one["to_key"], []).append(one)
    found = dict(rows)
    for url_key in answers.keys() | to.keys():
        old = rows.get(url_key)
        target = target_of(to.get(url_key, []), old is None, refetched)
        answer = answer_of(answers.get(url_key), texts.get(url_key))
        if answer is not None or target is not None:
            found[url_key] = transition(old, answer, target, rules)
    return found


@pytest.mark.parametrize("partition_rows", [1_000_000, 1_000])
@pytest.mark.parametrize("seed", [1, 2])
def test_rounds_come_to_what_the_rule_says(tmp_path, seed, partition_rows):
    rng = random.Random(seed)
    crawl = new_crawl(tmp_path / "crawl")
    storage = StorageSettings(partition_rows=15 if partition_rows == 1_000 else partition_rows)
    settings = Settings(crawl=CrawlSettings(scope="web"), db=DB, storage=storage)
    steps.inject(crawl, settings, URLS[:30], clock=VirtualClock(START_MS))
    rows = {name: msgspec.convert(row, Row) for name, row in by_key(crawl.table(tables.CRAWLDB).read()).items()}
    for number in range(1, 5):
        at = START_MS + number * DAY_MS
        asked, fetched, parsed, links = one_round(rng, at)
        write_segment(
            crawl, f"2026010{number}000000", fetched=fetched, parsed=parsed, links=links,
            fetchlist=[page(url, fetched_before=before) for url, before in asked.items()],
        )  # fmt: skip
        steps.updatedb(crawl, settings, clock=VirtualClock(at + 5_000))
        rows = model(rows, at + 5_000, asked, fetched, parsed, links)
        made = by_key(crawl.table(tables.CRAWLDB).read())
        assert made == {name: msgspec.structs.asdict(row) for name, row in rows.items()}
    assert {row.status for row in rows.values()} >= {"unfetched", "fetched", "gone", "redirect_perm", "parse_failed"}
