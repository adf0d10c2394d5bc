"""Are the faults that people reported of crawlers, indexers and site searches answered?

`vectors/open_cases.jsonl` holds our own rewriting of public reports, with reserved names. `input.type` says how a case
is fed, `input.level` is must, should or policy (policy: any documented, consistent choice would do; ours is tested).

`TYPES` maps every type to what answers it: a command, asked as a process of its own and once a type, or a test bench. A
type with no open case is exercised with `OWN`. What is not answered yet stands in `LATER` with the reason, what we do
otherwise on purpose in `DEVIATIONS`; a deviation that has gone turns red.
"""

from __future__ import annotations

import ast
import base64
import gzip
import json
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from crawling import command, environment

from cobnut.testing.fakeweb import Answer, FakeWeb, moved

Case = dict[str, Any]
Items = list[dict[str, Any]]
Answers = list[dict[str, Any]]

ROOT = Path(__file__).resolve().parents[2]
OPEN: list[Case] = [
    json.loads(line) for line in (Path(__file__).parent / "vectors" / "open_cases.jsonl").read_text().splitlines()
]
HOME = "http://example.test/"


class Check(NamedTuple):
    """`cobnut check NAME --jsonl` answers: the items of a case, and what must hold of their answers."""

    name: str
    items: Callable[[Case], Items]
    holds: Callable[[Case, Answers], None]


class Live(NamedTuple):
    """`cobnut check parse URL` answers, against a server on loopback that says what the case says."""

    holds: Callable[[Case], None]


class Bench(NamedTuple):
    """Tests that answer every case of the type, as `file::function` below `tests`."""

    tests: tuple[str, ...]


class ByCase(NamedTuple):
    """Each case of the type has its own entry in `CASES` or `LATER`."""


# ---------------------------------------------------------------------- what is asked, and what must hold


def body_of(case: Case, name: str) -> dict[str, Any]:
    """`html` or `body` of a case, as the commands take them; generated ones written out."""
    if f"{name}_gen" in case:
        gen = case[f"{name}_gen"]
        unit = gen.get("fill", gen.get("line", ""))
        numbers = [(n,) * gen.get("repeat_args", 1) if "line" in gen else () for n in range(gen["count"])]
        return {name: gen["head"] + "".join(unit % n if n else unit for n in numbers) + gen["tail"]}
    if f"{name}_b64" in case:
        return {"body_b64": case[f"{name}_b64"]}
    return {name: case[name]} if name in case else {}


def page_items(case: Case) -> Items:
    body = body_of(case, "html") or body_of(case, "body")
    headers = case.get("headers") or []
    pairs = [list(pair) for pair in (headers.items() if isinstance(headers, dict) else headers)]
    if "html" not in body and not any(name.lower() == "content-type" for name, _ in pairs):
        pairs.append(["Content-Type", "text/html"])
    url = case.get("url") or case.get("base") or HOME
    return [{"url": url, "headers": pairs, "agent": case.get("agent"), **body}]


def links_hold(case: Case, answers: Answers) -> None:
    (found,) = answers
    assert found["status"] == "ok"
    links = [link["url"] for link in found["links"]]
    for unwanted in case.get("not_expected_substrings", ()):
        assert not any(unwanted in link for link in links)
    mode = case.get("expected_links_mode", "exact")
    extra = set(case.get("also_accept", ())) - set(case.get("expected_links", ()))
    if mode == "exact":
        assert [link for link in links if link not in extra] == case["expected_links"]
    elif mode == "superset":
        assert set(links) >= set(case["expected_links"])


def folded(found: dict[str, Any]) -> str:
    return " ".join((found["text"] or "").split())


def text_holds(case: Case, answers: Answers) -> None:
    text = folded(answers[0])
    assert all(" ".join(wanted.split()) in text for wanted in case["contains"])
    assert not any(unwanted in text for unwanted in case["not_contains"])


def charset_holds(case: Case, answers: Answers) -> None:
    (found,) = answers
    assert case["expected_text"] in folded(found)
    assert found["charset"] == case.get("expected_encoding", found["charset"])


def chunks_items(case: Case) -> Items:
    body = b"".join(base64.b64decode(chunk) for chunk in case["chunks_b64"])
    return page_items({**case, "body_b64": base64.b64encode(body).decode()})


def no_crash_items(case: Case) -> Items:
    return [page_items({"body_b64": body})[0] for body in case["bodies_b64"]]


