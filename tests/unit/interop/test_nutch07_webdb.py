"""Is a web database of Nutch 0.7 read whole, as far as it can be read, and written as Nutch writes it?"""

import contextlib
import random
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cobnut.errors import DataError, InputError
from cobnut.interop.hadoop.mapfile import MapFileWriter
from cobnut.interop.nutch07 import Link, Page
from cobnut.interop.nutch07.page import page_order
from cobnut.interop.nutch07.webdb import Stats, WebDBReader, WebDBWriter, write_webdb

GOLDEN = Path(__file__).parents[2] / "formats" / "nutch" / "0.7.2" / "data"
STEPS = ["webdb-1-inject", "webdb-2-round1", "webdb-2-round2", "webdb-2-round3", "webdb-3-analyze"]
TABLES = ["pagesByURL", "pagesByMD5", "linksByURL", "linksByMD5"]


def without_sync(path: Path) -> bytes:
    """A SequenceFile of version 2 with its random marker made zero wherever it stands."""
    data = path.read_bytes()
    at = 4
    for _ in range(2):
        at += 2 + int.from_bytes(data[at : at + 2], "big")
    return data.replace(data[at : at + 16], bytes(16))


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """Nutch's folder `db` with the last golden database."""
    shutil.copytree(GOLDEN / "webdb-3-analyze", tmp_path / "db" / "webdb")
    return tmp_path / "db"


@pytest.mark.parametrize("step", STEPS)
def test_all_tables_hold_the_same_and_as_many_as_the_stats_tell(step: str) -> None:
    reader = WebDBReader(GOLDEN / step)
    pages, links = list(reader.pages()), list(reader.links())
    assert reader.stats == (len(pages), len(links))
    assert sorted(pages) == list(reader.pages_by_md5())
    assert sorted(links, key=Link.md5_key) == list(reader.links_by_md5())
    assert not list(reader.problems)
    assert not reader.notes


@pytest.mark.parametrize("step", STEPS)
def test_a_database_written_again_is_the_same_byte_for_byte(step: str, tmp_path: Path) -> None:
    reader = WebDBReader(GOLDEN / step)
    pages, links = list(reader.pages()), list(reader.links())
    random.Random(1).shuffle(pages)
    random.Random(2).shuffle(links)
    written = write_webdb(tmp_path / "db", pages, links)
    assert written == (len(pages), len(links), 0, 0)
    assert sorted(p.name for p in (tmp_path / "db").iterdir()) == ["dbreadlock", "dbwritelock", "webdb"]
    ours = tmp_path / "db" / "webdb"
    assert sorted(p.name for p in ours.iterdir()) == sorted([*TABLES, "stats"])
    assert (ours / "stats").read_bytes() == (GOLDEN / step / "stats").read_bytes()
    for table in TABLES:
        for file in ("data", "index"):
            assert without_sync(ours / table / file) == without_sync(GOLDEN / step / table / file), (table, file)


def test_records_are_found_by_their_keys(db: Path) -> None:
    reader = WebDBReader(db)
    pages, links = list(reader.pages()), list(reader.links())
    for page in pages:
        assert reader.page(page.url) == page
        assert list(reader.pages_with(page.md5)) == sorted(p for p in pages if p.md5 == page.md5)
    for link in links:
        assert list(reader.links_to(link.url)) == sorted(x for x in links if x.url == link.url)
        assert set(reader.links_from(link.from_id)) == {x for x in links if x.from_id == link.from_id}
    assert reader.page("http://nowhere.example/") is None
    assert list(reader.links_to("http://nowhere.example/")) == []
    assert list(reader.pages_with(bytes(16))) == []


def test_records_are_found_in_a_table_without_an_index_and_out_of_order(db: Path) -> None:
    pages = sorted(WebDBReader(db).pages_by_md5())
    random.Random(3).shuffle(pages)
    shutil.rmtree(db / "webdb" / "pagesByMD5")
    with MapFileWriter(db / "webdb" / "pagesByMD5", "Page", "null", version=2, order=lambda key: 0) as table:
        for page in pages:
            table.append(page.to_bytes(), b"")
    reader = WebDBReader(db)
    assert list(reader.pages_by_md5()) == pages
    assert [p.what for p in reader.problems] == ["from here on the keys do not ascend; all records are read"]
    (db / "webdb" / "linksByURL" / "index").unlink()
    link = next(iter(reader.links()))
    assert link in list(WebDBReader(db).links_to(link.url))


