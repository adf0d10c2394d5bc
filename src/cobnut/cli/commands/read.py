"""`cobnut read TABLE DIR`: look into a table, a segment, the index, or ask as the WebDB of old was asked.

Not here: files of Nutch (`read_nutch`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from cobnut.cli.commands.read_nutch import command as read_nutch
from cobnut.cli.groups import HintingGroup
from cobnut.cli.options import (
    Opened,
    dir_argument,
    json_option,
    on_crawl,
    opened,
    set_option,
    settings_of,
)
from cobnut.cli.rows import (
    BRIEF,
    Row,
    json_line,
    print_csv,
    print_json,
    print_one_below_the_other,
    print_side_by_side,
    print_stats,
)
from cobnut.errors import InputError
from cobnut.storage.layout import SETTINGS_FILE

if TYPE_CHECKING:
    from cobnut.inspect.tables import Selection
    from cobnut.records.columns import Table

SHOWN = 20
"""Rows a person is shown when nothing else is asked."""

csv_option = click.option("--csv", "as_csv", is_flag=True, help="Write CSV with a header line.")
limit_option = click.option("--limit", metavar="N", type=click.IntRange(0), help="Most rows; 20 for a person to read.")


class Output(msgspec.Struct, frozen=True):
    """How rows are to be written."""

    as_json: bool
    as_csv: bool
    limit: int | None
    columns: tuple[str, ...] | None

    def limit_asked(self) -> int | None:
        """Rows to be read: one more than is shown, so that it can be said that there are more."""
        if self.as_json or self.as_csv:
            return self.limit
        return (SHOWN if self.limit is None else self.limit) + 1


def questions(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every table."""
    for decorate in (
        click.option("--columns", metavar="A,B", help="Only these columns, in this order."),
        limit_option, csv_option, json_option,
        click.option(
            "--where", metavar="SQL",
            help="Rows that fit: status = 'gone' AND due_at < '2026-12-31' AND score > 0.5; values are those shown.",
        ),
        click.option("--host", metavar="HOST", help="Rows of this host."),
        click.option("--url", metavar="URL", help="The row of this URL, whole (linkdb: the links to it)."),
        click.option("--stats", is_flag=True, help="Counts instead of rows."),
    ):  # fmt: skip
        function = decorate(function)
    return function


@click.group("read", cls=HintingGroup, no_args_is_help=False)
def command() -> None:
    """Look into a table, a segment or the index.

    For a person times are ISO 8601 and scores are numbers; --json and --csv give every column as it is stored: times in
    ms since 1970 UTC, scores in millionths, bytes as hex. --where always means the values a person reads.
    """


def _add(name: str) -> None:
    from cobnut.records.catalogue import table

    doc = table(name).doc

    @command.command(name, help=f"{doc[0].lower()}{doc[1:]}", short_help=doc)
    @on_crawl
    @questions
    def read(
        crawl_dir: Path, overrides: tuple[str, ...], stats: bool, url: str | None, host: str | None, where: str | None,
        as_json: bool, as_csv: bool, limit: int | None, columns: str | None,
    ) -> int | None:  # fmt: skip
        from cobnut.inspect import tables
        from cobnut.inspect.stats import table_stats

        crawl = opened(crawl_dir, overrides)
        chosen = tables.READABLE[name]
        joined = () if url is None or name != "crawldb" else tuple(c.name for c in tables.READABLE["pages"].columns)
        output = _output(chosen, as_json, as_csv, limit, columns, joined)
        if stats:
            _no_rows_with_stats(url, host, where)
            return _print_stats(table_stats(crawl.crawl, chosen, _now_ms()), as_json)
        if url is not None and name == "crawldb":
            return _print_page(crawl, url, host, where, output)
        selection = _selection(crawl, url, host, where, output)
        rows = _written_out(tables.rows_of_table(crawl.crawl, chosen, selection).as_dicts())
        return _print_rows(rows, chosen, output, url if name != "linkdb" else None)


for _name in ("crawldb", "linkdb", "hostdb", "seeds", "robots", "ranks", "duplicates", "orphans", "pages"):
    _add(_name)


