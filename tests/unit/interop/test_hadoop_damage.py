"""Damage ends nothing, and nothing that was passed over goes unsaid."""

from __future__ import annotations

import random
import struct
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cobnut.interop.hadoop.checksums import side_file
from cobnut.interop.hadoop.codecs import DEFAULT_CODEC
from cobnut.interop.hadoop.data import DataOutput
from cobnut.interop.hadoop.errors import FormatError
from cobnut.interop.hadoop.header import Header, header_bytes
from cobnut.interop.hadoop.sequencefile import MAX_SKIPPED, SequenceFileReader, SequenceFileWriter, Skipped

TEXT = "org.apache.hadoop.io.Text"
SYNC = bytes(range(200, 216))
MARKER = b"\xff" * 4 + SYNC
LAYOUTS = [(2, "none"), (3, "record"), (6, "none"), (6, "record"), (6, "block")]
RECORDS = [(b"key %03d" % number, b"value %d " % number * (number % 9)) for number in range(120)]


def write(path: Path, version: int = 6, compression: str = "none", records=RECORDS, **options) -> bytes:
    options = {"sync": SYNC, "sync_interval": 500, "block_bytes": 600, "crc": False} | options
    with SequenceFileWriter(path, TEXT, TEXT, version=version, compression=compression, **options) as writer:
        for key, value in records:
            writer.append(key, value)
    return path.read_bytes()


def read(path: Path) -> tuple[list[tuple[bytes, bytes]], list[Skipped], int]:
    """Records, what was skipped, and where the header ends."""
    with SequenceFileReader(path) as reader:
        records = [(key, value) for _, key, value in reader.records()]
        return records, reader.skipped, reader.header.end


@contextmanager
def most_memory() -> Iterator[Callable[[], int]]:
    """How many bytes were held at most within."""
    tracemalloc.start()
    found = 0
    try:
        yield lambda: found
        found = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def starts(path: Path) -> list[int]:
    with SequenceFileReader(path) as reader:
        return [record.position for record in reader.records()]


@pytest.mark.parametrize(("version", "compression"), LAYOUTS)
def test_a_file_cut_anywhere_gives_what_is_whole_and_says_what_is_not(tmp_path, version, compression):
    path = tmp_path / "data"
    records = RECORDS[:30]
    whole = write(path, version, compression, records)
    places = starts(path)
    end = places[0]
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        if size < end:
            with pytest.raises(FormatError) as caught:
                SequenceFileReader(path)
            assert str(path) in str(caught.value)
            continue
        found, skipped, _ = read(path)
        assert found == records[: len(found)]
        # the next record begins before the cut, and is not there: that is said, from its very beginning
        following = places[len(found)]
        if following == size or (whole[following:size] == MARKER and compression != "block"):
            assert skipped == []
        else:
            assert [(gap.start, gap.end) for gap in skipped] in ([(following, size)], [(following + 20, size)])


@pytest.mark.parametrize(("version", "compression"), LAYOUTS)
def test_with_its_side_file_no_cut_goes_unsaid(tmp_path, version, compression):
    path = tmp_path / "data"
    whole = write(path, version, compression, crc=True)
    assert read(path) == (RECORDS, [], starts(path)[0])
    for size in range(starts(path)[0], len(whole), 7):
        path.write_bytes(whole[:size])
        found, skipped, _ = read(path)
        assert found == RECORDS[: len(found)]
        assert skipped


@pytest.mark.parametrize(("version", "compression"), LAYOUTS)
def test_after_damage_in_the_middle_it_goes_on_at_the_next_marker(tmp_path, version, compression):
    path = tmp_path / "data"
    whole = write(path, version, compression)
    places = starts(path)
    markers = [at for at in range(len(whole)) if whole.startswith(MARKER, at)]
    assert len(markers) > 3
    at = places[60]
    path.write_bytes(whole[:at] + b"\x7f" * 30 + whole[at + 30 :])
    found, skipped, _ = read(path)
    following = next(marker for marker in markers if marker > at)
    assert skipped == [Skipped(at, following, skipped[0].reason)]
    assert found == [record for record, place in zip(RECORDS, places, strict=True) if not at <= place < following]
    assert len(found) > 80


def test_a_value_that_cannot_be_unpacked_costs_only_its_record(tmp_path):
    path = tmp_path / "data"
    whole = write(path, compression="record")
    place, following = starts(path)[50:52]
    bent = bytearray(whole)
    bent[following - 3] ^= 1
    path.write_bytes(bent)
    found, skipped, _ = read(path)
    assert found == RECORDS[:50] + RECORDS[51:]
    assert [(gap.start, gap.end) for gap in skipped] == [(place, following)]
    assert "compressed value" in skipped[0].reason


def test_bytes_put_in_or_lost_are_passed_over(tmp_path):
    path = tmp_path / "data"
    whole = write(path)
    at = starts(path)[70]
    for broken in (whole[:at] + b"\0\0\0" + whole[at:], whole[:at] + whole[at + 5 :], whole[:at] + whole[at + 300 :]):
        path.write_bytes(broken)
        found, skipped, _ = read(path)
        assert found[:70] == RECORDS[:70]
        assert found[-30:] == RECORDS[-30:]
        assert skipped


