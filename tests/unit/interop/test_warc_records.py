"""Are all records of an archive found, whatever is wrong with it, and is what is wrong told with its place?"""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from warc_bytes import PAGE, arc, arc_head, http, info, members, warc

from cobnut.interop.warc import records as reading
from cobnut.interop.warc.records import Damage, Place, Record, looks_like_archive, read_records

URLS = [f"http://a.test/{n}" for n in range(4)]
RECORDS = [info(), *(warc(url, http(PAGE + str(n).encode())) for n, url in enumerate(URLS))]


def read(folder: Path, data: bytes) -> tuple[list[Record], list[Damage]]:
    path = folder / "test.warc"
    path.write_bytes(data)
    found = list(read_records(path))
    return [f for f in found if isinstance(f, Record)], [f for f in found if isinstance(f, Damage)]


def targets(found: list[Record]) -> list[str]:
    return [r.fields["warc-target-uri"] for r in found if r.type != "warcinfo"]


def zstd_frames(*pieces: bytes) -> bytes:
    """zstd frames of raw blocks (RFC 8878 3.1.1): written by hand, one frame a piece."""
    frames = b""
    for piece in pieces:
        frames += b"\x28\xb5\x2f\xfd" + b"\xa0" + len(piece).to_bytes(4, "little")
        blocks = [piece[i : i + 50_000] for i in range(0, len(piece), 50_000)] or [b""]
        for n, block in enumerate(blocks):
            frames += (len(block) << 3 | (n == len(blocks) - 1)).to_bytes(3, "little") + block
    return frames


@pytest.mark.parametrize(
    "data",
    [
        b"".join(RECORDS),
        members(*RECORDS),
        gzip.compress(b"".join(RECORDS)),
        b"".join(gzip.compress(b"".join(RECORDS)[i : i + 37]) for i in range(0, len(b"".join(RECORDS)), 37)),
        members(*RECORDS) + b"\0" * 512,
        zstd_frames(*RECORDS),
        zstd_frames(b"".join(RECORDS)),
        zstd_frames(*RECORDS[:2]) + b"\x51\x2a\x4d\x18\x03\0\0\0abc" + zstd_frames(*RECORDS[2:]),
        b"".join(r.replace(b"\r\n", b"\n") if b"warcinfo" in r else r for r in RECORDS),
        b"\r\n\r\n" + b"\n".join(RECORDS),
    ],
    ids=[
        "plain", "a member a record", "one member", "split anyhow", "padded", "zstd frames", "one zstd frame",
        "a skippable frame", "bare line feeds", "blank lines",
    ],
)  # fmt: skip
def test_every_packing_gives_the_same_records(tmp_path: Path, data: bytes) -> None:
    found, damage = read(tmp_path, data)
    assert targets(found) == URLS
    assert [r.block for r in found[1:]] == [http(PAGE + str(n).encode()) for n in range(4)]
    assert damage == []


@pytest.mark.parametrize("version", ["0.17", "0.18", "1.0", "1.1"])
def test_every_version_is_read(tmp_path: Path, version: str) -> None:
    found, damage = read(tmp_path, warc(URLS[0], http(), version=version))
    assert [r.version for r in found] == [f"WARC/{version}"]
    assert damage == []


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("packed", [False, True])
def test_arc_is_read(tmp_path: Path, version: int, packed: bool) -> None:
    parts = [arc_head(version), *(arc(url, http(), version) for url in URLS), arc("http://a.test/a b", http(), version)]
    found, damage = read(tmp_path, members(*parts) if packed else b"".join(parts))
    assert targets(found) == [*URLS, "http://a.test/a b"]
    assert all(r.block == http() for r in found[1:])
    assert found[1].fields["warc-ip-address"] == "192.0.2.7"
    assert found[1].fields["warc-date"] == "20260102030405"
    assert damage == []


