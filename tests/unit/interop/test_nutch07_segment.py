"""Is a segment of Nutch 0.7 read whole, as far as it can be read, and written as Nutch writes it?"""

import contextlib
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cobnut.errors import DataError, InputError
from cobnut.interop.hadoop.mapfile import ArrayFileWriter, MapFileWriter
from cobnut.interop.hadoop.sequencefile import SequenceFileReader
from cobnut.interop.nutch07 import RECORDS, Content, FetcherOutput, FetchListEntry, Page, ParseData, ParseText
from cobnut.interop.nutch07.segment import SegmentReader, SegmentWriter, segments

GOLDEN = Path(__file__).parents[2] / "formats" / "nutch" / "0.7.2" / "data" / "segments"
NAMES = ["20261130130137", "20261130130149", "20261130130157"]
PARTS = [FetchListEntry, FetcherOutput, Content, ParseData, ParseText]


def without_sync(path: Path) -> bytes:
    with SequenceFileReader(path) as reader:
        return path.read_bytes().replace(reader.sync, bytes(16))


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    shutil.copytree(GOLDEN / NAMES[1], tmp_path / NAMES[1])
    (tmp_path / NAMES[1] / "fetcher.done").touch()
    return tmp_path / NAMES[1]


def test_the_segments_of_a_folder_come_in_order(tmp_path: Path) -> None:
    assert [path.name for path in segments(GOLDEN)] == NAMES
    (tmp_path / "20261130130137").touch()
    (tmp_path / "merged").mkdir()
    assert segments(tmp_path) == []
    with pytest.raises(DataError):
        segments(tmp_path / "nowhere")


@pytest.mark.parametrize(("name", "listed", "fetched"), [(NAMES[0], 3, 3), (NAMES[1], 20, 21), (NAMES[2], 1, 1)])
def test_the_parts_stand_side_by_side(name: str, listed: int, fetched: int) -> None:
    reader = SegmentReader(GOLDEN / name)
    fetchlist, entries = list(reader.fetchlist()), list(reader.entries())
    assert (len(fetchlist), len(entries)) == (listed, fetched)
    assert [entry.number for entry in entries] == list(range(fetched))
    assert {entry.url for entry in fetchlist} <= {entry.url for entry in entries}
    for entry in entries:
        assert entry.output is not None
        assert entry.content is not None
        assert entry.parse_data is not None
        assert entry.parse_text is not None
        assert entry.output.url == entry.content.url == entry.url
    assert [entry.output for entry in entries] == list(reader.outputs())
    assert not list(reader.problems)
    assert reader.is_parsed
    assert not reader.is_fetched  # the markers were not copied
    assert len(reader.notes) == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_segment_written_again_is_the_same_byte_for_byte(name: str, tmp_path: Path) -> None:
    reader = SegmentReader(GOLDEN / name)
    with SegmentWriter(tmp_path / name) as writer:
        for listed in reader.fetchlist():
            writer.add_to_fetchlist(listed)
        for entry in reader.entries():
            writer.append(
                entry.output or FetcherOutput(), entry.content or Content(), entry.parse_data, entry.parse_text
            )
    for part in PARTS:
        for file in ("data", "index"):
            ours, golden = (root / name / part.DIR_NAME / file for root in (tmp_path, GOLDEN))
            assert without_sync(ours) == without_sync(golden), (part, file)
    assert (tmp_path / name / "fetcher.done").read_bytes() == b""
    assert SegmentReader(tmp_path / name).notes == []


@pytest.mark.parametrize("folder", sorted(p.parent for p in GOLDEN.parent.rglob("data")), ids=lambda p: p.name)
def test_every_file_written_again_with_its_own_marker_is_the_same(folder: Path, tmp_path: Path) -> None:
    """Through the records, and with the markers of data and index given: not a byte differs."""

    def again(name: str, data: bytes) -> bytes:
        return RECORDS[name].decode(data).to_bytes() if name in RECORDS else data

    with SequenceFileReader(folder / "index") as index:
        index_sync = index.sync
    with SequenceFileReader(folder / "data") as reader:
        with MapFileWriter(
            tmp_path / "t", reader.key_class, reader.value_class, version=2, order=lambda key: 0, sync=reader.sync,
            index_sync=index_sync,
        ) as writer:  # fmt: skip
            for raw in reader.records():
                writer.append(again(reader.key_class, raw.key), again(reader.value_class, raw.value))
        assert not reader.skipped
    for file in ("data", "index"):
        assert (tmp_path / "t" / file).read_bytes() == (folder / file).read_bytes()


