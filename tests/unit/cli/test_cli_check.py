"""`cobnut check`: its forms, exit codes, and what it asks of the network."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from crawling import cobnut, command, environment

from cobnut.testing.fakeweb import Answer, FakeWeb, moved

ROBOTS = "User-agent: *\nDisallow: /private\nCrawl-delay: 0.1\nSitemap: /s.xml\n"
HEAVY = {"numpy", "pyarrow", "duckdb", "scipy", "pycurl", "starlette", "granian", "rich", "selectolax", "tantivy"}


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWeb]:
    text = "text/plain"
    pages = {
        "/": moved("/home"),
        "/home": "<title>Home</title><p>Hazel nuts. <a href=/next>next</a>",
        "/private": "secret",
        "/none": Answer(404),
        "/out": moved("http://10.9.8.7/"),
        "/s.xml": Answer(200, "<urlset><url><loc>/home</loc></url></urlset>", content_type="application/xml"),
        "/robots.txt": Answer(200, ROBOTS, content_type=text),
    }
    site = FakeWeb().site("a.test", pages).site("down.test", {"*": Answer(503)})
    with site.site("open.test", {"/robots.txt": Answer(404)}) as web:
        yield web


def to(web: FakeWeb) -> tuple[str, str]:
    return "--resolve", f"*:127.0.0.1:{web.port}"


def test_a_page_is_fetched_as_a_crawl_fetches_it(web: FakeWeb) -> None:
    web.reset()
    found = json.loads(cobnut("check", "parse", "http://a.test/", "--json", *to(web)).stdout)
    assert (found["url"], found["title"]) == ("http://a.test/home", "Home")
    assert [link["url"] for link in found["links"]] == ["http://a.test/next"]
    assert [(hop["url"], hop["status"]) for hop in found["visit"]["hops"]] == [
        ("http://a.test/", 301), ("http://a.test/home", 200),
    ]  # fmt: skip
    assert [entry.target for entry in web.log] == ["/robots.txt", "/", "/home"]
    shown = cobnut("check", "parse", "http://a.test/", *to(web)).stdout
    assert "robots.txt  http://a.test/robots.txt: rules, read (http 200)" in shown
    assert "title       Home" in shown


@pytest.mark.parametrize(
    ("path", "reason"),
    [("private", "robots_denied"), ("none", "http_404"), ("out", "private_address")],
)
def test_what_cannot_be_fetched_is_exit_1_with_its_reason(web: FakeWeb, path: str, reason: str) -> None:
    found = json.loads(cobnut("check", "parse", f"http://a.test/{path}", "--json", *to(web), expect=1).stdout)
    assert found["visit"]["hops"][-1]["reason"] == reason
    assert reason in cobnut("check", "parse", f"http://a.test/{path}", *to(web), expect=1).stdout


def test_robots_and_sitemap_of_a_site(web: FakeWeb) -> None:
    found = json.loads(cobnut("check", "robots", "http://a.test/private/x", "--json", *to(web)).stdout)
    assert (found["allowed"], found["rule"], found["crawl_delay"]) == (False, "Disallow: /private", 0.1)
    assert found["sitemaps"] == ["http://a.test/s.xml"]
    assert json.loads(cobnut("check", "robots", "http://open.test/x", "--json", *to(web)).stdout)["allowed"]
    down = json.loads(cobnut("check", "robots", "http://down.test/x", "--json", *to(web)).stdout)
    assert (down["allowed"], down["reason"]) == (False, "http_503")
    listed = json.loads(cobnut("check", "sitemap", "http://a.test/s.xml", "--json", *to(web)).stdout)
    assert [entry["loc"] for entry in listed["urls"]] == ["http://a.test/home"]


def test_host(web: FakeWeb) -> None:
    found = json.loads(cobnut("check", "host", "a.test:80", "--json", *to(web)).stdout)
    assert found["addresses"] == [
        {"address": "127.0.0.1", "from": "fetcher.resolve", "kind": "loopback", "refused": None}
    ]
    (origin,) = found["origins"]
    assert (origin["state"], origin["status"], origin["sitemaps"]) == ("rules", 200, ["http://a.test/s.xml"])
    assert (found["politeness"]["delay_s"], found["politeness"]["delay_from"]) == (0.1, "robots.txt asks for 0.1 s")
    here = json.loads(cobnut("check", "host", f"127.0.0.1:{web.port}", "--json").stdout)
    assert here["politeness"]["delay_s"] == 0
    slow = cobnut("check", "host", f"127.0.0.1:{web.port}", "-s", "fetcher.delay_s=3").stdout
    assert "3 s between requests (fetcher.delay_s)" in slow
    name = ("check", "host", "http://localhost:1/")
    assert "cannot be read, nothing is fetched from the origin for now (connect_failed)" in cobnut(*name).stdout


def test_a_host_in_a_list_is_not_typed_by_the_user(web: FakeWeb) -> None:
    """Lists come from anywhere: no machine of the private network is asked because a line names it."""
    here = f"127.0.0.1:{web.port}"
    hosts = (here, f"localhost:{web.port}", "10.9.8.7", "169.254.169.254", "[fe80::1]:80")
    lines = "".join(json.dumps({"host": host}) + "\n" for host in hosts)
    who = ("-s", "fetcher.agent_name=T", "-s", "fetcher.agent_contact=t@a.test")
    web.reset()
    found = [json.loads(line) for line in cobnut("check", "host", "--jsonl", *who, stdin=lines).stdout.splitlines()]
    assert [answer["error"] for answer in found] == ["private_address"] * len(hosts)
    assert not any(answer["origins"] for answer in found)
    assert "--allow-net" in found[0]["addresses"][0]["refused"]
    assert not web.log
    allowed = ("check", "host", "--jsonl", "--allow-net", "127.0.0.0/8")
    assert json.loads(cobnut(*allowed, stdin=json.dumps({"host": here})).stdout)["error"] is None
    resolved = json.loads(cobnut("check", "host", "--jsonl", *to(web), stdin='{"host": "a.test:80"}').stdout)
    assert resolved["origins"][0]["state"] == "rules"


def test_a_name_that_does_not_exist_is_exit_1(tmp_path: Path) -> None:
    """The only name server is a port on loopback where nobody answers."""
    options = (
        "-s",
        "fetcher.nameservers=127.0.0.1:1",
        "-s",
        "fetcher.agent_name=T",
        "-s",
        "fetcher.agent_contact=t@a.test",
    )
    done = cobnut("check", "host", "nowhere.invalid", *options, expect=1)
    assert "dns_" in done.stdout


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("url",), "a URL is missing; name one, or use --jsonl"),
        (("query", "x", "--jsonl"), "with --jsonl all that is to be checked comes on standard input"),
        (("robots", "words", "--file", "-"), "is not an http or https URL"),
        (("parse", "http://a.test/", "--file", "/nowhere"), "cannot be read"),
        (("parse", "http://example.org/"), "fetcher.agent_name and fetcher.agent_contact"),
        (("host", "example.org"), "fetcher.agent_name and fetcher.agent_contact"),
        (("host", "a b"), "not a host"),
        (("parse", "http://["), "not an http or https URL"),
        (("url", "http://a.test/", "--dir", "/nowhere"), "/nowhere"),
        (("hots", "x"), "did you mean host"),
        (("url", "x", "-s", "urls.filters=scop"), "scop"),
    ],
)
def test_bad_usage_is_one_line_and_exit_2(words: tuple[str, ...], part: str) -> None:
    done = cobnut("check", *words, expect=2)
    assert part in done.stderr
    assert done.stderr.count("\n") == 1
    assert not done.stdout


def test_one_line_in_one_line_out_at_once() -> None:
    with subprocess.Popen(
        command("check", "url", "--jsonl"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
    ) as process:
        assert process.stdin
        assert process.stdout
        for line, wanted in ((b'{"url": "http://a.test"}', b'"http://a.test/"'), (b"{", b'{"error":')):
            process.stdin.write(line + b"\n")
            process.stdin.flush()
            assert wanted in process.stdout.readline()
        process.stdin.close()
        assert process.wait(30) == 1


def test_a_file_is_read_as_far_as_the_fetcher_would(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("x" * 600_000)
    few = ("-s", "fetcher.other_max_bytes=599999", "-s", "fetcher.robots_max_bytes=599999")
    enough = ("-s", "fetcher.other_max_bytes=600000", "-s", "fetcher.robots_max_bytes=600000")
    for name, limit in (("robots", "robots"), ("parse", "other"), ("sitemap", "other")):
        for source in (file, "/dev/zero"):
            done = cobnut("check", name, "http://a.test/", "--file", source, *few, expect=2)
            assert f"more than the 599,999 bytes that fetcher.{limit}_max_bytes allows" in done.stderr
        cobnut("check", name, "http://a.test/", "--file", file, *enough)


def test_an_extra_that_is_missing_is_told_once() -> None:
    lines = json.dumps({"url": "http://a.test/", "html": "<p>text"}) + "\n"
    code = (
        "import sys\nsys.modules['trafilatura'] = None  # as if it were not installed\n"
        "from cobnut.cli.main import main\n"
        "sys.exit(main(['check', 'parse', '--jsonl', '-s', 'parser.main_text=trafilatura']))"
    )
    done = subprocess.run(
        [*command()[:1], "-c", code], capture_output=True, text=True, timeout=60, check=False, env=environment(),
        input=lines * 3,
    )  # fmt: skip
    assert done.returncode == 4
    assert "pip install 'cobnut[quality]'" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not done.stdout


def test_by_the_settings_and_scope_of_a_crawl(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    cobnut("create", folder)
    (tmp_path / "seeds").write_text("http://a.test/\nhttp://127.0.0.1:8080/x\n")
    cobnut("inject", folder, tmp_path / "seeds")
    urls = ("http://a.test/y", "http://b.test/", "http://127.0.0.1:8080/y", "http://127.0.0.1:81/")
    lines = "".join(json.dumps({"url": url}) + "\n" for url in urls)
    done = cobnut("check", "url", "--jsonl", "--dir", folder, stdin=lines)
    rules = [json.loads(line)["rule"] for line in done.stdout.splitlines()]
    assert rules == [None, "scope", None, "private_address"]
    assert "crawl.scope" in cobnut("check", "url", "http://b.test/", "--dir", folder).stdout


def test_what_a_page_holds_cannot_steer_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_bytes(b"<title>\x1b]0;owned\x07</title><p>a\xe2\x80\xaeb <a href='http://a.test/\x1b[2J'>\x9b2J</a>")
    for words in (("parse", "http://a.test/"), ("sitemap", "http://a.test/")):
        done = cobnut("check", *words, "--file", file)
        assert not set(done.stdout) & {"\x1b", "\x07", "\x9b", "\u202e"}


def test_urls_are_checked_without_heavy_libraries() -> None:
    code = (
        "import sys\nfrom cobnut.cli.main import main\n"
        "assert main(['check', 'url', 'http://a.test/']) == 0\n"
        "print('\\n'.join(sys.modules))"
    )
    done = subprocess.run(
        [*command()[:1], "-c", code], capture_output=True, text=True, timeout=60, check=True, env=environment()
    )
    assert not set(done.stdout.split()) & HEAVY
