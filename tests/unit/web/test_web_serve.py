"""The server as processes: starting, refusing, following the index, ending."""

import contextlib
import os
import resource
import signal
import socket
import threading
import time
from pathlib import Path

import pytest
from search_pages import Server, document, is_running, make_crawl, publish

from cobnut.config.sections import SearchSettings
from cobnut.errors import InputError, MachineError
from cobnut.web.serve import lease_port, page_address
from cobnut.web.source import Source


@pytest.fixture
def crawl(tmp_path):
    path = make_crawl(tmp_path / "crawl")
    publish(path, [document(n) for n in range(3)])
    return path


def wait_until(claim, seconds=20.0):
    """Waits for a claim to come true; how long that took."""
    began = time.monotonic()
    while not claim():
        assert time.monotonic() - began < seconds, "it never came true"
        time.sleep(0.02)
    return time.monotonic() - began


def test_the_address_is_printed_last_and_works(crawl):
    with Server(crawl, workers=2) as server:
        assert server.lines == [f"Search page: http://127.0.0.1:{server.port}/"]
        assert server.get("/search", q="hazel").status == 200
        code, out, err = server.end(signal.SIGTERM)
    assert (code, out, err) == (0, "", "")


@pytest.mark.parametrize(
    ("signum", "group", "code"), [(signal.SIGINT, True, 130), (signal.SIGTERM, True, 0), (signal.SIGINT, False, 130)]
)
def test_a_signal_ends_it_cleanly(crawl, signum, group, code):
    with Server(crawl, workers=2) as server:
        workers = server.children()
        assert len(workers) >= 2
        assert server.end(signum, group=group) == (code, "", "")
    wait_until(lambda: not [pid for pid in workers if is_running(pid)])


@pytest.mark.parametrize("wait_s", [0.0, 0.05, 0.1, 0.2, 0.3])
def test_interrupted_while_its_workers_start_it_ends_quietly(crawl, wait_s):
    server = Server(crawl, workers=2, wait=False)
    wait_until(lambda: len(server.children()) >= 2)  # the signals are in place before the first worker is
    time.sleep(wait_s)
    assert server.end(signal.SIGINT, group=True)[::2] == (130, "")


def test_after_the_end_the_port_is_free_at_once(crawl):
    with Server(crawl) as server:
        port = server.port
        assert server.get("/healthz").status == 200
        server.end()
    with Server(crawl, port=port) as server:
        assert server.port == port
        assert server.get("/healthz").status == 200


@pytest.mark.serial
def test_no_child_outlives_a_killed_parent(crawl):
    with Server(crawl, workers=2) as server:
        family = server.children()
        assert len(family) >= 2
        server.process.kill()
        server.process.wait()
        wait_until(lambda: not [pid for pid in family if is_running(pid)])
        with socket.socket() as free:
            free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            free.bind(("127.0.0.1", server.port))


@pytest.mark.serial
def test_a_killed_worker_is_replaced(crawl):
    with Server(crawl, workers=1) as server:
        (worker,) = [pid for pid in server.children() if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda: answers(server))
        assert worker not in server.children()


@pytest.mark.serial
def test_workers_that_keep_dying_end_it_with_an_error(crawl):
    with Server(crawl, workers=1) as server:

        def has_ended():
            for pid in server.children():
                with contextlib.suppress(OSError):
                    if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
                        os.kill(pid, signal.SIGKILL)
            return server.process.poll() is not None

        wait_until(has_ended, 60)
        err = server.process.communicate()[1].splitlines()
    assert server.process.returncode == 4
    assert err[-1].startswith(f"the search processes keep failing: {crawl}")


def answers(server):
    try:
        return server.get("/search", q="hazel").status == 200
    except OSError:
        return False


def test_a_port_in_use_is_refused(crawl):
    with Server(crawl) as first:
        second = Server(crawl, port=first.port)
        code, out, err = second.process.returncode, *second.process.communicate()
        assert code == 4
        assert out == ""
        assert err.splitlines() == [
            f"port {first.port} is in use: 127.0.0.1; choose another with --port; --port 0 takes any free one"
        ]
        assert first.get("/healthz").status == 200


def test_a_port_taken_by_a_listener_that_shares_is_refused_too():
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(MachineError, match="in use"):
            lease_port("127.0.0.1", other.getsockname()[1])


def test_a_lease_keeps_everybody_else_away():
    with lease_port("127.0.0.1", 0) as lease, pytest.raises(MachineError, match="in use"):
        lease_port("127.0.0.1", lease.getsockname()[1])


@pytest.mark.parametrize(
    ("bind", "port"),
    [
        ("127.0.0.1", 65536),
        ("127.0.0.1", -1),
        ("192.0.2.1", 0),
        ("no such host", 0),
        ("a" * 70 + ".b", 0),
        ("\udcff", 0),
    ],
)
def test_bad_addresses_are_the_users(bind, port):
    with pytest.raises(InputError) as error:
        lease_port(bind, port)
    assert "--bind" in error.value.line() or "--port" in error.value.line()


def test_six_is_served_too(crawl):
    with Server(crawl, bind="::1") as server:
        assert server.url == page_address("::1", server.port) == f"http://[::1]:{server.port}/"
        assert server.get("/healthz").status == 200


def test_everywhere_names_an_address_that_works(crawl):
    with Server(crawl, bind="0.0.0.0") as server:
        assert server.lines[0].startswith("Listening on all addresses")
        assert server.lines[-1] == f"Search page: http://127.0.0.1:{server.port}/"