def test_a_segment_fetched_without_parsing(tmp_path: Path) -> None:
    page = Page.for_url("http://a/")
    output, content = FetcherOutput(FetchListEntry(True, page, ["a"])), Content("http://a/", "http://a/", b"body")
    with SegmentWriter(tmp_path / "s", parsed=False) as writer:
        writer.add_to_fetchlist(output.fetch_list_entry)
        writer.append(output, content)
    assert sorted(p.name for p in (tmp_path / "s").iterdir()) == [
        "content",
        "fetcher.done",
        "fetcher_output",
        "fetchlist",
    ]
    reader = SegmentReader(tmp_path / "s")
    assert list(reader.entries()) == [(0, output, content, None, None)]
    assert list(reader.fetchlist()) == [output.fetch_list_entry]
    assert not reader.is_parsed
    assert "fetched without parsing" in reader.notes[0]
    assert "no parse_data, parse_text" in reader.notes[1]


def test_a_segment_that_was_only_generated(segment: Path) -> None:
    for part in PARTS[1:]:
        shutil.rmtree(segment / part.DIR_NAME)
    reader = SegmentReader(segment)
    assert len(list(reader.fetchlist())) == 20
    assert list(reader.entries()) == []
    assert "was generated and not fetched" in reader.notes[0]


def test_a_part_that_was_cut_leaves_the_others_whole(segment: Path) -> None:
    path = segment / "content" / "data"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    (segment / "fetcher.done").unlink()
    (segment / "content" / "index").unlink()
    reader = SegmentReader(segment)
    entries = list(reader.entries())
    assert len(entries) == 21
    assert entries[0].content is not None
    assert entries[20].content is None
    assert entries[20].url == entries[20].output.url  # type: ignore[union-attr]
    assert "broken off" in reader.notes[0]
    (problem,) = reader.problems
    assert problem.path == str(path)
    assert problem.offset


def test_a_damaged_record_in_the_middle_keeps_the_numbers_in_step(segment: Path) -> None:
    path = segment / "parse_text" / "data"
    whole = [entry.parse_text for entry in SegmentReader(segment).entries()]
    with SequenceFileReader(path) as file:
        records = list(file.records())
    data = bytearray(path.read_bytes())
    data[data.index(records[4].value)] = 99  # the version
    path.write_bytes(data)
    reader = SegmentReader(segment)
    read = [entry.parse_text for entry in reader.entries()]
    assert read == [*whole[:4], None, *whole[5:]]
    (problem,) = reader.problems
    assert problem.offset == records[4].position
    assert "a ParseText of version 99" in problem.what


def test_parts_that_are_not_of_the_same_pages_are_told(segment: Path) -> None:
    shutil.rmtree(segment / "content")
    with ArrayFileWriter(segment / "content", "Content") as table:
        table.append(Content("http://other/").to_bytes())
    reader = SegmentReader(segment)
    assert len(list(reader.entries())) == 21
    assert any("record 0 is of 'http://other/'" in p.what for p in reader.problems)


def test_numbers_out_of_order_are_told(segment: Path) -> None:
    shutil.rmtree(segment / "parse_text")
    with MapFileWriter(segment / "parse_text", "long", "ParseText", version=2, order=lambda key: 0) as table:
        for number in (0, 5, 3, 3, -7, 6):
            table.append(number.to_bytes(8, "big", signed=True), ParseText(str(number)).to_bytes())
    reader = SegmentReader(segment)
    texts = {entry.number: entry.parse_text.text for entry in reader.entries() if entry.parse_text is not None}
    assert texts == {0: "0", 5: "5", 6: "6"}
    assert any("do not ascend" in p.what for p in reader.problems)


def test_no_segment_at_all_is_an_error_of_the_caller(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no segment"):
        SegmentReader(tmp_path)
    with pytest.raises(DataError):
        SegmentReader(tmp_path / "nowhere")


def test_a_writer_that_is_broken_off_leaves_nothing_and_never_writes_over_a_segment(tmp_path: Path) -> None:
    with contextlib.suppress(RuntimeError), SegmentWriter(tmp_path / "s") as writer:
        writer.append(FetcherOutput(), Content())
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []
    SegmentWriter(tmp_path / "s").close()
    assert list(SegmentReader(tmp_path / "s").entries()) == []
    with pytest.raises(InputError, match="already"):
        SegmentWriter(tmp_path / "s")


@given(st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_segment_gives_records_and_problems_and_never_another_error(
    segment: Path, data: st.DataObject
) -> None:
    part = data.draw(st.sampled_from(PARTS))
    path = segment / part.DIR_NAME / "data"
    sound = path.read_bytes()
    broken = bytearray(sound)
    for _ in range(data.draw(st.integers(1, 5))):
        broken[data.draw(st.integers(0, len(sound) - 1))] = data.draw(st.integers(0, 255))
    del broken[data.draw(st.integers(0, len(sound))) :]
    try:
        path.write_bytes(broken)
        reader = SegmentReader(segment)
        assert len(list(reader.fetchlist())) <= 20
        entries = list(reader.entries())
        numbers = [entry.number for entry in entries]
        assert numbers == sorted(set(numbers))
    finally:
        path.write_bytes(sound)
