"""What real Nutch 1.23 made of 1,149 records and 266 schedule calls: does the rule give the same?

Where it does not, the case is one of the deviations listed here, each with its reason; one more or one fewer fails.

Two of the oracle's events are several here. What it calls gone is a 410 or a 404, and what it tries again is a failure
of the page or of its host: each case of these is asked in both meanings, and the differences of the second are listed
as well.
"""

import json
import struct
from collections import Counter
from pathlib import Path

import pytest

from cobnut.frontier.schedule import Pace, after_failure, after_gone, after_success, is_due
from cobnut.frontier.transition import Answer, Row, Rules, Target, transition

ORACLE = Path(__file__).parents[2] / "formats" / "nutch" / "oracle"
NOW_MS = 1_700_000_000_000
PLACE = {"url_key": "k", "url": None, "host": "h", "bucket": 0}
RULES = Rules(
    now_ms=NOW_MS, interval_s=2_592_000, min_interval_s=0, max_interval_s=7_776_000, grow=1.0, shrink=1.0,
    gone_grow=1.5, retry_max=3, retry_delay_s=86_400,
)  # fmt: skip
OUTCOMES = {
    "fetch_success": ("success", None, "ok"),
    "fetch_gone": ("gone", "http_410", None),  # a 404 waits for a second visit, of which the oracle knows nothing
    "fetch_retry": ("retry", "http_500", None),  # one of the page: a failure of the host costs no try
    "fetch_redir_temp": ("redirect_temp", None, None),
    "fetch_redir_perm": ("redirect_perm", None, None),
    "fetch_notmodified": ("not_modified", None, None),
    "parse_failed": ("success", None, "failed"),
}
READINGS = {
    "a 404": ("fetch_gone", ("gone", "http_404", None)),
    "a failure of the host": ("fetch_retry", ("retry", "dns_failed", None)),
}
REDIRECT = (
    "a redirect has no content: signature and time of the last content stay, as they do of a page that is gone; the "
    "real program wipes them out (or takes what it is told for a signature), and takes the redirect for a change"
)
MISSING = "a page is gone when a second visit on another day says 404 too; until then it is asked again after a day"
OUTAGE = "an outage of a host costs its pages no try, and takes nothing back of what is known of them"
DEVIATIONS = {
    ("fetch_redir_perm", ("modified_at", "signature")): (96, REDIRECT),
    ("fetch_redir_perm", ("modified_at",)): (48, REDIRECT),
    ("fetch_redir_temp", ("modified_at", "signature")): (96, REDIRECT),
    ("fetch_redir_temp", ("modified_at",)): (48, REDIRECT),
    # of the 144 cases each that have a second meaning
    ("a 404", ("status", "due_at", "interval_s")): (129, MISSING),  # the 15 others were gone before
    ("a failure of the host", ("retries",)): (18, OUTAGE),
    ("a failure of the host", ("status", "retries")): (72, OUTAGE),
    ("a failure of the host", ("due_at", "retries", "interval_s")): (6, OUTAGE),
    ("a failure of the host", ("status", "due_at", "retries", "interval_s")): (48, OUTAGE),
}


def state(name):
    return {"redir_temp": "redirect_temp", "redir_perm": "redirect_perm", "notmodified": "not_modified",
            "parse_failed": "parse_failed"}.get(name.removeprefix("db_"), name.removeprefix("db_"))  # fmt: skip


def signature(text):
    return None if text is None else bytes.fromhex(text)


def micro(score):
    return round(score * 1e6)


def row_of(old):
    return Row(
        **PLACE, status=state(old["status"]), reason=None, due_at=old["fetchTime"], fetched_at=None,
        modified_at=old["modifiedTime"] or None, retries=old["retries"], interval_s=old["fetchInterval"],
        fixed_interval_s=None, score=micro(old["score"]), signature=signature(old["signature"]), outlink_count=None,
        depth=0,
    )  # fmt: skip


def answer_of(case, meaning=None):
    fetch = case["fetch"]
    outcome, reason, parse_status = meaning or OUTCOMES[fetch["status"]]
    return Answer(
        **{**PLACE, "url": "u"}, outcome=outcome, reason=reason, fetched_at=fetch["fetchTime"], depth=0,
        parse_status=parse_status, parse_reason=None, noindex=None, outlink_count=None,
        signature=signature(case.get("parseSignature")) if outcome == "success" else None, score=micro(fetch["score"]),
    )  # fmt: skip


def target_of(case, passed):
    scores = case.get("linkScores")
    return Target(**PLACE, depth=1, contribution=passed + micro(sum(scores))) if scores else None


