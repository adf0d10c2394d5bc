"""A crawl of the site that real Nutch crawled is handed back: what 0.7.2's web database held is there again.

The site is served byte for byte as Nutch saw it, under the same URLs; Cobnut crawls it for three rounds from the same
seeds. What differs from the database and the segments that real Nutch 0.7.2 wrote stands in lists here, each
entry with its reason: one more or one fewer is a failure. Times and scores are not compared: 0.7.2 makes scores by
`analyze` only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from crawling import AGENT, cobnut
from nutch_site import EMBEDDED, HOME, SEEDS, NutchSite

from cobnut.interop.hadoop import MapFileReader, SequenceFileReader
from cobnut.interop.nutch07 import Link, Page
from cobnut.interop.nutch07.segment import Entry, SegmentReader
from cobnut.interop.nutch07.webdb import WebDBReader
from cobnut.interop.nutch1 import Content, CrawlDatum, Inlinks, ParseData, ParseText
from cobnut.records.catalogue import CRAWLDB
from cobnut.storage.layout import CrawlFolder
from cobnut.urls.keys import key_to_url

GOLDEN = Path(__file__).parent.parent / "formats" / "nutch" / "0.7.2" / "data"
DAY_S = 86_400

TRIED_AGAIN = "0.7 gives a page up at the first error; an error that may pass is asked for again"
MISSING_TWICE = "a 404 counts when a second visit on another day agrees"
GONE_LONGER = "as in 1.x, the time between two visits of a page that is gone grows; 0.7 has no schedule for it"
NO_LINK_IN_TEXT = "only markup makes a link: 0.7 takes every URL in plain text for one"
OWN_RECORD = "what a redirect leads to is a page of its own, as in 1.x; 0.7 keeps it under the source's URL alone"
WHY = "what went wrong has the code that 1.x gives it; 0.7.2 has the one code of an exception for all of it"
SERVER_SAID = "the server's Last-Modified is kept in the status, which 0.7.2 leaves 0"
NO_PARSE = "what was not fetched was not parsed; 0.7.2 parses the empty string with success"
FIRST_WORDS = "of two links between two pages the linkdb keeps the first one's words, 0.7's database the last one's"
SENDS_ON = "a page that sends on to another at once is a redirect: its content is that of the page it leads to"

Differences = dict[tuple[str, str], tuple[Any, Any]]
"""(URL, field): what real Nutch has, and what the export has."""

PAGES: dict[tuple[str, str], tuple[Any, Any, str]] = {
    (EMBEDDED, "is there"): (True, False, NO_LINK_IN_TEXT),
    (f"{HOME}/target.html", "is there"): (False, True, OWN_RECORD),
    (f"{HOME}/target2.html", "is there"): (False, True, OWN_RECORD),
    (f"{HOME}/error500.html", "is_never_due"): (True, False, TRIED_AGAIN),
    (f"{HOME}/error500.html", "retries"): (0, 1, TRIED_AGAIN),
    (f"{HOME}/forbidden.html", "is_never_due"): (True, False, TRIED_AGAIN),
    (f"{HOME}/forbidden.html", "retries"): (0, 1, TRIED_AGAIN),
    (f"{HOME}/slow503.html", "is_never_due"): (True, False, TRIED_AGAIN),
    (f"{HOME}/missing.html", "is_never_due"): (True, False, MISSING_TWICE),
    (f"{HOME}/plain.txt", "num_outlinks"): (1, 0, NO_LINK_IN_TEXT),
    (f"{HOME}/gone.html", "fetch_interval_days"): (30, 45, GONE_LONGER),
    (f"{HOME}/private/x.html", "fetch_interval_days"): (30, 45, GONE_LONGER),
    (f"{HOME}/refresh.html", "md5"): (
        bytes.fromhex("c80dce832ee2c4b278cd6a79b5821ec7"), bytes.fromhex("85a91dd62d37c9332fd3c7ce2ef61b63"), SENDS_ON,
    ),
}  # fmt: skip

LINKS: dict[tuple[str, str], tuple[Any, Any, str]] = {
    (f"{HOME}/plain.txt -> {EMBEDDED}", "is there"): (True, False, NO_LINK_IN_TEXT),
    (f"{HOME}/ -> {HOME}/plain.txt", "target_has_outlink"): (True, False, NO_LINK_IN_TEXT),
}

FAILED = {
    "error500.html": 16,
    "forbidden.html": 16,
    "slow503.html": 16,
    "gone.html": 11,
    "missing.html": 14,
    "private/x.html": 18,
}
FETCHES: dict[tuple[str, str], tuple[Any, Any, str]] = {
    (EMBEDDED, "is there"): (True, False, NO_LINK_IN_TEXT),
    (f"{HOME}/target.html", "is there"): (False, True, OWN_RECORD),
    (f"{HOME}/target2.html", "is there"): (False, True, OWN_RECORD),
    (f"{HOME}/lm.html", "last_modified"): (0, 1_672_531_200_000, SERVER_SAID),
    (f"{HOME}/a.html", "anchors"): (["frag", "to a"], ["first page", "to a"], FIRST_WORDS),
    (f"{HOME}/plain.txt", "outlinks"): ([(EMBEDDED, "")], [], NO_LINK_IN_TEXT),
    **{(f"{HOME}/{name}", "code"): (16, code, WHY) for name, code in FAILED.items() if code != 16},
    **{(f"{HOME}/{name}", "parse"): ((1, 0, None), (0, 0, None), NO_PARSE) for name in FAILED},
}  # fmt: skip


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The crawl after three rounds."""
    folder = tmp_path_factory.mktemp("handed-back") / "crawl"
    seeds = folder.with_name("seeds.txt")
    seeds.write_text("\n".join(SEEDS))
    quick = (
        "fetcher.backoff_s=1",
        "fetcher.backoff_max_s=1",
        "fetcher.max_delay_s=0.1",
        "fetcher.failures_per_host=99",
    )
    # 0.7's fetch interval, and every host
    like_07 = (f"db.interval_s={30 * DAY_S}", "db.schedule=default", "crawl.scope=web")
    options = [word for setting in (*quick, *like_07) for word in ("-s", setting)]
    with NutchSite() as site:
        cobnut("create", folder, *AGENT, *options)
        cobnut("inject", folder, seeds)
        for _ in range(3):
            cobnut("generate", folder)
            cobnut("fetch", folder, *site.options)
            cobnut("parse", folder)
            cobnut("updatedb", folder)
    for step in ("invertlinks", "rank", "updatesegs"):
        cobnut(step, folder)
    return folder


