"""As a stranger gets it: the wheel, in a fresh environment, with nothing of the checkout in reach."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import pytest

from cobnut.cli.main import COMMANDS

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.serial,
    pytest.mark.skipif(bool(os.environ.get("COBNUT_NO_INSTALL")), reason="COBNUT_NO_INSTALL forbids installing"),
]


@pytest.fixture(scope="module")
def dists(tmp_path_factory):
    """The folder of the wheel and the source distribution, built and checked."""
    if not (ROOT / ".venv/bin/python").exists():
        pytest.skip("the tools to build with are in the project's own .venv: scripts/test makes it")
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run([ROOT / "scripts/package", folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class Installed:
    """An environment with the wheel in it, and a folder to work in."""

    def __init__(self, folder: Path) -> None:
        self.bin, self.work = folder / "venv/bin", folder / "work"
        self.work.mkdir()

    def environment(self) -> dict[str, str]:
        """Nothing but the system's commands: no variable of Python, of pip or of Cobnut."""
        return {"PATH": f"{self.bin}:{os.defpath}", "HOME": str(self.work), "LC_ALL": "C.UTF-8"}

    def run(self, *words: object, expect: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [self.bin / str(words[0]), *map(str, words[1:])],
            cwd=self.work, env=self.environment(), capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == expect, (words, done.returncode, done.stdout, done.stderr)
        return done

    def start(self, *words: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self.bin / str(words[0]), *map(str, words[1:])], cwd=self.work, env=self.environment(),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip


@pytest.fixture(scope="module")
def installed(dists, tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True, capture_output=True)
    (wheel,) = dists.glob("*.whl")
    done = subprocess.run(
        [folder / "venv/bin/python", "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check",
         wheel, "-c", ROOT / "constraints.txt"],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return Installed(folder)


@pytest.fixture
def sample(installed):
    """The sample site, served from the installed package: its address."""
    process = installed.start("python", "-m", "cobnut.testing.sample")
    try:
        yield process.stdout.readline().split("http://")[1].split(",")[0].strip()
    finally:
        process.kill()
        process.communicate()


def get(url: str) -> tuple[int, str]:
    with build_opener(ProxyHandler({})).open(url, timeout=20) as answer:
        return answer.status, answer.read().decode()


def test_nothing_of_the_checkout_is_in_reach(installed):
    code = "import cobnut, json, sys; print(json.dumps([cobnut.__file__, sys.path]))"
    where, path = json.loads(installed.run("python", "-c", code).stdout)
    assert where.startswith(str(installed.bin.parent))
    assert not [entry for entry in path if (installed.work / entry).resolve().is_relative_to(ROOT)]
    assert not list((installed.bin.parent / "lib").rglob("tests/unit"))
    assert installed.run("python", "-m", "pip", "check").stdout == "No broken requirements found.\n"


def test_every_command_works_with_what_a_plain_installation_brings(installed):
    assert installed.run("cobnut", "--version").stdout.startswith("cobnut ")
    code = "\n".join(
        [
            "import sys",
            "from cobnut.cli.main import COMMANDS, main",
            "for name in COMMANDS:",
            "    assert main([name, '--help']) == 0, name",
        ]
    )
    shown = installed.run("python", "-c", code).stdout
    for name in COMMANDS:
        assert f"Usage: cobnut {name}" in shown


def test_what_is_not_installed_is_told_with_the_line_that_installs_it(installed):
    code = "from cobnut.engines.spark import spark_session; spark_session()"
    refused = installed.run("python", "-c", code, expect=1).stderr
    assert refused.splitlines()[-1].endswith("pip install 'cobnut[spark]'")
    refused = installed.run(
        "cobnut", "crawl", "refined", "http://127.0.0.1:9/", "-s", "parser.main_text=trafilatura", expect=4
    ).stderr
    assert "pip install 'cobnut[quality]'" in refused.splitlines()[-1]


def test_it_crawls_searches_publishes_and_serves(installed, sample):
    crawled = installed.run("cobnut", "crawl", "mycrawl", f"http://{sample}/")
    assert "pages can be searched" in crawled.stdout + crawled.stderr
    found = json.loads(installed.run("cobnut", "search", "mycrawl", "robots.txt", "--json").stdout)
    assert found["hits"][0]["url"] == f"http://{sample}/robots.html"
    installed.run("cobnut", "publish", "mycrawl", "published")
    shutil.rmtree(installed.work / "mycrawl")
    server = installed.start("cobnut", "serve", "published", "--port", "0", "--workers", "1")
    try:
        url = server.stdout.readline().split()[-1]
        status, page = get(f"{url}search?q=robots.txt")
        assert (status, f"http://{sample}/robots.html" in page) == (200, True)
        styles = page.partition('rel="stylesheet" href="/')[2].partition('"')[0]
        assert get(url + styles)[0] == 200
        assert get(f"{url}healthz")[0] == 200
        server.send_signal(signal.SIGTERM)
        until = time.monotonic() + 30
        while server.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        assert server.returncode == 0
    finally:
        server.kill()
        server.communicate()


def test_a_distribution_with_something_missing_or_too_much_is_refused(dists, tmp_path):
    import zipfile

    check = ROOT / "packaging/check_dists.py"
    (wheel,) = dists.glob("*.whl")
    (sdist,) = dists.glob("*.tar.gz")
    changes = {
        "cobnut/py.typed is missing": (lambda names: [n for n in names if n != "cobnut/py.typed"]),
        "tests/conftest.py does not belong": (lambda names: [*names, "tests/conftest.py"]),
    }
    for number, (complaint, change) in enumerate(changes.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        shutil.copy(sdist, folder)
        with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(folder / wheel.name, "w") as changed:
            for name in change(whole.namelist()):
                changed.writestr(name, whole.read(name) if name in whole.namelist() else "")
        refused = subprocess.run([sys.executable, check, folder], capture_output=True, text=True)
        assert refused.returncode == 1
        assert complaint in refused.stderr