def test_what_lies_beside_the_database_is_told(db: Path) -> None:
    for name in ("dbreadlock", "dbwritelock"):
        (db / name).touch()
    (db / "webdb.new").mkdir()
    for folder in (db, db / "webdb"):
        notes = WebDBReader(folder).notes
        assert len(notes) == 2
        assert "webdb.new is an update that was not finished" in notes[0]
        assert "dbreadlock and dbwritelock" in notes[1]
    (db / "webdb").rename(db / "webdb.old")
    reader = WebDBReader(db)
    assert "the state before it is read" in reader.notes[0]
    assert len(list(reader.pages())) == 25


def test_a_missing_table_is_told_and_its_sister_read(db: Path) -> None:
    all_pages, all_links = list(WebDBReader(db).pages()), list(WebDBReader(db).links())
    for table in ("pagesByURL", "linksByURL"):
        shutil.rmtree(db / "webdb" / table)
    (db / "webdb" / "stats").unlink()
    reader = WebDBReader(db)
    assert list(reader.pages()) == sorted(all_pages)
    assert set(reader.links()) == set(all_links)
    told = [problem.line() for problem in reader.problems]
    assert len(told) == 3
    assert "stats: is missing" in told[0]
    assert "pagesByMD5 is read" in told[1]
    assert reader.stats is None


