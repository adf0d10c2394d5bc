"""What is written to a SequenceFile is read from it, in all versions and compressions."""

from __future__ import annotations

import os
import random
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cobnut.errors import DataError, MachineError
from cobnut.interop.hadoop.checksums import side_file
from cobnut.interop.hadoop.codecs import BZIP2_CODEC, DEFAULT_CODEC, GZIP_CODEC, codec_of
from cobnut.interop.hadoop.data import DataOutput
from cobnut.interop.hadoop.errors import FormatError, UnknownClassError, VersionMismatchError
from cobnut.interop.hadoop.header import Header, full_class_name, header_bytes, short_class_name
from cobnut.interop.hadoop.sequencefile import RawRecord, SequenceFileReader, SequenceFileWriter, read_header
from cobnut.interop.hadoop.window import FIRST_CHUNK_BYTES

TEXT = "org.apache.hadoop.io.Text"
SYNC = bytes(range(16))
LAYOUTS = [(2, "none"), (3, "none"), (3, "record"), (4, "none"), (4, "record"), (4, "block"), (5, "none"),
           (5, "record"), (5, "block"), (6, "none"), (6, "record"), (6, "block")]  # fmt: skip
RECORDS = st.lists(st.tuples(st.binary(max_size=40), st.binary(max_size=200)), max_size=60)


def write(path: Path, records, **options) -> bytes:
    with SequenceFileWriter(path, TEXT, TEXT, **options) as writer:
        for key, value in records:
            writer.append(key, value)
    return path.read_bytes()


def read(path: Path, **options) -> list[tuple[bytes, bytes]]:
    with SequenceFileReader(path, **options) as reader:
        records = [(key, value) for _, key, value in reader.records()]
        assert (reader.skipped, reader.warnings) == ([], [])
        return records


@pytest.mark.parametrize(("version", "compression"), LAYOUTS)
@settings(max_examples=25)
@given(records=RECORDS, interval=st.sampled_from([1, 100, 102_400]), block=st.sampled_from([1, 300, 1 << 20]))
def test_records_come_back(tmp_path_factory, version, compression, records, interval, block):
    path = tmp_path_factory.mktemp("s") / "data"
    options = {"version": version, "compression": compression, "sync_interval": interval, "block_bytes": block}
    data = write(path, records, **options)
    assert read(path) == records
    with SequenceFileReader(path) as reader:
        assert (reader.version, reader.compression, reader.key_class) == (version, compression, TEXT)
        # written again with the same marker it is the same file
        assert write(path.with_name("again"), records, sync=reader.sync, **options) == data


@pytest.mark.parametrize("codec", [DEFAULT_CODEC, DEFAULT_CODEC.replace("Default", "Deflate"), GZIP_CODEC, BZIP2_CODEC])
@pytest.mark.parametrize("compression", ["record", "block"])
def test_codecs(tmp_path, codec, compression):
    records = [(b"%d" % number, b"value %d " % number * 20) for number in range(300)]
    data = write(tmp_path / "data", records, compression=compression, codec=codec)
    assert codec.encode() in data
    assert read(tmp_path / "data") == records


def test_streams_of_several_members_are_read_whole():
    for name in (GZIP_CODEC, BZIP2_CODEC):
        codec = codec_of(name)
        assert codec.unpack(codec.pack(b"ab") + codec.pack(b"") + codec.pack(b"cd")) == b"abcd"
        with pytest.raises(FormatError, match="more than 3 bytes"):
            codec.unpack(codec.pack(b"ab") + codec.pack(b"cd"), 3)


@pytest.mark.parametrize("codec", ["SnappyCodec", "Lz4Codec", "ZStandardCodec", "PassthroughCodec"])
def test_a_codec_that_is_not_known_is_named(tmp_path, codec):
    name = f"org.apache.hadoop.io.compress.{codec}"
    path = tmp_path / "data"
    path.write_bytes(header_bytes(Header(6, TEXT, TEXT, "record", name, {}, SYNC)))
    with pytest.raises(UnknownClassError, match=codec) as caught:
        SequenceFileReader(path)
    assert caught.value.name == name
    assert str(path) in str(caught.value)
    assert read_header(path).codec == name


@pytest.mark.parametrize(("version", "compression"), LAYOUTS)
def test_every_position_can_be_sought(tmp_path, version, compression):
    path = tmp_path / "data"
    records = [(b"k%d" % number, b"v" * (number * 7 % 90)) for number in range(200)]
    write(path, records, version=version, compression=compression, block_bytes=500, sync_interval=700)
    with SequenceFileReader(path) as reader:
        everything = list(reader.records())
        assert reader.header.end == everything[0].position
        for place, record in enumerate(everything):
            reader.seek(record.position)
            first = next(i for i, one in enumerate(everything) if one.position == record.position)
            assert first == place or compression == "block"
            assert next(reader.records()) == everything[first]
        for wrong in (-1, 0, reader.header.end - 1, reader.size + 1):
            with pytest.raises(FormatError, match="no record"):
                reader.seek(wrong)
        reader.seek(reader.size)
        assert list(reader.records()) == []
        for start in range(0, reader.size, 97):
            found = reader.seek_to_marker(start)
            rest = list(reader.records())
            assert everything[len(everything) - len(rest) :] == rest
            assert found == bool(rest)
        assert reader.skipped == []


