from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cobnut.cli.main import COMMANDS, cli, main
from cobnut.storage.layout import GENERATED, CrawlFolder, SegmentFolder

HEAVY = {
    "numpy", "pyarrow", "duckdb", "scipy", "pycurl", "starlette", "granian", "rich", "selectolax", "fastwarc",
    "py3langid", "pycares", "jinja2",
}  # fmt: skip


def run(*args: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cobnut.cli.main", *args],
        capture_output=True, text=True, timeout=60, env={**os.environ, **environ}, check=False,
    )  # fmt: skip


def loaded_by(*args: str) -> set[str]:
    """Modules that one command line loads, measured in a fresh interpreter."""
    code = (
        "import sys, contextlib, io\n"
        "from cobnut.cli.main import main\n"
        f"with contextlib.redirect_stdout(io.StringIO()): main({list(args)!r})\n"
        "print('\\n'.join(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("args", [("--help",), ("--version",), ("crawl", "--help"), ("config", "show")])
def test_help_loads_nothing_heavy(args: tuple[str, ...]) -> None:
    modules = loaded_by(*args)
    assert "cobnut.cli.main" in modules
    assert not modules & (HEAVY | {"tantivy"})


def test_every_command_has_a_module_and_a_help_page(capsys: pytest.CaptureFixture[str]) -> None:
    for name in COMMANDS:
        assert main([name, "--help"]) == 0, name
        assert "Usage: cobnut " + name in capsys.readouterr().out


def test_every_option_has_its_sentence() -> None:
    context = cli.make_context("cobnut", [])
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        for parameter in command.params:
            if parameter.param_type_name == "option" and parameter.name != "help":
                assert getattr(parameter, "help", None), f"{name} {parameter.name}"


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (["creat", "x"], "cobnut: no command is called 'creat'; did you mean create?"),
        (["read", "crawldbb", "x"], "cobnut: no command is called 'crawldbb': read; did you mean crawldb?"),
        (["create", "--bogus", "x"], "cobnut: no such option --bogus: create; see `cobnut create --help`"),
        (
            ["config", "show", "--orign"],
            "cobnut: no such option --orign: config show; did you mean --origin?",
        ),
        (["create"], "cobnut: missing argument 'DIR': create; see `cobnut create --help`"),
        (["config"], "cobnut: missing command: config; see `cobnut config --help`"),
        (
            ["config", "show", "/nowhere"],
            "cobnut: no such folder: /nowhere; make a crawl with `cobnut create /nowhere`",
        ),
        (["admin", "db", "x"], "cobnut: the form is `cobnut admin db -create DIR`; or `cobnut create DIR`"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(args: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(args) == 2
    output = capsys.readouterr()
    assert output.err == line + "\n"
    assert output.out == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("generate {} --top-n x", "generate.top_n: 'x'"),
        ("generate {} --top-n x", "(--top-n)"),
        ("serve {} --port 99999", "serve.port: 99,999 is not between 0 and 65,535 (--port)"),
        ("crawl {} http://a.test/ --max-time x", "(--max-time)"),
        ("crawl {} http://a.test/ --allow-net x", "(--allow-net)"),
        ("generate {} -s generate.top_n=x", "(-s)"),
        ("parse {} 20260101000000", "nothing of segment 20260101000000 is fetched yet"),
    ],
)
def test_what_was_typed_is_named(tmp_path: Path, words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    crawl = CrawlFolder.create(tmp_path / "c", "")
    (crawl.segments_path / "20260101000000").mkdir(parents=True)
    SegmentFolder(crawl.segments_path / "20260101000000").set_state(GENERATED)
    assert main([word.format(crawl.path) for word in words.split()]) == 2
    assert said in capsys.readouterr().err


def test_a_limit_of_nothing_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["create", str(tmp_path / "c")]) == 0
    assert main(["generate", str(tmp_path / "c"), "--top-n", "0"]) == 0
    assert "generate.top_n, is 0" in capsys.readouterr().out


def test_create_and_config_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    crawl = tmp_path / "my crawl"
    assert main(["create", str(crawl), "-s", "crawl.depth=3"]) == 0
    assert main(["config", "show", str(crawl), "--origin", "--changed", "-s", "serve.port=1"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[1].startswith(f"crawl.depth = 3  # {crawl / 'cobnut.toml'}:")
    assert out[2] == "serve.port = 1  # -s"
    assert main(["create", str(crawl)]) == 2
    assert "there is a crawl here already" in capsys.readouterr().err
    assert main(["admin", "db", "-create", str(tmp_path / "old")]) == 0
    assert (tmp_path / "old" / "cobnut.toml").is_file()


def test_an_unwritable_folder_is_the_machines_fault(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["create", "/proc/cobnut"]) == 4
    assert capsys.readouterr().err.startswith("cobnut: cannot create the crawl")


def test_escapes_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "show", "/no\x1b[31mwhere\n"]) == 2
    error = capsys.readouterr().err
    assert "\x1b" not in error
    assert error.count("\n") == 1


def test_a_reader_that_goes_away_is_no_failure() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "cobnut.cli.main", "config", "show"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    error = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 0
    assert error == b""


def test_a_program_without_standard_output_works_all_the_same(tmp_path: Path) -> None:
    program = f"{sys.executable} -m cobnut.cli.main"
    for line, code in (
        (f"{program} config show >&-", 0), (f"{program} create {tmp_path}/new <&- >&- 2>&-", 0),
        (f"{program} read crawldb nowhere >&-", 2),
    ):  # fmt: skip
        done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr.count("\n")) == (code, int(code != 0)), done.stderr
    assert (tmp_path / "new/cobnut.toml").read_text().startswith("#")


