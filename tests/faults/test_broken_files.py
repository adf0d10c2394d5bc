"""One file of a crawl is harmed, in every way there is: what do the commands say?

Each ends with one clear line that names the crawl, never with a traceback, whatever was harmed; doctor finds it. A few
harms are drawn; COBNUT_BREAK_MOST=1000 takes all of them, COBNUT_BREAK_SEED draws others.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from doctored import current, looked_at, make, site
from killing import Zygote
from stages import copied, remove

from cobnut.errors import DataError
from cobnut.storage.backup import back_up
from cobnut.storage.layout import CrawlFolder

MOST = int(os.environ.get("COBNUT_BREAK_MOST", "8"))
TABLES = ("crawldb", "pages", "seeds", "hostdb", "robots", "linkdb", "ranks", "duplicates", "index")
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("read", "crawldb", "DIR", "--stats"), ("read", "linkdb", "DIR", "--stats"), ("read", "segment", "DIR"),
    ("generate", "DIR"), ("parse", "DIR", "SEGMENT"), ("updatedb", "DIR"), ("invertlinks", "DIR"), ("rank", "DIR"),
    ("updatesegs", "DIR"), ("index", "DIR"), ("dedup", "DIR"), ("merge", "DIR"), ("search", "DIR", "hazel"),
    ("why", "DIR", "http://a.test/1"), ("why", "DIR", "--host", "a.test"), ("dump", "DIR", "-o", "OUT"),
    ("backup", "DIR", "OUT"), ("publish", "DIR", "OUT"), ("export", "warc", "DIR", "OUT"), ("clean", "DIR"),
    ("export", "nutch", "DIR", "OUT"), ("upgrade", "DIR"), ("mergedb", "OTHER", "DIR"),
    ("cdx", "DIR", "--output", "OUT"),
    ("freegen", "DIR", "http://d.test/1"), ("forget", "DIR", "http://a.test/2"), ("rollback", "DIR", "crawldb"),
)  # fmt: skip


def written(path: Path, data: bytes) -> None:
    """A new file in the place of one that may have other names."""
    path.unlink()
    path.write_bytes(data)


def flipped(share: float) -> Callable[[Path], None]:
    def harm(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[int((len(data) - 1) * share)] ^= 0xFF
        written(path, data)

    return harm


def replaced(make: Callable[[Path], None]) -> Callable[[Path], None]:
    def harm(path: Path) -> None:
        path.unlink()
        make(path)

    return harm


def from_the_future(path: Path) -> None:
    value = json.loads(path.read_text())
    value["format_version"] = 99
    written(path, json.dumps(value).encode())


HARMS: dict[str, Callable[[Path], None]] = {
    "cut": lambda path: written(path, path.read_bytes()[: path.stat().st_size // 2]),
    "emptied": lambda path: written(path, b""),
    "gone": Path.unlink,
    "first byte": flipped(0.0),
    "middle byte": flipped(0.5),
    "late byte": flipped(0.97),
    "zeros": lambda path: written(path, bytes(path.stat().st_size)),
    "noise": lambda path: written(path, random.Random(1).randbytes(500)),
    "brackets": lambda path: written(path, b"[" * 100_000),
    "a folder": replaced(Path.mkdir),
    "a link to nothing": replaced(lambda path: path.symlink_to("nowhere")),
    "a link to itself": replaced(lambda path: path.symlink_to(path.name)),
}
NAMES: dict[str, Callable[[Path], None]] = {
    "names nothing": lambda path: written(path, b"g000999\n"),
    "leads out": lambda path: written(path, b"../../etc\n"),
    "Windows' end of line": lambda path: written(path, path.read_bytes().replace(b"\n", b"\r\n")),
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with site() as web:
        return make(tmp_path_factory.mktemp("broken") / "crawl", web)


@pytest.fixture(scope="module")
def zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    with Zygote(tmp_path_factory.mktemp("zygote")) as running:
        yield running


def victims(crawl: Path) -> dict[str, Path]:
    """One file of each kind, by what it is."""
    found: dict[str, Path] = {}
    segment = min((crawl / "segments").iterdir())
    for table in TABLES:
        for path in (crawl / table / "CURRENT", *current(crawl, table).iterdir()):
            found[f"{table} {kind_of(path)}"] = path
    for path in segment.rglob("*"):
        if path.is_file() and path.parent.name != "fetching":
            found[f"{path.parent.name} {kind_of(path)}"] = path
    return {name: path for name, path in found.items() if not path.name.startswith(".") and path.is_file()}


def kind_of(path: Path) -> str:
    """Files of one kind have one name: their ending, or what they are called."""
    if path.suffix == ".parquet":
        return path.name[:5]
    return path.name if path.suffix in ("", ".json") else path.suffix


def is_harmless(name: str, harm: str) -> bool:
    """Is it the same to whoever reads it, or something that any later run makes good?"""
    return harm == "Windows' end of line" or (harm == "gone" and name.split()[0] in ("hosts", "linked"))


def test_every_command_ends_with_one_clear_line(kept: Path, tmp_path: Path, zygote: Zygote) -> None:
    seed = int(os.environ.get("COBNUT_BREAK_SEED", "8"))
    chance, wrong = random.Random(seed), list[str]()
    drawn = [(name, harm) for name in victims(kept) for harm in (*HARMS, *(NAMES if "CURRENT" in name else ()))]
    chance.shuffle(drawn)
    crawl = tmp_path / "crawl"
    for name, harm in drawn[:MOST]:
        remove(crawl)
        copied(kept, crawl)
        (HARMS | NAMES)[harm](crawl / victims(kept)[name].relative_to(kept))
        if not is_harmless(name, harm):
            found = looked_at(crawl, deep=name.startswith("warc")).findings
            wrong += [f"{name}: {harm}: doctor finds nothing"] if not found else []
            wrong += [f"{name}: {harm}: {f.what}" for f in found if f.check == "unexpected"]
        for words in chance.sample(COMMANDS, 4):
            said = said_by(zygote, kept, crawl, words)
            wrong += [f"{name}: {harm}: {' '.join(words)}: {said}"] if said else []
    assert not wrong, "\n".join([f"COBNUT_BREAK_SEED={seed}", *wrong])


def said_by(zygote: Zygote, kept: Path, crawl: Path, words: tuple[str, ...]) -> str | None:
    """What a command says that it should not."""
    out, other = crawl.with_name("out"), crawl.with_name("other")
    remove(out)
    remove(other)
    if "OTHER" in words:
        copied(kept, other)
    segment = min((kept / "segments").iterdir()).name
    names = {"DIR": crawl, "OUT": out, "OTHER": other, "SEGMENT": segment}
    done = zygote.run(*(names.get(word, word) for word in words))
    lines = [line for line in done.err.splitlines() if line.startswith("cobnut:")]
    is_clear = len(lines) == 1 and str(crawl.parent) in lines[0] and "; " in lines[0]
    if done.code in (0, 1, 2) or (done.code in (3, 4) and is_clear):
        return done.err if "Traceback" in done.err else None
    return f"{done.code} {done.err}"


def test_a_linked_backup_follows_links(kept: Path, tmp_path: Path) -> None:
    """A file that was moved to another disk, with a link in its place: of a link's second name would come nothing."""
    crawl = copied(kept, tmp_path / "crawl")
    path = max(current(crawl, "pages").glob("*.parquet"))
    data, place = path.read_bytes(), crawl / "moved"
    written(path, data)
    path.rename(place)
    path.symlink_to(os.path.relpath(place, path.parent))
    back_up(CrawlFolder.open(crawl), tmp_path / "deep" / "copy", link=True)
    assert (tmp_path / "deep/copy" / path.relative_to(crawl)).read_bytes() == data


def test_what_keeps_a_backup_is_named(kept: Path, tmp_path: Path) -> None:
    """The file of the crawl, not the folder that the copy was to go to."""
    crawl = copied(kept, tmp_path / "crawl")
    path = max(current(crawl, "pages").glob("*.parquet"))
    HARMS["a link to itself"](path)
    with pytest.raises(DataError) as caught:
        back_up(CrawlFolder.open(crawl), tmp_path / "copy")
    assert caught.value.where == str(path)
    assert caught.value.remedy
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize("name", ["crawldb manifest.json", "index manifest.json", "segment state.json"])
def test_what_a_later_program_wrote_is_refused(kept: Path, tmp_path: Path, zygote: Zygote, name: str) -> None:
    crawl = copied(kept, tmp_path / "crawl")
    path = {**victims(crawl), "segment state.json": min(crawl.glob("segments/*/state.json"))}[name]
    from_the_future(path)
    assert looked_at(crawl).problems
    done = zygote.run("upgrade", crawl)
    assert done.code == 3
    assert "newer" in done.err
    assert "99" in done.err
