"""The rules by which a URL's row changes, each by hand."""

import msgspec
import pytest

from cobnut.frontier.transition import Answer, Row, Rules, Target, transition
from cobnut.testing.tables import DAY_MS, START_MS

DAY_S = 86_400
RULES = Rules(
    now_ms=START_MS, interval_s=DAY_S, min_interval_s=3_600, max_interval_s=90 * DAY_S, grow=1.4, shrink=0.8,
    gone_grow=1.5, retry_max=3, retry_delay_s=DAY_S,
)  # fmt: skip
OLD_SIGNATURE, NEW_SIGNATURE = b"a" * 16, b"b" * 16


def old(**more):
    fields = {
        "url_key": "k", "url": None, "host": "h", "bucket": 1, "status": "fetched", "reason": None, "due_at": START_MS,
        "fetched_at": START_MS - DAY_MS, "modified_at": START_MS - 5 * DAY_MS, "retries": 0, "interval_s": 10 * DAY_S,
        "fixed_interval_s": None, "score": 7, "signature": OLD_SIGNATURE, "outlink_count": 3, "depth": 2,
    }  # fmt: skip
    return Row(**{**fields, **more})


def answer(outcome="success", reason=None, **more):
    fields = {
        "url_key": "k", "url": "http://h/", "host": "h", "bucket": 1, "fetched_at": START_MS, "depth": 4,
        "parse_status": "ok" if outcome == "success" else None, "parse_reason": None, "noindex": False,
        "outlink_count": None, "signature": NEW_SIGNATURE if outcome == "success" else None,
    }  # fmt: skip
    return Answer(outcome=outcome, reason=reason, **{**fields, **more})


def target(**more):
    return Target(**{"url_key": "k", "url": None, "host": "h", "bucket": 1, "depth": 3, "contribution": 5, **more})


TENTH_MS = DAY_MS // 10

CASES = [
    # name, old row, answer, what the new row says
    ("changed", old(), answer(),
     {"status": "fetched", "signature": NEW_SIGNATURE, "modified_at": START_MS, "interval_s": 8 * DAY_S, "retries": 0,
      "due_at": START_MS + 8 * DAY_MS, "fetched_at": START_MS}),
    ("same content", old(retries=2), answer(signature=OLD_SIGNATURE),
     {"status": "not_modified", "signature": OLD_SIGNATURE, "modified_at": START_MS - 5 * DAY_MS, "retries": 0,
      "interval_s": 14 * DAY_S, "due_at": START_MS + 14 * DAY_MS, "fetched_at": START_MS}),
    ("304", old(reason="noindex"), answer("not_modified"),
     {"status": "not_modified", "reason": "noindex", "interval_s": 14 * DAY_S, "fetched_at": START_MS,
      "outlink_count": 3}),
    ("304 after a failure", old(status="unfetched", reason="timeout", retries=1), answer("not_modified"),
     {"status": "not_modified", "reason": None, "retries": 0}),
    ("304 after a single 404", old(status="unfetched", reason="http_404"), answer("not_modified"),
     {"status": "not_modified", "reason": None}),
    ("first content", old(status="unfetched", signature=None, fetched_at=None, modified_at=None), answer(),
     {"status": "fetched", "interval_s": 10 * DAY_S, "modified_at": START_MS, "signature": NEW_SIGNATURE}),
    ("empty again", old(signature=None), answer(signature=None),
     {"status": "fetched", "modified_at": START_MS - 5 * DAY_MS, "interval_s": 10 * DAY_S}),
    ("empty now", old(), answer(signature=None), {"status": "fetched", "signature": None, "modified_at": START_MS}),
    ("cannot be parsed", old(), answer(parse_status="failed", parse_reason="parse_timeout"),
     {"status": "parse_failed", "reason": "parse_timeout", "signature": OLD_SIGNATURE, "interval_s": 15 * DAY_S}),
    ("no parser for it", old(), answer(parse_status="skipped", parse_reason="media_type"),
     {"status": "fetched", "reason": "media_type"}),
    ("noindex", old(), answer(noindex=True), {"status": "fetched", "reason": "noindex"}),
    ("permanent redirect", old(), answer("redirect_perm"),
     {"status": "redirect_perm", "interval_s": 10 * DAY_S, "due_at": START_MS + 10 * DAY_MS, "signature": OLD_SIGNATURE,
      "fetched_at": START_MS - DAY_MS}),
    ("temporary redirect", old(retries=2), answer("redirect_temp"), {"status": "redirect_temp", "retries": 0}),
    ("410", old(), answer("gone", "http_410"),
     {"status": "gone", "reason": "http_410", "interval_s": 15 * DAY_S, "due_at": START_MS + 15 * DAY_MS}),
    ("404, seen once", old(), answer("gone", "http_404"),
     {"status": "unfetched", "reason": "http_404", "due_at": START_MS + DAY_MS, "interval_s": 10 * DAY_S,
      "retries": 0}),
    ("404 again, another day", old(status="unfetched", reason="http_404"), answer("gone", "http_404"),
     {"status": "gone", "reason": "http_404", "interval_s": 15 * DAY_S}),
    ("404 again, too soon",
     old(status="unfetched", reason="http_404", due_at=START_MS + TENTH_MS + 1), answer("gone", "http_404"),
     {"status": "unfetched", "reason": "http_404", "due_at": START_MS + TENTH_MS + 1}),
    ("404 again, a little early",
     old(status="unfetched", reason="http_404", due_at=START_MS + TENTH_MS), answer("gone", "http_404"),
     {"status": "gone"}),
    ("failed again, too soon",
     old(status="unfetched", reason="http_500", retries=2, due_at=START_MS + TENTH_MS + 1), answer("retry", "timeout"),
     {"status": "unfetched", "reason": "timeout", "retries": 2, "due_at": START_MS + TENTH_MS + 1}),
    ("failed again, a little early",
     old(status="unfetched", reason="http_500", retries=2, due_at=START_MS + TENTH_MS), answer("retry", "timeout"),
     {"status": "gone", "reason": "timeout", "retries": 3}),
    ("failed for the first time, not due",
     old(due_at=START_MS + 5 * DAY_MS), answer("retry", "timeout"),
     {"status": "unfetched", "retries": 1, "due_at": START_MS + DAY_MS}),
    ("gone, and fails when not due",
     old(status="gone", reason="timeout", retries=3, due_at=START_MS + 5 * DAY_MS), answer("retry", "timeout"),
     {"status": "gone", "retries": 4}),
    ("404 of a page that is gone",
     old(status="gone", reason="http_410"), answer("gone", "http_404"), {"status": "gone"}),
    ("still 404", old(status="gone", reason="http_404", due_at=START_MS + 1), answer("gone", "http_404"),
     {"status": "gone", "interval_s": 15 * DAY_S}),
    ("robots.txt forbids", old(), answer("denied", "robots_denied"), {"status": "gone", "reason": "robots_denied"}),
    ("first failure", old(), answer("retry", "timeout"),
     {"status": "unfetched", "reason": "timeout", "retries": 1, "due_at": START_MS + DAY_MS, "interval_s": 10 * DAY_S}),
    ("second failure", old(retries=1), answer("retry", "http_500"), {"status": "unfetched", "retries": 2}),
    ("third failure", old(retries=2), answer("retry", "http_500"),
     {"status": "gone", "reason": "http_500", "retries": 3, "interval_s": 15 * DAY_S}),
    ("the host fails", old(retries=2), answer("retry", "dns_failed"),
     {"status": "fetched", "reason": None, "retries": 2, "due_at": START_MS + DAY_MS, "interval_s": 10 * DAY_S}),
    ("the host fails, page unknown yet", old(status="unfetched", reason=None), answer("retry", "connect_timeout"),
     {"status": "unfetched", "reason": "connect_timeout"}),
    ("the host fails, page gone", old(status="gone", reason="http_410"), answer("retry", "http_503"),
     {"status": "gone", "reason": "http_410"}),
    ("the host fails after a 404", old(status="unfetched", reason="http_404"), answer("retry", "http_429"),
     {"status": "unfetched", "reason": "http_404"}),
    ("longest interval", old(interval_s=80 * DAY_S), answer("not_modified"), {"interval_s": 90 * DAY_S}),
    ("an interval that is longer than the longest now", old(interval_s=400 * DAY_S), answer("not_modified"),
     {"status": "not_modified", "signature": OLD_SIGNATURE, "interval_s": 90 * DAY_S,
      "due_at": START_MS + 90 * DAY_MS}),
    ("shortest interval", old(interval_s=4_000), answer(), {"interval_s": 3_600}),
    ("gone has a longest interval too",
     old(interval_s=80 * DAY_S), answer("gone", "http_410"), {"interval_s": 90 * DAY_S}),
    ("fixed interval", old(fixed_interval_s=60), answer(), {"interval_s": 60, "due_at": START_MS + 60_000}),
    ("fixed interval of a gone page", old(fixed_interval_s=60), answer("gone", "http_410"), {"interval_s": 60}),
    ("interval 0 is none", old(interval_s=0, status="unfetched", signature=None), answer(), {"interval_s": DAY_S}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "before", "told", "expected"), CASES, ids=[c[0] for c in CASES])