def test_a_fault_of_ours_is_one_line_and_exit_70() -> None:
    code = (
        "import sys\nimport click\nfrom cobnut.cli import main as m\n"
        "@click.command()\ndef broken(): raise RuntimeError('boom')\n"
        "m.cli.add_command(broken, 'config')\n"
        "m.LazyGroup.get_command = lambda self, ctx, name: broken\n"
        "sys.exit(m.main(['config']))"
    )
    for debug, lines in (("", 1), ("1", 8)):
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "COBNUT_DEBUG": debug},
        )
        assert done.returncode == 70
        assert "internal error, please report it: RuntimeError: boom" in done.stderr.splitlines()[-1]
        assert (len(done.stderr.splitlines()) == 1) == (lines == 1)


def test_the_program_runs_as_a_program() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout.split()[0]) == (0, "cobnut")
    assert run("config", "show", COBNUT_FETCHER__DELAY_S="x").returncode == 2


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cobnut", "--version"], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == run("--version").stdout


@pytest.mark.parametrize(
    "words",
    [
        ("create", "x\udcff"), ("crawl", "x\udcff", "seeds.txt"), ("publish", "c", "x\udcff"),
        ("backup", "c", "x\udcff"),
        ("plugins", "--dir", "x\udcff"), ("check", "url", "http://a.test/", "--dir", "x\udcff"), ("serve", "x\udcff"),
    ],
)  # fmt: skip
def test_a_folder_whose_name_is_not_utf8_is_refused(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    assert "folder names must be UTF-8: x\\xff" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    done = subprocess.run(
        [sys.executable, "-m", "cobnut", *map(os.fsencode, words)], capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)


def test_a_url_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    """What it would be made into is another page than was meant."""
    for words in (["crawl", tmp_path / "c"], ["why", tmp_path], ["forget", tmp_path], ["check", "url"]):
        done = subprocess.run(
            [sys.executable, "-m", "cobnut.cli", *words, b"http://a.test/\xe9"], capture_output=True, check=False
        )
        assert done.returncode == 2, done.stderr
        assert done.stderr.startswith(b"cobnut: the URL is not UTF-8: ")
        assert done.stderr.count(b"\n") == 1
    assert not (tmp_path / "c").exists()