def no_crash_holds(_case: Case, answers: Answers) -> None:
    for found in answers:
        assert (found["status"], found["error"], found["links"]) == ("ok", None, [])
        assert len(found["text"]) <= 1


def listed_holds(case: Case, answers: Answers) -> None:
    (found,) = answers
    urls = [entry["loc"] for entry in found["urls"]] + found["sitemaps"]
    wanted = case.get("expected_urls") or case.get("expected_links") or []
    assert [url for url in urls if url in wanted or url not in case.get("also_accept", ())] == wanted
    if "expected_lastmod" in case:
        assert [entry["lastmod"] for entry in found["urls"]] == case["expected_lastmod"]


def limits_items(case: Case) -> Items:
    pad = "x" * (case["bytes"] // case["urls"] - 50)
    rows = "".join(f"<url><loc>{HOME}{n}/{pad}</loc></url>" for n in range(case["urls"]))
    return [{"url": HOME + "s.xml", "headers": {"Content-Type": "application/xml"}, "body": f"<urlset>{rows}</urlset>"}]


def limits_hold(case: Case, answers: Answers) -> None:
    assert answers[0]["errors"] == []
    assert len(answers[0]["urls"]) == case["urls"]


def normalise_holds(case: Case, answers: Answers) -> None:
    found = answers[0]["normalized"]
    if case.get("reject"):
        assert found is None
        return
    assert found in ([case["expected"]] if "expected" in case else case["accept"])
    assert not any(part in found for part in case.get("must_not_contain", ()))
    if case.get("idempotent"):
        assert ask("url", [{"url": found}])[0]["normalized"] == found


def pairs_of(case: Case) -> list[tuple[str, str, bool]]:
    same = [(a, b, True) for a, b in case.get("same", [])]
    return same + [(a, b, False) for a, b in case.get("different", [])]


def keys_hold(case: Case, answers: Answers) -> None:
    keys = [found["key"] for found in answers]
    assert None not in keys
    for n, (one, other, same) in enumerate(pairs_of(case)):
        assert (keys[2 * n] == keys[2 * n + 1]) is same, (one, other)


def host_holds(case: Case, answers: Answers) -> None:
    found = answers[0]["host"]
    assert found == case["expected_host"] or (case.get("accept_reject") and found is None)
    assert found != case.get("must_not_host")


def target_items(case: Case) -> Items:
    return [{"url": url} for url in (case["link"], *(url for pair in case.get("same_key", ()) for url in pair))]


def target_holds(case: Case, answers: Answers) -> None:
    assert answers[0]["request_target"] == case["expected_request_target"]
    keys = [found["key"] for found in answers[1:]]
    assert keys[::2] == keys[1::2]


def block_items(case: Case) -> Items:
    return [{"base": HOME, "href": url} for url in (*case.get("blocked", ()), *case.get("allowed", ()))]


def block_holds(case: Case, answers: Answers) -> None:
    blocked = len(case.get("blocked", ()))
    assert all(found["rule"] in ("private_address", "bad_url") for found in answers[:blocked])
    assert all(found["accepted"] for found in answers[blocked:])


def robots_items(case: Case) -> Items:
    head = {"agent": case["agent"], **({"robots_url": case["robots_url"]} if "robots_url" in case else {})}
    body = {"robots_b64": case["robots_b64"]} if "robots_b64" in case else body_of(case, "robots")
    return [{**head, **body, "url": check["url"]} for check in case.get("checks") or [{"url": HOME}]]


def robots_hold(case: Case, answers: Answers) -> None:
    wanted = [check["allowed"] for check in case.get("checks", ())]
    assert [found["allowed"] for found in answers][: len(wanted)] == wanted
    assert answers[0]["sitemaps"] == case.get("expected_sitemaps", answers[0]["sitemaps"])
    assert answers[0]["crawl_delay"] == case.get("expected_crawl_delay", answers[0]["crawl_delay"])


def robots_status_holds(case: Case, answers: Answers) -> None:
    states = {"allow_all": (True, "allow_all"), "disallow_all_for_now": (False, "disallow_all")}
    assert (answers[0]["allowed"], answers[0]["state"]) == states[case["expected"]]


def robots_meta_holds(case: Case, answers: Answers) -> None:
    robots = answers[0]["robots"]
    assert {"index": robots["index"], "follow": robots["follow"]} == case["expected"]


def type_holds(case: Case, answers: Answers) -> None:
    assert answers[0]["media_type"] == case["expected_type"]
    assert not any(part in folded(answers[0]) for part in case.get("not_indexed_substrings", ()))


def refresh_items(case: Case) -> Items:
    many = case.get("cases") or [[case["html"], case["expected"]]]
    return [{"url": case["base"], "html": html} for html, _ in many]


def refresh_holds(case: Case, answers: Answers) -> None:
    many = case.get("cases") or [[case["html"], case["expected"]]]
    found = [a["refresh"] and [a["refresh"]["delay"], a["refresh"]["url"]] for a in answers]
    assert found == [expected for _, expected in many]


def delay_items(case: Case) -> Items:
    return [{"url": HOME, "robots": f"User-agent: *\nCrawl-delay: {value}\n"} for value, _ in case["cases"]]


def query_cases(case: Case) -> list[tuple[str, list[str] | None]]:
    return [(q, ids) for q, ids in case.get("cases") or [[case["query"], case["expected_ids"]]]]


def queries_hold(case: Case, answers: Answers) -> None:
    """Understood without an error, and the index finds what it should."""
    from cobnut.config.sections import IndexSettings
    from cobnut.index.document import Document
    from cobnut.index.writer import write_index
    from cobnut.search.open import open_searcher

    assert not any("error" in found for found in answers)
    documents = [
        Document(
            url_key=f"test,example)http/{ident}", url=f"{HOME}{ident}", host="example.test", domain="example.test",
            segment="20260101000000", title=title, text=body, language="en", media_type="text/html", fetched_at=0,
        )
        for ident, title, body in case["documents"]
    ]  # fmt: skip
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        write_index(Path(folder) / "index", documents, IndexSettings(writer_heap_mib=15), threads=1)
        searcher = open_searcher(Path(folder) / "index")
        try:
            for query, ids in query_cases(case):
                found = {hit.url.removeprefix(HOME) for hit in searcher.search(query, limit=100).hits}
                assert ids is None or found >= set(ids), query
        finally:
            searcher.close()


def bomb_items(case: Case) -> Items:
    body = gzip.compress(b"<p>" + b"x" * case["bytes"])
    return [{"url": HOME, "headers": {"Content-Encoding": "gzip"}, "body_b64": base64.b64encode(body).decode()}]


# ---------------------------------------------------------------------- against a server on loopback


def visit(web: FakeWeb, url: str, *options: str, expect: int = 0) -> dict[str, Any]:
    """What `cobnut check parse URL` says, with every name on this web."""
    words = ("check", "parse", url, "--json", "--resolve", f"*:127.0.0.1:{web.port}", *options)
    done = subprocess.run(command(*words), capture_output=True, text=True, timeout=120, env=environment(), check=False)
    assert done.returncode == expect, done.stderr
    return json.loads(done.stdout)


def raw_holds(case: Case) -> None:
    with FakeWeb().site("a.test", {"/": Answer(raw=base64.b64decode(case["response_b64"]))}) as web:
        web.site("a.test", {"/robots.txt": Answer(404)})
        found = visit(web, "http://a.test/")
    hop = found["visit"]["hops"][-1]
    assert hop["status"] == case["expected_status"]
    assert case["expected_body_text"] in folded(found)
    assert found["truncated"] is ("truncated" in case.get("expected_flags", ()))


def host_after_redirect(case: Case) -> None:
    robots = {"/robots.txt": Answer(404)}
    site = (
        FakeWeb().site("www.a.test", {"/": moved("http://a.test/"), **robots}).site("a.test", {"/": "here", **robots})
    )
    with site as web:
        found = visit(web, case["seeds"][0])
        asked = [[entry.host, entry.target] for entry in web.log if entry.target != "/robots.txt"]
    assert asked == case["expected_requests"]
    assert found["visit"]["hops"][-1]["status"] == case["expected_status"]


def a_record_each_hop(case: Case) -> None:
    with FakeWeb().site("a.test", {"/": moved("/b"), "/b": Answer(404), "/robots.txt": Answer(404)}) as web:
        found = visit(web, case["seeds"][0], expect=1)
    assert [[hop["url"], hop["status"]] for hop in found["visit"]["hops"]] == case["expected_log"]


def no_way_inside(case: Case) -> None:
    site = FakeWeb().site("public.test", {"/": moved("http://10.0.0.5/admin", 302), "/robots.txt": Answer(404)})
    with site.site("10.0.0.5", {"*": "secret"}) as web:
        found = visit(web, case["seeds"][0], expect=1)
        asked = {entry.host for entry in web.log}
    assert not asked & set(case["forbidden_requests"])
    assert found["visit"]["hops"][-1]["reason"] == "private_address"


# ---------------------------------------------------------------------- the table

URL = "url"
TYPES: dict[str, Check | Live | Bench | ByCase] = {
    "url_resolve": Check(
        URL,
        lambda c: [{"base": c["base"], "href": c["href"]}],
        lambda c, a: equal(a[0]["resolved"], c["expected"]),
    ),
    "redirect": Check(
        URL,
        lambda c: [{"base": c["url"], "href_b64": c["location_b64"]}],
        lambda c, a: equal(a[0]["resolved"], c["expected"]),
    ),
    "url_normalise": Check(URL, lambda c: [{"url": c["url"]}], normalise_holds),
    "url_keys": Check(URL, lambda c: [{"url": u} for a, b, _ in pairs_of(c) for u in (a, b)], keys_hold),
    "url_host": Check(URL, lambda c: [{"url": c["url"]}], host_holds),
    "url_hosts": Check(
        URL,
        lambda c: [{"url": url} for url, _ in c["pairs"]],
        lambda c, a: equal([found["host"] for found in a], [host for _, host in c["pairs"]]),
    ),
    "url_block": Check(URL, block_items, block_holds),
    "url_long": Check(
        URL,
        lambda c: [{"url": HOME + "a" * c["chars"]}],
        lambda c, a: equal(a[0]["accepted"], False),
    ),
    "fetch_target": Check(URL, target_items, target_holds),
    "robots_location": Check(
        URL,
        lambda c: [{"url": url} for url, _ in c["pairs"]],
        lambda c, a: equal([found["robots_url"] for found in a], [robots for _, robots in c["pairs"]]),
    ),
    "robots": Check("robots", robots_items, robots_hold),
    "robots_status": Check("robots", lambda c: [{"url": HOME, "status": c["status"]}], robots_status_holds),
    "crawl_delay": Check(
        "robots",
        delay_items,
        lambda c, a: equal([found["crawl_delay"] for found in a], [seconds for _, seconds in c["cases"]]),
    ),
    "robots_meta": Check("parse", page_items, robots_meta_holds),
    "links": Check("parse", page_items, links_hold),
    "text": Check("parse", page_items, text_holds),
    "charset": Check("parse", page_items, charset_holds),
    "charset_stream": Check("parse", chunks_items, charset_holds),
    "body_decode": Check("parse", page_items, lambda c, a: equal(folded(a[0]), c["expected_text"])),
    "content_type": Check("parse", page_items, type_holds),
    "meta_refresh": Check("parse", refresh_items, refresh_holds),
    "meta_refresh_many": Check("parse", refresh_items, refresh_holds),
    "no_crash": Check("parse", no_crash_items, no_crash_holds),
    "bomb": Check("parse", bomb_items, lambda c, a: equal(a[0]["truncated"], True)),
    "sitemap": Check("sitemap", lambda c: [{k: c[k] for k in ("url", "headers", "body_b64")}], listed_holds),
    "feed": Check("sitemap", lambda c: [{**{k: c[k] for k in ("url", "headers")}, **body_of(c, "body")}], listed_holds),
    "limits": Check("sitemap", limits_items, limits_hold),
    "query": Check("query", lambda c: [{"query": q} for q, _ in query_cases(c)], queries_hold),
    "query_many": Check("query", lambda c: [{"query": q} for q, _ in query_cases(c)], queries_hold),
    "http_raw": Live(raw_holds),
    "scenario": ByCase(),
    "crawldb": Bench(("contract/test_sql_engines.py::test_a_table_has_one_row_a_key",
                      "unit/crawl/test_relational.py::test_one_round")),
    "http_status": Bench(("unit/fetcher/test_fetcher_small_parts.py::test_every_status_has_a_meaning",
                          "faults/test_fetch_answers.py::test_conditional_requests")),
    "retry_after": Bench(("unit/fetcher/test_fetcher_small_parts.py::test_retry_after",)),
    "queue": Bench(("unit/fetcher/test_fetcher_politeness.py::test_the_pace_outlives_an_empty_queue",)),
    "warc_file": Bench(
        ("unit/fetcher/test_fetcher_small_parts.py::test_records_come_back_and_a_cut_member_ends_the_file",)
    ),
    "warc_payload": Bench(
        ("faults/test_fetch_answers.py::test_the_digest_is_of_the_decoded_body_and_the_archive_keeps_what_came",)
    ),
    "page": Bench(("unit/search/test_search_results.py::test_pages_of_results_fit_together",
                   "unit/web/test_web_app.py::test_paging_shows_every_result_once")),
    "snippet": Bench(("unit/search/test_search_snippet.py::test_the_best_stretch_is_shown_and_marked",)),
    "result_page": Bench(("unit/web/test_web_app.py::test_queries_never_become_markup",)),
    "ui": Bench(("journey/test_web_page.py::test_no_window_scrolls_sideways_and_nothing_is_cut_off",)),
    "http_request": Bench(("unit/web/test_web_app.py::test_odd_requests_get_a_status_and_the_server_lives_on",)),
    "tls": Bench(("faults/test_fetch_names.py::test_https_is_verified_and_pinned",)),
    "dns": Bench(("faults/test_fetch_names.py::test_failures_have_their_reasons",)),
}  # fmt: skip
"""What answers each type of case."""

CASES: dict[str, Live | Bench] = {
    "red-003": Live(host_after_redirect),
    "red-013": Live(a_record_each_hop),
    "sec-006": Live(no_way_inside),
    "rob-023": Bench(("faults/test_fetch_robots.py::test_a_redirected_robots_txt_counts_for_the_origin",)),
    "pol-002": Bench(("faults/test_fetch_politeness.py::test_retry_after_is_waited_for_within_the_round",
                      "faults/test_fetch_politeness.py::test_a_pause_that_does_not_fit_leaves_the_host_to_later")),
    "cmp-015": Bench(("faults/test_fetch_answers.py::test_limits_of_size",)),
    "htt-012": Bench(("faults/test_fetch_names.py::test_slow_names_are_looked_up_side_by_side",)),
    "dup-004": Bench(("unit/crawl/test_relational.py::test_canonical_of_the_same_host_stays",)),
    "dup-009": Bench(("unit/crawl/test_relational.py::test_empty_text_is_no_duplicate",)),
    "rec-007": Bench(("unit/frontier/test_transition_rules.py::test_a_new_page_that_is_missing_has_a_second_chance",)),
    "cra-001": Bench(("faults/test_crawl_kill.py::test_killed_ten_times_at_random_moments",)),
    "mem-005": Bench(("unit/crawl/test_relational.py::test_the_best_inlinks_are_kept",)),
    "cfg-006": Bench(("unit/search/test_search_results.py::test_an_empty_query_and_an_empty_index_are_normal",
                      "unit/web/test_web_serve.py::test_a_crawl_without_an_index_says_so_until_there_is_one")),
}  # fmt: skip
"""What answers those cases whose type says too little."""

LATER: dict[str, str] = {
    "map-007": "sitemaps that robots.txt names are read and shown, but a crawl does not visit them yet",
    "trp-004": "there is no budget per pattern of URLs yet: crawl.max_pages ends an endless calendar",
}
"""Cases that nothing answers yet, and why."""

DEVIATIONS: dict[str, str] = {
    "url-025": "policy: parameters are not sorted unless urls.normalizers names sort_query; a test of it is below",
}
"""Cases that a checker answers otherwise on purpose, or not yet: the case must fail as it stands."""

OWN: list[Case] = [
    {"id": "own-hosts", "input": {"type": "url_hosts", "pairs": [
        ["http://EXAMPLE.test./", "example.test."], ["http://0x7f.1/", "127.0.0.1"],
        ["http://b\u00fccher.test/", "xn--bcher-kva.test"],
    ]}},
    {"id": "own-block", "input": {"type": "url_block",
        "blocked": ["http://127.0.0.1/", "http://0x7f.1/", "http://[::ffff:10.0.0.1]/", "http://169.254.169.254/a",
                    "http://localhost/", "http://2130706433/", "http://[::1]:80/"],
        "allowed": ["http://1.1.1.1/", "http://example.test/", "http://[2606:4700::1111]/"]}},
    {"id": "own-long", "input": {"type": "url_long", "chars": 5_000}},
    {"id": "own-longer", "input": {"type": "url_long", "chars": 100_000}},
    {"id": "own-delay", "input": {"type": "crawl_delay", "cases": [
        ["2", 2], ["0.5", 0.5], ["soon", None], ["-1", None],
    ]}},
    {"id": "own-refresh", "input": {"type": "meta_refresh", "base": HOME, "expected": [5, HOME + "next"],
        "html": "<meta http-equiv=refresh content=\"5; url='/next'\">"}},
    {"id": "own-refreshes", "input": {"type": "meta_refresh_many", "base": HOME, "cases": [
        ["<meta http-equiv=Refresh content='0,next'>", [0, HOME + "next"]],
        ["<meta http-equiv=refresh content=30>", [30, None]],
        ["<meta http-equiv=refresh content='soon; url=/x'>", None],
        ["<p>nothing", None],
    ]}},
    {"id": "own-bomb", "input": {"type": "bomb", "bytes": 64 << 20}},
]  # fmt: skip
"""A case of ours for each type that a command answers and that no open case has."""


def equal(found: object, wanted: object) -> None:
    assert found == wanted


# ---------------------------------------------------------------------- the tests


def ask(name: str, items: Items) -> Answers:
    """One process answers all items of a checker, in their order."""
    lines = "".join(json.dumps(item) + "\n" for item in items)
    done = subprocess.run(
        command("check", name, "--jsonl"), input=lines.encode(), capture_output=True, timeout=300, env=environment(),
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b""), done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(items)
    return answers


def checked_cases() -> Iterator[tuple[Case, Check]]:
    for case in (*OPEN, *OWN):
        way = TYPES[case["input"]["type"]]
        if isinstance(way, Check):
            yield case, way


@cache
def answers_of(name: str) -> dict[str, Answers]:
    """The answers to all cases of one type of input, by case: one process a type."""
    found: dict[str, Answers] = {}
    asked = [(case, way.items(case["input"])) for case, way in checked_cases() if case["input"]["type"] == name]
    way = TYPES[name]
    assert isinstance(way, Check)
    answers = iter(ask(way.name, [item for _, items in asked for item in items]))
    for case, items in asked:
        found[case["id"]] = [next(answers) for _ in items]
    return found


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case, _ in checked_cases()])
def test_a_checker_answers(case: Case) -> None:
    kind = case["input"]["type"]
    way = TYPES[kind]
    assert isinstance(way, Check)
    answers = answers_of(kind)[case["id"]]
    if case["id"] in DEVIATIONS:
        with pytest.raises(AssertionError):
            way.holds(case["input"], answers)
    else:
        way.holds(case["input"], answers)