def test_readers_of_one_file_do_not_disturb_each_other(tmp_path):
    path = tmp_path / "data"
    write(path, [(b"%d" % number, b"x" * 1000) for number in range(100)])
    with SequenceFileReader(path) as reader:
        one, other = reader.records(), reader.records()
        assert all(a == b for a, b in zip(one, other, strict=True))


def test_records_larger_than_what_is_read_at_once(tmp_path):
    path = tmp_path / "data"
    records = [(b"a", os.urandom(3 << 20)), (b"b" * (1 << 20), b""), (b"", os.urandom(5 << 20)), (b"c", b"end")]
    for compression in ("none", "record", "block"):
        write(path, records, compression=compression)
        assert read(path) == records


@pytest.mark.parametrize("compression", ["none", "record", "block"])
@pytest.mark.parametrize("crc", [False, True])
def test_a_marker_across_what_is_read_at_once(tmp_path, compression, crc):
    """Wherever the first stretch that is read ends: before, within or behind a marker and the lengths after it."""
    path = tmp_path / "data"
    start = len(write(path, [], compression=compression, crc=crc))
    filler = random.Random(1).randbytes(FIRST_CHUNK_BYTES)
    for over in range(-4, 44):
        length = FIRST_CHUNK_BYTES - start - 8 - over - {"none": 1, "record": 12, "block": 80}[compression]
        records = [(b"a", filler[:length]), (b"b", b"one"), (b"c", b""), (b"d", b"two")]
        write(path, records, compression=compression, sync_interval=1, block_bytes=1, crc=crc)
        assert read(path) == records


def test_where_markers_stand(tmp_path):
    old = write(tmp_path / "old", [(b"k", b"v")] * 25, version=2, sync=SYNC)
    step = 8 + 2
    assert [at - len(header_bytes(Header(2, TEXT, TEXT, sync=SYNC))) for at in places(old)] == [
        9 * step,
        19 * step + 20,
    ]
    new = write(tmp_path / "new", [(b"k", bytes(91))] * 3000, sync=SYNC)
    markers = places(new)
    assert markers[0] in range(102_400, 102_500)
    assert markers[1] - markers[0] in range(102_420, 102_520)
    in_03 = write(tmp_path / "in03", [(b"k", bytes(91))] * 50, version=3, sync=SYNC)
    assert places(in_03)[0] in range(2000, 2100)


def places(data: bytes) -> list[int]:
    marker = b"\xff" * 4 + SYNC
    return [at for at in range(len(data)) if data.startswith(marker, at)]


def test_position_is_that_of_the_next_record(tmp_path):
    positions = []
    with SequenceFileWriter(tmp_path / "data", TEXT, TEXT, sync_interval=50) as writer:
        for number in range(50):
            positions.append(writer.position)
            writer.append(b"%d" % number, b"v" * number)
        assert writer.count == 50
    with SequenceFileReader(tmp_path / "data") as reader:
        assert [record.position for record in reader.records()] == positions


def test_version_1_has_no_markers(tmp_path):
    out = DataOutput()
    out.write(b"SEQ\x01")
    out.write_utf8("UTF8")
    out.write_utf8("Page")
    start = len(out.buffer)
    out.write(struct.pack(">ii", 3, 1) + b"abc" + struct.pack(">ii", 2, 2) + b"de")
    path = tmp_path / "data"
    path.write_bytes(out.getvalue())
    with SequenceFileReader(path) as reader:
        assert reader.sync == b""
        assert list(reader.records()) == [RawRecord(start, b"a", b"bc"), RawRecord(start + 11, b"de", b"")]
        assert not reader.seek_to_marker(0)
    path.write_bytes(out.getvalue() + struct.pack(">ii", -1, 0) + b"xyz")
    with SequenceFileReader(path) as reader:
        assert len(list(reader.records())) == 2
        assert [(gap.start, gap.end) for gap in reader.skipped] == [(start + 21, start + 32)]


@given(
    st.sampled_from(LAYOUTS), st.text(max_size=20), st.text(max_size=20),
    st.dictionaries(st.text(max_size=9), st.text(max_size=9), max_size=4), st.binary(min_size=16, max_size=16),
)  # fmt: skip
def test_headers_come_back(tmp_path_factory, layout, key_class, value_class, metadata, sync):
    version, compression = layout
    codec = None if compression == "none" else GZIP_CODEC if version > 4 else DEFAULT_CODEC
    written = Header(version, key_class, value_class, compression, codec, metadata if version > 5 else {}, sync)
    path = tmp_path_factory.mktemp("h") / "data"
    path.write_bytes(header_bytes(written) + bytes(5))
    assert read_header(path) == Header(*(getattr(written, name) for name in written.__match_args__[:-1]),
                                       path.stat().st_size - 5)  # fmt: skip


