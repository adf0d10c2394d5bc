"""Is always exactly one complete generation current, and does nothing go that somebody reads?"""

import json
import os
import threading

import pytest

from cobnut.errors import DataError, InputError, MachineError
from cobnut.records.catalogue import FORMAT_VERSION
from cobnut.storage.files import TEMPORARY_PREFIX
from cobnut.storage.generations import CURRENT, MANIFEST, GenerationStore


@pytest.fixture
def store(tmp_path):
    return GenerationStore(tmp_path / "things", "things", grace_s=0)


def publish(store, text="x"):
    with store.begin() as draft:
        (draft.path / "data").write_text(text)
        return draft.publish({"text": text})


def data(store):
    with store.current() as generation:
        return (generation.path / "data").read_text(), generation.manifest["text"], generation.number


def folders(store):
    return sorted(p.name for p in store.path.iterdir() if p.is_dir())


def test_never_written(store):
    assert store.current() is None
    assert store.current_number() is None
    assert store.numbers() == []
    with pytest.raises(InputError, match="never written"):
        store.rollback()


def test_each_publish_is_the_current_one_and_knows_its_parent(store):
    assert [publish(store, t) for t in "abc"] == [1, 2, 3]
    assert data(store) == ("c", "c", 3)
    with store.current() as generation:
        assert generation.manifest["parent"] == 2
        assert generation.manifest["format_version"] == FORMAT_VERSION
        assert generation.manifest["written_by"].startswith("cobnut ")
    assert (store.path / CURRENT).read_text() == "g000003\n"


def test_the_previous_one_stays_and_older_ones_go(store):
    for text in "abcd":
        publish(store, text)
    assert folders(store) == ["g000003", "g000004"]


def test_superseded_ones_stay_for_the_grace_time(tmp_path):
    store = GenerationStore(tmp_path / "things", "things", grace_s=3600)
    for text in "abcd":
        publish(store, text)
    assert len(folders(store)) == 4
    old = store.path / "g000001"
    os.utime(old, (0, 0))
    publish(store, "e")
    assert not old.exists()
    assert len(folders(store)) == 4


def test_the_grace_time_begins_when_another_takes_its_place(tmp_path):
    """However long it was current: who has just read its name finds it."""
    store = GenerationStore(tmp_path / "things", "things", grace_s=3600)
    publish(store, "a")
    os.utime(store.path / "g000001", (0, 0))
    publish(store, "b")
    publish(store, "c")
    assert folders(store) == ["g000001", "g000002", "g000003"]


def test_pruning_takes_all_that_nobody_reads_or_can_go_back_to(tmp_path):
    store = GenerationStore(tmp_path / "things", "things", grace_s=3600)
    for text in "abcd":
        publish(store, text)
    (store.path / ".tmp-generation-1-deadbeef").mkdir()
    assert store.surplus() == [1, 2]
    with store.current() as reader:
        assert store.prune() == [1, 2]
        assert folders(store) == ["g000003", "g000004"]
        publish(store, "e")
        assert store.prune(keep_previous=False) == [3]
        assert reader.path.exists()
    assert store.prune(keep_previous=False) == [4]
    assert data(store) == ("e", "e", 5)
    assert GenerationStore(tmp_path / "none", "none").prune() == []


def test_none_goes_under_a_reader(store):
    publish(store, "a")
    reader = store.current()
    for text in "bcd":
        publish(store, text)
    assert (reader.path / "data").read_text() == "a"
    assert folders(store) == ["g000001", "g000003", "g000004"]
    reader.close()
    publish(store, "e")
    assert folders(store) == ["g000004", "g000005"]


def test_an_exception_leaves_the_current_one_and_no_trace(store):
    publish(store, "a")
    with pytest.raises(FileNotFoundError), store.begin() as draft:
        (draft.path / "half" / "data").write_text("half")
    assert data(store) == ("a", "a", 1)
    assert folders(store) == ["g000001"]
    assert publish(store, "b") == 2, "the lock was given back"


def test_unfinished_work_of_killed_writers_is_swept_and_said(store):
    publish(store, "a")
    (store.path / f"{TEMPORARY_PREFIX}generation-1-x" / "deep").mkdir(parents=True)
    (store.path / f"{TEMPORARY_PREFIX}CURRENT-1-x").write_text("")
    with store.begin() as draft:
        assert draft.messages == ["2 unfinished folders of things removed"]
        assert [p for p in store.path.iterdir() if p.name.startswith(TEMPORARY_PREFIX)] == [draft.path]
    assert data(store)[0] == "a"