def live_cases() -> Iterator[tuple[Case, Live]]:
    for case in OPEN:
        way = TYPES[case["input"]["type"]]
        way = CASES.get(case["id"], way) if isinstance(way, ByCase) else way
        if isinstance(way, Live):
            yield case, way


@pytest.mark.parametrize(("case", "way"), [pytest.param(case, way, id=case["id"]) for case, way in live_cases()])
def test_a_visit_answers(case: Case, way: Live) -> None:
    way.holds(case["input"])


def test_sorted_parameters_change_the_key_and_not_the_request() -> None:
    case = next(case["input"] for case in OPEN if case["id"] == "url-025")
    lines = "".join(json.dumps(item) + "\n" for item in target_items(case))
    words = command("check", "url", "--jsonl", "-s", "urls.normalizers=basic,sort_query")
    done = subprocess.run(words, input=lines, capture_output=True, text=True, timeout=60, env=environment(), check=True)
    target_holds(case, [json.loads(line) for line in done.stdout.splitlines()])


def test_every_case_has_an_answer_or_a_reason() -> None:
    ids = {case["id"] for case in OPEN}
    by_case = {case["id"] for case in OPEN if isinstance(TYPES[case["input"]["type"]], ByCase)}
    assert by_case == set(CASES) | set(LATER)
    assert not set(CASES) & set(LATER)
    assert set(DEVIATIONS) <= ids
    exercised = {case["input"]["type"] for case in (*OPEN, *OWN)}
    assert {kind for kind, way in TYPES.items() if isinstance(way, Check | Live)} <= exercised


@cache
def functions_of(file: Path) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.FunctionDef)}


def benches() -> Iterator[str]:
    for way in (*TYPES.values(), *CASES.values()):
        if isinstance(way, Bench):
            yield from way.tests


@pytest.mark.parametrize("name", sorted(set(benches())))
def test_every_bench_is_there(name: str) -> None:
    file, _, function = name.partition("::")
    assert function in functions_of(ROOT / "tests" / file)
