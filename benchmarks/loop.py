"""What does a page cost from fetch to search?

Crawls a made-up web over http with `cobnut crawl` and prints, per stage, CPU seconds and CPU milliseconds a page, the
peak memory of all processes together, and how long it took. The pages are those of the cost table: 42 KB, about 100
links. CPU time is that of the crawl's processes alone; the web it crawls runs beside them.

    scripts/bench loop                                      20,000 pages
    scripts/bench loop --pages 2000 --workers 1
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

BUDGET_MS = 6.0


def children_of(pid: int) -> list[int]:
    """A process and all below it."""
    found = [pid]
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            text = Path(f"/proc/{pid}/task/{task}/children").read_text()
            for child in text.split():
                found += children_of(int(child))
    except OSError:
        pass
    return found


def memory_mib(pid: int) -> float:
    """Proportional set size of a process tree: shared pages count once."""
    total = 0
    for one in children_of(pid):
        try:
            for line in Path(f"/proc/{one}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
        except (OSError, IndexError):
            pass
    return total / 1024


def main() -> None:
    """Runs the benchmark and prints its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--hosts", type=int, default=50)
    parser.add_argument("--links", type=int, default=96)
    parser.add_argument("--kb", type=int, default=46)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="folder to leave the crawl in")
    asked = parser.parse_args()
    synth = f"hosts={asked.hosts},pages={asked.pages},links={asked.links},kb={asked.kb},quirks=0,delay=0"
    web = subprocess.Popen(
        [sys.executable, "-m", "cobnut.testing.fakeweb", "--synth", synth, "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    folder = asked.keep or Path(tempfile.mkdtemp(prefix="cobnut-loop-"))
    crawl = folder / "crawl"
    try:
        assert web.stdout is not None
        port = next(
            word.rpartition(":")[2].strip("/,") for word in web.stdout.readline().split() if "127.0.0.1:" in word
        )
        started, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        run = subprocess.Popen(
            [sys.executable, "-m", "cobnut.cli", "crawl", str(crawl), "http://s0.synth.test/", "--scope", "web",
             "--max-pages", "0", "--resolve", f"*:127.0.0.1:{port}", "-s", "fetcher.delay_s=0",
             "-s", f"fetcher.workers={asked.workers}", "-s", f"parser.workers={asked.workers}",
             "-s", "fetcher.agent_name=CobnutBench", "-s", "fetcher.agent_contact=bench@example.org"],
            stdout=subprocess.PIPE, stderr=sys.stderr, text=True,
        )  # fmt: skip
        peak = [0.0]
        done = threading.Event()

        def watch() -> None:
            while not done.wait(0.5):
                peak[0] = max(peak[0], memory_mib(run.pid))

        watcher = threading.Thread(target=watch)
        watcher.start()
        output = run.communicate()[0]
        done.set()
        watcher.join()
        wall = time.monotonic() - started
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    finally:
        web.terminate()
        web.wait()
    print(output)
    if run.returncode:
        raise SystemExit(run.returncode)
    stages: dict[str, float] = {}
    for path in (crawl / "reports").glob("*.json"):
        report = json.loads(path.read_text())
        stages[report["stage"]] = stages.get(report["stage"], 0.0) + report["cpu_s"]
    pages = count_documents(crawl)
    print(f"{pages:,} pages in the index; {wall:.1f} s on the clock, {pages / wall:.0f} pages a second")
    print(f"{'stage':<14}{'CPU s':>9}{'ms a page':>12}")
    for name, seconds in sorted(stages.items(), key=lambda item: -item[1]):
        print(f"{name:<14}{seconds:>9.2f}{1000 * seconds / pages:>12.3f}")
    rest = cpu - sum(stages.values())
    print(f"{'starting, rest':<14}{rest:>9.2f}{1000 * rest / pages:>12.3f}")
    each = 1000 * cpu / pages
    print(f"{'all':<14}{cpu:>9.2f}{each:>12.3f}   {each / BUDGET_MS:.2f} of the budget of {BUDGET_MS} ms")
    print(f"peak memory of all processes: {peak[0]:.0f} MiB")
    if asked.keep is None:
        shutil.rmtree(folder)


def count_documents(crawl: Path) -> int:
    """Documents in the merged index."""
    current = (crawl / "index" / "CURRENT").read_text().strip()
    return int(json.loads((crawl / "index" / current / "manifest.json").read_text())["doc_count"])


if __name__ == "__main__":
    main()
