"""An index folder: written, merged, read, and refused when it is not what it should be."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cobnut.config.sections import IndexSettings
from cobnut.errors import DataError
from cobnut.index import merge as merging
from cobnut.index.clauses import Clause, FieldWeights, IndexQuery
from cobnut.index.document import Document, doc_key, split_doc_key
from cobnut.index.merge import Source, merge_indexes
from cobnut.index.reader import IndexReader
from cobnut.index.schema import exact_form, sites_of, title_parts, url_name, words_of
from cobnut.index.writer import count, write_index

SETTINGS = IndexSettings()


def page(key: str, segment: str = "s1", text: str = "plain words", **more: object) -> Document:
    values: dict[str, object] = {
        "url_key": key,
        "url": f"http://www.example.org/{key}",
        "host": "www.example.org",
        "domain": "example.org",
        "segment": segment,
        "text": text,
        **more,
    }
    return Document(**values)  # type: ignore[arg-type]


def ask(reader: IndexReader, words: str, **more: object) -> list[str]:
    query = IndexQuery(wanted=tuple(Clause(tuple(words_of(w))) for w in words.split()), **more)  # type: ignore[arg-type]
    found, total = reader.search(query, FieldWeights(), limit=100)
    assert total == len(found)
    return [reader.document(candidate.place).url_key for candidate in found]


def contents(folder: Path) -> list[tuple[str, str]]:
    return sorted((d.url_key, d.segment) for d in IndexReader(folder).documents())


def test_a_document_comes_back_with_all_that_a_result_page_needs(tmp_path: Path) -> None:
    anchors = tuple((f"anchor {i}", f"from{i}") for i in range(60))
    document = page(
        "a", title="Title", text="x" * 50_000, description="About it", headings=("One", "Two"), anchors=anchors,
        language="en", media_type="text/html", fetched_at=5, modified_at=4, score=3, page_rank=2_000_000, host_rank=7,
        inlink_count=9, inlink_host_count=2, depth=1, warc_file="w.warc.gz", warc_offset=123, noarchive=True,
    )  # fmt: skip
    stats = write_index(tmp_path / "i", [document], SETTINGS)
    assert (stats.doc_count, stats.index_segments) == (1, 1)
    kept = IndexReader(tmp_path / "i").get("a")
    assert kept is not None
    assert len(kept.text) == SETTINGS.stored_text_chars
    assert kept.inlink_sample == tuple((f"from{i}", f"anchor {i}") for i in range(SETTINGS.inlink_sample))
    for name in ("url", "title", "description", "language", "media_type", "fetched_at", "modified_at", "score"):
        assert getattr(kept, name) == getattr(document, name)
    for name in ("page_rank", "host_rank", "inlink_count", "depth", "warc_file", "warc_offset", "noarchive", "host"):
        assert getattr(kept, name) == getattr(document, name)


def test_words_are_found_in_every_field_and_cut_alike_on_both_sides(tmp_path: Path) -> None:
    documents = [
        page("title", title="Libraries of Straße"),
        page("heading", headings=("Thread safety",)),
        page("body", text="naïve café"),
        page("anchor", anchors=(("crispy walnut", "other"),)),
        page("url-pickleJar"),
        page("zh", text="我们编译内核。"),
    ]
    write_index(tmp_path / "i", documents, SETTINGS)
    reader = IndexReader(tmp_path / "i")
    assert ask(reader, "library strasse") == ["title"]
    assert ask(reader, "THREADS") == ["heading"]
    assert ask(reader, "Cafe naive") == ["body"]
    assert ask(reader, "walnuts") == ["anchor"]
    assert ask(reader, "jar") == ["url-pickleJar"]
    assert ask(reader, "编译内核") == ["zh"]
    assert ask(reader, "内核编译") == []


def test_filters_by_site_and_language(tmp_path: Path) -> None:
    documents = [
        page("a", host="docs.example.org", language="en"),
        page("b", host="example.org", language="de"),
        page("c", host="notexample.org", language="en"),
    ]
    write_index(tmp_path / "i", documents, SETTINGS)
    reader = IndexReader(tmp_path / "i")
    assert sorted(ask(reader, "words", sites=("example.org",))) == ["a", "b"]
    assert ask(reader, "words", sites=("docs.example.org",)) == ["a"]
    assert sorted(ask(reader, "words", other_sites=("example.org",))) == ["c"]
    assert ask(reader, "words", languages=("de",)) == ["b"]
    assert sorted(ask(reader, "", sites=("org",))) == ["a", "b", "c"]


def test_an_empty_index_answers(tmp_path: Path) -> None:
    write_index(tmp_path / "i", [], SETTINGS, segments=("s1",))
    reader = IndexReader(tmp_path / "i")
    assert (reader.doc_count, reader.manifest.segments) == (0, ("s1",))
    assert ask(reader, "anything") == []
    assert reader.get("a") is None
    assert reader.doc_keys() == []


def test_merging_drops_by_document_key_and_needs_no_source_afterwards(tmp_path: Path) -> None:
    write_index(tmp_path / "a", [page("u1", "s1", "old text"), page("u2", "s1")], SETTINGS)
    write_index(tmp_path / "b", [page("u1", "s2", "new text"), page("u3", "s2")], SETTINGS)
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    stats = merge_indexes(tmp_path / "m", [tmp_path / "a", tmp_path / "b"], SETTINGS, drop=[doc_key("u1", "s1")])
    assert (stats.doc_count, stats.dropped_count) == (3, 1)
    assert all(p.read_bytes() == data for p, data in before.items())
    shutil.rmtree(tmp_path / "a")
    shutil.rmtree(tmp_path / "b")
    assert contents(tmp_path / "m") == [("u1", "s2"), ("u2", "s1"), ("u3", "s2")]
    reader = IndexReader(tmp_path / "m")
    assert ask(reader, "new") == ["u1"]
    assert ask(reader, "old") == []
    assert sorted(reader.doc_keys()) == [doc_key("u1", "s2"), doc_key("u2", "s1"), doc_key("u3", "s2")]
    assert reader.manifest.segments == ("s1", "s2")


def test_a_merged_index_is_a_source_without_some_segments(tmp_path: Path) -> None:
    write_index(tmp_path / "a", [page("u1", "s1"), page("u2", "s1")], SETTINGS)
    write_index(tmp_path / "b", [page("u3", "s2")], SETTINGS)
    merge_indexes(tmp_path / "m", [tmp_path / "a", tmp_path / "b"], SETTINGS, drop=[doc_key("u2", "s1")])
    again = [Source(tmp_path / "m", frozenset({"s1"})), tmp_path / "a"]
    merge_indexes(tmp_path / "n", again, SETTINGS)
    assert contents(tmp_path / "n") == [("u1", "s1"), ("u2", "s1"), ("u3", "s2")]
    assert contents(tmp_path / "m") == [("u1", "s1"), ("u3", "s2")]
    merge_indexes(tmp_path / "o", [tmp_path / "n", tmp_path / "b"], SETTINGS, drop=[doc_key("u3", "s2")])
    assert contents(tmp_path / "o") == [("u1", "s1"), ("u2", "s1")]
    assert not list(tmp_path.glob(".tmp-*"))


def test_too_many_index_segments_are_compacted_without_losing_a_document(tmp_path: Path) -> None:
    sources = []
    for number in range(20):
        sources.append(tmp_path / f"i{number}")
        write_index(sources[-1], [page(f"u{number}", f"s{number:02d}"), page("same", f"s{number:02d}")], SETTINGS)
    drop = [doc_key("same", f"s{number:02d}") for number in range(19)]
    stats = merge_indexes(tmp_path / "m", sources, SETTINGS, drop=drop)
    assert stats.doc_count == 21
    assert stats.index_segments <= SETTINGS.max_index_segments
    assert ("same", "s19") in contents(tmp_path / "m")
    assert len(contents(tmp_path / "m")) == 21


def test_files_are_copied_where_there_are_no_hard_links(tmp_path: Path) -> None:
    other = Path("/dev/shm")
    if not other.is_dir() or os.stat(other).st_dev == os.stat(tmp_path).st_dev:
        pytest.skip("needs a second file system")
    target = other / f"cobnut-test-{os.getpid()}"
    write_index(tmp_path / "a", [page("u1"), page("u2")], SETTINGS)
    try:
        merge_indexes(target, [tmp_path / "a"], SETTINGS)
        assert contents(target) == [("u1", "s1"), ("u2", "s1")]
    finally:
        shutil.rmtree(target, ignore_errors=True)


def test_what_is_no_index_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no index.*cobnut merge"):
        IndexReader(tmp_path)
    write_index(tmp_path / "i", [page("a")], SETTINGS)
    manifest = tmp_path / "i" / "manifest.json"
    good = manifest.read_bytes()
    for change, words in (
        ({"format_version": 99}, "format version 99"),
        ({"schema_digest": "other"}, "other fields"),
    ):
        manifest.write_text(json.dumps({**json.loads(good), **change}))
        with pytest.raises(DataError, match=words):
            IndexReader(tmp_path / "i")
    manifest.write_bytes(b"{")
    with pytest.raises(DataError, match="damaged"):
        IndexReader(tmp_path / "i")
    manifest.write_bytes(good)
    next((tmp_path / "i").glob("*.store")).unlink()
    with pytest.raises(DataError, match="damaged"):
        IndexReader(tmp_path / "i")


def test_indexes_of_other_fields_are_not_merged(tmp_path: Path) -> None:
    write_index(tmp_path / "i", [page("a")], SETTINGS)
    manifest = tmp_path / "i" / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_bytes()), "schema_digest": "other"}))
    with pytest.raises(DataError, match="other fields"):
        merge_indexes(tmp_path / "m", [tmp_path / "i"], SETTINGS)


def test_a_killed_writer_leaves_nothing_that_is_taken_for_an_index(tmp_path: Path) -> None:
    def breaks_off() -> object:
        yield page("a")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_index(tmp_path / "i", breaks_off(), SETTINGS)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="no index"):
        IndexReader(tmp_path / "i")


def test_many_documents_are_all_there(tmp_path: Path) -> None:
    write_index(tmp_path / "i", (page(f"k{n:05d}", text=f"number{n} of many") for n in range(3_000)), SETTINGS)
    assert count(tmp_path / "i")[0] == 3_000
    reader = IndexReader(tmp_path / "i")
    assert ask(reader, "number2999") == ["k02999"]
    assert len({d.url_key for d in reader.documents()}) == 3_000


def test_hostile_documents_are_bounded(tmp_path: Path) -> None:
    hostile = page(
        "a", title="\x00<b>" + "t" * 100_000, text="\ud800 " + "w" * 1_000_000, headings=("h" * 9_999,) * 5_000,
        anchors=tuple((f"{'a' * 5_000}{i}", "f") for i in range(3_000)), url="http://h/" + "%00" * 10_000,
        host=".".join("a" * 200),
    )  # fmt: skip
    write_index(tmp_path / "i", [hostile], SETTINGS)
    assert count(tmp_path / "i") == (1, 1)
    assert sum(p.stat().st_size for p in (tmp_path / "i").iterdir()) < 2_000_000


def test_names_and_forms() -> None:
    assert split_doc_key(doc_key("org,example)/a\nb", "s")) == ("org,example)/a\nb", "s")
    assert url_name("http://h.org/docs/pickle.html") == "pickle"
    assert url_name("http://www.h.org/docs/index.html") == "docs"
    assert url_name("http://www.example.org/") == "example"
    assert sites_of("a.b.org") == ["a.b.org", "b.org", "org"]
    assert sites_of("127.0.0.1") == ["127.0.0.1"]
    assert sites_of("[::1]") == ["[::1]"]
    assert title_parts("Page — Site | Whole") == ["Page — Site | Whole", "Page", "Site", "Whole"]
    assert exact_form("t", "The Pages!") == exact_form("t", "the page")
    assert exact_form("t", "…") is None


def test_the_engine_compacts_at_a_commit(tmp_path: Path) -> None:
    """What `merge` relies on: an empty commit folds small index segments together."""
    sources = []
    for number in range(9):
        sources.append(tmp_path / f"i{number}")
        write_index(sources[-1], [page(f"u{number}")], SETTINGS)
    merge_indexes(tmp_path / "m", sources, SETTINGS)
    assert count(tmp_path / "m")[1] == 9
    merging._compact(tmp_path / "m", SETTINGS)
    assert count(tmp_path / "m")[1] < 9
    merging.seal(tmp_path / "m", (), "", 0)  # its files are others now
    assert len(contents(tmp_path / "m")) == 9


def test_a_folder_that_may_only_be_read_can_be_searched(tmp_path: Path) -> None:
    write_index(tmp_path / "i", [page("a", text="walnut")], SETTINGS)
    code = (
        "import os, sys; from pathlib import Path; from cobnut.index import reader;"
        "os.getuid() == 0 and os.setuid(65534);"
        f"i = reader.IndexReader(Path({str(tmp_path / 'i')!r})); print(i.doc_count, [d.url_key for d in i.documents()])"
    )
    for folder in (tmp_path, *tmp_path.parents):
        if folder.owner() != "root" or folder == Path("/tmp"):
            break
        folder.chmod(folder.stat().st_mode | 0o055)
    (tmp_path / "i").chmod(0o555)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd="/")
    (tmp_path / "i").chmod(0o755)
    if "PermissionError" in done.stderr or "ModuleNotFoundError" in done.stderr:
        pytest.skip("another user may not read this program")
    assert done.stdout.strip() == "1 ['a']", done.stderr
    assert not list((tmp_path / "i").glob(".tantivy*"))


def without_later_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes indexes as they were before there were boosts."""
    import tantivy

    from cobnut.index import schema as cut

    def former() -> tantivy.Schema:
        builder = tantivy.SchemaBuilder()
        for name in cut.RAW_FIELDS:
            builder = builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
        for name in cut.TEXT_FIELDS:
            builder = builder.add_text_field(name, tokenizer_name="web")
        for name in cut.FAST_FIELDS:
            builder = builder.add_integer_field(name, fast=True)
        return builder.add_bytes_field("blob", stored=True).build()

    monkeypatch.setattr(cut, "schema", former)