@pytest.mark.parametrize(("version", "compression"), LAYOUTS)
def test_a_wrong_checksum_costs_what_it_covers(tmp_path, version, compression):
    path = tmp_path / "data"
    written = [(key, random.Random(number).randbytes(50)) for number, (key, _) in enumerate(RECORDS)]
    whole = write(path, version, compression, written, crc=True)
    places = [*starts(path), len(whole)]
    at = 2 * 512 + 77
    bent = bytearray(whole)
    bent[at] ^= 0x20
    path.write_bytes(bent)
    found, skipped, _ = read(path)
    assert [record for record in written if record in found] == found
    assert found[-40:] == written[-40:]
    assert all("checksum" in gap.reason for gap in skipped)
    assert skipped[0].start <= at < skipped[-1].end
    # no record was lost that the stretch of 512 bytes has no part in, but up to the next marker
    lost = [place for record, place in zip(written, places, strict=False) if record not in found]
    assert skipped[0].start in (lost[0], lost[0] + len(MARKER))
    before = places[places.index(lost[0]) + 1 :]
    assert next(place for place in before if place != lost[0]) > 1024
    with SequenceFileReader(path, check_crc=False) as reader:
        assert len(list(reader.records())) > len(found)
        assert all("checksum" not in gap.reason for gap in reader.skipped)


def test_a_side_file_that_does_not_fit_is_a_warning(tmp_path):
    path = tmp_path / "data"
    write(path, crc=True)
    side = side_file(path)
    good = side.read_bytes()
    for bad, says in (
        (b"", "no file of checksums"),
        (b"crc", "no file of checksums"),
        (b"xyz\0" + good[4:], "no file of checksums"),
        (b"crc\0" + bytes(4) + good[8:], "no file of checksums"),
        (b"crc\0\x7f\xff\xff\xff" + good[8:], "no file of checksums"),
        (good[:12], "beyond byte 512"),
        (good[:14], "beyond byte 512"),
        (good[:8], "beyond byte 0"),
    ):
        side.write_bytes(bad)
        with SequenceFileReader(path) as reader:
            assert [(key, value) for _, key, value in reader.records()] == RECORDS
            assert reader.skipped == []
            assert len(reader.warnings) == 1
            assert says in reader.warnings[0]
    side.unlink()
    side.mkdir()
    assert read(path)[0] == RECORDS


def test_damage_is_said_once_however_often_it_is_read(tmp_path):
    path = tmp_path / "data"
    whole = write(path)
    path.write_bytes(whole[:-3])
    with SequenceFileReader(path) as reader:
        for _ in range(3):
            list(reader.records())
        assert len(reader.skipped) == 1


def test_endless_damage_makes_no_endless_list(tmp_path):
    path = tmp_path / "data"
    count = MAX_SKIPPED + 500
    with SequenceFileWriter(path, TEXT, TEXT, compression="record") as writer:
        for number in range(count):
            writer.append_packed(b"%d" % number, b"no zlib")
    found, skipped, _ = read(path)
    assert found == []
    assert len(skipped) == MAX_SKIPPED
    assert skipped[-1].end == path.stat().st_size
    assert "more damage" in skipped[-1].reason


@pytest.mark.parametrize(("version", "compression"), LAYOUTS)
@settings(max_examples=150)
@given(seed=st.integers(0, 1 << 30), count=st.integers(1, 12), with_sums=st.booleans())
def test_bytes_flipped_at_random(tmp_path_factory, version, compression, seed, count, with_sums):
    path = tmp_path_factory.mktemp("d") / "data"
    whole = bytearray(write(path, version, compression, crc=with_sums))
    pick = random.Random(seed)
    for _ in range(count):
        whole[pick.randrange(len(whole))] = pick.choice([0, 1, 0x7F, 0x80, 0xFF, pick.randrange(256)])
    path.write_bytes(whole)
    try:
        found, skipped, end = read(path)
    except FormatError as error:
        assert str(path) in str(error)  # noqa: PT017 - it may also be read
        return
    place = end
    for gap in skipped:
        assert place <= gap.start < gap.end <= len(whole)
        place = gap.start
    if with_sums and not any("shorter" in gap.reason for gap in skipped):
        # what is given is what was written
        assert set(found) <= set(RECORDS)


