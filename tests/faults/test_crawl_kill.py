"""Does a crawl that is killed again and again come to what an undisturbed one comes to?"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

from crawling import cobnut, command, environment, indexed_urls, to_web

from cobnut.testing.fakeweb import FakeWeb, SynthWeb

KILLS = 10


def test_killed_ten_times_at_random_moments(tmp_path: Path) -> None:
    """SIGKILL of the whole process at random moments; then one run to the end: the same set of indexed pages."""
    seed = int(os.environ.get("COBNUT_KILL_SEED", "0")) or random.randrange(1, 10**9)
    chance = random.Random(seed)
    with FakeWeb(synth=SynthWeb(hosts=6, pages=300, quirks=0, delay=0)) as web:
        plain, killed = tmp_path / "plain", tmp_path / "killed"
        # no page limit; short rounds, so that kills fall into every step
        words = ("http://s0.synth.test/", "--scope", "web", "--max-pages", "0", *to_web(web.port))
        rounds = ("-s", "crawl.round_pages=30")
        started = time.monotonic()
        cobnut("crawl", plain, *words, *rounds)
        undisturbed_s = time.monotonic() - started
        kills = 0
        for _ in range(KILLS):
            run = subprocess.Popen(
                command("crawl", killed, *words, *rounds),
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(),
            )  # fmt: skip
            try:
                run.wait(chance.uniform(0.2, max(1.0, undisturbed_s / 2)))
            except subprocess.TimeoutExpired:
                run.send_signal(signal.SIGKILL)
                run.wait()
                kills += 1
        done = cobnut("crawl", killed, *words, *rounds)
        assert kills >= 3, f"seed {seed}: the runs ended before they were killed"
        assert indexed_urls(killed) == indexed_urls(plain), f"seed {seed}, {done.stderr}"
        leftovers = [p for p in killed.rglob(".tmp-*") if "segments" not in p.parts]
        assert leftovers == [], f"seed {seed}"


def test_first_interrupt_ends_in_good_order(tmp_path: Path) -> None:
    """Ctrl-C: what was fetched is searchable, exit 130; run again, the rest comes."""
    with FakeWeb(synth=SynthWeb(hosts=3, pages=200, quirks=0, delay=0)) as web:
        crawl, plain = tmp_path / "crawl", tmp_path / "plain"
        words = ("http://s0.synth.test/", "--scope", "web", "--resolve", f"*:127.0.0.1:{web.port}")
        agent = ("-s", "fetcher.agent_name=T", "-s", "fetcher.agent_contact=t@example.org")
        slow = ("-s", "fetcher.delay_s=0.05")
        run = subprocess.Popen(
            command("crawl", crawl, *words, *agent, *slow),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
        )  # fmt: skip
        deadline = time.monotonic() + 60
        while len(web.requests()) < 40 and time.monotonic() < deadline:
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate(timeout=120)
        assert run.returncode == 130, errors
        some = indexed_urls(crawl)
        assert 0 < len(some) < 200
        cobnut("crawl", crawl, *words, *agent, "-s", "fetcher.delay_s=0")
        cobnut("crawl", plain, *words, *agent, "-s", "fetcher.delay_s=0")
        assert indexed_urls(crawl) == indexed_urls(plain)


def test_second_interrupt_ends_at_once(tmp_path: Path) -> None:
    """A second Ctrl-C does not wait for a server that does not answer."""
    from cobnut.testing.fakeweb import Answer

    with FakeWeb().site("a.test", {"/": Answer(200, body="<p>late").after(100.0)}) as web:
        run = subprocess.Popen(
            command("crawl", tmp_path / "crawl", "http://a.test/", *to_web(web.port)),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment(),
        )  # fmt: skip
        deadline = time.monotonic() + 60
        while not web.requests("a.test") and time.monotonic() < deadline:
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        time.sleep(1.0)
        run.send_signal(signal.SIGINT)
        started = time.monotonic()
        run.communicate(timeout=60)
        assert run.returncode == 130
        assert time.monotonic() - started < 30
