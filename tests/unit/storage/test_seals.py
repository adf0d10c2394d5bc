"""A part's own checksum: is every byte of it guarded, and does nothing else take it for what it is not?"""

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cobnut.records.catalogue import LINKS
from cobnut.storage.parts import ParquetFile, write_part
from cobnut.storage.seals import KEY, UNSEALED, Unsealed, is_whole, seal

LOOK_ALIKE = f"\x18\x0b{KEY}\x18\x25{UNSEALED[KEY]}\x00"


def links(*targets: str) -> pa.Table:
    row = {
        "position": 0, "from_host": "a.test", "from_score": 0, "from_depth": 0, "contribution": 0, "to_host": "b.test",
        "to_bucket": 7, "nofollow": False, "kind": "link",
    }  # fmt: skip
    return pa.Table.from_pylist(
        [{**row, "from_key": "k", "to_key": to, "anchor": to} for to in targets], schema=LINKS.schema()
    )


@pytest.fixture
def part(tmp_path: Path) -> Path:
    write_part(tmp_path, LINKS, "part-00000", [links("one", "two"), links("three")])
    return tmp_path / "part-00000.parquet"


def test_a_part_is_whole_and_any_reader_reads_it(part: Path) -> None:
    assert is_whole(part) is True
    assert pq.read_table(part).equals(pa.concat_tables([links("one", "two"), links("three")]))
    assert duckdb.sql(f"SELECT count(*) FROM '{part}'").fetchall() == [(3,)]
    part.rename(part.with_name("other.parquet"))
    assert is_whole(part.with_name("other.parquet")) is True


def test_a_bit_anywhere_is_guarded(part: Path) -> None:
    data = part.read_bytes()
    for place in (*range(0, len(data) - 700, 7), *range(len(data) - 700, len(data))):
        changed = bytearray(data)
        changed[place] ^= 1 << place % 8
        part.write_bytes(changed)
        if is_whole(part) is not False:  # where its foot begins, and the mark of a Parquet file: nothing reads it then
            assert place >= len(data) - 8
            with pytest.raises((pa.ArrowInvalid, OSError)):
                pq.read_table(part)


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1" * 3, b"\xff" * 8 + b"PAR1", bytes(4_000)], ids=len)
def test_what_is_no_parquet_file_has_no_seal(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x").write_bytes(data)
    assert is_whole(tmp_path / "x") is None


def test_bytes_lost_or_added_are_noticed(part: Path) -> None:
    data = part.read_bytes()
    for changed in (data[1:], b"PAR1" + data, data[:100] + data[101:]):
        part.write_bytes(changed)
        assert is_whole(part) is False
    part.write_bytes(data[:-1])
    assert is_whole(part) is None


def test_words_of_a_page_are_no_seal(tmp_path: Path) -> None:
    """Statistics in the foot hold the least and the greatest of each column, which others wrote."""
    write_part(tmp_path, LINKS, "sealed", [links(LOOK_ALIKE, "z" + LOOK_ALIKE)])
    path = tmp_path / "sealed.parquet"
    assert path.read_bytes().count(LOOK_ALIKE.encode()) > 2
    assert is_whole(path) is True


def test_a_file_without_a_seal_says_so_and_cannot_get_one(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    file = ParquetFile(path, LINKS)
    file.write(links("one"))
    file.close()
    assert is_whole(path) is None
    with pytest.raises(Unsealed):
        seal(path)