def test_a_header_may_be_long(tmp_path):
    metadata = {f"name{number}": "x" * 500 for number in range(40)}
    write(tmp_path / "data", [(b"k", b"v")], metadata=metadata)
    with SequenceFileReader(tmp_path / "data") as reader:
        assert reader.metadata == metadata
        assert len(list(reader.records())) == 1


def test_short_class_names():
    assert full_class_name("Page", 2) == "org.apache.nutch.db.Page"
    assert full_class_name("long", 2) == "org.apache.nutch.io.LongWritable"
    assert full_class_name("long", 3) == "org.apache.hadoop.io.LongWritable"
    assert full_class_name("Page", 3) == "Page"
    assert short_class_name("org.apache.nutch.db.Page") == "Page"
    assert short_class_name("org.example.Own") == "Own".join(["org.example.", ""])


@pytest.mark.parametrize(
    ("data", "error", "says"),
    [
        (b"", FormatError, "no SequenceFile"),
        (b"SE", FormatError, "byte"),
        (b"SEQ", FormatError, "byte 3"),
        (b"PK\x03\x04", FormatError, "no SequenceFile"),
        (b"SEQ\x07" + bytes(60), VersionMismatchError, "version 7"),
        (b"SEQ\x00" + bytes(60), FormatError, "version 0"),
        (b"SEQ\x06\x8c\x7f\xff\xff\xff" + bytes(900), FormatError, "900 are left"),
        (b"SEQ\x06\x01a\x01b\0\1" + bytes(60), FormatError, "not compressed"),
        (b"SEQ\x06\x01a\x01b\0\0\x7f\xff\xff\xff" + bytes(60), FormatError, "items"),
        (b"SEQ\x06\x01a\x01b\0\0\0\0\0\0" + bytes(15), FormatError, "15 are left"),
    ],
)
def test_what_is_no_sequencefile(tmp_path, data, error, says):
    path = tmp_path / "data"
    path.write_bytes(data)
    for open_it in (SequenceFileReader, read_header):
        with pytest.raises(error, match=says) as caught:
            open_it(path)
        assert str(path) in str(caught.value)
        assert caught.value.exit_code == 3


def test_what_is_no_file(tmp_path):
    with pytest.raises(FormatError, match="a folder"):
        SequenceFileReader(tmp_path)
    with pytest.raises(DataError, match="No such file"):
        SequenceFileReader(tmp_path / "none")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FormatError, match="no regular file"):
        SequenceFileReader(tmp_path / "pipe")


def test_a_file_that_may_not_be_read(tmp_path):
    path = tmp_path / "data"
    write(path, [])
    path.chmod(0)
    me = os.geteuid()
    if me == 0:  # root may read everything
        os.seteuid(65534)
    try:
        with pytest.raises(MachineError, match="may not be read"):
            SequenceFileReader(path)
    finally:
        os.seteuid(me)


def test_a_place_that_cannot_be_written(tmp_path):
    with pytest.raises(MachineError, match="cannot write"):
        SequenceFileWriter(tmp_path / "none" / "data", TEXT, TEXT)
    with pytest.raises(MachineError, match="cannot write"):
        SequenceFileWriter(tmp_path, TEXT, TEXT)


def test_after_an_error_nothing_is_left(tmp_path):
    path = tmp_path / "data"
    writer = SequenceFileWriter(path, TEXT, TEXT)
    writer.append(b"k", b"v")
    assert path.exists()
    writer.__exit__(RuntimeError, RuntimeError(), None)
    assert list(tmp_path.iterdir()) == []


def test_a_closed_reader_and_writer(tmp_path):
    path = tmp_path / "data"
    write(path, [(b"k", b"v")])
    reader = SequenceFileReader(path)
    reader.close()
    reader.close()
    with pytest.raises(MachineError, match="cannot read"):
        list(reader.records())
    writer = SequenceFileWriter(path, TEXT, TEXT)
    writer.close()
    writer.close()
    with pytest.raises(ValueError, match="closed"):
        writer.append(b"k", b"v")
    assert read(path) == []


@pytest.mark.parametrize(
    "options",
    [
        {"version": 1}, {"version": 7}, {"version": 2, "compression": "record"}, {"version": 3, "compression": "block"},
        {"version": 4, "compression": "record", "codec": GZIP_CODEC}, {"version": 5, "metadata": {"a": "b"}},
        {"sync": b"short"},
    ],
)  # fmt: skip
def test_what_cannot_be_written(tmp_path, options):
    with pytest.raises(ValueError, match=r"version|marker"):
        SequenceFileWriter(tmp_path / "data", TEXT, TEXT, **options)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UnknownClassError):
        SequenceFileWriter(tmp_path / "data", TEXT, TEXT, compression="record", codec="LzoCodec")


def test_the_side_file_is_written_where_hadoop_writes_it(tmp_path):
    for version, expected in ((2, False), (3, True), (6, True)):
        path = tmp_path / f"data{version}"
        write(path, [(b"k", b"v" * 300)] * 9, version=version)
        assert side_file(path).exists() == expected
    write(tmp_path / "bare", [], crc=False)
    assert not side_file(tmp_path / "bare").exists()
    write(tmp_path / "with", [], version=2, crc=True)
    assert side_file(tmp_path / "with").stat().st_size == 12
