from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from small_crawl import COPY, GONE, HOME, LEFT, MD5, NOW, PAGE, SEGMENT, key, small_crawl

from cobnut.cli.main import main
from cobnut.records.catalogue import CRAWLDB, FETCHED, PAGES


@pytest.fixture(scope="module")
def crawl_dir(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(small_crawl(tmp_path_factory.mktemp("crawl") / "c").path)


class Asked:
    """Runs a command line in this process; what it printed and how it ended."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys, self.code = capsys, 0

    def __call__(self, *args: str) -> str:
        self.code = main(list(args))
        output = self.capsys.readouterr()
        self.error = output.err
        return output.out

    def objects(self, *args: str) -> list[dict[str, object]]:
        return [json.loads(line) for line in self(*args, "--json").splitlines()]


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Asked:
    return Asked(capsys)


def test_rows_for_a_person(ask: Asked, crawl_dir: str) -> None:
    lines = ask("read", "crawldb", crawl_dir).splitlines()
    assert lines[0].split() == ["status", "reason", "due_at", "fetched_at", "retries", "score", "depth", "url"]
    assert len(lines) == 5
    assert lines[1].split()[-1] == HOME
    assert lines[1].split()[5] == "1.5"
    assert "more; --limit N shows more than 2" in ask("read", "crawldb", crawl_dir, "--limit", "2").splitlines()[-1]
    assert "\x1b" not in ask("read", "linkdb", crawl_dir)


@pytest.mark.parametrize(
    ("where", "urls"),
    [
        (f"url = '{PAGE}'", [PAGE]),
        (f"url <> '{PAGE}' and score > 0.1", [HOME, COPY]),
        (f"url in ('{PAGE}', '{COPY}', 'x')", [PAGE, COPY]),
        ("url like '%/copy'", [COPY]),
        ("url is null", []),
        ("url = 'http://A.test/page'", []),
        ("score = 1.5", [HOME]),
        ("score > 1.4999 and score between 1 and 2", [HOME]),
        ("1 < score", [HOME]),
    ],
)
def test_conditions_mean_what_is_shown(ask: Asked, crawl_dir: str, where: str, urls: list[str]) -> None:
    rows = ask.objects("read", "crawldb", crawl_dir, "--where", where)
    assert [row["url"] for row in rows] == urls, ask.error


def test_rows_for_a_program(ask: Asked, crawl_dir: str) -> None:
    rows = ask.objects("read", "crawldb", crawl_dir, "--where", "status = 'fetched' and depth = 1")
    assert [row["url"] for row in rows] == [PAGE, COPY]
    assert rows[0]["signature"] == MD5.hex()
    assert rows[0]["fetched_at"] == NOW
    assert list(rows[0]) == list(CRAWLDB.column_names)
    found = list(csv.DictReader(io.StringIO(ask("read", "pages", crawl_dir, "--csv", "--limit", "1"))))
    assert list(found[0]) == list(PAGES.column_names)
    assert json.loads(found[0]["metadata"]) == {"topic": "nuts"}
    assert ask("read", "crawldb", crawl_dir, "--csv", "--where", "depth = 9").count("\n") == 1
    assert ask.objects("read", "crawldb", crawl_dir, "--columns", "url,status", "--host", "B.test") == [
        {"url": COPY, "status": "fetched"}
    ]


def test_the_whole_row_of_a_url(ask: Asked, crawl_dir: str) -> None:
    (row,) = ask.objects("read", "crawldb", crawl_dir, "--url", "a.test")
    assert (row["url"], row["http_status"], row["metadata"]) == (HOME, 200, {"topic": "nuts"})
    lines = dict(line.split(None, 1) for line in ask("read", "crawldb", crawl_dir, "--url", PAGE).splitlines())
    assert (lines["status"], lines["discovered_from"]) == ("fetched", key(HOME))
    assert ask.objects("read", "crawldb", crawl_dir, "--url", PAGE, "--columns", "http_status") == [
        {"http_status": 200}
    ]
    assert ask("read", "crawldb", crawl_dir, "--url", LEFT) == ""
    assert ask.code == 1
    assert "not in the crawldb" in ask.error
    assert len(ask.objects("read", "linkdb", crawl_dir, "--url", PAGE)) == 2


@pytest.mark.parametrize("table", ["crawldb", "pages", "linkdb", "hostdb", "seeds", "robots", "ranks", "duplicates"])
def test_every_table_can_be_read_and_counted(ask: Asked, crawl_dir: str, table: str) -> None:
    assert len(ask("read", table, crawl_dir).splitlines()) >= 2
    assert ask.objects("read", table, crawl_dir)
    assert ask.objects("read", table, crawl_dir, "--stats")[0]["table"] == table
    assert ask("read", table, crawl_dir, "--stats").startswith("table")
    assert ask.code == 0


def test_segments(ask: Asked, crawl_dir: str) -> None:
    assert SEGMENT in ask("read", "segment", crawl_dir)
    assert ask.objects("read", "segment", crawl_dir, SEGMENT)[0]["state"] == "parsed"
    (row,) = ask.objects("read", "segment", crawl_dir, "--url", GONE)
    assert (row["segment"], row["outcome"], row["reason"]) == (SEGMENT, "gone", "http_404")
    assert set(row) == {"segment", *FETCHED.column_names}
    links = ask.objects("read", "segment", crawl_dir, SEGMENT, "--table", "links", "--columns", "segment,to_url")
    assert [link["to_url"] for link in links] == [PAGE, LEFT, COPY]
    assert len(ask.objects("read", "segment", crawl_dir, "--table", "fetched", "--limit", "3")) == 3


def test_as_the_webdb_was_asked(ask: Asked, crawl_dir: str) -> None:
    assert ask.objects("read", "webdb", crawl_dir, "--url", HOME)[0]["status"] == "fetched"
    assert {p["url"] for p in ask.objects("read", "webdb", crawl_dir, "--md5", MD5.hex())} == {PAGE, COPY}
    assert [r["from_url"] for r in ask.objects("read", "webdb", crawl_dir, "--links-to", COPY)] == [HOME]
    assert len(ask.objects("read", "webdb", crawl_dir, "--links-from", HOME)) == 3
    assert ask.objects("read", "webdb", crawl_dir, "--stats")[0]["pages"] == 4
    assert ask("read", "webdb", crawl_dir, "--links-from", HOME).splitlines()[1] == f"{HOME}  {PAGE}  the page"
    ask("read", "webdb", crawl_dir, "--url", LEFT)
    assert (ask.code, ask.error) == (1, "nothing fits\n")


def test_why(ask: Asked, crawl_dir: str) -> None:
    assert ask("why", crawl_dir, PAGE).splitlines()[1] == (
        "  It is not in the index: the page forbids indexing (noindex)."
    )
    assert ask.code == 0
    (told,) = ask.objects("why", crawl_dir, HOME)
    assert (told["known"], told["key"], told["refused_by"]) == (True, key(HOME), None)
    ask("why", crawl_dir, "http://nowhere.test/")
    assert ask.code == 1


@pytest.mark.parametrize(
    ("args", "part"),
    [
        (["read", "crawldb", "DIR", "--where", "stats = 1"], "did you mean status?"),
        (["read", "crawldb", "DIR", "--where", "1; drop"], "--where cannot be read"),
        (["read", "crawldb", "DIR", "--columns", "ulr"], "did you mean url?"),
        (["read", "crawldb", "DIR", "--columns", "etag"], "crawldb has no column 'etag'"),
        (["read", "crawldb", "DIR", "--json", "--csv"], "exclude each other"),
        (["read", "crawldb", "DIR", "--stats", "--host", "a"], "--stats counts the whole table"),
        (["read", "crawldb", "DIR", "--url", "a.test", "--where", "depth=1"], "--url names one row"),
        (["read", "hostdb", "DIR", "--url", "a.test"], "hostdb has no URL"),
        (["read", "segment", "DIR", "20990101000000"], "no segment is called"),
        (["read", "segment", "DIR", "--table", "crawldb"], "no table of a segment"),
        (["read", "webdb", "DIR"], "ask one question"),
        (["read", "webdb", "DIR", "--stats", "--url", "x"], "ask one question"),
        (["read", "webdb", "DIR", "--md5", "zz"], "32 hexadecimal digits"),
        (["read", "crawldb", "/nowhere"], "no such folder"),
        (["why", "DIR", "mailto:a@b.test"], "not an http or https URL"),
        (["rollback", "DIR", "crawdb"], "did you mean crawldb?"),
        (["rollback", "DIR", "crawldb"], "no previous generation"),
        (["search", "DIR", " "], "the query is empty"),
        (["fetch", "DIR"], "no segment waits to be fetched"),
        (["crawl", "DIR", "example.org"], "did you mean https://example.org ?"),
        (["crawl", "DIR", "--max-time", "soon"], "no duration"),
        (["crawl", "DIR", "--scope", "galaxy"], "not one of host, domain, prefix, web"),
        (["crawl", "DIR", "--max-page", "3"], "did you mean --max-pages?"),
        (["inject", "DIR", "/nowhere"], "no such seed file"),
        (["generate", "DIR", "--top-n", "many"], "no whole number"),
    ],
)
def test_bad_questions_are_one_line_and_exit_2(ask: Asked, crawl_dir: str, args: list[str], part: str) -> None:
    assert ask(*(crawl_dir if word == "DIR" else word for word in args)) == ""
    assert ask.code == 2
    assert part in ask.error
    assert ask.error.count("\n") == 1


def test_rollback(ask: Asked, tmp_path: Path) -> None:
    crawl = small_crawl(tmp_path / "c")
    with crawl.table(CRAWLDB).begin() as draft:
        draft.publish("test")
    assert ask("rollback", str(crawl.path), "crawldb") == "crawldb: generation 1 is current again (was 2)\n"
    assert ask.objects("read", "crawldb", str(crawl.path), "--stats")[0]["rows"] == 4
