"""A crawl folder with a small index, and a real server process on loopback that serves it."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import msgspec

from cobnut.config.sections import IndexSettings
from cobnut.index.document import Document
from cobnut.index.manifest import read_manifest
from cobnut.index.writer import write_index
from cobnut.storage.layout import CrawlFolder

HOSTILE = '"><svg/onload=alert(/x/)><script>alert(1)</script>'


def document(number: int, **values: object) -> Document:
    """A page like any other, every field settable."""
    host = str(values.pop("host", "garden.example"))
    path = values.pop("path", f"page/{number}.html")
    base: dict[str, object] = {
        "url_key": f"example,garden)/page/{number}",
        "url": f"http://{host}/{path}",
        "host": host,
        "domain": host,
        "segment": "20261130120000",
        "title": f"Page {number}: growing hazel",
        "text": f"Number {number}. The hazel bears nuts in autumn, and squirrels know where to find them all.",
        "language": "en",
        "media_type": "text/html",
        "fetched_at": 1_795_996_800_000,
    }
    return Document(**(base | values))


def make_crawl(path: Path) -> Path:
    """An empty crawl."""
    CrawlFolder.create(path, "")
    return path


def publish(crawl: Path, documents: Iterable[Document]) -> int:
    """Publishes a new generation of the crawl's index; its number."""
    with CrawlFolder.open(crawl).index_generations().begin() as draft:
        write_index(draft.path, documents, IndexSettings(writer_heap_mib=15), threads=1)
        return draft.publish(msgspec.to_builtins(read_manifest(draft.path)))


@dataclass(frozen=True)
class Answer:
    """What the server answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self) -> dict:
        return msgspec.json.decode(self.body)


CODE = """
import sys
from pathlib import Path
from cobnut.config.load import load_settings
from cobnut.errors import CobnutError
from cobnut.web.serve import serve
try:
    settings = load_settings(None, environ={}, overrides=sys.argv[5:]).settings
    serve(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), settings)
except CobnutError as error:
    print(error.line(), file=sys.stderr)
    sys.exit(error.exit_code)
except KeyboardInterrupt:
    sys.exit(130)
"""


class Server:
    """A server process with some settings (KEY=VALUE). `url` is what it printed last before it was ready."""

    def __init__(
        self, path: Path, *, port: int = 0, workers: int = 1, bind: str = "127.0.0.1", wait: bool = True,
        settings: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, "-c", CODE, str(path), bind, str(port), str(workers), *settings],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        self.lines: list[str] = []
        self.url = ""
        if not wait:
            return
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            if line.startswith("Search page: "):
                self.url = line.split()[-1]
                break
        else:
            self.process.wait(30)

    def __enter__(self) -> Server:
        assert self.url, self.process.stderr.read()
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate(timeout=30)

    @property
    def port(self) -> int:
        return urlsplit(self.url).port

    def end(self, signum: int = signal.SIGTERM, *, group: bool = False) -> tuple[int, str, str]:
        """Sends a signal and waits: (exit code, rest of standard output, standard error)."""
        (os.killpg if group else os.kill)(self.process.pid, signum)
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, err

    def children(self) -> list[int]:
        """The processes it started that still run."""
        return children_of(self.process.pid)

    def get(self, path: str, method: str = "GET", headers: dict[str, str] | None = None, **query: object) -> Answer:
        """One request on a fresh connection."""
        connection = http.client.HTTPConnection(urlsplit(self.url).hostname, self.port, timeout=20)
        try:
            connection.request(method, path + ("?" + urlencode(query) if query else ""), headers=headers or {})
            response = connection.getresponse()
            names: dict[str, str] = {}
            for name, value in response.getheaders():  # one that comes twice is one list (RFC 9110, 5.3)
                names[name.lower()] = f"{names[name.lower()]}, {value}" if name.lower() in names else value
            return Answer(response.status, names, response.read())
        finally:
            connection.close()


def children_of(pid: int) -> list[int]:
    """The direct children of a process."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def is_running(pid: int) -> bool:
    """Whether a process runs (a dead one that nobody asked about yet does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