@command.command("segment")
@on_crawl
@click.argument("segment", metavar="[SEGMENT]", required=False)
@click.option("--table", "table_name", metavar="TABLE", help="fetchlist, fetched, hosts, parsed, links or linked.")
@questions
def read_segment(
    crawl_dir: Path, segment: str | None, table_name: str | None, overrides: tuple[str, ...], stats: bool,
    url: str | None, host: str | None, where: str | None, as_json: bool, as_csv: bool, limit: int | None,
    columns: str | None,
) -> int | None:  # fmt: skip
    """Segments: all in short; one with its counts; or the rows of one of its tables.

    With --url, --host or --where and no --table, the table is `fetched`.
    """
    from cobnut.inspect import tables
    from cobnut.inspect.stats import segment_lines, segment_stats

    crawl = opened(crawl_dir, overrides)
    asked = table_name or ("fetched" if url or host or where else None)
    if segment is None and asked is None:
        lines = segment_lines(crawl.crawl)
        if as_json or as_csv:
            print_json(lines) if as_json else print_csv(lines)
        elif not print_side_by_side(iter(lines), list(lines[0]) if lines else [], len(lines)):
            click.echo("no segments yet")
        return None
    segments = crawl.crawl.segments() if segment is None else [crawl.crawl.segment(segment)]
    if asked is None or stats:
        for one in segments:
            _print_stats(segment_stats(one, _now_ms()), as_json)
        return None
    chosen = _segment_table(asked)
    output = _output(chosen, as_json, as_csv, limit, columns, ("segment",))
    selection = _selection(crawl, url, host, where, output)
    tables.check_selection(chosen, selection)
    rows = (
        {"segment": one.name, **row}
        for one in segments
        for row in _written_out(tables.rows_of_segment(one, chosen, selection).as_dicts())
    )
    return _print_rows(islice(rows, output.limit_asked()), chosen, output, url)


@command.command("index")
@dir_argument
@set_option
@click.option("--stats", is_flag=True, help="What the index holds, in numbers.")
@click.option("--url", metavar="URL", help="The document of this URL, whole.")
@json_option
def read_index(crawl_dir: Path, overrides: tuple[str, ...], stats: bool, url: str | None, as_json: bool) -> int | None:
    """The index of a crawl, or an index folder by itself: counts, or the document of one URL."""
    from cobnut.inspect.webdb import forms_of
    from cobnut.search.open import find_source

    own = crawl_dir if (crawl_dir / SETTINGS_FILE).is_file() else None
    settings = settings_of(own, overrides).settings
    source = find_source(crawl_dir)
    try:
        reader = source.reader()
        if reader is None:
            click.echo("nothing indexed yet", err=True)
            return 1
        if url is None or stats:
            counts = {"documents": reader.doc_count, "index_segments_open": reader.index_segment_count}
            fields = reader.manifest.fields()
            del fields["doc_count"]  # the same, as it was announced: whether it is so `cobnut doctor` says
            return _print_stats({"folder": str(reader.folder), **counts, **fields}, as_json)
        document = reader.get(forms_of(url, settings).key)
    finally:
        source.close()
    if document is None:
        click.echo(f"not in the index: {url}", err=True)
        return 1
    row = msgspec.structs.asdict(document)
    row["inlink_sample"] = [{"from_key": key, "anchor": words} for key, words in row["inlink_sample"]]
    if as_json:
        print_json([row])
    else:
        print_one_below_the_other(row)
    return None


@command.command("webdb")
@on_crawl
@click.option("--url", metavar="URL", help="The page of a URL.")
@click.option("--md5", metavar="HASH", help="The pages whose body has this MD5.")
@click.option("--links-to", metavar="URL", help="The links to a page.")
@click.option("--links-from", metavar="URL", help="The links of a page.")
@click.option("--stats", is_flag=True, help="How many pages and links there are.")
@limit_option
@json_option
def read_webdb(
    crawl_dir: Path, url: str | None, md5: str | None, links_to: str | None, links_from: str | None, stats: bool,
    limit: int | None, as_json: bool, overrides: tuple[str, ...],
) -> int | None:  # fmt: skip
    """Ask as the WebDB of old was asked. Exit 1: nothing fits."""
    from cobnut.inspect import webdb
    from cobnut.inspect.stats import webdb_stats

    if sum(bool(question) for question in (url, md5, links_to, links_from, stats)) != 1:
        raise InputError("ask one question", remedy="--url U, --md5 HASH, --links-to U, --links-from U or --stats")
    crawl = opened(crawl_dir, overrides)
    if stats:
        return _print_stats(webdb_stats(crawl.crawl), as_json)
    rows: Iterator[Row]
    if url is not None:
        found = webdb.page(crawl.crawl, webdb.forms_of(url, crawl.settings))
        rows = iter(() if found is None else (found,))
    elif md5 is not None:
        rows = webdb.pages_by_md5(crawl.crawl, md5, limit)
    elif links_to is not None:
        rows = webdb.links_to(crawl.crawl, webdb.forms_of(links_to, crawl.settings), limit)
    else:
        rows = webdb.links_from(crawl.crawl, webdb.forms_of(str(links_from), crawl.settings), limit)
    count = print_json(rows) if as_json else _print_webdb(rows)
    if not count:
        click.echo("nothing fits", err=True)
    return None if count else 1


