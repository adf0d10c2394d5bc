"""Folders and files of Nutch are told by looking: every layout, half-written ones, and what is no Nutch at all."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from cobnut.errors import InputError
from cobnut.interop.hadoop import FormatError
from cobnut.interop.recognize import Found, recognize

OLD = Path(__file__).parents[2] / "formats" / "nutch" / "0.7.2" / "data"
NEW = Path(__file__).parents[2] / "formats" / "nutch" / "1.23" / "data"
SEGMENT_07 = OLD / "segments" / "20261130130137"
SEGMENT_1X = NEW / "segments" / "20261130130216"
CRAWLDB = NEW / "crawldb-10-linkrank"


def kinds(found: Found) -> list[str]:
    return [part.kind for part in found.parts]


def notes(found: Found) -> list[str]:
    return [note.text for note in found.all_notes()]


def damages(found: Found) -> list[tuple[str, str]]:
    return [(note.path.name, note.text) for note in found.all_notes() if note.damage]


def header(key: str, value: str, version: int = 6) -> bytes:
    """A SequenceFile without records."""
    names = b"".join(
        (len(name).to_bytes(2, "big") if version < 4 else bytes([len(name)])) + name.encode() for name in (key, value)
    )
    flags = bytes(6) if version > 5 else bytes(1)
    return b"SEQ" + bytes([version]) + names + flags + bytes(16)


def datums(path: Path, version: int = 6) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(header("org.apache.hadoop.io.Text", "org.apache.nutch.crawl.CrawlDatum", version))


@pytest.mark.parametrize(
    ("path", "kind", "layout", "container"),
    [
        (SEGMENT_1X / "content" / "part-r-00000" / "data", "content", "1.x", "MapFile"),
        (SEGMENT_1X / "content" / "part-r-00000", "content", "1.x", "MapFile"),
        (SEGMENT_1X / "content", "content", "1.x", "MapFile"),
        (SEGMENT_1X / "content" / "part-r-00000" / "index", "index", "1.x", "SequenceFile"),
        (SEGMENT_1X / "crawl_generate" / "part-r-00000", "crawl_generate", "1.x", "SequenceFile"),
        (SEGMENT_1X / "crawl_fetch" / "part-r-00000", "crawl_fetch", "1.x", "MapFile"),
        (SEGMENT_1X / "crawl_parse", "crawl_parse", "1.x", "SequenceFile"),
        (CRAWLDB, "crawldb", "1.x", "MapFile"),
        (CRAWLDB / "part-r-00000", "crawldb", "1.x", "MapFile"),
        (NEW / "linkdb", "linkdb", "1.x", "MapFile"),
        (NEW / "linkdb" / "current", "linkdb", "1.x", "MapFile"),
        (NEW / "hostdb", "hostdb", "1.x", "SequenceFile"),
        (NEW / "hostdb" / "current" / "part-r-00000", "hostdb", "1.x", "SequenceFile"),
        (NEW / "webgraphdb" / "nodes", "nodes", "1.x", "MapFile"),
        (NEW / "webgraphdb" / "outlinks", "outlinks", "1.x", "MapFile"),
        (NEW / "webgraphdb" / "inlinks" / "part-r-00000", "inlinks", "1.x", "MapFile"),
        (SEGMENT_07 / "fetchlist", "fetchlist", "0.7", "ArrayFile"),
        (SEGMENT_07 / "content" / "data", "content", "0.7", "ArrayFile"),
        (SEGMENT_07 / "fetcher" / "index", "index", "0.7", "SequenceFile"),
        (OLD / "webdb-3-analyze" / "pagesByURL", "pagesByURL", "0.7", "MapFile"),
        (OLD / "webdb-3-analyze" / "pagesByMD5" / "data", "pagesByMD5", "0.7", "MapFile"),
        (OLD / "webdb-3-analyze" / "linksByURL", "linksByURL", "0.7", "MapFile"),
        (OLD / "webdb-3-analyze" / "linksByMD5", "linksByMD5", "0.7", "MapFile"),
    ],
)
def test_one_file_or_table(path: Path, kind: str, layout: str, container: str) -> None:
    found = recognize(path)
    assert (found.kind, found.layout, [part.container for part in found.parts]) == (kind, layout, [container])
    assert notes(found) == []


def test_a_segment_of_1x_has_its_parts_in_the_order_they_come_to_be() -> None:
    found = recognize(SEGMENT_1X)
    assert (found.kind, found.layout) == ("segment", "1.x")
    assert kinds(found) == ["crawl_generate", "crawl_fetch", "content", "crawl_parse", "parse_data", "parse_text"]
    assert notes(found) == []


def test_a_segment_of_07_and_a_webdb() -> None:
    segment = recognize(SEGMENT_07)
    assert (segment.kind, segment.layout) == ("segment", "0.7")
    assert kinds(segment) == ["fetchlist", "fetcher", "content", "parse_data", "parse_text"]
    webdb = recognize(OLD / "webdb-3-analyze")
    assert (webdb.kind, webdb.layout) == ("webdb", "0.7")
    assert kinds(webdb) == ["pagesByURL", "pagesByMD5", "linksByURL", "linksByMD5"]
    assert notes(webdb) == notes(segment) == []


def test_a_whole_crawl_of_1x(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    shutil.copytree(CRAWLDB, crawl / "crawldb" / "current")
    shutil.copytree(NEW / "crawldb-00-inject", crawl / "crawldb" / "old")
    for name in ("linkdb", "segments", "webgraphdb", "hostdb"):
        shutil.copytree(NEW / name, crawl / name)
    (crawl / "notes.txt").write_text("mine")
    found = recognize(crawl)
    assert (found.kind, found.layout) == ("crawl", "1.x")
    assert [member.kind for member in found.members] == ["crawldb", "hostdb", "linkdb", "segments", "webgraphdb"]
    assert len(list(found.each("segment"))) == 4
    assert next(found.each("crawldb")).parts[0].path == crawl / "crawldb" / "current" / "part-r-00000"
    assert len(list(found.all_parts())) == 1 + 1 + 1 + 24 + 3
    assert notes(found) == ["not known and left out: notes.txt"]


def test_a_whole_crawl_of_07(tmp_path: Path) -> None:
    shutil.copytree(OLD / "webdb-3-analyze", tmp_path / "db" / "webdb")
    (tmp_path / "db" / "dbreadlock").touch()
    (tmp_path / "db" / "dbwritelock").touch()
    shutil.copytree(OLD / "segments", tmp_path / "segments")
    (tmp_path / "segments" / "20261130130137" / "fetcher.done").touch()
    (tmp_path / "segments" / "20261130130137" / "index").mkdir()
    found = recognize(tmp_path)
    assert (found.kind, found.layout) == ("crawl", "0.7")
    assert [member.kind for member in found.members] == ["db", "segments"]
    assert recognize(tmp_path / "db").kind == "db"
    assert kinds(next(found.each("webdb"))) == ["pagesByURL", "pagesByMD5", "linksByURL", "linksByMD5"]
    assert notes(found) == []


def test_an_update_of_a_webdb_that_was_interrupted(tmp_path: Path) -> None:
    shutil.copytree(OLD / "webdb-3-analyze", tmp_path / "db" / "webdb.old")
    (tmp_path / "db" / "webdb.new").mkdir()
    found = recognize(tmp_path / "db")
    assert found.kind == "db"
    assert len(list(found.all_parts())) == 4
    assert notes(found) == ["an update was interrupted: `webdb` is missing, `webdb.old` is read"]
    (tmp_path / "db" / "webdb.old").rename(tmp_path / "db" / "webdb")
    assert notes(recognize(tmp_path / "db")) == ["an update is under way or was interrupted: `webdb.new` is left out"]


def test_a_crawldb_with_a_lock_or_with_old_alone(tmp_path: Path) -> None:
    shutil.copytree(CRAWLDB, tmp_path / "crawldb" / "old")
    (tmp_path / "crawldb" / ".locked").touch()
    found = recognize(tmp_path / "crawldb")
    assert found.kind == "crawldb"
    assert len(found.parts) == 1
    assert notes(found) == [
        "an update was interrupted: `current` is missing, `old` is read",
        "`.locked` is present: a job is writing, or was interrupted",
    ]
    assert damages(found) == []


@pytest.mark.parametrize(
    ("removed", "told"),
    [
        (["crawl_fetch", "content", "crawl_parse", "parse_data", "parse_text"], "generated and not fetched"),
        (["crawl_parse", "parse_data", "parse_text"], "fetched and not parsed"),
        (["parse_text"], "without parse_text"),
        (["content", "crawl_fetch"], "without crawl_fetch, content"),
    ],
)
def test_a_half_written_segment(tmp_path: Path, removed: list[str], told: str) -> None:
    segment = tmp_path / "20261130130216"
    shutil.copytree(SEGMENT_1X, segment)
    for name in removed:
        shutil.rmtree(segment / name)
    found = recognize(segment)
    assert found.kind == "segment"
    assert len(found.parts) == 6 - len(removed)
    assert notes(found) == [f"half-written: {told}"]


def test_a_segment_of_07_that_is_not_parsed(tmp_path: Path) -> None:
    shutil.copytree(SEGMENT_07 / "fetchlist", tmp_path / "fetchlist")
    shutil.copytree(SEGMENT_07 / "fetcher", tmp_path / "fetcher_output")
    shutil.copytree(SEGMENT_07 / "content", tmp_path / "content")
    found = recognize(tmp_path)
    assert kinds(found) == ["fetchlist", "fetcher_output", "content"]
    assert notes(found) == ["half-written: fetched and not parsed"]


def test_missing_index_missing_data_empty_and_cut_files(tmp_path: Path) -> None:
    segment = tmp_path / "20261130130216"
    shutil.copytree(SEGMENT_1X, segment)
    (segment / "content" / "part-r-00000" / "index").unlink()
    (segment / "parse_text" / "part-r-00000" / "data").unlink()
    (segment / "parse_data" / "part-r-00000" / "data").write_bytes(b"")
    datum_file = segment / "crawl_parse" / "part-r-00000"
    datum_file.write_bytes(datum_file.read_bytes()[:30])
    found = recognize(segment)
    assert kinds(found) == ["crawl_generate", "crawl_fetch", "content"]
    assert [part.has_index for part in found.parts] == [False, True, False]
    assert "no index: read from the start" in notes(found)
    assert damages(found) == [
        ("part-r-00000", "cannot be read: 1 bytes should follow, and 0 are left at byte 30"),
        ("data", "cannot be read: an empty file at byte 0"),
        ("part-r-00000", "half-written: a MapFile without `data`"),
    ]


def test_a_damaged_file_by_itself_is_an_error_with_file_and_offset(tmp_path: Path) -> None:
    cut = tmp_path / "part-r-00000"
    for length in range(4, 60):
        cut.write_bytes(header("org.apache.hadoop.io.Text", "org.apache.nutch.crawl.CrawlDatum")[:length])
        with pytest.raises(FormatError, match="part-r-00000, byte"):
            recognize(cut)
    cut.write_bytes(b"")
    with pytest.raises(FormatError, match="an empty file"):
        recognize(cut)


def test_mixed_versions_and_kinds(tmp_path: Path) -> None:
    datums(tmp_path / "crawldb" / "current" / "part-00000" / "data", 3)
    datums(tmp_path / "crawldb" / "current" / "part-r-00000" / "data", 6)
    assert "files of different versions in one folder: SequenceFile 3 and 6" in notes(recognize(tmp_path / "crawldb"))
    shutil.copytree(NEW / "linkdb" / "current" / "part-r-00000", tmp_path / "crawldb" / "current" / "part-r-00001")
    told = notes(recognize(tmp_path / "crawldb"))
    assert "files of different kinds in one folder: CrawlDatum, Inlinks" in told


def test_segments_of_07_and_1x_in_one_folder(tmp_path: Path) -> None:
    shutil.copytree(SEGMENT_07, tmp_path / "20050101000000")
    shutil.copytree(SEGMENT_1X, tmp_path / "20261130130216")
    found = recognize(tmp_path)
    assert (found.kind, found.layout) == ("segments", "mixed")
    assert notes(found) == ["files of Nutch 0.7 and of later versions in one folder"]
    shutil.copytree(SEGMENT_07 / "fetcher", tmp_path / "20261130130216" / "fetcher")
    assert recognize(tmp_path / "20261130130216").layout == "mixed"


def test_what_is_no_nutch(tmp_path: Path) -> None:
    (tmp_path / "site" / "content" / "posts").mkdir(parents=True)
    (tmp_path / "site" / "current").mkdir()
    (tmp_path / "spark").mkdir()
    (tmp_path / "spark" / "part-00000").write_text("a,b\n")
    (tmp_path / "git").mkdir()
    (tmp_path / "git" / "index").write_bytes(b"DIRC")
    (tmp_path / "page.html").write_text("<html>")
    for name in ("site", "spark", "git", "page.html"):
        with pytest.raises(InputError, match=r"no files? of Nutch.*looked for"):
            recognize(tmp_path / name)
    with pytest.raises(InputError, match="no such file"):
        recognize(tmp_path / "nowhere")
    with pytest.raises(InputError, match="no such file"):
        recognize(tmp_path / "page.html" / "crawldb")
    with pytest.raises(InputError, match="cannot be opened"):
        recognize(tmp_path / ("n" * 300))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="neither a file nor a folder"):
        recognize(tmp_path / "pipe")


def test_links_in_circles_pipes_and_odd_names(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    shutil.copytree(SEGMENT_1X, crawl / "segments" / "20261130130216")
    (crawl / "segments" / "20261130130217").symlink_to(crawl / "segments", target_is_directory=True)
    (crawl / "self").symlink_to(crawl / "self")
    (crawl / "again").symlink_to(crawl, target_is_directory=True)
    (crawl / "nowhere").symlink_to(tmp_path / "missing")
    (crawl / "bad\x1b[31m\nname").mkdir()
    os.mkfifo(crawl / "segments" / "20261130130216" / "parse_text" / "part-r-00001")
    found = recognize(crawl)
    assert found.kind == "crawl"
    assert "a link that leads nowhere: left out" in notes(found)
    assert len(list(found.all_parts())) < 50


def test_names_are_looked_at_up_to_a_bound(tmp_path: Path) -> None:
    for number in range(60):
        datums(tmp_path / "crawldb" / "current" / f"part-r-{number:05}" / "data")
    found = recognize(tmp_path / "crawldb", max_names=40)
    assert any("more than 40 names" in text for _, text in damages(found))
