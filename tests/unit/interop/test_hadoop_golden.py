"""What real Nutch wrote is read as it is, and written again byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cobnut.interop.hadoop.checksums import side_file
from cobnut.interop.hadoop.header import full_class_name
from cobnut.interop.hadoop.mapfile import MapFileWriter
from cobnut.interop.hadoop.sequencefile import SequenceFileReader, SequenceFileWriter, read_header

ROOT = Path(__file__).parents[2] / "formats" / "nutch"
LISTINGS = sorted(ROOT.glob("*/json/*.json"))


def file_of(listing: Path) -> Path:
    return listing.parents[1] / "data" / listing.stem.replace("~", "/")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


FILES = [file_of(listing) for listing in LISTINGS if not listing.stem.endswith("stats")]
MAPS = sorted({path.parent for path in FILES if path.name == "data"})


def test_there_are_as_many_files_as_were_made():
    assert len(FILES) > 100
    assert len(MAPS) > 50


@pytest.mark.parametrize("listing", [one for one in LISTINGS if not one.stem.endswith("stats")], ids=name_of)
def test_reads_what_is_listed(listing):
    told = json.loads(listing.read_bytes())
    with SequenceFileReader(file_of(listing)) as reader:
        records = list(reader.records())
        assert full_class_name(reader.key_class, reader.version) == told["keyClass"]
        assert full_class_name(reader.value_class, reader.version) == told["valueClass"]
        if reader.version > 2:
            assert (reader.compression == "block") == told["blockCompressed"]
            assert (reader.compression != "none") == told["compressed"]
            assert reader.codec == told["codec"]
        assert (reader.skipped, reader.warnings) == ([], [])
    assert len(records) == told["count"]
    assert [record.position for record in records] == [record["pos"] for record in told["records"]]
    for record, expected in zip(records, told["records"], strict=True):
        assert len(record.value) == expected.get("valueLength", len(record.value))
        if isinstance(expected["key"], str):
            assert expected["key"].encode() in record.key


def again(path: Path, target: Path, packed: bool) -> None:
    with SequenceFileReader(path, unpack=not packed) as reader:
        header = reader.header
        with SequenceFileWriter(
            target, header.key_class, header.value_class, version=header.version, compression=header.compression,
            metadata=header.metadata, sync=header.sync,
        ) as writer:  # fmt: skip
            append = writer.append_packed if packed else writer.append
            for record in reader.records():
                append(record.key, record.value)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_written_again_it_is_the_same_file(path, tmp_path):
    target = tmp_path / path.name
    with SequenceFileReader(path) as reader:
        in_blocks = reader.compression == "block"
    for packed in (False,) if in_blocks else (False, True):
        again(path, target, packed)
        assert target.read_bytes() == path.read_bytes()
        assert side_file(target).exists() == side_file(path).exists()
        if side_file(path).exists():
            assert side_file(target).read_bytes() == side_file(path).read_bytes()


@pytest.mark.parametrize("folder", MAPS, ids=name_of)
def test_a_map_written_again_has_the_same_index(folder, tmp_path):
    index_sync = read_header(folder / "index").sync
    with SequenceFileReader(folder / "data", unpack=False) as data:
        options = {"version": data.version, "compression": data.compression, "sync": data.sync}
        with MapFileWriter(tmp_path, data.key_class, data.value_class, index_sync=index_sync, **options) as writer:
            for record in data.records():
                writer.append_packed(record.key, record.value)
    for path in folder.iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in folder.iterdir()}
