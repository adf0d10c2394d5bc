"""A record goes out of a WARC file, and every other one is found where it was."""

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cobnut.fetcher.archive import Archive, Response, read_tail
from cobnut.fetcher.tombstone import members, replace_records, target_uri, tombstone

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"


def written(folder, *bodies):
    """A WARC file with one response a body, at http://a.test/0, /1 …; its path and the places."""
    archive = Archive(folder, 0, 0, 1 << 30, {"software": "test"})
    places = [archive.write(Response(f"http://a.test/{n}", 0, HEAD, body)) for n, body in enumerate(bodies)]
    archive.close()
    return folder / places[0].file, places


@settings(deadline=None)
@given(length=st.integers(240, 400_000))
def test_it_has_the_length_asked_for_and_is_a_record(length):
    packed = tombstone(length, 0)
    assert len(packed) == length
    head, _, rest = gzip.decompress(packed).partition(b"\r\n\r\n")
    assert head.startswith(b"WARC/1.1\r\nWARC-Type: metadata\r\n")
    assert rest == bytes(int(head.rpartition(b":")[2])) + b"\r\n\r\n"


@pytest.mark.parametrize("length", [*range(230, 260), *range(65_530, 65_800), *range(131_060, 131_340)])
def test_no_length_is_left_out(length):
    assert len(tombstone(length, 0)) == length


@pytest.mark.parametrize("body", [b"x", b"marzipan " * 50, bytes(range(256)) * 2_000], ids=["tiny", "text", "large"])
def test_other_records_stay_where_they_are(tmp_path, body):
    path, places = written(tmp_path, b"first", body, b"last")
    size = path.stat().st_size
    assert replace_records(path, lambda offset, uri: offset == places[1].offset, 0) == 1
    assert path.stat().st_size == size
    found = {r.place: r.response.body for r in read_tail(path, -1)}
    assert found == {places[0]: b"first", places[2]: b"last"}
    assert body not in gzip.decompress(path.read_bytes()) or body == b"x"
    assert list(tmp_path.iterdir()) == [path]
    # once more: there is nothing left to replace
    before = path.read_bytes()
    assert replace_records(path, lambda offset, uri: offset == places[1].offset, 0) == 0
    assert path.read_bytes() == before


def test_fastwarc_reads_what_is_left(tmp_path):
    from fastwarc import ArchiveIterator

    path, _ = written(tmp_path, b"first", b"secret", b"last")
    replace_records(path, lambda offset, uri: uri.endswith("/1"), 0)
    with open(path, "rb") as file:
        records = [(r.headers["WARC-Type"], r.headers.get("WARC-Target-URI")) for r in ArchiveIterator(file)]
    assert records == [
        ("warcinfo", None), ("response", "http://a.test/0"), ("metadata", None), ("response", "http://a.test/2"),
    ]  # fmt: skip


def test_a_cut_tail_goes_too(tmp_path):
    """What a killed run left half written may be of the page that is to go."""
    path, places = written(tmp_path, b"first", b"second " * 100)
    path.write_bytes(path.read_bytes()[:-20])
    assert replace_records(path, lambda offset, uri: offset == places[0].offset, 0) == 1
    assert path.stat().st_size == places[1].offset
    with open(path, "rb") as file:
        assert [target_uri(head) for _, _, head in members(file)] == [None, None]
