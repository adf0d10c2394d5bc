"""What does an answer over HTTP cost?

Serves a made-up index (Zipf-distributed words, two kilobytes a page) as `cobnut serve` does, and asks it over kept
connections on loopback: a constant answer, the form, searches as a page and as JSON, and a few hits deep down. Prints
answers a second, CPU time of the server's processes for one answer, and the slowest of a hundred.

    scripts/bench web
    scripts/bench web --docs 100000 --seconds 10 --clients 8
    scripts/bench web --path /my/crawl --queries words.txt        an index of your own, a query a line
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

CODE = """
import sys
from pathlib import Path
from cobnut.config.load import load_settings
from cobnut.web.serve import serve
settings = load_settings(None, environ={}, overrides=sys.argv[3:]).settings
serve(Path(sys.argv[1]), "127.0.0.1", 0, int(sys.argv[2]), settings)
"""


def word(number: int) -> str:
    """A made-up word; low numbers are frequent."""
    syllables = ("ba", "de", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu", "va", "we", "xi", "yo", "zu", "ch")
    text = ""
    while True:
        text += syllables[number % 16]
        number //= 16
        if number == 0:
            return text + "n"


def made_up_index(folder: Path, docs: int) -> list[str]:
    """Writes an index of made-up pages; returns queries of one to three words."""
    from cobnut.config.sections import IndexSettings
    from cobnut.index.document import Document
    from cobnut.index.writer import write_index

    chance = random.Random(7)
    vocabulary = [word(n) for n in range(50_000)]
    weights = list(itertools.accumulate(1 / (n + 1) for n in range(len(vocabulary))))

    def words(count: int) -> str:
        return " ".join(chance.choices(vocabulary, cum_weights=weights, k=count))

    def documents():
        for n in range(docs):
            host = f"h{n % 500}.example"
            yield Document(
                url_key=f"example,h{n % 500})/{n}", url=f"http://{host}/{n}.html", host=host, domain="example",
                segment="20261130120000", title=words(6), text=words(350), language="en", fetched_at=1_795_996_800_000,
                page_rank=chance.randrange(10_000_000), inlink_host_count=chance.randrange(50),
            )  # fmt: skip

    write_index(folder, documents(), IndexSettings())
    return [words(chance.choice((1, 2, 2, 3))) for _ in range(2_000)]


def client(port: int, targets: list[str], seconds: float, seed: int, result: multiprocessing.SimpleQueue) -> None:
    """Asks over one kept connection until the time is over; puts all durations."""
    chance = random.Random(seed)
    requests = [f"GET {t} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode() for t in targets]
    length = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
    durations, bad = [], 0
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        end = time.perf_counter() + seconds
        while (began := time.perf_counter()) < end:
            connection.sendall(chance.choice(requests))
            answer = connection.recv(262_144)
            while (head := answer.find(b"\r\n\r\n")) < 0:
                answer += connection.recv(262_144)
            missing = head + 4 + int(length.search(answer, 0, head)[1]) - len(answer)
            while missing > 0:
                missing -= len(connection.recv(262_144))
            durations.append(time.perf_counter() - began)
            bad += not answer.startswith(b"HTTP/1.1 200")
    result.put((durations, bad))


def cpu_s(pid: int) -> float:
    """CPU seconds of a process and its children that still run."""
    total = 0.0
    for one in [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]:
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def measure(server: int, port: int, targets: list[str], seconds: float, clients: int) -> tuple[float, float, float]:
    """(answers a second, server CPU ms an answer, 99th percentile in ms)."""
    result: multiprocessing.SimpleQueue = multiprocessing.SimpleQueue()
    before = cpu_s(server)
    group = [
        multiprocessing.Process(target=client, args=(port, targets, seconds, seed, result)) for seed in range(clients)
    ]
    for process in group:
        process.start()
    parts = [result.get() for _ in group]
    for process in group:
        process.join()
    spent = cpu_s(server) - before
    durations = sorted(d for part, _ in parts for d in part)
    if any(bad for _, bad in parts):
        raise SystemExit(f"answers other than 200 for {targets[0]}")
    return len(durations) / seconds, spent / len(durations) * 1000, durations[int(len(durations) * 0.99)] * 1000


LIMITED = ("serve.rate_per_s=1e6", "serve.rate_burst=1000000", "serve.access_log=/dev/null")


def table(kinds: dict[str, list[str]], path: Path, options: argparse.Namespace, *settings: str) -> None:
    """Measures each kind of question with one server of these settings, and prints a line for it."""
    command = [sys.executable, "-c", CODE, str(path), str(options.workers), *settings]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        line = next((text for text in server.stdout or () if text.startswith("Search page: ")), "")
        port = int(line.rstrip("/\n").rpartition(":")[2])
        for name, targets in kinds.items():
            rate, cost, slow = measure(server.pid, port, targets, options.seconds, options.clients)
            print(f"{name:28}{rate:10,.0f}{cost:9.3f}{slow:9.1f}", flush=True)
    finally:
        server.terminate()
        server.wait(30)


def main() -> None:
    """Runs the benchmark and prints its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--path", type=Path)
    parser.add_argument("--queries", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        path = options.path or Path(temporary) / "index"
        queries = options.queries.read_text().splitlines() if options.queries else []
        if options.path is None:
            queries = queries or made_up_index(path, options.docs)
        elif not queries:
            parser.error("--path needs --queries")
        asked = [quote(q) for q in queries]
        searched = {
            "constant answer": ["/healthz"],
            "the form": ["/"],
            "search, JSON": [f"/api/search?q={q}" for q in asked],
            "search, page": [f"/search?q={q}" for q in asked],
            "search, page, with reasons": [f"/search?q={q}&explain=1" for q in asked],
            "search, page 50": [f"/search?q={word(n)}&page=50" for n in range(3)],
        }
        kept = {
            "kept answers, JSON": [f"/api/search?q={q}" for q in asked[:50]],
            "kept answers, page": [f"/search?q={q}" for q in asked[:50]],
        }
        workers = options.workers or os.cpu_count()
        print(f"{workers} workers, {options.clients} connections, {len(asked)} queries; clients share the machine\n")
        print(f"{'':28}{'answers/s':>10}{'CPU ms':>9}{'p99 ms':>9}")
        table(searched, path, options, "serve.cache_mib=0")
        table(kept, path, options)
        table({"kept, limited and logged": kept["kept answers, page"]}, path, options, *LIMITED)


if __name__ == "__main__":
    main()
