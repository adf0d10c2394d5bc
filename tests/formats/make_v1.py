"""How was tests/formats/v1 made?

    python tests/formats/make_v1.py [FOLDER] [--again]

A small crawl of the sample site, by the public commands: seeds with metadata, a sitemap, a redirect, a dead link,
a page that forbids indexing, a copy. Beside it `expected.json`: what the commands say of it, and a digest of all
files, so that not a byte changes unseen. Once a version is released its folder is never made anew: it stands for what
is on people's disks. --again replaces it before that.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from cobnut.testing.sample import pages, sample_web

HOST = "sample.example"
SEEDS = f"""# the sample site, and some that lead nowhere
http://{HOST}/\tnutch.score=2.5\tnutch.fetchInterval=43200\tsection=home
http://{HOST}/about\tnutch.fetchInterval.fixed=7200
http://{HOST}/picture.png
http://{HOST}/sitemap.xml
http://{HOST}/drafts.html
http://{HOST}/roadmap.html
"""
QUERIES = ("crawl", "link rank", '"search engine"', "搜索引擎", "crawl -snippet", "site:sample.example robots")
AGENT = ("-s", "fetcher.agent_name=CobnutFormats", "-s", "fetcher.agent_contact=formats@sample.example")
TABLES = ("crawldb", "pages", "seeds", "hostdb", "robots", "linkdb", "ranks", "duplicates")
SEGMENT_TABLES = ("fetchlist", "fetched", "hosts", "parsed", "links", "linked")


def web(port: int = 0) -> Any:
    """The sample site under a name of its own."""
    return sample_web(port).site(HOST, pages())


def cobnut(*words: object) -> str:
    """What a command prints."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COBNUT_")}
    done = subprocess.run(
        [sys.executable, "-m", "cobnut.cli", *map(str, words)], capture_output=True, text=True, env=environment
    )
    if done.returncode:
        raise SystemExit(f"cobnut {' '.join(map(str, words))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def lines(*words: object) -> list[dict[str, Any]]:
    """What a command prints as JSON, an object a line."""
    return [json.loads(line) for line in cobnut(*words).splitlines()]


def segment_names(crawl: Path) -> list[str]:
    """The segments of a crawl."""
    return [row["segment"] for row in lines("read", "segment", crawl, "--json")]


def summed(rows: list[dict[str, Any]], columns: list[str] | None = None) -> dict[str, Any]:
    """Rows in few words: their number, their columns, and a digest of what stands in these columns."""
    if columns is None:
        columns = sorted({name for row in rows for name in row})
    texts = sorted(json.dumps([row.get(name) for name in columns], sort_keys=True) for row in rows)
    return {"rows": len(rows), "columns": columns, "sha256": hashlib.sha256("\n".join(texts).encode()).hexdigest()}


def told(crawl: Path, columns: dict[str, list[str]] | None = None) -> dict[str, Any]:
    """What the public commands say of the crawl; of the tables only `columns`, where given."""
    wanted = columns or {}

    def hits(folder: Path, query: str) -> list[str]:
        return sorted(
            hit["url"] for hit in json.loads(cobnut("search", folder, query, "--json", "--limit", 100))["hits"]
        )

    return {
        "tables": {name: summed(lines("read", name, crawl, "--json"), wanted.get(name)) for name in TABLES},
        "segments": {
            segment: {
                table: summed(lines("read", "segment", crawl, segment, "--table", table, "--json"), wanted.get(table))
                for table in SEGMENT_TABLES
            }
            for segment in segment_names(crawl)
        },
        "states": {row["url"]: row["status"] for row in lines("read", "crawldb", crawl, "--json")},
        "documents": lines("read", "index", crawl, "--json")[0]["documents"],
        "document": lines("read", "index", crawl, "--url", f"http://{HOST}/glossary.html", "--json")[0],
        "hits": {query: hits(crawl, query) for query in QUERIES},
        "hits_of_index_alone": {query: hits(crawl / "index", query) for query in QUERIES},
        "hits_of_segments": {name: hits(crawl / "segments" / name, "crawl") for name in segment_names(crawl)},
    }


def digest(crawl: Path) -> str:
    """SHA-256 of every file's name and bytes, those of locks aside: whoever looks may make one."""
    total = hashlib.sha256()
    for path in sorted(path for path in crawl.rglob("*") if path.is_file()):
        if not path.name.lower().endswith("lock"):
            total.update(
                f"{path.relative_to(crawl).as_posix()}\n{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode()
            )
    return total.hexdigest()


def make(folder: Path) -> None:
    """The whole folder."""
    crawl = folder / "crawl"
    folder.mkdir(parents=True)
    seeds = folder / "seeds.txt"
    seeds.write_text(SEEDS)
    with web() as served:
        to_web = ("--resolve", f"*:127.0.0.1:{served.port}", "-s", "fetcher.delay_s=0", "-s", "fetcher.workers=1")
        cobnut("create", crawl, *AGENT)
        cobnut("inject", crawl, seeds)
        cobnut("crawl", crawl, *to_web, "-s", "storage.grace_s=0")
    expected = {"sha256": digest(crawl), **told(crawl)}
    for path in crawl.rglob("*"):  # locks name the machine they were made on
        if path.name.lower().endswith("lock"):
            path.write_bytes(b"")
    text = "{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in expected.items())
    (folder / "expected.json").write_text(text + "\n}\n", "utf-8")


def main() -> None:
    words = [word for word in sys.argv[1:] if word != "--again"]
    folder = Path(words[0]) if words else Path(__file__).parent / "v1"
    if folder.exists():
        if "--again" not in sys.argv:
            raise SystemExit(f"{folder} is there: a released format is never made anew; --again replaces it")
        shutil.rmtree(folder)
    make(folder)
    files = [path for path in folder.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    print(f"{folder}: {len(files)} files, {size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
