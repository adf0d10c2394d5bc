from __future__ import annotations

from pathlib import Path

import pytest

from cobnut.cli.seeds import LONGEST_LINE, seed_lines
from cobnut.errors import InputError


def test_files_and_folders_give_their_lines(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_bytes(b"http://b.test/\r\n\n# c")
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfhttp://a.test/\tk=v\nhttp://\xff.test/\n")
    (tmp_path / ".hidden").write_text("http://h.test/")
    (tmp_path / "folder").mkdir()
    assert list(seed_lines(str(tmp_path / "b.txt"))) == ["http://b.test/", "", "# c"]
    assert list(seed_lines(str(tmp_path))) == [
        "http://a.test/\tk=v", "http://\ufffd.test/", "http://b.test/", "", "# c",
    ]  # fmt: skip


def test_an_endless_line_is_cut(tmp_path: Path) -> None:
    (tmp_path / "s").write_bytes(
        b"x" * (3 * LONGEST_LINE + 5) + b"\nhttp://a.test/\n" + b"y" * (LONGEST_LINE - 1) + b"\nz"
    )
    assert [line[:14] + str(len(line)) for line in seed_lines(str(tmp_path / "s"))] == [
        "x" * 14 + str(LONGEST_LINE), "http://a.test/14", "y" * 14 + str(LONGEST_LINE - 1), "z1",
    ]  # fmt: skip


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such seed file"):
        list(seed_lines(str(tmp_path / "none")))
    with pytest.raises(InputError, match="holds no seed files"):
        list(seed_lines(str(tmp_path)))