def test_two_writers_of_one_process_exclude_each_other(store):
    with store.begin(), pytest.raises(MachineError, match=f"another process is writing things: process {os.getpid()}"):
        store.begin()


def test_rollback_goes_to_the_parent_and_forward_again_by_writing(store):
    for text in "abc":
        publish(store, text)
    assert store.rollback() == (3, 2)
    assert data(store) == ("b", "b", 2)
    assert publish(store, "d") == 4, "a number is never given twice"
    with store.current() as generation:
        assert generation.manifest["parent"] == 2
    assert store.rollback() == (4, 2)


def test_rollback_of_the_only_one_is_refused(store):
    publish(store, "a")
    with pytest.raises(InputError, match="no previous generation"):
        store.rollback()
    assert data(store)[0] == "a"


def test_a_complete_one_that_never_became_current_is_no_previous_one(store):
    """Its writer was killed between naming it and making it current."""
    publish(store, "a")
    publish(store, "orphan")
    (store.path / CURRENT).write_text("g000001\n")
    assert data(store)[0] == "a"
    assert publish(store, "b") == 3
    assert folders(store) == ["g000001", "g000003"]
    assert store.rollback() == (3, 1)
    assert data(store)[0] == "a"


@pytest.mark.parametrize(
    "text", [b"", b"\n", b"g", b"000001", b"g1", b"g-00001", b"../../x", "g00000²".encode(), b"\xff\xfe"]
)
def test_damaged_current_names_file_and_remedy(store, text):
    publish(store, "a")
    (store.path / CURRENT).write_bytes(text)
    for read in (store.current_number, store.current, store.begin):
        with pytest.raises(DataError) as caught:
            read()
        assert str(store.path / CURRENT) in caught.value.line()
    (store.path / CURRENT).write_text("g000001\n")
    assert publish(store, "b") == 2, "the lock was given back"


def test_current_that_names_what_is_not_there(store):
    publish(store, "a")
    (store.path / CURRENT).write_text("g000009\n")
    with pytest.raises(DataError, match=r"generation g000009 of things is missing.*use `cobnut rollback .* things`"):
        store.current()


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"{}", b'{"format_version": "1"}', b"\xff", b"null"])
def test_damaged_manifest_names_the_folder(store, text):
    publish(store, "a")
    (store.path / "g000001" / MANIFEST).write_bytes(text)
    with pytest.raises(DataError) as caught:
        store.current()
    assert "g000001" in caught.value.line()


def test_rollback_mends_a_damaged_manifest(store):
    publish(store, "a")
    publish(store, "b")
    (store.path / "g000002" / MANIFEST).write_bytes(b"{")
    assert store.rollback() == (2, 1)
    assert data(store)[0] == "a"


def test_newer_format_is_refused(store):
    publish(store, "a")
    publish(store, "b")
    for name in ("g000001", "g000002"):
        path = store.path / name / MANIFEST
        path.write_text(json.dumps({**json.loads(path.read_text()), "format_version": FORMAT_VERSION + 1}))
    with pytest.raises(DataError, match=r"newer than this program knows.*use a newer Cobnut"):
        store.current()
    with pytest.raises(DataError, match="newer than this program knows"):
        store.rollback()
    assert store.current_number() == 2


def test_readers_meet_a_whole_generation_while_others_are_published(store):
    publish(store, "0")
    stop, problems, seen = threading.Event(), [], set()

    def read():
        while not stop.is_set():
            try:
                with store.current() as generation:
                    text = (generation.path / "data").read_text()
                    if text != generation.manifest["text"]:
                        problems.append((text, generation.manifest))
                    seen.add(text)
            except Exception as error:
                problems.append(error)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(1, 60):
        publish(store, str(number))
    stop.set()
    for thread in threads:
        thread.join()
    assert problems == []
    assert len(seen) > 1


def test_a_missing_current_is_no_empty_table(store):
    """Writing on would take the rows for gone and remove their generations."""
    publish(store, "one")
    publish(store, "two")
    (store.path / CURRENT).unlink()
    for ask in (store.current, store.begin):
        with pytest.raises(DataError, match="g000002") as error:
            ask()
        assert CURRENT in error.value.line()
    assert store.numbers() == [1, 2]
    (store.path / CURRENT).write_text("g000002\n")
    assert data(store)[0] == "two"


def test_the_first_publication_killed_before_current_counts(store):
    publish(store, "one")
    (store.path / CURRENT).unlink()
    assert store.current_number() == 1
    assert data(store)[0] == "one"
    assert publish(store, "two") == 2
