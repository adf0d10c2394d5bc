"""Is there one writer at a time, and does a dead one not stand in the way? With real processes."""

import os
import signal
import subprocess
import sys

import pytest

from cobnut.errors import MachineError
from cobnut.storage.generations import GenerationStore
from cobnut.storage.locks import WriterLock, owner_of

HOLDER = """
import sys, pathlib
from cobnut.storage.generations import GenerationStore
draft = GenerationStore(pathlib.Path(sys.argv[1]), "things").begin()
(draft.path / "half").write_text("half")
print("held", flush=True)
for line in sys.stdin:
    draft.abort()
    print("released", flush=True)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that writes `tmp_path / things`."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "things")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()


def store(tmp_path, wait_s=0.0):
    return GenerationStore(tmp_path / "things", "things", lock_wait_s=wait_s)


def test_the_second_writer_is_refused_and_reads_who_is_at_work(tmp_path, holder):
    with pytest.raises(MachineError) as caught:
        store(tmp_path).begin()
    line = caught.value.line()
    assert f"process {holder.pid} on " in line
    assert "since 2" in line
    assert "storage.lock_wait_s" in line
    assert caught.value.exit_code == 4
    assert owner_of(tmp_path / "things" / "LOCK").startswith(f"process {holder.pid} ")


def test_the_second_writer_waits_where_it_is_told_to(tmp_path, holder):
    holder.stdin.write("\n")
    holder.stdin.flush()
    with store(tmp_path, wait_s=60).begin() as draft:
        assert draft.messages == []
    assert holder.stdout.readline() == "released\n"


def test_a_dead_owners_lock_is_taken_over_with_a_message(tmp_path, holder):
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    with store(tmp_path).begin() as draft:
        took, swept = draft.messages
        assert took.startswith(f"the lock on things was left by process {holder.pid} on ")
        assert took.endswith("which is gone; taken over")
        assert swept == "1 unfinished folders of things removed"
    with store(tmp_path).begin() as draft:
        assert draft.messages == [], "said once"


def test_nobody_holds_a_lock_that_was_given_back(tmp_path):
    path = tmp_path / "lock"
    assert owner_of(path) is None
    with WriterLock(path, "it"):
        assert owner_of(path) is not None
    assert owner_of(path) is None
    assert path.read_bytes() == b""


@pytest.mark.parametrize("note", [b"", b"\xff", b"{}", b"[1]", b"null", b'{"pid": 1}'])
def test_a_damaged_note_is_an_unknown_owner(tmp_path, note):
    path = tmp_path / "lock"
    with WriterLock(path, "it"):
        path.write_bytes(note)
        assert owner_of(path) == "an unknown owner"
        with pytest.raises(MachineError, match="an unknown owner"):
            WriterLock(path, "it").acquire()


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(MachineError, match="cannot"):
        GenerationStore(tmp_path / "file" / "things", "things").begin()