@pytest.fixture(scope="module")
def old(crawl: Path) -> Path:
    """The crawl in the layout of 0.7."""
    out = crawl.with_name("old")
    told = cobnut("export", "nutch", crawl, out, "--layout", "0.7")
    assert "segments 3" in told.stdout
    return out


@pytest.fixture(scope="module")
def new(crawl: Path) -> Path:
    """The crawl in the layout of 1.x."""
    out = crawl.with_name("new")
    cobnut("export", "nutch", crawl, out)
    return out


def compare(golden: dict[str, dict[str, Any]], ours: dict[str, dict[str, Any]]) -> Differences:
    """Every field that differs, and what is in one of the two only."""
    found: Differences = {}
    for name in golden.keys() | ours.keys():
        if name not in golden or name not in ours:
            found[name, "is there"] = (name in golden, name in ours)
            continue
        for field, value in golden[name].items():
            if ours[name][field] != value:
                found[name, field] = (value, ours[name][field])
    return found


def expected(reasons: dict[tuple[str, str], tuple[Any, Any, str]]) -> Differences:
    assert all(reason for *_, reason in reasons.values())
    return {place: values[:2] for place, values in reasons.items()}


def told(page: Page) -> dict[str, Any]:
    names = ("md5", "is_never_due", "retries", "fetch_interval_days", "num_outlinks")
    return {name: getattr(page, name) for name in names}


