"""Publishing an index: a copy that needs nothing else, replaced whole, never at another's expense."""

import shutil
from pathlib import Path

import pytest
from search_pages import document, make_crawl
from search_pages import publish as new_generation

from cobnut.errors import DataError, InputError, MachineError
from cobnut.index.publish import index_files, publish_index
from cobnut.index.reader import IndexReader
from cobnut.storage.files import TEMPORARY_PREFIX
from cobnut.storage.generations import GenerationStore
from cobnut.storage.layout import CrawlFolder
from cobnut.storage.tables import checksum


@pytest.fixture
def crawl(tmp_path):
    path = make_crawl(tmp_path / "crawl")
    new_generation(path, [document(n) for n in range(30)])
    return path


@pytest.fixture
def target(tmp_path):
    return tmp_path / "published"


def publish(crawl: Path, target: Path, grace_s: float = 60.0):
    return publish_index(
        CrawlFolder.open(crawl).index_generations(), GenerationStore(target, "the published index", grace_s=grace_s)
    )


def documents(target: Path):
    with GenerationStore(target, "index").current() as current:
        return sorted(IndexReader(current.path).documents(), key=lambda d: d.url_key)


def held(target: Path) -> Path:
    with GenerationStore(target, "index").current() as current:
        return current.path


def snapshot(folder: Path):
    return {p: (p.stat().st_ino, p.stat().st_mtime_ns, p.stat().st_size) for p in folder.rglob("*")}


def same_bytes(source: Path, target: Path):
    """Names and checksums of an index's files; the engine's locks and the manifest are each folder's own."""
    return [(p.name, checksum(p)) for p in index_files(source)] == [(p.name, checksum(p)) for p in index_files(target)]


def test_all_that_is_known_of_a_document_is_there_when_the_crawl_is_gone(crawl, target):
    before = documents(crawl / "index")
    report = publish(crawl, target)
    assert (report.generation, report.doc_count, report.unchanged) == (1, 30, False)
    assert report.bytes == report.copied_bytes == sum(p.stat().st_size for p in index_files(held(target)))
    shutil.rmtree(crawl)
    assert documents(target) == before
    assert len(before) == 30


def test_the_manifest_names_every_file_with_its_checksum(crawl, target):
    publish(crawl, target)
    with GenerationStore(target, "index").current() as current:
        assert {f["name"]: f["xxh3"] for f in current.manifest["files"]} == {
            p.name: checksum(p) for p in index_files(current.path)
        }
        assert current.manifest["published"]["from"] == str(crawl / "index")


def test_nothing_is_linked_to_the_crawl(crawl, target):
    publish(crawl, target)
    ours = {p.stat().st_ino for p in target.rglob("*") if p.is_file()}
    assert ours.isdisjoint(p.stat().st_ino for p in crawl.rglob("*") if p.is_file())


def test_the_same_again_writes_nothing(crawl, target):
    publish(crawl, target)
    before = snapshot(target / "g000001")
    report = publish(crawl, target)
    assert report.unchanged
    assert report.generation == 1
    assert snapshot(target / "g000001") == before
    assert [p.name for p in sorted(target.iterdir())] == ["CURRENT", "LOCK", "g000001"]


def test_what_is_there_already_is_not_copied_again(crawl, target):
    publish(crawl, target)
    # another generation of the same files, as a merge makes it that only leaves something out
    with CrawlFolder.open(crawl).index_generations().begin() as draft:
        for path in index_files(crawl / "index/g000001"):
            shutil.copyfile(path, draft.path / path.name)
        with CrawlFolder.open(crawl).index_generations().current() as current:
            draft.publish({k: v for k, v in current.manifest.items() if k not in ("generation", "parent")})
    report = publish(crawl, target)
    assert not report.unchanged
    assert report.generation == 2
    assert report.copied_bytes == 0
    assert same_bytes(crawl / "index/g000002", held(target))
    stores = [p.name for p in index_files(held(target)) if p.suffix == ".store"]
    assert stores
    for name in stores:
        assert (target / "g000001" / name).samefile(target / "g000002" / name)


def test_what_was_damaged_there_is_copied_again(crawl, target):
    publish(crawl, target)
    victim = next(p for p in index_files(held(target)) if p.suffix == ".store")
    victim.write_bytes(bytes(victim.stat().st_size))
    new_generation(crawl, [document(n) for n in range(31)])
    publish(crawl, target)
    assert same_bytes(crawl / "index/g000002", held(target))
    assert len(documents(target)) == 31


def test_a_damaged_source_is_named_and_not_the_copy(crawl, target):
    victim = next(p for p in (crawl / "index/g000001").iterdir() if p.suffix == ".term")
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 0xFF
    victim.write_bytes(data)
    with pytest.raises(DataError) as caught:
        publish(crawl, target)
    assert str(crawl / "index") in caught.value.line()
    assert str(target) not in caught.value.line()
    assert "cobnut merge" in caught.value.line()