def test_offsets_are_those_of_the_file(tmp_path: Path) -> None:
    for data in (b"".join(RECORDS), members(*RECORDS), zstd_frames(*RECORDS)):
        path = tmp_path / "x.warc"
        path.write_bytes(data)
        found = list(read_records(path))
        starts = [f.offset for f in found if isinstance(f, Record)]
        ends = [f.end for f in found if isinstance(f, Place)]
        assert ends == [*starts[1:], len(data)]
        assert all(f.alone for f in found if isinstance(f, Record))
        for start, end, url in zip(starts[1:], ends[1:], URLS, strict=True):
            (tmp_path / "one").write_bytes(data[start:end])
            assert targets([r for r in read_records(tmp_path / "one") if isinstance(r, Record)]) == [url]
    found, _ = read(tmp_path, gzip.compress(b"".join(RECORDS)))
    assert [r.alone for r in found] == [True, False, False, False, False]


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
@pytest.mark.parametrize("length", [3, 45, len(http()) - 7, len(http()) + 5, len(http()) + 900, 1 << 40, None, "x", -3])
def test_a_wrong_length_costs_no_record(tmp_path: Path, length: int | str | None, packed: bool) -> None:
    parts = [info(), warc(URLS[0], http(), length=length), *RECORDS[2:]]
    found, damage = read(tmp_path, members(*parts) if packed else b"".join(parts))
    assert targets(found) == URLS
    assert found[1].block == http()
    assert found[1].note is not None
    assert damage == []


def test_wrong_lengths_in_arc(tmp_path: Path) -> None:
    for length in (3, len(http()) + 1, len(http()) + 70):
        parts = [arc_head(), arc(URLS[0], http(), length=length), *(arc(url, http()) for url in URLS[1:])]
        found, damage = read(tmp_path, b"".join(parts))
        assert targets(found) == URLS
        assert found[1].block.strip() == http()
        assert damage == []


def test_a_body_may_speak_of_warc(tmp_path: Path) -> None:
    """A WARC file within a WARC file is one body."""
    inner = http(b"".join(RECORDS))
    found, damage = read(tmp_path, warc(URLS[0], inner) + RECORDS[2])
    assert targets(found) == URLS[:2]
    assert found[0].block == inner
    assert damage == []


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
def test_garbage_between_records_is_passed_over(tmp_path: Path, packed: bool) -> None:
    garbage = bytes(random.Random(7).randbytes(5_000))
    parts = members(*RECORDS[:3]), members(*RECORDS[3:])
    data = garbage.join(parts) if packed else b"".join(RECORDS[:3]) + garbage + b"\n" + b"".join(RECORDS[3:])
    found, damage = read(tmp_path, data)
    assert targets(found) == URLS
    [told] = damage
    assert told.offset == (len(parts[0]) if packed else len(b"".join(RECORDS[:3])))


def test_a_broken_member_costs_its_record_alone(tmp_path: Path) -> None:
    packed = [gzip.compress(r) for r in RECORDS]
    packed[2] = packed[2][:60] + bytes(40) + packed[2][100:]
    found, damage = read(tmp_path, b"".join(packed))
    assert targets(found) == [URLS[0], *URLS[2:]]
    assert damage
    assert min(told.offset for told in damage) == len(packed[0]) + len(packed[1])


@pytest.mark.parametrize("pack", [b"".join, lambda rs: members(*rs), lambda rs: gzip.compress(b"".join(rs))])
def test_a_cut_end_is_told_and_what_is_whole_is_read(tmp_path: Path, pack) -> None:
    data = pack(RECORDS)
    for cut in (len(data) - 20, len(data) - 60):
        found, damage = read(tmp_path, data[:cut])
        assert found[1:]
        assert targets(found) == URLS[: len(found) - 1]
        assert all(r.block == http(PAGE + str(n).encode()) for n, r in enumerate(found[1:]))
        assert damage


