"""Do the commands of the README work as they stand there?

Every line of its code blocks is run, in order, in one folder, with the sample site on loopback in the place of
`https://example.org/`. Two are not run here: `scripts/test`, which runs this, and `pip install .`, which has a test of
its own.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from crawling import environment

from cobnut.testing.sample import sample_web

ROOT = Path(__file__).resolve().parents[2]
NOT_HERE = ("scripts/test", "pip install .")

pytestmark = pytest.mark.serial


def commands() -> list[str]:
    """The lines of the README's indented code blocks, without their comments."""
    lines = re.findall(r"^    (\S.*)$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    return [line.split(" #")[0].strip() for line in lines]


def run(line: str, folder: Path, site: str) -> subprocess.CompletedProcess[str]:
    """Runs one line; what serves until interrupted is interrupted when its page has answered."""
    words = [word.replace("https://example.org/", site).replace("[URL]", site) for word in shlex.split(line)]
    if words[0].startswith("scripts/"):
        words[0] = str(ROOT / words[0])
    if words[0] == "cobnut":
        words[:1] = [sys.executable, "-m", "cobnut.cli"]
    serves = "serve" in words or words[0].endswith("/try")
    if "serve" in words:
        words += ["--port", "0"]
    process = subprocess.Popen(
        words, cwd=folder, env=environment() | {"DISPLAY": "", "WAYLAND_DISPLAY": ""}, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    if not serves:
        output, errors = process.communicate(timeout=300)
        return subprocess.CompletedProcess(words, process.returncode, output, errors)
    output = ""
    assert process.stdout is not None
    for text in process.stdout:
        output += text
        found = re.search(r"http://127\.0\.0\.1:\d+/$", text.strip())
        if found and "sample site" not in text:
            page = urllib.request.build_opener(urllib.request.ProxyHandler({})).open(found[0], timeout=30)
            assert b"Cobnut" in page.read()
            assert output.strip().splitlines()[-1] == text.strip(), "the address is to be the last line"
            break
    else:
        process.wait(10)
        raise AssertionError(f"{line}: no address was printed\n{output}\n{process.stderr and process.stderr.read()}")
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    return subprocess.CompletedProcess(words, 0 if process.returncode == 130 else process.returncode, output, errors)


def test_the_commands_of_the_readme(tmp_path: Path) -> None:
    """All of them, with exit code 0; a server ends with 130 when it is interrupted."""
    lines = commands()
    assert len(lines) > 12, lines
    assert lines[0].startswith("scripts/try")
    assert lines[1].startswith("scripts/test")
    (tmp_path / "seeds.txt").write_text("")
    with sample_web(0) as web:
        site = f"http://127.0.0.1:{web.port}/"
        (tmp_path / "seeds.txt").write_text(site + "\n")
        for line in lines:
            if line in NOT_HERE:
                continue
            if line.startswith("cobnut create"):  # the second half of the tour begins a crawl of that name again
                (tmp_path / "mycrawl").rename(tmp_path / f"before-{time.monotonic_ns()}")
            if line.startswith("cobnut import warc"):
                archive = next((tmp_path / "mycrawl").glob("segments/*/warc/*.warc.gz"))
                shutil.copy(archive, tmp_path / "old.warc.gz")
            if line.startswith("cobnut import nutch"):
                shutil.copytree(ROOT / "tests/formats/nutch/1.23/data", tmp_path / "path/to/crawl")
            done = run(line, tmp_path, site)
            assert done.returncode == 0, (line, done.stdout, done.stderr)
            if line.startswith("cobnut search"):
                assert "http://127.0.0.1" in done.stdout


def test_try_without_url_crawls_the_sample_site(tmp_path: Path) -> None:
    """The first command of the README as a newcomer types it."""
    assert run("scripts/try", tmp_path, "").returncode == 0