@pytest.mark.parametrize("damage", ["missing", "short"])
def test_a_published_index_that_lost_something_is_published_anew(crawl, target, damage):
    publish(crawl, target)
    victim = next(p for p in index_files(held(target)) if p.suffix == ".term")
    victim.unlink() if damage == "missing" else victim.write_bytes(b"")
    assert not publish(crawl, target).unchanged
    assert len(documents(target)) == 30


def test_a_target_whose_current_generation_is_gone_is_published_anew(crawl, target):
    publish(crawl, target)
    new_generation(crawl, [document(n) for n in range(31)])
    publish(crawl, target)
    (target / "g000002/manifest.json").unlink()
    assert publish(crawl, target).generation == 3
    assert len(documents(target)) == 31


def test_the_one_before_stays_and_older_ones_go(crawl, target):
    for n in range(4):
        new_generation(crawl, [document(k) for k in range(5 + n)])
        publish(crawl, target, grace_s=0)
    assert sorted(p.name for p in target.glob("g*")) == ["g000003", "g000004"]
    GenerationStore(target, "index").rollback()
    assert len(documents(target)) == 7
    assert not publish(crawl, target).unchanged  # what was rolled back is published again
    assert len(documents(target)) == 8


def test_a_generation_that_is_read_is_not_removed(crawl, target):
    publish(crawl, target)
    with GenerationStore(target, "index").current() as reading:
        for n in range(3):
            new_generation(crawl, [document(k) for k in range(5 + n)])
            publish(crawl, target, grace_s=0)
        assert len(IndexReader(reading.path).doc_keys()) == 30


def test_what_killed_publishers_left_is_removed(crawl, target):
    publish(crawl, target)
    (target / f"{TEMPORARY_PREFIX}generation-1-2").mkdir()
    new_generation(crawl, [document(1)])
    assert any("unfinished" in line for line in publish(crawl, target).messages)
    assert not list(target.glob(f"{TEMPORARY_PREFIX}*"))


@pytest.mark.parametrize(
    "what", ["a crawl", "the index itself", "a folder of something else", "a file", "another index"]
)
def test_a_target_that_is_something_else_is_left_alone(crawl, tmp_path, what):
    place = tmp_path / "place"
    if what == "a crawl":
        make_crawl(place)
    elif what == "the index itself":
        place = crawl / "index"
    elif what == "a file":
        place.write_text("x")
    elif what == "another index":
        other = make_crawl(tmp_path / "other")
        new_generation(other, [document(1)])
        place = other / "index"
    else:
        place.mkdir()
        (place / "thesis.odt").write_text("x")
    before = snapshot(tmp_path)
    with pytest.raises(InputError) as caught:
        publish(crawl, place)
    assert str(place) in caught.value.line()
    assert snapshot(tmp_path) == before


def test_settings_of_the_search_machine_may_lie_in_the_target(crawl, target):
    target.mkdir()
    (target / "cobnut.toml").write_text("[search]\nper_page = 3\n")
    publish(crawl, target)
    publish(crawl, target)
    assert (target / "cobnut.toml").read_text() == "[search]\nper_page = 3\n"


def test_without_an_index_there_is_nothing_to_publish(tmp_path, target):
    with pytest.raises(DataError, match="no index yet"):
        publish(make_crawl(tmp_path / "empty"), target)
    assert not target.exists()


@pytest.mark.parametrize("suffix", [".store", ".term", "meta.json"])
def test_an_index_that_cannot_be_read_is_not_published(crawl, target, suffix):
    publish(crawl, target)
    new_generation(crawl, [document(n) for n in range(31)])
    victim = next(p for p in index_files(crawl / "index/g000002") if p.name.endswith(suffix))
    victim.write_bytes(victim.read_bytes()[:10])
    with pytest.raises(DataError):
        publish(crawl, target)
    assert len(documents(target)) == 30
    assert not list(target.glob(f"{TEMPORARY_PREFIX}*"))


def test_another_publisher_is_refused_by_name(crawl, target):
    store = GenerationStore(target, "the published index")
    with (
        store.begin(),
        pytest.raises(MachineError, match=r"another process is writing the published index: process \d+"),
    ):
        publish(crawl, target)
    assert publish(crawl, target).generation == 1


def test_what_was_published_can_be_published_on(crawl, target, tmp_path):
    publish(crawl, target)
    report = publish_index(GenerationStore(target, "index"), GenerationStore(tmp_path / "second", "index"))
    assert report.doc_count == 30
    assert documents(tmp_path / "second") == documents(target)
