"""The fake web over real sockets: ways in, faults that can be switched, and the record of what was asked."""

import gzip
import http.client
import json
import socket
import ssl
import subprocess
import sys
import time

import pytest

from cobnut.errors import MachineError
from cobnut.testing.fakeweb import Answer, FakeWeb, moved
from cobnut.testing.fakeweb.oddities import ODDITIES


def get(web, host, path, method="GET", proxy=False, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=10)
    sent = {"Host": host, **{name.replace("_", "-"): value for name, value in headers.items()}}
    connection.request(method, f"http://{host}{path}" if proxy else path, headers=sent)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, body


def raw(web, data: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", web.port), timeout=10) as s:
        s.sendall(data)
        out = b""
        try:
            while part := s.recv(65536):
                out += part
        except OSError:
            pass
        return out


def ended(s: socket.socket) -> bool:
    try:
        return s.recv(65536) == b""
    except ConnectionError:
        return True


def test_proxy_and_virtual_host_give_the_same_page():
    with FakeWeb().site("a.test", {"/": "<p>hello", "/?x=1": "with a query"}) as web:
        assert get(web, "a.test", "/")[2] == get(web, "a.test", "/", proxy=True)[2] == b"<p>hello"
        assert get(web, "A.TEST:80", "/")[2] == b"<p>hello"
        assert get(web, "a.test", "/?x=1")[2] == b"with a query"
        assert get(web, "a.test", "/?x=2")[2] == b"<p>hello"
        assert get(web, "a.test", "/none")[0] == 404
        assert get(web, "no.test", "/")[0] == 421
        assert get(web, "no.test", "/", proxy=True)[0] == 502
        assert get(web, "a.test", "/", "HEAD")[2] == b""
        assert get(web, "a.test", "/", "DELETE")[0] == 405


def test_answers_carry_what_they_were_given():
    page = Answer(200, "x" * 2000, {"X-Robots-Tag": "noindex"}, "text/plain", compress=True, chunked=True)
    with FakeWeb().site("a.test", {"/": page, "/old": moved("/new", 308), "/odd": Answer(299)}) as web:
        status, headers, body = get(web, "a.test", "/", Accept_Encoding="gzip, br")
        assert (status, headers["x-robots-tag"], headers["content-type"]) == (200, "noindex", "text/plain")
        assert headers["transfer-encoding"] == "chunked"
        assert gzip.decompress(body) == b"x" * 2000
        assert get(web, "a.test", "/")[2] == b"x" * 2000
        assert (get(web, "a.test", "/old")[0], get(web, "a.test", "/old")[1]["location"]) == (308, "/new")
        assert get(web, "a.test", "/odd")[0] == 299


def test_conditional_requests():
    page = Answer(200, "text", etag='"1"', last_modified="Mon, 30 Nov 2026 10:00:00 GMT")
    with FakeWeb().site("a.test", {"/": page}) as web:
        assert get(web, "a.test", "/", If_None_Match='"1"')[0] == 304
        assert get(web, "a.test", "/", If_None_Match='"2"')[0] == 200
        assert get(web, "a.test", "/", If_Modified_Since="Mon, 30 Nov 2026 10:00:00 GMT")[0] == 304
        web.site("a.test", {"/": Answer(200, "new text", etag='"2"')})
        assert get(web, "a.test", "/", If_None_Match='"1"')[2] == b"new text"


def test_faults_that_pass():
    with FakeWeb().site("a.test", {"/": [Answer(503), Answer(429), "works"]}) as web:
        assert [get(web, "a.test", "/")[0] for _ in range(4)] == [503, 429, 200, 200]
        web.down("a.test")
        with pytest.raises((http.client.HTTPException, OSError)):
            get(web, "a.test", "/")
        web.down("a.test", Answer(500))
        assert get(web, "a.test", "/")[0] == 500
        web.up("a.test")
        assert get(web, "a.test", "/")[0] == 200
        web.remove("a.test", "/")
        assert get(web, "a.test", "/")[0] == 404
        web.remove("a.test")
        assert get(web, "a.test", "/")[0] == 421


def test_raw_bytes_functions_and_wildcards():
    pages = {
        "/raw": Answer(raw=(b"HTTP/1.1 200 OK\r\n", b"Content-Length: 9\r\n\r\ncut"), pause_s=0.01),
        "/agent": lambda request: request.headers.get("user-agent", "nobody"),
        "/broken": lambda request: 1 / 0,
        "*": Answer(410),
    }
    with FakeWeb().site("a.test", pages) as web:
        assert raw(web, b"GET /raw HTTP/1.1\r\nHost: a.test\r\n\r\n").endswith(b"\r\n\r\ncut")
        assert get(web, "a.test", "/agent", User_Agent="me")[2] == b"me"
        assert get(web, "a.test", "/broken")[0] == 500
        assert get(web, "a.test", "/any")[0] == 410


def test_a_scripted_path_lies_over_a_made_up_host():
    with FakeWeb(synth="hosts=3,pages=30,quirks=0").site("s0.synth.test", {"/p/1.html": Answer(500)}) as web:
        assert get(web, "s0.synth.test", "/p/1.html")[0] == 500
        assert get(web, "s0.synth.test", "/p/2.html")[0] == 200


def test_delays_do_not_hold_up_other_connections_and_are_counted_as_under_way():
    with FakeWeb().site("a.test", {"/slow": Answer(200, "late", delay_s=0.3), "/": "now"}) as web:
        request = b"GET /slow HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n"
        with socket.create_connection(("127.0.0.1", web.port)) as s:
            s.sendall(request)
            while not web.requests("a.test", "/slow"):
                time.sleep(0.005)
            assert get(web, "a.test", "/")[2] == b"now"
            assert s.makefile("rb").read().endswith(b"late")
        stats = web.stats("a.test")
        assert (stats.requests, stats.most_at_once, stats.at_once) == (2, 2, 0)
        assert stats.statuses == {200: 2}
        assert stats.min_gap_s is not None
        assert stats.min_gap_s >= 0


def test_the_log_says_what_was_asked_in_order():
    with FakeWeb().site("a.test", {"/": "x"}).site("b.test", {"/": "y"}) as web:
        out = raw(
            web,
            b"GET / HTTP/1.1\r\nHost: a.test\r\nUser-Agent: one\r\n\r\n"
            b"GET /none?q HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n",
        )
        assert out.count(b"HTTP/1.1 ") == 2
        get(web, "b.test", "/", proxy=True)
        assert [(e.url, e.status) for e in web.log] == [
            ("http://a.test/", 200),
            ("http://a.test/none?q", 404),
            ("http://b.test/", 200),
        ]
        assert [e.agent for e in web.requests("a.test")] == ["one", "-"]
        assert [e.proxy for e in web.log] == [False, False, True]
        assert len(web.requests("a.test", "/none?q")) == 1
        shown = json.loads(get(web, "fakeweb.invalid", "/stats")[2])
        assert shown["hosts"]["a.test"]["requests"] == 2
        assert shown["hosts"]["a.test"]["status"] == {"200": 1, "404": 1}
        assert get(web, "fakeweb.invalid", "/hosts")[2] == b"a.test\nb.test"
        web.reset()
        assert web.log == []
        assert web.stats("a.test").requests == 0


def test_broken_requests_get_400_or_are_closed():
    with FakeWeb().site("a.test", {"/": "x"}) as web:
        assert raw(web, b"nonsense\r\n\r\n").startswith(b"HTTP/1.1 400 ")
        assert raw(web, b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n").startswith(b"HTTP/1.1 400 ")
        assert raw(web, b"x" * 70_000) == b""


def test_tls_by_connect_and_by_name(tmp_path):
    with FakeWeb(ca=tmp_path / "ca").site("a.test", {"/": lambda r: f"{r.scheme} {r.host}"}) as web:
        trust = ssl.create_default_context(cafile=str(web.ca_file))
        tunnel = http.client.HTTPSConnection("127.0.0.1", web.port, context=trust, timeout=10)
        tunnel.set_tunnel("a.test", 443)
        tunnel.request("GET", "/")
        assert tunnel.getresponse().read() == b"https a.test"
        tunnel.close()
        with (
            socket.create_connection(("127.0.0.1", web.tls_port), timeout=10) as plain,
            trust.wrap_socket(plain, server_hostname="a.test") as secure,
        ):
            secure.sendall(b"GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n")
            assert secure.makefile("rb").read().endswith(b"https a.test")
        assert raw(web, b"CONNECT no.test:443 HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 502 ")
        assert [e.scheme for e in web.log] == ["https", "https"]


def test_every_oddity_answers_something():
    with FakeWeb(synth="hosts=2,pages=30,delay=0") as web:
        for name in ODDITIES:
            if name not in ("endless", "bomb", "giant"):
                request = f"GET /x/{name} HTTP/1.1\r\nHost: s0.synth.test\r\nConnection: close\r\n\r\n"
                assert raw(web, request.encode()), name
        assert len(get(web, "s0.synth.test", "/x/giant")[2]) > 10 << 20


def test_a_folder_of_sites(tmp_path):
    def put(path, body):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(body)

    put("a.test/index.html", b"<title>A</title>" + b"x" * 2000)
    put("a.test/sub/index.html", b"sub")
    put("a.test/sub/k.html.ko.euc-kr", "한".encode("euc-kr"))
    put("a.test/.htaccess", b"Redirect 301 /old /new\nRedirectMatch ^/m/(.*)$ /sub/$1\n")
    put("b.test/t.html.en", b"english")
    put("b.test/t.html.ko.euc-kr", b"korean")
    put("b.test/t.html", b"URI: t.html.en\nContent-Language: en\n\nURI: t.html.ko.euc-kr\nContent-Language: ko\n"
        b"Content-type: text/html; charset=EUC-KR\n")  # fmt: skip
    with FakeWeb(sites=tmp_path) as web:
        status, headers, body = get(web, "a.test", "/", Accept_Encoding="gzip")
        assert (status, headers["content-type"], len(gzip.decompress(body))) == (200, "text/html", 2016)
        assert get(web, "a.test", "/", If_None_Match=headers["etag"])[0] == 304
        assert get(web, "a.test", "/", If_Modified_Since=headers["last-modified"])[0] == 304
        for path, target in (("/sub", "/sub/"), ("/old/x", "/new/x"), ("/m/y", "/sub/y")):
            assert get(web, "a.test", path)[1]["location"] == "http://a.test" + target
        statuses = {path: get(web, "a.test", path)[0] for path in ("/none", "/../etc", "/.htaccess", "/sub/none/")}
        assert statuses == {"/none": 404, "/../etc": 400, "/.htaccess": 403, "/sub/none/": 404}
        assert get(web, "a.test", "/sub/k.html.ko.euc-kr")[1]["content-type"] == "text/html; charset=euc-kr"
        assert get(web, "b.test", "/t.html")[2] == b"english"
        _, headers, body = get(web, "b.test", "/t.html", Accept_Language="ko, en;q=0.5")
        assert (body, headers["content-type"]) == (b"korean", "text/html; charset=EUC-KR")


def test_a_web_that_stops_cuts_its_connections_and_comes_back_at_the_same_port():
    web = FakeWeb().site("a.test", {"/": "x"}).start()
    with socket.create_connection(("127.0.0.1", web.port), timeout=10) as s:
        s.sendall(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
        assert s.recv(65536).endswith(b"x")
        port = web.port
        web.stop()
        assert ended(s)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=10)
    web.start()
    assert web.port == port
    assert get(web, "a.test", "/")[2] == b"x"
    web.stop()


def test_a_port_in_use_is_named():
    with FakeWeb() as web, pytest.raises(MachineError, match=str(web.port)):
        FakeWeb(port=web.port).start()


def test_the_command_serves_until_interrupted(tmp_path):
    command = [
        sys.executable,
        "-m",
        "cobnut.testing.fakeweb",
        "--synth",
        "hosts=2,pages=9",
        "--log",
        str(tmp_path / "log"),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        port = int(line.split("127.0.0.1:")[1].split(",")[0])
        with socket.create_connection(("127.0.0.1", port), timeout=10) as s:
            s.sendall(b"GET /p/1.html HTTP/1.1\r\nHost: s0.synth.test\r\nConnection: close\r\n\r\n")
            assert s.makefile("rb").read().startswith(b"HTTP/1.1 200 OK")
        process.send_signal(2)
        assert process.wait(10) == 130
    assert (tmp_path / "log").read_text().split("\t")[1:4] == ["s0.synth.test", "/p/1.html", "200"]


def test_the_command_refuses_unknown_options():
    command = [sys.executable, "-m", "cobnut.testing.fakeweb", "--synth", "hosts=2,nonsense=9"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "nonsense" in done.stderr