@pytest.mark.parametrize(
    ("make", "code"), [(lambda path: None, 2), (lambda path: path.mkdir(), 3), (lambda path: path.write_text("x"), 2)]
)
def test_no_index_is_refused(tmp_path, make, code):
    path = tmp_path / "nothing"
    make(path)
    server = Server(path)
    err = server.process.communicate()[1]
    assert server.process.returncode == code
    assert str(path) in err
    assert len(err.splitlines()) == 1


def test_a_damaged_index_is_refused(crawl):
    generation = crawl / "index" / "g000001"
    (generation / "meta.json").write_text("{")
    server = Server(crawl)
    err = server.process.communicate()[1]
    assert server.process.returncode == 3
    assert str(generation) in err
    assert len(err.splitlines()) == 1


def test_an_index_that_rots_while_it_is_served_is_a_plain_page(crawl):
    with Server(crawl) as server:
        for file in (crawl / "index" / "g000001").glob("*.store"):
            with open(file, "r+b") as stream:
                stream.write(b"\xa5" * (file.stat().st_size - 128))
        assert server.get("/search", q="hazel").status == 503
        answer = server.get("/api/search", q="hazel")
        assert answer.status == 503
        assert answer.json() == {"error": "The index cannot be read just now."}
        assert "is damaged" in server.end(signal.SIGTERM)[2]


def test_one_index_folder_is_served_by_itself(crawl):
    with Server(crawl / "index" / "g000001") as server:
        assert server.get("/api/search", q="hazel").json()["total"] == 3


def test_a_crawl_without_an_index_says_so_until_there_is_one(tmp_path):
    crawl = make_crawl(tmp_path / "crawl")
    with Server(crawl) as server:
        assert server.lines[0].startswith("Nothing is indexed yet")
        assert "Nothing is indexed yet" in server.get("/").text
        answer = server.get("/search", q="hazel")
        assert answer.status == 200
        assert "Nothing is indexed yet" in answer.text
        assert server.get("/api/search", q="hazel").json()["total"] == 0
        publish(crawl, [document(1)])
        wait_until(lambda: server.get("/api/search", q="hazel").json()["total"] == 1)


def test_every_worker_follows_a_new_generation_while_searches_run(crawl):
    stop, failures = threading.Event(), []

    def search(server):
        while not stop.is_set():
            answer = server.get("/api/search", q="hazel")
            if answer.status != 200 or answer.json()["total"] not in (3, 5, 1):
                failures.append(answer)

    with Server(crawl, workers=2) as server:
        thread = threading.Thread(target=search, args=(server,))
        thread.start()
        try:
            for count in (5, 1):
                publish(crawl, [document(n) for n in range(count)])
                # Each connection goes to one of the two workers: many in a row reach both.
                wait_until(lambda count=count: all(total(server) == count for _ in range(24)))
        finally:
            stop.set()
            thread.join()
    assert not failures


def total(server):
    return server.get("/api/search", q="hazel").json()["total"]


def test_an_index_that_cannot_be_read_leaves_the_former_one(crawl):
    now, lines = [100.0], []
    source = Source(crawl, SearchSettings(), lambda: now[0], lines.append)
    assert source.current().doc_count == 3
    publish(crawl, [document(1)])
    (crawl / "index" / "g000002" / "meta.json").write_text("{")
    for _ in range(5):
        now[0] += 1
        assert source.current().doc_count == 3
    assert len(lines) == 1
    publish(crawl, [document(n) for n in range(7)])
    assert source.current().doc_count == 3  # within the same second nobody looks
    now[0] += 1
    assert source.current().doc_count == 7


@pytest.mark.serial
def test_one_who_asks_and_never_reads_does_not_stop_it(crawl):
    asked = b"GET /static/cobnut.css HTTP/1.1\r\nHost: a\r\n\r\n" * 300
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 2_048:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(2_048, hard), hard))
    with Server(crawl, workers=2) as server, contextlib.ExitStack() as held:
        for _ in range(1_100):  # more than two processes hold connections at a time
            visitor = held.enter_context(socket.socket())
            visitor.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
            visitor.settimeout(10)
            visitor.connect(("127.0.0.1", server.port))
            visitor.setblocking(False)
            with contextlib.suppress(OSError):  # it may have ended the connection already
                visitor.send(asked)
        for _ in range(10):
            assert server.get("/search", q="hazel").status == 200


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"Host: a\r\nHost: b", 400),
        (b"Host: a\r\nHost: a", 400),
        (b"Host: a:80:90", 400),
        (b"Host: a/b", 400),
        (b"Host: me@a", 400),
        (b"Host: [::1", 400),
        (b"Host: [::1]:80", 200),
        (b"Host: a.example.:80", 200),
        (b"Host:", 200),
        (b"Host: a\r\nX: " + b"x" * 32_000, 200),
        (b"Host: a\r\nX: " + b"x" * 50_000, 431),
        (b"Host: a" + b"\r\nX: x" * 98, 200),
        (b"Host: a" + b"\r\nX: x" * 100, 431),
    ],
)
def test_heads_of_requests(running, head, status):
    with socket.create_connection(("127.0.0.1", running.port), 10) as visitor:
        visitor.sendall(b"GET /healthz HTTP/1.1\r\n" + head + b"\r\n\r\n")
        answer = visitor.recv(8_192)
    assert int(answer.split()[1]) == status
    assert (b"content-security-policy" in answer) == (status != 431)  # as docs/serving.md says


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    path = make_crawl(tmp_path_factory.mktemp("heads") / "crawl")
    publish(path, [document(1)])
    with Server(path) as server:
        yield server
