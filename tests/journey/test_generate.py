"""Does `cobnut generate`, typed by hand, choose what its options say, and tell why it chose nothing?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from crawling import cobnut, to_web

from cobnut.testing.fakeweb import FakeWeb

SEEDS = "".join(
    f"http://h{host}.{domain}.test/{page}\tnutch.score={page + 1}\n"
    for domain in ("a", "b")
    for host in range(2)
    for page in range(4)
)
WEB = ("-s", "crawl.scope=web")


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    folder = tmp_path / "crawl"
    seeds = tmp_path / "seeds.txt"
    seeds.write_text(SEEDS)
    cobnut("create", folder)
    cobnut("inject", folder, seeds)
    return folder


def made(crawl: Path, *options: object) -> dict[str, object]:
    return json.loads(cobnut("generate", crawl, *WEB, *options, "--json").stdout)


def listed(crawl: Path, segment: str) -> list[str]:
    lines = cobnut("read", "fetchlist", crawl, segment, "--format", "jsonl").stdout.splitlines()
    return sorted(json.loads(line)["url"] for line in lines)


def test_limits_and_conditions(crawl: Path) -> None:
    report = made(crawl, "--max-per-domain", 3, "--max-per-host", 2, "--where", "score > 1 and host like 'h%.test'")
    assert report["counts"]["selected"] == 6
    assert report["left_out"] == {"where": 4, "max_per_host": 4, "max_per_domain": 2}
    report = made(crawl, "--min-score", 3, "--status", "unfetched,gone")
    assert (report["counts"], report["left_out"]["min_score"]) == ({"selected": 2, "hosts": 2}, 8)
    report = made(crawl, "--segments", 2, "--top-n", 3)
    assert report["counts"] == {"selected": 6, "hosts": 4, "segments": 2}
    assert len(report["segments"]) == 2
    assert cobnut("generate", crawl, *WEB, "--segments", 2).stdout.count("\nsegment 20") == 2


def test_nothing_is_selected_and_each_reason_is_said(crawl: Path) -> None:
    said = cobnut("generate", crawl, *WEB, "--where", "depth > 3", "--min-score", 100).stdout
    assert "nothing is selected\n  16 not what --where asks for\n" in said
    said = cobnut("generate", crawl, *WEB, "--status", "gone").stdout
    assert "  16 of another status than --status asks for\n" in said
    assert "  16 below generate.min_score\n" in cobnut("generate", crawl, *WEB, "--min-score", 100).stdout
    assert "generate.max_per_domain, is 0" in cobnut("generate", crawl, *WEB, "--max-per-domain", 0).stdout
    said = cobnut("generate", crawl, *WEB, "-s", "urls.max_length=16").stdout
    assert "  16 refused by the URL filter length\n" in said
    assert "\nsegment 20" in cobnut("generate", crawl, *WEB).stdout
    said = cobnut("generate", crawl, *WEB).stdout
    assert "  16 in a segment that is not applied yet: fetch, parse and updatedb it\n" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--where", "socre > 1"), "no column 'socre' (character 1): 'socre > 1'; did you mean score?"),
        (("--where", "host = (select 1)"), "'select' is not expected here (character 9)"),
        (("--where", "depth > 1; drop table crawldb"), "cannot be read at '; drop table crawldb' (character 10)"),
        (("--where", "depth > 'x'"), "'x' is no number"),
        (("--where", ""), "--where is empty"),
        (("--status", "unfetchd"), "did you mean 'unfetched'"),
        (("--status", ""), "unknown status"),
        (("--segments", "0"), "0 is not between 1 and 1000 segments"),
        (("--max-per-domain", "-2"), "generate.max_per_domain"),
        (("--min-score", "nan"), "generate.min_score"),
        (("-s", "generate.ageing=-1"), "generate.ageing"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(crawl: Path, options: tuple[str, ...], said: str) -> None:
    done = cobnut("generate", crawl, *WEB, *options, expect=2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not list((crawl / "segments").iterdir())


def test_what_is_due_within_a_time_is_taken_when_asked_for(tmp_path: Path) -> None:
    """A page that was fetched is due in a day."""
    web = FakeWeb()
    web.site("a.test", {"/": "<title>a</title>"})
    with web:
        cobnut("crawl", tmp_path / "crawl", "http://a.test/", *to_web(web.port))
    for ahead, selected in (("0", 0), ("12h", 0), ("25h", 1)):
        assert made(tmp_path / "crawl", "--ahead", ahead)["counts"]["selected"] == selected
    told = cobnut("generate", tmp_path / "crawl", "--ahead", "soon", expect=2).stderr
    assert "--ahead" in told
    cobnut("generate", tmp_path / "crawl", "--ahead", "99999999999d")  # farther than a column holds