def pages_of(folder: Path) -> dict[str, dict[str, Any]]:
    return {page.url: told(page) for page in WebDBReader(folder).pages()}


def links_of(folder: Path) -> dict[str, dict[str, Any]]:
    """Links under `SOURCE -> TARGET`: a content is called after the first URL that has it."""
    reader = WebDBReader(folder)
    names: dict[bytes, str] = {}
    for page in reader.pages():
        names.setdefault(page.md5, page.url)
    return {
        f"{names[link.from_id]} -> {link.url}": {
            "from_id": link.from_id, "domain_id": link.domain_id, "anchor": link.anchor,
            "target_has_outlink": link.target_has_outlink,
        }
        for link in reader.links()
    }  # fmt: skip


def test_the_pages_are_those_of_real_nutch_but_for_the_list(old: Path) -> None:
    assert compare(pages_of(GOLDEN / "webdb-2-round3"), pages_of(old / "db")) == expected(PAGES)


def test_the_links_are_those_of_real_nutch_but_for_the_list(old: Path) -> None:
    assert compare(links_of(GOLDEN / "webdb-2-round3"), links_of(old / "db")) == expected(LINKS)


def test_the_four_tables_and_the_counts_agree(old: Path) -> None:
    reader = WebDBReader(old / "db")
    pages, links = list(reader.pages()), list(reader.links())
    assert list(reader.pages_by_md5()) == sorted(pages)
    assert list(reader.links_by_md5()) == sorted(links, key=Link.md5_key)
    assert links == sorted(links)
    assert reader.stats == (len(pages), len(links)) == (26, 29)
    assert {link.from_id for link in links} <= {page.md5 for page in pages}  # none of a content that has vanished
    assert {"dbreadlock", "dbwritelock", "webdb"} == {path.name for path in (old / "db").iterdir()}


def entries_of(folder: Path) -> Iterator[Entry]:
    for segment in sorted(folder.iterdir()):
        yield from SegmentReader(segment).entries()


def fetches_of(folder: Path) -> dict[str, dict[str, Any]]:
    found = {}
    for entry in entries_of(folder):
        output, content, parse = entry.output, entry.content, entry.parse_data
        assert output is not None
        assert content is not None
        assert parse is not None
        found[output.url] = {
            "md5": output.md5, "page_md5": output.fetch_list_entry.page.md5, "anchors": output.anchors,
            "code": output.protocol_status.code, "last_modified": output.protocol_status.last_modified,
            "base": content.base, "content": content.content, "type": content.content_type,
            "headers": content.metadata, "title": parse.title,
            "outlinks": [(link.to_url, link.anchor) for link in parse.outlinks],
            "parse": (parse.status.major, parse.status.minor, parse.status.args),
        }  # fmt: skip
    return found


def test_what_was_fetched_is_what_real_nutch_fetched_but_for_the_list(old: Path) -> None:
    """Bodies, headers, types, titles, outlinks and MD5s of all three segments; a body's Content-Encoding is undone."""
    assert compare(fetches_of(GOLDEN / "segments"), fetches_of(old / "segments")) == expected(FETCHES)


def test_fetchlists_are_in_the_order_of_the_pages(old: Path) -> None:
    for segment in sorted((old / "segments").iterdir()):
        entries = list(SegmentReader(segment).fetchlist())
        assert [e.page for e in entries] == sorted(e.page for e in entries)
        assert (segment / "fetcher.done").exists()


def rows_of(folder: Path, read: Any) -> dict[str, Any]:
    with MapFileReader(folder / "part-r-00000") as reader:
        found = {record.key[1:].decode(): read(record.value) for record in reader.records()}
        assert list(found) == sorted(found)
        for url in found:  # by the index, too
            assert reader.get(bytes([len(url.encode())]) + url.encode()) is not None
    return found