def test_no_database_at_all_is_an_error_of_the_caller(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no web database"):
        WebDBReader(tmp_path)
    with pytest.raises(DataError, match="cannot be read"):
        WebDBReader(tmp_path / "nowhere")


def test_a_cut_table_gives_what_is_whole(db: Path) -> None:
    table = db / "webdb" / "pagesByURL" / "data"
    table.write_bytes(table.read_bytes()[:-20])
    reader = WebDBReader(db)
    assert len(list(reader.pages())) == 24
    cut, stats = reader.problems
    assert cut.path == str(table)
    assert cut.offset is not None
    assert "tells of 25 pages, and 24 were read" in stats.what


def test_a_record_of_a_newer_version_is_told_and_the_others_are_read(db: Path) -> None:
    table = db / "webdb" / "linksByMD5" / "data"
    data = bytearray(table.read_bytes())
    data[0x28] = 6  # the first record's version
    table.write_bytes(data)
    reader = WebDBReader(db)
    assert len(list(reader.links_by_md5())) == 29
    problem = next(iter(reader.problems))
    assert problem.offset == 0x20
    assert "a Link of version 6, and 5 is the newest known" in problem.what


def test_a_table_of_another_class_is_told(db: Path) -> None:
    shutil.copy(db / "webdb" / "linksByURL" / "data", db / "webdb" / "pagesByMD5" / "data")
    reader = WebDBReader(db)
    assert list(reader.pages_by_md5()) == []
    assert "keys of the class Link, where Page belongs" in next(iter(reader.problems)).what


def test_a_key_that_is_not_its_pages_url_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "webdb"
    with MapFileWriter(folder / "pagesByURL", "UTF8", "Page", version=2) as table:
        table.append(b"\0\x09http://a/", Page.for_url("http://b/").to_bytes())
    reader = WebDBReader(folder)
    assert [p.url for p in reader.pages()] == ["http://b/"]
    assert any("not the URL of its page" in p.what for p in reader.problems)


@pytest.mark.parametrize("data", [b"", bytes(16), b"\1" + bytes(16), bytes(18), b"\0" + b"\xff" * 16])
def test_stats_that_are_none_are_told(db: Path, data: bytes) -> None:
    (db / "webdb" / "stats").write_bytes(data)
    reader = WebDBReader(db)
    assert reader.stats is None
    assert [p.path for p in reader.problems] == [str(db / "webdb" / "stats")]
    assert len(list(reader.pages())) == 25


def test_stats_are_17_bytes() -> None:
    assert Stats(25, 30).to_bytes() == b"\0" + bytes(7) + b"\x19" + bytes(7) + b"\x1e"
    assert Stats.of_bytes(Stats(25, 30).to_bytes()) == Stats(25, 30)


def test_what_is_given_twice_stands_there_as_it_was_given_last(tmp_path: Path) -> None:
    first, last = Page.for_url("http://a/"), Page("http://a/", b"\1" * 16, retries=3)
    links = [Link(b"\1" * 16, "http://b/", anchor=anchor) for anchor in ("one", "two")]
    written = write_webdb(tmp_path / "db", [first, Page.for_url("http://b/"), last], links)
    assert written == (2, 1, 1, 1)
    reader = WebDBReader(tmp_path / "db")
    assert list(reader.pages()) == [last, Page.for_url("http://b/")]
    assert set(reader.pages_by_md5()) == {last, Page.for_url("http://b/")}
    assert [link.anchor for link in reader.links()] == [link.anchor for link in reader.links_by_md5()] == ["two"]
    assert not list(reader.problems)


def test_more_than_fits_the_memory_is_sorted_in_runs(tmp_path: Path) -> None:
    chance = random.Random(5)
    pages = [Page(f"http://h{chance.randrange(300)}/é{n}", chance.randbytes(16)) for n in range(2_000)]
    links = [Link(p.md5, f"http://t/{chance.randrange(400)}", anchor=str(n)) for n, p in enumerate(pages)]
    with WebDBWriter(tmp_path / "runs", run_bytes=20_000) as writer:
        for page in pages:
            writer.add_page(page)
        for link in links:
            writer.add_link(link)
    reader = WebDBReader(tmp_path / "runs")
    assert list(reader.pages()) == sorted(pages, key=lambda p: p.url.encode())
    assert list(reader.pages_by_md5()) == sorted(pages)
    assert list(reader.links()) == sorted(links)
    assert list(reader.links_by_md5()) == sorted(links, key=Link.md5_key)
    assert not list(reader.problems)
    write_webdb(tmp_path / "whole", pages, links)
    for table in TABLES:
        for file in ("data", "index"):
            paths = [tmp_path / kind / "webdb" / table / file for kind in ("runs", "whole")]
            assert without_sync(paths[0]) == without_sync(paths[1])


def test_an_existing_database_is_left_alone_and_a_broken_off_one_leaves_nothing(db: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="already"):
        write_webdb(db, [], [])
    with contextlib.suppress(RuntimeError), WebDBWriter(tmp_path / "new") as writer:
        writer.add_page(Page.for_url("http://a/"))
        raise RuntimeError
    assert list((tmp_path / "new").iterdir()) == []
    assert write_webdb(tmp_path / "new", [], []) == (0, 0, 0, 0)
    assert list(WebDBReader(tmp_path / "new").pages()) == []


def test_urls_that_begin_alike_stand_in_nutchs_order(tmp_path: Path) -> None:
    md5s = [bytes(16), b"\xff" * 16]
    links = [Link(md5, url) for url in ("http://a", "http://a/", "http://a/\0", "http://a/\x01") for md5 in md5s]
    write_webdb(tmp_path, [], reversed(links))
    assert list(WebDBReader(tmp_path).links()) == sorted(links)


@given(st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_database_gives_records_and_problems_and_never_another_error(db: Path, data: st.DataObject) -> None:
    table = data.draw(st.sampled_from([*[f"{t}/data" for t in TABLES], "stats"]))
    path = db / "webdb" / table
    sound = path.read_bytes()
    broken = bytearray(sound)
    for _ in range(data.draw(st.integers(1, 5))):
        broken[data.draw(st.integers(0, len(sound) - 1))] = data.draw(st.integers(0, 255))
    del broken[data.draw(st.integers(0, len(sound))) :]
    try:
        path.write_bytes(broken)
        reader = WebDBReader(db)
        for records in (reader.pages(), reader.pages_by_md5(), reader.links(), reader.links_by_md5()):
            assert len(list(records)) <= 30
        if len(broken) < len(sound):
            assert len(reader.problems) > 0
    finally:
        path.write_bytes(sound)


def test_the_order_of_a_key_that_is_none_is_a_typed_error() -> None:
    with pytest.raises(DataError):
        page_order(b"\x04\0")