def test_what_an_answer_does(name, before, told, expected):
    row = msgspec.structs.asdict(transition(before, told, None, RULES))
    assert {k: row[k] for k in expected} == expected
    assert (row["score"], row["depth"]) == (7, 2)


def test_a_link_to_a_known_page_only_adds_score_and_brings_it_nearer():
    assert transition(old(), None, target(depth=1), RULES) == msgspec.structs.replace(old(), score=12, depth=1)
    assert transition(old(), None, target(depth=9), RULES) == msgspec.structs.replace(old(), score=12)


def test_a_link_to_a_new_page():
    row = transition(None, None, target(url="http://h/x y"), RULES)
    assert row == Row(
        url_key="k", url="http://h/x y", host="h", bucket=1, status="unfetched", reason=None, due_at=START_MS,
        fetched_at=None, modified_at=None, retries=0, interval_s=DAY_S, fixed_interval_s=None, score=5, signature=None,
        outlink_count=None, depth=3,
    )  # fmt: skip


def test_a_redirect_target_that_was_in_no_fetchlist():
    row = transition(None, answer(outlink_count=9), target(depth=0), RULES)
    assert (row.status, row.depth, row.score, row.outlink_count) == ("fetched", 0, 5, 9)
    assert (row.url, row.due_at) == (None, START_MS + DAY_MS), "the link knows whether the URL is in normal form"
    assert transition(None, answer(), None, RULES).depth == 4


def test_a_new_page_that_is_missing_has_a_second_chance():
    row = transition(None, answer("gone", "http_404"), None, RULES)
    assert (row.status, row.reason, row.retries) == ("unfetched", "http_404", 0)


def test_a_page_that_always_fails_is_given_up_and_tried_ever_more_rarely():
    row, waits = old(status="unfetched", signature=None, interval_s=DAY_S), []
    for _ in range(20):
        row = transition(row, answer("retry", "timeout", fetched_at=row.due_at), None, RULES)
        waits.append(row.interval_s // DAY_S)
    assert row.status == "gone"
    assert waits[:5] == [1, 1, 1, 2, 3]
    assert waits[-1] == 90


def test_nothing_known_is_refused():
    with pytest.raises(ValueError, match="nothing is known"):
        transition(None, None, None, RULES)
