"""A merged index opens with tantivy alone, told no more than docs/index-format.md says."""

import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import tantivy

from cobnut.config.sections import IndexSettings
from cobnut.index import schema
from cobnut.index.document import Document, StoredDocument
from cobnut.index.manifest import read_manifest
from cobnut.index.merge import merge_indexes
from cobnut.index.publish import publish_index
from cobnut.index.writer import write_index
from cobnut.storage.generations import GenerationStore

PAGE = (Path(__file__).resolve().parents[3] / "docs/index-format.md").read_text("utf-8")
PROGRAM = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def document(name: str, segment: str, **more) -> Document:
    return Document(
        url_key=f"example,)http/{name}", url=f"http://example/{name}", host="example", domain="example",
        segment=segment, fetched_at=1_780_000_000_000, page_rank=1_500_000, warc_offset=7, warc_file="w.gz", **more,
    )  # fmt: skip


@pytest.fixture
def crawl(tmp_path):
    settings = IndexSettings()
    pages = {
        "20260101000000": [
            document("one", "20260101000000", title="Walking spiders", text="They walk. Straße naïve."),
            document("old", "20260101000000", title="Dropped", text="They walked."),
        ],
        "20260102000000": [
            document("two", "20260102000000", title="Nets", text="No legs", anchors=(("to walk on", "k"),)),
            document("three", "20260102000000", title="搜索引擎", text="抓取网页,建立索引。"),
        ],
    }
    for name, documents in pages.items():
        write_index(tmp_path / name, documents, settings)
    with GenerationStore(tmp_path / "crawl/index", "index").begin() as draft:
        drop = ["example,)http/old\n20260101000000"]
        merge_indexes(draft.path, [tmp_path / name for name in pages], settings, drop=drop)
        draft.publish(msgspec.to_builtins(read_manifest(draft.path)))
    return tmp_path / "crawl"


def folder_of(crawl: Path) -> Path:
    return crawl / "index" / (crawl / "index/CURRENT").read_text().strip()


def search(crawl: Path, words: str) -> list[tuple[str, str]]:
    """The program of the page, run as it stands, with a Cobnut that cannot be imported."""
    (program,) = PROGRAM
    blocked = "import sys\nsys.modules['cobnut'] = None\n"
    done = subprocess.run(
        [sys.executable, "-c", blocked + program, crawl, words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    scores = [float(row[0]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    return [(url, title) for _, url, title in rows]


@pytest.mark.parametrize("is_published", [False, True])
def test_the_program_of_the_page_finds_pages(crawl, tmp_path, is_published):
    if is_published:
        publish_index(GenerationStore(crawl / "index", "index"), GenerationStore(tmp_path / "public", "index"))
        crawl = tmp_path / "public"
        assert (crawl / "CURRENT").is_file()
    assert search(crawl, "walked")[0] == ("http://example/one", "Walking spiders")
    assert {url for url, _ in search(crawl, "walked")} == {"http://example/one", "http://example/two"}
    assert search(crawl, "STRASSE naive")[0][0] == "http://example/one"
    assert search(crawl, "索引") == [("http://example/three", "搜索引擎")]
    assert search(crawl, "dropped") == []


def test_without_an_analyzer_stored_documents_and_ready_words_still_work(crawl):
    index = tantivy.Index.open(str(folder_of(crawl)))
    searcher = index.searcher()
    assert searcher.num_docs == 3
    found = searcher.search(tantivy.Query.term_query(index.schema, "body", "walk"), 10).hits
    (blob,) = (searcher.doc(place).get_first("blob") for _, place in found)
    kept = msgspec.msgpack.decode(blob)
    assert kept[:5] == ["example,)http/one", "http://example/one", "example", "20260101000000", "Walking spiders"]
    with pytest.raises(ValueError, match="tokenizer"):
        index.parse_query("walk", ["body"])


def test_the_page_names_every_field_and_every_place_of_the_stored_document(crawl):
    fields = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`[^|]+`) \| (?:text|raw|fast|stored)", PAGE, re.M))))
    assert fields == {*schema.TEXT_FIELDS, *schema.RAW_FIELDS, *schema.FAST_FIELDS, *schema.LATER_FIELDS, "blob"}
    places = re.findall(r"^\| (\d+) \| `(\w+)` \|", PAGE, re.MULTILINE)
    names = [field.name for field in msgspec.structs.fields(StoredDocument)]
    assert [name for _, name in places] == names
    assert [int(place) for place, _ in places] == list(range(len(names)))


def test_the_analyzer_of_the_page_cuts_as_ours(crawl):
    (program,) = PROGRAM
    scope: dict = {}
    exec(program.partition("folder, words")[0], scope)
    for text in ("Walking, WALKED naïve Straße", "it's e-mail usb-c x" + "y" * 100, "ΑΒΓ привет", "搜索 索引"):
        assert scope["web"]().analyze(text) == schema.analyzer().analyze(text)
