from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from cobnut.cli.main import main
from cobnut.cli.seeds import LONGEST_LINE, SeedLines, seed_lines
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


def test_a_line_of_a_folder_is_found_again(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n2\n")
    (tmp_path / "b").write_text("")
    (tmp_path / "c").write_text("3\n")
    lines = SeedLines(str(tmp_path))
    assert list(lines) == ["1", "2", "3"]
    assert [lines.place(n) for n in (1, 2, 3)] == [
        f"{tmp_path}/a line 1",
        f"{tmp_path}/a line 2",
        f"{tmp_path}/c line 1",
    ]
    alone = SeedLines(str(tmp_path / "a"))
    assert list(alone) == ["1", "2"]
    assert alone.place(2) == "line 2"


def test_gzip_is_unpacked_and_what_is_no_text_is_refused(tmp_path: Path) -> None:
    packed = gzip.compress(b"http://a.test/\n" * 3)
    (tmp_path / "s.gz").write_bytes(packed)
    assert list(seed_lines(str(tmp_path / "s.gz"))) == ["http://a.test/"] * 3
    for content, said in (
        (packed[:-9], "gzip file is damaged"),
        (packed[:12] + b"xxxx" + packed[16:], "gzip file is damaged"),
        ("http://a.test/".encode("utf-16"), "UTF-16"),
        (b"\x7fELF\0\0", "no text"),
    ):
        (tmp_path / "bad").write_bytes(content)
        with pytest.raises(InputError, match=said):
            list(seed_lines(str(tmp_path / "bad")))


@pytest.mark.parametrize("length", [0, 70_000])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_as_on_any_system(tmp_path: Path, end: str, length: int) -> None:
    """However the blocks fall in which the file is read, and whether or not the last line is ended."""
    wanted = [f"http://a.test/{n}" for n in range(9_000 if length else 3)] + ["", "http://b.test/" + "x" * length]
    for last in ("", end):
        (tmp_path / "s").write_bytes((end.join(wanted) + last).encode())
        assert list(seed_lines(str(tmp_path / "s"))) == [line[:LONGEST_LINE] for line in wanted]


@pytest.fixture
def crawl(tmp_path: Path) -> str:
    assert main(["create", str(tmp_path / "c")]) == 0
    return str(tmp_path / "c")


def test_what_inject_says_of_bad_lines(crawl: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "seeds"
    folder.mkdir()
    (folder / "a").write_text("nonsense\n")
    (folder / "b").write_text("# nothing\nhttp://a.test/" + "x" * 10_000_000 + "\n")
    capsys.readouterr()
    assert main(["inject", crawl, str(folder), "--verbose"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2] == f"{folder}/a line 1: left out by not_a_url: nonsense"
    assert lines[-1].startswith(f"{folder}/b line 2: left out by length: http://a.test/xxx")
    assert max(map(len, lines)) < 500
    (folder / "c").write_text("http://a.test/\n")
    assert main(["inject", crawl, str(folder)]) == 0
    assert main(["inject", crawl, str(folder), "--overwrite", "--update"]) == 2
    (folder / "c").write_bytes("http://a.test/".encode("utf-16"))
    assert main(["inject", crawl, str(folder / "c")]) == 2


def test_bytes_that_are_not_utf_8_make_no_other_url(
    crawl: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s").write_bytes(b"http://a.test/\xe9t\xe9\nhttp://b.test/\tname=\xe9\nhttp://c.test/%E9\n")
    capsys.readouterr()
    assert main(["inject", crawl, str(tmp_path / "s"), "--verbose"]) == 0
    told = capsys.readouterr()
    assert "lines 3, urls 2, injected 2, merged 0, rejected 1" in told.out
    assert "left out: not_utf8 1" in told.out
    assert "line 1: left out by not_utf8: http://a.test/" in told.out
    assert "line 2: metadata 'name' holds bytes that are not UTF-8" in told.out + told.err
    assert main(["freegen", crawl, str(tmp_path / "s")]) == 0
    assert "not_utf8 1" in capsys.readouterr().out


def test_metadata_without_end_is_counted(crawl: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = "\t".join(f"key{n}=value" for n in range(3_000))
    (tmp_path / "s").write_text(f"http://a.test/\t{pairs}\nhttp://b.test/\tone={'v' * 1_000_000}\n")
    capsys.readouterr()
    assert main(["inject", crawl, str(tmp_path / "s"), "--verbose"]) == 0
    told = capsys.readouterr()
    lines = [line for line in (told.out + told.err).splitlines() if "metadata" in line]
    assert [line.rpartition("metadata")[2] for line in lines] == [
        " beyond 10,000 characters left out (2,158 pairs)", " beyond 10,000 characters left out (1 pairs)",
    ]  # fmt: skip


def test_a_closed_input_is_said(crawl: str) -> None:
    words = f'exec "{sys.executable}" -m cobnut.cli inject "{crawl}" - <&-'
    done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "standard input is closed" in done.stderr


def test_a_value_that_is_left_out_is_told_without_being_asked_for(
    crawl: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scores = ("1e300", "inf", "nan", "-1")
    (tmp_path / "s").write_text("".join(f"http://a.test/{n}\tnutch.score={s}\n" for n, s in enumerate(scores)))
    capsys.readouterr()
    for step in ("inject", "freegen"):
        assert main([step, crawl, str(tmp_path / "s")]) == 0
        assert capsys.readouterr().err == (
            f"cobnut {step}: left out of line 1: nutch.score is no number between -1e9 and 1e9: '1e300'"
            " (3 such lines; --verbose lists them)\n"
        )
    main(["freegen", crawl, str(tmp_path / "s"), "--verbose"])
    assert "line 3: nutch.score is no number between -1e9 and 1e9: 'nan'" in capsys.readouterr().out