def test_the_layout_of_1_has_the_crawl(new: Path) -> None:
    crawldb = rows_of(new / "crawldb/current", CrawlDatum.read)
    assert len(crawldb) == 26
    home = crawldb[f"{HOME}/"]
    assert (home.status_name, home.fetch_interval) == ("db_fetched", 30 * DAY_S)
    assert home.signature.hex() == "dbae818bf55393610db631542443ed04"  # as real Nutch 1.23 has it
    assert crawldb[f"{HOME}/moved"].status_name == "db_redir_perm"
    assert crawldb[f"{HOME}/moved"].metadata.get("_pst_").args == [f"{HOME}/target.html"]
    assert crawldb[f"{HOME}/target2.html"].metadata.get("_repr_") == f"{HOME}/temp"  # as 1.23 chose
    assert crawldb[f"{HOME}/private/x.html"].metadata.get("_pst_").code == 18
    assert crawldb[f"{HOME}/empty.html"].signature is None
    inlinks = rows_of(new / "linkdb/current", Inlinks.read)
    assert {(i.from_url, i.anchor) for i in inlinks[f"{HOME}/b.html"]} == {
        (f"{HOME}/", "second page"), (f"{HOME}/a.html", "to b"),
    }  # fmt: skip
    assert f"{HOME}/only-nofollow.html" not in inlinks


def test_segments_of_the_layout_of_1_have_what_was_fetched(new: Path) -> None:
    first, second, third = sorted((new / "segments").iterdir())
    content = rows_of(second / "content", Content.read)
    assert content[f"{HOME}/gz.html"].content == b"<html><title>Gz</title><body>compressed body</body></html>"
    assert content[f"{HOME}/gz.html"].metadata.get("Content-Encoding") == "gzip"  # the headers are as they came
    assert content[f"{HOME}/latin1.html"].metadata.get("nutch.segment.name") == second.name
    assert content[f"{HOME}/moved"].metadata.get("Location") == "/target.html"
    fetched = rows_of(second / "crawl_fetch", CrawlDatum.read)
    assert {url: d.status_name for url, d in fetched.items() if d.status != 0x21} == {
        f"{HOME}/moved": "fetch_redir_perm", f"{HOME}/temp": "fetch_redir_temp", f"{HOME}/gone.html": "fetch_gone",
        f"{HOME}/missing.html": "fetch_gone", f"{HOME}/private/x.html": "fetch_gone",
        f"{HOME}/error500.html": "fetch_retry", f"{HOME}/forbidden.html": "fetch_retry",
        f"{HOME}/slow503.html": "fetch_retry",
    }  # fmt: skip
    parsed = rows_of(second / "parse_data", ParseData.read)
    assert [(o.to_url, o.anchor) for o in parsed[f"{HOME}/canon.html"].outlinks] == [(f"{HOME}/a.html", "")]
    assert parsed[f"{HOME}/refresh.html"].status.redirect == (f"{HOME}/target3.html", "0")
    assert parsed[f"{HOME}/noindex.html"].title == ""
    assert parsed[f"{HOME}/noindex.html"].parse_meta.get("robots") == "noindex,nofollow"
    text = rows_of(second / "parse_text", ParseText.read)
    assert text[f"{HOME}/noindex.html"].text == ""
    assert text[f"{HOME}/zh.html"].text == "网络爬虫与查询。 emoji 😀 end. 主页"
    assert list(text) == list(parsed)
    with SequenceFileReader(first / "crawl_parse/part-r-00000") as reader:
        said = [(r.key[1:].decode(), CrawlDatum.read(r.value).status_name) for r in reader.records()]
    assert said[0] == (f"{HOME}/", "signature")
    assert said.count((f"{HOME}/a.html", "linked")) == 2
    with SequenceFileReader(third / "crawl_generate/part-r-00000") as reader:
        listed = [r.key[1:].decode() for r in reader.records()]
    assert listed == [f"{HOME}/target3.html"]


