"""Passwords, keys and the page about the crawler, from the command line."""

import contextlib
import http.client
import os
import pty
import shutil
import subprocess
import sys
from urllib.parse import urlsplit

import pytest
from search_pages import document, make_crawl, publish

from cobnut.config.credentials import key_hash, parse_api_key, parse_login

COBNUT = [sys.executable, "-m", "cobnut.cli.main"]


def run(*args, typed="", **environ):
    return subprocess.run(
        [*COBNUT, *args], input=typed, capture_output=True, text=True, timeout=60, env={**os.environ, **environ},
    )  # fmt: skip


def test_a_password_from_standard_input():
    done = run("config", "hash-password", "alice", typed="correct horse\n")
    assert (done.returncode, done.stderr) == (0, "")
    login = parse_login(done.stdout.strip())
    assert login.user == "alice"
    assert login.matches(b"correct horse")
    assert "horse" not in done.stdout


def test_a_password_from_a_terminal_is_not_echoed(tmp_path):
    out = tmp_path / "out"
    child, terminal = pty.fork()
    if not child:
        os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT), 1)
        os.execv(sys.executable, [*COBNUT, "config", "hash-password", "alice"])
    seen = b""
    for prompt in (b"Password: ", b"Repeat for confirmation: "):
        while not seen.endswith(prompt):
            seen += os.read(terminal, 1000)
        os.write(terminal, b"correct horse\n")
    with contextlib.suppress(OSError):  # the terminal of a process that ended
        while piece := os.read(terminal, 1000):
            seen += piece
    assert os.waitpid(child, 0)[1] == 0
    os.close(terminal)
    assert parse_login(out.read_text().strip()).matches(b"correct horse")
    assert b"horse" not in seen


@pytest.mark.parametrize(
    ("user", "typed"), [("a b", "p\n"), ("a:b", "p\n"), ("alice", ""), ("alice", "\n"), ("a", "x" * 600)]
)
def test_bad_names_and_passwords(user, typed):
    done = run("config", "hash-password", user, typed=typed)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1


def test_a_key_is_shown_once_and_apart_from_its_entry():
    done = run("config", "new-key", "ci")
    assert done.returncode == 0
    entry, key = parse_api_key(done.stdout.strip()), done.stderr.split()[-1]
    assert entry.name == "ci"
    assert entry.hash == key_hash(key.encode())
    assert key not in done.stdout
    assert run("config", "new-key", "a b").returncode == 2


@pytest.fixture
def crawl(tmp_path):
    path = tmp_path / "crawl"
    assert run("create", str(path)).returncode == 0
    return path


def test_bot_page(crawl, tmp_path):
    who = ["-s", "fetcher.agent_name=NutBot", "-s", "fetcher.agent_contact=me@nuts.example"]
    printed = run("bot-page", str(crawl), *who)
    assert printed.returncode == 0
    assert "User-agent: NutBot\nDisallow: /" in printed.stdout
    out = tmp_path / "bot.html"
    assert run("bot-page", str(crawl), *who, "--out", str(out)).returncode == 0
    assert out.read_text("utf-8") == printed.stdout


def test_bot_page_needs_a_name_and_a_crawl(crawl, tmp_path):
    for folder, said in ((crawl, "fetcher.agent_name"), (tmp_path / "none", "name the folder of a crawl")):
        done = run("bot-page", str(folder))
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr


def test_a_password_in_a_setting_is_refused_and_not_shown(crawl):
    done = run("serve", str(crawl), COBNUT_SERVE__BASIC_AUTH="alice:hunter2")
    assert done.returncode == 2
    assert "hash-password" in done.stderr
    assert "hunter2" not in done.stderr


def test_settings_beside_a_published_index_hold_and_stay(tmp_path):
    source, target = make_crawl(tmp_path / "crawl"), tmp_path / "published"
    publish(source, [document(1)])
    assert run("publish", str(source), str(target)).returncode == 0
    (target / "cobnut.toml").write_text('[serve]\nport = 0\nworkers = 1\nhosts = ["a.example"]\n')
    publish(source, [document(1), document(2)])
    assert run("publish", str(source), str(target)).returncode == 0
    shutil.rmtree(source)
    served = subprocess.Popen([*COBNUT, "serve", str(target)], stdout=subprocess.PIPE, text=True)
    try:
        lines = [next(served.stdout), next(served.stdout)]
        assert lines[0] == "Answers under these names only: a.example\n"
        port = urlsplit(lines[1].split()[-1]).port
        for host, status in (("a.example", 200), ("b.example", 421)):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            connection.request("GET", "/api/search?q=hazel", headers={"Host": host})
            answer = connection.getresponse()
            assert answer.status == status
            assert (b'"total":2' in answer.read()) == (status == 200)
            connection.close()
    finally:
        served.terminate()
        served.communicate(timeout=30)