def cases():
    return json.loads((ORACLE / "crawldb-transitions-DefaultFetchSchedule.json").read_text())


def difference(case, meaning=None):
    """The fields in which the rule's row is not the oracle's."""
    old = row_of(case["old"]) if case.get("old") else None
    answer = answer_of(case, meaning) if case.get("fetch") else None
    # a page fetched without a row was led to by a redirect: a link that passes on the score it was asked with
    passed = answer.score if answer is not None and old is None else 0
    row = transition(old, answer, target_of(case, passed), RULES)
    result = case["result"]
    wanted = {
        "status": state(result["status"]), "due_at": NOW_MS if result["fetchTime"] == "NOW" else result["fetchTime"],
        "modified_at": result["modifiedTime"] or None, "retries": result["retries"],
        "interval_s": result["fetchInterval"], "score": micro(result["score"]),
        "signature": signature(result["signature"]),
    }  # fmt: skip
    return tuple(name for name, value in wanted.items() if getattr(row, name) != value)


def event(case):
    return case["fetch"]["status"] if case.get("fetch") else None


def test_transitions_are_those_of_the_real_program_but_for_the_deviations():
    found = Counter()
    for case in cases():
        if fields := difference(case):
            found[(event(case), fields)] += 1
    assert len(cases()) == 1149
    print(f"{len(cases())} cases, {len(cases()) - found.total()} equal; deviations:")
    for name, (of, meaning) in READINGS.items():
        asked = [case for case in cases() if event(case) == of]
        assert len(asked) == 144
        for case in asked:
            if fields := difference(case, meaning):
                found[(name, fields)] += 1
    for key, count in sorted(found.items()):
        print(f"  {count:4} {key[0]}: {', '.join(key[1])}: {DEVIATIONS.get(key, (0, 'unknown'))[1]}")
    assert dict(found) == {key: count for key, (count, _) in DEVIATIONS.items()}


def float32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


DEFAULT = Pace(
    adaptive=False, interval_s=2_592_000, min_interval_s=60, max_interval_s=7_776_000, grow=1.4, shrink=0.8,
    gone_grow=1.5,
)  # fmt: skip
ADAPTIVE = Pace(
    adaptive=True, interval_s=2_592_000, min_interval_s=60, max_interval_s=31_536_000, grow=1.4, shrink=0.8,
    gone_grow=1.5, sync=True, sync_rate=float32(0.3),
)  # fmt: skip


def by_rule(call, default=DEFAULT):
    """What the rule makes of one call, and what the real class made of it."""
    result = call["result"]
    wanted = (result["fetchInterval"], result["fetchTime"])
    match call["op"]:
        case "setPageGoneSchedule":  # gone and due go by the general longest interval in both classes
            return after_gone(call["interval"], call["fetchTime"], DEFAULT), wanted
        case "setPageRetrySchedule":
            return after_failure(call["interval"], call["fetchTime"], 86_400), wanted
        case "shouldFetch":
            return is_due(call["fetchTime"], call["curTime"], DEFAULT.max_interval_s), call["should"]
    pace = ADAPTIVE if "Adaptive" in call["class"] else default
    state_ = ("unknown", "modified", "not_modified")[call["state"]]
    changed = state_ == "modified" or call["modifiedTime"] <= 0
    modified_at = call["fetchTime"] if changed else call["modifiedTime"]
    assert modified_at == result["modifiedTime"]
    return after_success(call["interval"], call["fetchTime"], modified_at, state_, pace), wanted


def calls_of(name):
    calls = [c for c in json.loads((ORACLE / "schedules.json").read_text()) if c["class"].endswith(name)]
    assert len(calls) == 133
    return calls


@pytest.mark.parametrize("name", ["DefaultFetchSchedule", "AdaptiveFetchSchedule"])
def test_schedules_are_those_of_the_real_classes(name):
    for call in calls_of(name):
        found, wanted = by_rule(call)
        assert found == wanted, call


def test_a_crawl_with_the_default_schedule_bounds_what_the_real_class_does_not():
    """A crawl runs it as an adaptive one whose factors are 1: an interval above the longest is cut, where the real
    program forgets the page's signature and has it fetched anew."""
    differ = [(call, *by_rule(call, RULES.pace())) for call in calls_of("DefaultFetchSchedule")]
    differ = [(call, found) for call, found, wanted in differ if found != wanted]
    print(f"133 calls, {133 - len(differ)} equal; {len(differ)} have an interval above the longest")
    assert len(differ) == 12
    for call, found in differ:
        assert call["interval"] > RULES.max_interval_s
        assert found == (RULES.max_interval_s, call["fetchTime"] + 1000 * RULES.max_interval_s)