def test_containers_are_compressed_as_real_nutch_does_it(new: Path) -> None:
    golden = GOLDEN.parent.parent / "1.23" / "data"
    theirs = sorted((golden / "segments").iterdir())[0]
    ours = sorted((new / "segments").iterdir())[0]
    pairs = [
        (golden / "linkdb/current", new / "linkdb/current"), (golden / "hostdb/current", new / "hostdb/current"),
        (golden / "crawldb-03-update", new / "crawldb/current"),
        *((theirs / part.name, ours / part.name) for part in theirs.iterdir()),
    ]  # fmt: skip
    for their, our in pairs:
        names = [str(path.relative_to(their)) for path in sorted(their.rglob("*")) if path.is_file()]
        assert [str(path.relative_to(our)) for path in sorted(our.rglob("*")) if path.is_file()] == names
        for name in names:
            if not name.endswith(".crc"):
                with SequenceFileReader(their / name) as one, SequenceFileReader(our / name) as other:
                    assert other.header.compression == one.header.compression, name
                    assert (other.key_class, other.value_class) == (one.key_class, one.value_class), name
                    assert other.version == one.version


OTHER_LINKS = "Nutch counts links that name a canonical page, and none that are nofollow, refreshes or named twice"
NO_REASON = "Nutch has no word for it"
ONE_RECORD = "0.7 has what a redirect led to under the source's URL, as if it were no redirect"
NO_PLACE = "0.7's page has no place for it"
WHOLE_DAYS = "0.7 counts the interval in whole days, in one byte"
NEVER_AGAIN = "a page that is gone is never due again in 0.7"
LOST: dict[str, dict[tuple[str, str], str]] = {
    "1.x": {
        **{(path, "outlink_count"): OTHER_LINKS for path in ("", "canon.html", "noindex.html")},
        ("empty.html", "reason"): NO_REASON,
        **{("refresh.html", field): SENDS_ON for field in ("fetched_at", "reason", "outlink_count")},
    },
    "0.7": {
        **{(path, "outlink_count"): OTHER_LINKS for path in ("", "canon.html", "noindex.html", "refresh.html")},
        **{(path, "depth"): NO_PLACE for path in ("", "a.html", "lm.html", "target3.html")},
        **{(path, "reason"): NO_REASON for path in ("empty.html", "noindex.html")},
        **{
            (path, field): ONE_RECORD
            for path in ("moved", "temp")
            for field in ("status", "fetched_at", "modified_at", "signature", "outlink_count")
        },
        **{(path, "due_at"): NEVER_AGAIN for path in ("gone.html", "private/x.html")},
        ("lm.html", "modified_at"): NO_PLACE,
        **{
            ("refresh.html", field): SENDS_ON
            for field in ("status", "reason", "fetched_at", "modified_at", "signature")
        },
    },
}
"""Columns of the crawldb that an export does not bring back, by path."""


@pytest.mark.parametrize("layout", ["1.x", "0.7"])
def test_an_export_comes_back_as_it_was_but_for_the_list(
    crawl: Path, old: Path, new: Path, layout: str, tmp_path: Path
) -> None:
    cobnut("create", tmp_path / "again", *AGENT)
    cobnut("import", "nutch", tmp_path / "again", new if layout == "1.x" else old)
    before, after = (
        {row["url_key"]: row for row in CrawlFolder.open(folder).table(CRAWLDB).read().to_pylist()}
        for folder in (crawl, tmp_path / "again")
    )
    assert before.keys() == after.keys()
    differing = {
        (key_to_url(key).removeprefix(f"{HOME}/"), field)
        for key, row in before.items()
        for field, value in row.items()
        if after[key][field] != value
    }
    assert differing == set(LOST[layout])


@pytest.fixture(scope="module")
def hadoop() -> Iterator[Any]:
    """The real Hadoop that Spark brings along, in a process of its own: the view of its classes."""
    pyspark = pytest.importorskip("pyspark")
    from pyspark.java_gateway import launch_gateway

    gateway = launch_gateway(pyspark.SparkConf())
    yield gateway.jvm
    gateway.shutdown()
    gateway.proc.stdin.close()  # its process ends with it
    gateway.proc.wait(30)