command.add_command(read_nutch)


def _print_webdb(rows: Iterator[Row]) -> int:
    from cobnut.inspect.show import cell

    count = 0
    for count, row in enumerate(rows, 1):
        if "from_url" in row:
            if count == 1:
                click.echo("from  to  anchor")
            click.echo("  ".join(cell(name, row[name]) for name in ("from_url", "to_url", "anchor")))
        else:
            if count > 1:
                click.echo()
            print_one_below_the_other(row)
    return count


def _print_page(crawl: Opened, url: str, host: str | None, where: str | None, output: Output) -> int | None:
    """The whole row of a URL: crawldb and pages joined."""
    from cobnut.inspect import webdb

    if host is not None or where is not None:
        raise InputError("--url names one row: --host and --where say nothing more")
    row = webdb.page(crawl.crawl, webdb.forms_of(url, crawl.settings))
    if row is None:
        click.echo(f"not in the crawldb: {url}", err=True)
        return 1
    if output.columns is not None:
        row = {name: row[name] for name in output.columns}
    if output.as_json:
        print_json([row])
    elif output.as_csv:
        print_csv([row])
    else:
        print_one_below_the_other(row)
    return None


def _print_rows(rows: Iterator[Row], table: Table, output: Output, url: str | None) -> int | None:
    if output.columns is not None:
        names = output.columns
        rows = ({name: row[name] for name in names} for row in rows)
    if output.as_json:
        count = print_json(rows)
    elif output.as_csv:
        count = print_csv(rows, output.columns)
    elif url is not None and output.columns is None:
        count = 0
        for count, row in enumerate(rows, 1):
            if count > 1:
                click.echo()
            print_one_below_the_other(row)
    else:
        limit = SHOWN if output.limit is None else output.limit
        brief = output.columns or BRIEF[table.name]
        count = print_side_by_side(rows, brief, limit)
    if not count and not (output.as_json or output.as_csv):
        click.echo("no rows", err=True)
    return 1 if url is not None and not count else None


def _print_stats(stats: Row, as_json: bool) -> int:
    if as_json:
        click.echo(json_line(stats))
    else:
        print_stats(stats)
    return 0


def _written_out(rows: Iterator[Row]) -> Iterator[Row]:
    from cobnut.inspect.webdb import with_url

    return map(with_url, rows)


def _selection(crawl: Opened, url: str | None, host: str | None, where: str | None, output: Output) -> Selection:
    from cobnut.inspect.tables import Selection
    from cobnut.urls.hosts import bucket_of, host_of

    limit = output.limit_asked()
    if url is not None:
        from cobnut.inspect.webdb import forms_of

        forms = forms_of(url, crawl.settings)
        return Selection(key=forms.key, bucket=forms.bucket, host=host, where=where, limit=limit)
    if host is not None:
        host = host_of(f"http://{host}/") or host
        return Selection(host=host, bucket=bucket_of(host), where=where, limit=limit)
    return Selection(where=where, limit=limit)


def _output(
    table: Table, as_json: bool, as_csv: bool, limit: int | None, columns: str | None, more: tuple[str, ...] = ()
) -> Output:
    if as_json and as_csv:
        raise InputError("--json and --csv exclude each other")
    if columns is None:
        header = ("segment", *table.column_names) if table.scope == "segment" else table.column_names
        return Output(as_json, as_csv, limit, header if as_csv and not (table.name == "crawldb" and more) else None)
    names = tuple(name.strip() for name in columns.split(",") if name.strip())
    known = list(dict.fromkeys((*more, *table.column_names)))
    for name in names:
        if name not in known:
            import difflib

            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"columns: {', '.join(known)}"
            raise InputError(f"{table.name} has no column {name!r}", remedy=hint)
    return Output(as_json, as_csv, limit, names)


def _segment_table(name: str) -> Table:
    from cobnut.inspect.tables import SEGMENT_TABLES

    if name not in SEGMENT_TABLES:
        raise InputError(f"no table of a segment is called {name!r}", remedy=f"tables: {', '.join(SEGMENT_TABLES)}")
    return SEGMENT_TABLES[name]


def _no_rows_with_stats(*questions: str | None) -> None:
    if any(question is not None for question in questions):
        raise InputError("--stats counts the whole table", remedy="leave out --url, --host and --where")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
