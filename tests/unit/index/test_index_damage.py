"""An index folder that rotted, or that its user may not write or read."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from cobnut.config.sections import IndexSettings
from cobnut.errors import DataError
from cobnut.index import reader as reading
from cobnut.index.clauses import Clause, FieldWeights, IndexQuery
from cobnut.index.damage import ENDINGS, damaged_file
from cobnut.index.document import Document
from cobnut.index.reader import IndexReader
from cobnut.index.writer import write_index

FOOTER = 128  # more than the engine writes behind its checksummed content
NO_POWERS = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]

needs_setpriv = pytest.mark.skipif(os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root may do all")


def as_a_plain_user() -> list[str]:
    """What a command begins with so that the permissions of files hold for it."""
    return NO_POWERS if os.geteuid() == 0 else []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pages = [
        Document(
            url_key=f"k{i}", url=f"http://www.example.org/{i}", host="www.example.org", domain="example.org",
            segment="s1", title=f"title {i}", text=f"plain words number {i} " + "some more " * (i % 7), page_rank=i,
        )
        for i in range(300)
    ]  # fmt: skip
    write_index(tmp_path / "i", pages, IndexSettings())
    return tmp_path / "i"


def rot(file: Path, every: int = 7) -> None:
    """Changes bytes all over a file, but for the footer: its checksum is then wrong, and the engine does not see it."""
    content = bytearray(file.read_bytes())
    for place in range(3, max(4, len(content) - FOOTER), every):
        content[place] ^= 0xA5
    file.chmod(0o644)
    with open(file, "r+b") as stream:  # in place: a reader that has it mapped must not find it shorter
        stream.write(content)


def use(folder: Path) -> None:
    """Everything a search does."""
    reader = IndexReader(folder)
    query = IndexQuery(wanted=(Clause(("plain",)), Clause(("words",))))
    found, _ = reader.search(query, FieldWeights(), limit=50)
    reader.numbers(["page_rank"], found)
    for candidate in found:
        reader.document(candidate.place)
    reader.get("k7")
    reader.doc_keys()
    list(reader.documents())


@pytest.mark.parametrize("ending", [e for e in ENDINGS if e != ".del"])
def test_a_rotten_file_is_found_when_the_index_is_opened(folder: Path, ending: str) -> None:
    assert damaged_file(folder) is None
    file = next(path for path in folder.iterdir() if path.suffix == ending)
    rot(file)
    assert damaged_file(folder) == file
    with pytest.raises(DataError, match=f"the index is damaged .*{file.name}.*{folder}"):
        use(folder)


def test_a_large_index_breaks_with_a_clear_error_too(folder: Path) -> None:
    """The engine *panics* on such a file; in a process of its own, since it may do worse."""
    rot(next(path for path in folder.iterdir() if path.suffix == ".fast"))
    code = (
        "import os, sys; from pathlib import Path; from cobnut.errors import DataError;"
        "from cobnut.index import reader; reader.CHECKED_BYTES = 0\n"
        "try: reader.IndexReader(Path(sys.argv[1]))\n"
        "except DataError as error: print(error.line(), flush=True)\n"
        "os._exit(0)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=False)
    assert "the index is damaged" in done.stdout
    assert ".fast" in done.stdout
    assert done.stdout.count("\n") == 1


def test_a_fault_met_later_is_clear_and_looked_for_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "CHECKED_BYTES", 0)
    file = next(path for path in folder.iterdir() if path.suffix == ".store")
    with open(file, "r+b") as stream:  # compressed documents alone; where they lie stays known
        stream.seek(20)
        stream.write(b"\xa5" * 200)
    reader = IndexReader(folder)
    for _ in range(2):
        with pytest.raises(DataError, match=r"\.store"):
            reader.get("k7")


@needs_setpriv
def test_who_may_only_read_may_search(folder: Path) -> None:
    use(folder)  # leaves the engine's lock file, which another user may then not take
    for path in [*folder.iterdir(), folder]:
        path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    code = (
        "import sys; from pathlib import Path; from cobnut.index.reader import IndexReader;"
        "print(IndexReader(Path(sys.argv[1])).get('k7').title)"
    )
    done = subprocess.run(
        [*as_a_plain_user(), sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=False
    )
    folder.chmod(0o755)
    assert (done.stdout, done.stderr) == ("title 7\n", "")


@needs_setpriv
@pytest.mark.parametrize("name", ["manifest.json", "meta.json", ".term", "."])
def test_what_may_not_be_read_is_no_damage(folder: Path, name: str) -> None:
    path = folder if name == "." else next(p for p in folder.iterdir() if p.name.endswith(name))
    path.chmod(0)
    words = [sys.executable, "-m", "cobnut.cli", "search", str(folder), "plain"]
    done = subprocess.run([*as_a_plain_user(), *words], capture_output=True, text=True, check=False)
    path.chmod(0o755)
    assert done.returncode == 4, done.stderr
    assert "may not be read" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("ending", [e for e in ENDINGS if e != ".del"])
def test_whole_files_in_each_others_places_are_found(folder: Path, tmp_path: Path, ending: str) -> None:
    """Each still has the checksum that it ends in."""
    other = tmp_path / "other"
    page = Document(
        url_key="z", url="http://b.test/", host="b.test", domain="b.test", segment="s2", title="another", text="words",
    )  # fmt: skip
    write_index(other, [page], IndexSettings())
    file, stranger = (next(p for p in place.iterdir() if p.suffix == ending) for place in (folder, other))
    file.unlink()
    file.write_bytes(stranger.read_bytes())
    assert damaged_file(folder) == file


def test_a_missing_file_is_found(folder: Path) -> None:
    file = next(path for path in folder.iterdir() if path.suffix == ".pos")
    file.unlink()
    assert damaged_file(folder) == file
