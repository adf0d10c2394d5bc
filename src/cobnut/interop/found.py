"""How is what was found of Nutch described?

`Found` is a database, segment, folder of them or file; `Part` one file of records in it; `Header` how such a file
begins; `Note` a remark. Kinds are named as Nutch names its folders (see `recognize`).

Not here: finding them (`recognize`), reading records (`listing`, `hadoop`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from cobnut.interop.hadoop import FormatError, sequencefile

FOREIGN = "no SequenceFile: it does not begin with SEQ"
"""What the error of a file says that is none of Hadoop's."""

WEBDB_TABLES = ("pagesByURL", "pagesByMD5", "linksByURL", "linksByMD5")
SEGMENT_07 = ("fetchlist", "fetcher", "fetcher_output")
SEGMENT_PARTS = ("crawl_generate", "fetchlist", "crawl_fetch", "fetcher", "fetcher_output", "content", "crawl_parse",
                 "parse_data", "parse_text")  # fmt: skip
"""Folders of a segment, in the order in which they come to be."""
WEBGRAPH = ("outlinks", "inlinks", "nodes")

_KIND_OF_CLASS = {
    "Inlinks": "linkdb", "HostDatum": "hostdb", "Node": "nodes", "Content": "content", "ParseData": "parse_data",
    "ParseText": "parse_text", "FetchListEntry": "fetchlist", "FetcherOutput": "fetcher", "Page": "pagesByURL",
}  # fmt: skip
_PLACES = {
    "CrawlDatum": ("crawl_generate", "crawl_fetch", "crawl_parse", "crawldb"), "LinkDatum": ("outlinks", "inlinks"),
    "FetcherOutput": ("fetcher_output",), "Link": ("linksByURL", "linksByMD5"),
}  # fmt: skip
"""Where the folder's name decides, for the class of the value (of the key where there is no value)."""


class Note(msgspec.Struct, frozen=True):
    """Something worth telling about a path; `damage`: something could not be read and is left out."""

    text: str
    path: Path
    damage: bool = False


class Header(msgspec.Struct, frozen=True):
    """The beginning of a SequenceFile: its version and the names of its classes, as they stand there."""

    version: int
    key_class: str
    value_class: str

    @property
    def layout(self) -> str:
        """Which Nutch wrote such files: "0.7" up to version 2, "1.x" (from 0.8 on) later."""
        return "0.7" if self.version <= 2 else "1.x"

    @property
    def is_numbered(self) -> bool:
        """Whether keys are numbers, as in an ArrayFile."""
        return short_class(self.key_class) in ("LongWritable", "long")


class Part(msgspec.Struct, frozen=True):
    """One file of records, with its index where it has one.

    `container` is "SequenceFile", "MapFile" or "ArrayFile"; `path` is the folder of the latter two and the file of the
    first; `data` the file with the records.
    """

    kind: str
    container: str
    path: Path
    data: Path
    header: Header
    has_index: bool = False

    @property
    def layout(self) -> str:
        """ "0.7" or "1.x"."""
        return self.header.layout


class Found(msgspec.Struct, frozen=True):
    """What lies at `path`; of a crawl, a db or a folder of segments also what lies within, `members`.

    `layout` is "0.7", "1.x" (every later version) or "mixed".
    """

    kind: str
    layout: str
    path: Path
    parts: tuple[Part, ...] = ()
    members: tuple[Found, ...] = ()
    notes: tuple[Note, ...] = ()

    def all_parts(self) -> Iterator[Part]:
        """The files, those of the members after the own ones."""
        yield from self.parts
        for member in self.members:
            yield from member.all_parts()

    def all_notes(self) -> Iterator[Note]:
        """The notes, those of the members after the own ones."""
        yield from self.notes
        for member in self.members:
            yield from member.all_notes()

    def each(self, kind: str) -> Iterator[Found]:
        """This and its members, as far as they are of this kind: `found.each("segment")`."""
        if self.kind == kind:
            yield self
        for member in self.members:
            yield from member.each(kind)


def short_class(name: str) -> str:
    """A class's name without its package: 0.7 writes it so, later versions whole."""
    return name.rpartition(".")[2]


def read_header(path: Path) -> Header:
    """The beginning of the SequenceFile *path*; a `FormatError` says what is wrong with it."""
    with path.open("rb") as file:
        start = file.read(3)
    if not start:
        raise FormatError("an empty file", path=str(path), offset=0, remedy="whoever wrote it was interrupted")
    if not b"SEQ".startswith(start):
        raise FormatError(FOREIGN, path=str(path), offset=0)
    header = sequencefile.read_header(path)
    return Header(header.version, header.key_class, header.value_class)


def kind_of(header: Header, path: Path, place: str | None = None) -> str:
    """The kind of a file of records: by its classes, and by the name of the folder (*place*) where they leave it open.

    "records": the classes are not Nutch's, or it cannot be told what the file is for.
    """
    key, value = short_class(header.key_class), short_class(header.value_class)
    if value in ("LongWritable", "long"):
        return "records" if header.is_numbered and path.name != "index" else "index"
    if value in ("NullWritable", "null"):
        if key == "Page":
            return "pagesByMD5"
        value = key
    names = (place,) if place is not None else tuple(parent.name for parent in list(path.parents)[:3])
    for name in names:
        if name in _PLACES.get(value, ()):
            return name
    if value == "CrawlDatum":
        return "crawldb" if path.name == "data" else "records"
    return _KIND_OF_CLASS.get(value, "records")