@pytest.mark.parametrize("most", [50, 1])
def test_an_index_without_boosts_is_read_and_merged_as_it_is(tmp_path: Path, monkeypatch, most: int) -> None:
    with monkeypatch.context() as patch:
        without_later_fields(patch)
        write_index(tmp_path / "old", [page("a"), page("b")], SETTINGS)
        write_index(tmp_path / "older", [page("x", "s0"), page("y", "s2")], SETTINGS)
    write_index(tmp_path / "new", [page("c", "s3", boost=2_000_000), page("d", "s3")], SETTINGS)

    def boosts(folder: Path) -> dict[str, int | None]:
        reader = IndexReader(folder)
        found, _ = reader.search(IndexQuery(wanted=(Clause(("plain",)),)), FieldWeights(), limit=9)
        return {
            reader.document(c.place).url_key: b
            for c, b in zip(found, reader.numbers(("boost",), found)[0], strict=True)
        }

    assert boosts(tmp_path / "old") == {"a": None, "b": None}
    settings = IndexSettings(max_index_segments=most)
    sources = [tmp_path / "old", Source(tmp_path / "older", frozenset({"s2"})), tmp_path / "new"]
    merge_indexes(tmp_path / "all", sources, settings, drop=[doc_key("b", "s1")])
    assert boosts(tmp_path / "all") == {"a": None, "x": None, "c": 2_000_000, "d": None}
    merge_indexes(tmp_path / "again", [tmp_path / "all", tmp_path / "old"], settings, drop=[doc_key("d", "s3")])
    assert boosts(tmp_path / "again") == {"a": None, "b": None, "x": None, "c": 2_000_000}
