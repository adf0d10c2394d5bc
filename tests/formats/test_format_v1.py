"""A crawl of format version 1, as it lies on people's disks, can be read, searched, upgraded, and gone on with."""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
KEPT = HERE / "v1/crawl"
EXPECTED = json.loads((HERE / "v1/expected.json").read_text("utf-8"))

sys.path.insert(0, str(HERE))
import make_v1  # noqa: E402
from make_v1 import HOST, QUERIES, cobnut, lines  # noqa: E402

HOME = f"http://{HOST}/"


@pytest.fixture
def crawl(tmp_path):
    """A copy: the kept one stays as it is."""
    return Path(shutil.copytree(KEPT, tmp_path / "crawl"))


def test_the_kept_crawl_is_the_one_that_was_made():
    assert make_v1.digest(KEPT) == EXPECTED["sha256"], "a released format is never made anew"
    size = sum(path.stat().st_size for path in (HERE / "v1").rglob("*") if path.is_file())
    assert size < 450_000


def test_it_holds_what_formats_are_made_of():
    states = set(EXPECTED["states"].values())
    assert {"fetched", "redirect_perm"} <= states
    assert EXPECTED["documents"] > 20
    assert len(EXPECTED["segments"]) == 2
    for tables in (EXPECTED["tables"], *EXPECTED["segments"].values()):
        assert all(summed["rows"] for summed in tables.values())
    for query in QUERIES:
        assert EXPECTED["hits"][query], query


def test_the_public_commands_say_what_they_said_when_it_was_made(crawl):
    columns = {
        name: summed["columns"]
        for tables in (EXPECTED["tables"], *EXPECTED["segments"].values())
        for name, summed in tables.items()
    }
    told = json.loads(json.dumps(make_v1.told(crawl, columns)))
    for name in ("tables", "segments", "states", "documents"):
        assert told[name] == EXPECTED[name], name
    assert EXPECTED["document"].items() <= told["document"].items(), "later versions may only add to a document"
    # what a query means may grow, what was found stays found
    for name in ("hits", "hits_of_index_alone", "hits_of_segments"):
        for query, urls in EXPECTED[name].items():
            assert set(urls) <= set(told[name][query]), (name, query)


def test_why_knows_its_pages(crawl):
    assert "It is in the index" in cobnut("why", crawl, HOME)
    assert "is shown instead" in cobnut("why", crawl, f"{HOME}print/crawling.html")
    assert "forbids indexing" in cobnut("why", crawl, f"{HOME}drafts.html")
    assert json.loads(cobnut("why", crawl, f"{HOME}roadmap.html", "--json"))["verdict"]


def test_it_is_of_this_format_version_or_can_be_upgraded(crawl):
    rows = lines("upgrade", crawl, "--json")
    assert all(row["state"] in ("current", "absent") for row in rows)
    assert len(rows) > 10
    assert "nothing to do" in cobnut("upgrade", crawl)


def test_nothing_has_to_be_made_anew(crawl):
    cobnut("upgrade", crawl)
    report = json.loads(cobnut("merge", crawl, "--json"))
    assert report["counts"]["documents"] == EXPECTED["documents"]
    assert json.loads(cobnut("index", crawl, "--json"))["counts"]["unchanged"] == len(EXPECTED["segments"])


def test_tables_can_be_rolled_back(crawl):
    assert re.search(r"generation \d+ is current again", cobnut("rollback", crawl, "crawldb"))
    assert lines("read", "crawldb", crawl, "--json")


def test_a_crawl_goes_on_with_it(crawl):
    with make_v1.web() as web:
        web.site(
            "new.example", {"/": "<title>Aardvark</title><p>A page that was not there. <a href=/b>b</a>", "/b": "b"}
        )
        seeds = crawl.parent / "seeds.txt"
        seeds.write_text("http://new.example/\n")
        cobnut("upgrade", crawl)
        cobnut("inject", crawl, seeds)
        cobnut(
            "crawl", crawl, "--resolve", f"*:127.0.0.1:{web.port}", "-s", "fetcher.delay_s=0", "-s", "fetcher.workers=1"
        )
    hits = json.loads(cobnut("search", crawl, "aardvark", "--json"))["hits"]
    assert [hit["url"] for hit in hits] == ["http://new.example/"]
    for query, urls in EXPECTED["hits"].items():
        found = json.loads(cobnut("search", crawl, query, "--json", "--limit", 100))["hits"]
        assert set(urls) <= {hit["url"] for hit in found}, query