@pytest.mark.parametrize(("version", "compression"), LAYOUTS)
@settings(max_examples=60)
@given(
    seed=st.integers(0, 1 << 30), count=st.integers(0, 6), with_sums=st.booleans(),
    chunk=st.sampled_from([1, 7, 19, 20, 64, 513, 5000]),
)  # fmt: skip
def test_how_much_is_read_at_once_changes_nothing(
    tmp_path_factory, version, compression, seed, count, with_sums, chunk
):
    path = tmp_path_factory.mktemp("d") / "data"
    whole = bytearray(write(path, version, compression, crc=with_sums))
    pick = random.Random(seed)
    start = starts(path)[0]
    for _ in range(count):
        whole[pick.randrange(start, len(whole))] = pick.choice([0, 1, 0x7F, 0xFF])
    path.write_bytes(whole)
    with SequenceFileReader(path) as at_once, SequenceFileReader(path, chunk_bytes=chunk) as bit_by_bit:
        assert list(bit_by_bit.records()) == list(at_once.records())
        assert bit_by_bit.skipped == at_once.skipped
        assert (at_once.skipped == []) >= (count == 0)


@settings(max_examples=150)
@given(st.binary(max_size=300), st.sampled_from(LAYOUTS))
def test_any_bytes_behind_a_header(tmp_path_factory, data, layout):
    path = tmp_path_factory.mktemp("d") / "data"
    version, compression = layout
    codec = None if compression == "none" else DEFAULT_CODEC
    header = header_bytes(Header(version, TEXT, TEXT, compression, codec, {}, SYNC))
    path.write_bytes(header + data + MARKER + data)
    found, skipped, end = read(path)
    assert end == len(header)
    assert len(found) <= 2 * len(data)
    assert all(end <= gap.start < gap.end <= path.stat().st_size for gap in skipped)


HUGE = 0x7FFFFFFF


def hostile_blocks() -> list[bytes]:
    """Blocks that promise, or unpack to, far more than there is."""

    def block(count: int, *parts: bytes) -> bytes:
        out = DataOutput()
        out.write(MARKER)
        out.write_vint(count)
        for part in parts:
            out.write_vint(len(part))
            out.write(part)
        return out.getvalue()

    machine = zlib.compressobj(9)
    zeros = b"".join(machine.compress(bytes(1 << 20)) for _ in range(300)) + machine.flush()
    nothing = zlib.compress(b"")
    return [
        block(HUGE, nothing, nothing, nothing, nothing),
        block(HUGE, zeros, nothing, zeros, nothing),
        block(1 << 22, zeros, nothing, zeros, nothing),
        block(1, zlib.compress(b"\0"), nothing, zlib.compress(b"\x8c\x7f\xff\xff\xff"), zeros),
        block(1, zlib.compress(b"\x8c\x7f\xff\xff\xff"), zeros, zlib.compress(b"\0"), zeros),
        block(2, zlib.compress(b"\xff\1"), nothing, zlib.compress(b"\0\0"), nothing),
        block(-5, nothing, nothing, nothing, nothing),
        MARKER + b"\1\x8c\x7f\xff\xff\xff" + bytes(50),
        MARKER + b"\1\x88\x7f\xff\xff\xff\xff\xff\xff\xff" + bytes(50),
        MARKER + b"\1\x05",
        MARKER + b"\x88",
        MARKER,
    ]


@pytest.mark.parametrize("data", hostile_blocks(), ids=range(len(hostile_blocks())))
def test_blocks_that_promise_too_much(tmp_path, data):
    path = tmp_path / "data"
    path.write_bytes(header_bytes(Header(6, TEXT, TEXT, "block", DEFAULT_CODEC, {}, SYNC)) + data)
    with most_memory() as peak:
        found, skipped, end = read(path)
    assert found == []
    assert [(gap.start, gap.end) for gap in skipped] == [(end, path.stat().st_size)]
    assert peak() < 800 << 20


@pytest.mark.parametrize("lengths", [(HUGE, 4), (HUGE, HUGE), (-2, 0), (5, 6), (5, -1), (-1, -1), (1 << 29, 1)])
@pytest.mark.parametrize("compression", ["none", "record"])
def test_lengths_that_cannot_be_allocate_nothing(tmp_path, lengths, compression):
    path = tmp_path / "data"
    codec = None if compression == "none" else DEFAULT_CODEC
    header = header_bytes(Header(6, TEXT, TEXT, compression, codec, {}, SYNC))
    path.write_bytes(header + struct.pack(">ii", *lengths) + bytes(900))
    with most_memory() as peak:
        found, skipped, end = read(path)
    assert found == []
    assert [(gap.start, gap.end) for gap in skipped] == [(end, path.stat().st_size)]
    assert peak() < 1 << 20


def test_a_large_file_needs_the_memory_of_a_few_chunks(tmp_path):
    """A length that would swallow much of a file ends at the next marker, without the rest being read first."""
    path = tmp_path / "data"
    with SequenceFileWriter(path, TEXT, TEXT, sync=SYNC) as writer:
        writer.append(b"first", b"")
        for number in range(800):
            writer.append(b"%d" % number, bytes(100_000))
    place = starts(path)[0]
    with open(path, "r+b") as file:
        file.seek(place)
        file.write(struct.pack(">ii", 50_000_000, 5))
    with most_memory() as peak, SequenceFileReader(path) as reader:
        assert sum(1 for _ in reader.records()) > 790
        assert len(reader.skipped) == 1
    assert peak() < 8 << 20