def test_a_large_block_is_cut_and_passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is lowered for the test: what is behind the block is read all the same."""
    monkeypatch.setattr(reading, "MOST_BLOCK_BYTES", 10_000)
    big = http(bytes(200_000))
    for pack in (b"".join, lambda rs: members(*rs), lambda rs: gzip.compress(b"".join(rs))):
        found, damage = read(tmp_path, pack([warc(URLS[0], big), *RECORDS[2:]]))
        assert targets(found) == URLS
        assert (found[0].is_cut, len(found[0].block)) == (True, 10_000)
        assert damage == []
        found, _ = read(tmp_path, pack([warc(URLS[0], http(), length=100_000), *RECORDS[2:]]))
        assert targets(found) == URLS


@pytest.mark.parametrize("packed", [False, True], ids=["dictionary as it is", "dictionary packed"])
def test_zstd_with_a_dictionary_in_the_file(tmp_path: Path, packed: bool) -> None:
    import io

    from fastwarc.stream_io import ZstdWriter, zstd_train_dictionary_from_samples

    samples = [warc(f"http://a.test/{n}", http(PAGE + str(n).encode() * 9)) for n in range(400)]
    dictionary = zstd_train_dictionary_from_samples(samples, 4_096)

    out = io.BytesIO()
    writer = ZstdWriter(out, dictionary=dictionary, compress_dictionary_frame=packed)
    for record in RECORDS:
        writer.write(record)
        writer.finish()
    writer.flush()
    data = out.getvalue()
    assert data.startswith(b"\x5d\x2a\x4d\x18")
    for end in (20, 200, 5_000):  # a cut or broken dictionary is told
        _, told = read(tmp_path, data[: min(end, len(data) - 200)] + bytes(50))
        assert told
    found, damage = read(tmp_path, data)
    assert targets(found) == URLS
    assert damage == []


def test_a_bomb_is_given_up(tmp_path: Path) -> None:
    """zstd makes gigabytes of a few bytes: run-length blocks of the largest size."""
    block = (131_072 << 3 | 1 << 1).to_bytes(3, "little") + b"A"
    bomb = b"\x28\xb5\x2f\xfd\x00\x58" + block * 20_000 + (1 << 3 | 1).to_bytes(3, "little") + b"A"
    found, damage = read(tmp_path, bomb)
    assert found == []
    assert damage


@pytest.mark.parametrize(
    ("data", "most"),
    [
        (b"\nWARC/1.0\r\nA: b" * 200_000, 2_000),
        (b"http:x 1.1.1.1 20200101000000 text/html 99999999\n" * 40_000, 10),
        (b"\n!WARC/1.0\r\nA: b\r\n\r\n" * 50_000, 10),
        (b"\nWARC/1.0\r\nA: b\r\n\r\n\x00!" * 50_000, 10),
        (warc(URLS[0], http(), length=60_000_000) * 5_000, 10),
        (gzip.compress(warc(URLS[0], http(), length=60_000_000)) * 5_000, 10),
        (gzip.compress(b"x") * 50_000, 10),
        ((b"\x1f\x8b\x08\0\0\0\0\0\0\0" + bytes(range(20))) * 20_000, 10),
    ],
    ids=[
        "heads without end", "lines of ARC", "no line begins so", "no lengths", "huge lengths", "huge lengths, packed",
        "tiny members", "false members",
    ],
)  # fmt: skip
def test_hostile_files_end(tmp_path: Path, data: bytes, most: int) -> None:
    """None of these costs more than a pass or two; a search of everything for each record would never end."""
    _, damage = read(tmp_path, data)
    assert len(damage) <= most


def test_what_is_no_archive_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for data, expected in (
        (b"", False), (b"hello", False), (gzip.compress(b"hello" * 1000), False), (b"%PDF-1.4\n" + bytes(9_000), False),
        (bytes(range(256)) * 64, False), (members(*RECORDS), True), (b"junk\n" + b"".join(RECORDS), True),
        (arc_head(), True), (zstd_frames(*RECORDS), True), (b"WARC/1.0\r\n", False),
    ):  # fmt: skip
        path.write_bytes(data)
        assert looks_like_archive(path) is expected, data[:20]


SOUND = [b"".join(RECORDS), members(*RECORDS), zstd_frames(*RECORDS), arc_head() + arc(URLS[0], http())]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.sampled_from(SOUND), edits=st.lists(st.tuples(st.integers(0, 5_000), st.binary(max_size=12)), max_size=6),
    cut=st.integers(0, 5_000), drop=st.integers(0, 30),
)  # fmt: skip
def test_fuzzed_bytes_end_without_an_error(tmp_path: Path, data: bytes, edits, cut: int, drop: int) -> None:
    changed = bytearray(data)
    for place, value in edits:
        at = place % max(1, len(changed))
        changed[at : at + drop] = value
    path = tmp_path / "fuzzed"
    path.write_bytes(bytes(changed[: max(20, len(changed) - cut % len(data))]))
    found = list(read_records(path))
    assert len(found) < 10_000
    for one in found:
        if isinstance(one, Record | Damage):
            assert 0 <= one.offset <= path.stat().st_size


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=400),
    st.sampled_from([b"", b"WARC/1.0\r\n", b"\x1f\x8b\x08\0", b"\x28\xb5\x2f\xfd", b"\x5d\x2a\x4d\x18"]),
)
def test_any_bytes_end_without_an_error(tmp_path: Path, data: bytes, start: bytes) -> None:
    path = tmp_path / "any"
    path.write_bytes(start + data)
    list(read_records(path))
    looks_like_archive(path)