class RealHadoop:
    """Reads containers by Hadoop's own classes. Nutch's records are bytes to it."""

    def __init__(self, jvm: Any) -> None:
        self.jvm, self.io, self.conf = jvm, jvm.org.apache.hadoop.io, jvm.org.apache.hadoop.conf.Configuration()

    def call(self, name: str, stands_for: str = "BytesWritable") -> None:
        """Let Hadoop take one of its own classes for the class *name* of the files."""
        if "nutch" in name or "." not in name:
            self.io.WritableName.addName(self.jvm.java.lang.Class.forName(f"org.apache.hadoop.io.{stands_for}"), name)

    def records(self, path: Path) -> list[tuple[bytes, bytes]]:
        """Keys and values, decompressed; Hadoop's file system checks the `.crc` file beside."""
        place = self.jvm.org.apache.hadoop.fs.Path(str(path))
        reader = getattr(self.io, "SequenceFile$Reader")(place.getFileSystem(self.conf), place, self.conf)
        key, packed, found = self.io.DataOutputBuffer(), reader.createValueBytes(), []
        while reader.nextRaw(key, packed) >= 0:
            value = self.io.DataOutputBuffer()
            packed.writeUncompressedBytes(value)
            found.append((bytes(key.getData()[: key.getLength()]), bytes(value.getData()[: value.getLength()])))
            key.reset()
        reader.close()
        return found

    def finds(self, folder: Path, keys: list[Any]) -> bool:
        """Does a MapFile's own index lead to every key?"""
        place = self.jvm.org.apache.hadoop.fs.Path(str(folder))
        reader = getattr(self.io, "MapFile$Reader")(place.getFileSystem(self.conf), str(folder), self.conf)
        found = all(reader.seek(key) for key in keys)
        reader.close()
        return found


@pytest.mark.spark
def test_real_hadoop_reads_every_container(hadoop: Any, old: Path, new: Path) -> None:
    real = RealHadoop(hadoop)
    real.call("long", "LongWritable")
    names = ("data", "index", "part-r-00000")
    paths = [path for out in (old, new) for path in out.rglob("*") if path.is_file() and path.name in names]
    assert len(paths) > 70
    for path in paths:
        with SequenceFileReader(path) as reader:
            real.call(reader.header.key_class)
            real.call(reader.header.value_class)
            assert real.records(path) == [(bytes(r.key), bytes(r.value)) for r in reader.records()], path
            assert not reader.skipped


@pytest.mark.spark
def test_real_hadoop_finds_every_url_by_the_index(hadoop: Any, old: Path, new: Path) -> None:
    real = RealHadoop(hadoop)
    real.call("UTF8", "UTF8")
    real.call("long", "LongWritable")
    for name in ("Page", "org.apache.nutch.crawl.CrawlDatum", "org.apache.nutch.protocol.Content"):
        real.call(name)
    urls = [page.url for page in WebDBReader(old / "db").pages()]
    assert real.finds(old / "db/webdb/pagesByURL", [real.io.UTF8(url) for url in urls])
    assert real.finds(new / "crawldb/current/part-r-00000", [real.io.Text(url) for url in urls if url != EMBEDDED])
    for segment in (new / "segments").iterdir():
        content = rows_of(segment / "content", Content.read)
        assert real.finds(segment / "content/part-r-00000", [real.io.Text(url) for url in content])
    for segment in (old / "segments").iterdir():
        numbers = range(len(list(SegmentReader(segment).outputs())))
        assert real.finds(segment / "fetcher", [real.io.LongWritable(number) for number in numbers])


def test_the_report_as_json_and_a_folder_that_is_taken(crawl: Path, new: Path, tmp_path: Path) -> None:
    done = json.loads(cobnut("export", "nutch", crawl, tmp_path / "out", "--json").stdout)
    assert done["layout"] == "1.x"
    assert done["records"]["crawldb"] == 26
    assert done["records"]["segments/content"] == 20
    assert done["bytes"] == sum(path.stat().st_size for path in (tmp_path / "out").rglob("*") if path.is_file())
    refused = cobnut("export", "nutch", crawl, new, expect=2)
    assert refused.stderr.startswith("cobnut: the target is not empty: ")
