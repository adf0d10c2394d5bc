"""`cobnut check WHAT`: one item in, all the reasoning out; no crawl needed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cobnut.cli.groups import HintingGroup
from cobnut.cli.options import FOLDER, network_overrides, on_network, set_option, settings_of
from cobnut.errors import InputError

if TYPE_CHECKING:
    from cobnut.inspect.check.basis import Basis
    from cobnut.inspect.check.items import Answer, Item, Story
    from cobnut.inspect.check.live import Visit

Function = TypeVar("Function", bound=Callable[..., Any])


@click.group("check", cls=HintingGroup, no_args_is_help=False)
def command() -> None:
    """Ask what Cobnut makes of one URL, robots.txt, page, query, sitemap or host, and why.

    Without --dir the default settings hold. With --jsonl, objects come in on standard input, one a line, and one goes
    out for each; a line that cannot be checked, a blank one too, is answered with {"error": …}, and the exit code is 1
    in the end.
    """


def common(function: Function) -> Function:
    """--dir, --jsonl, --json and -s."""
    for decorate in (
        set_option,
        click.option("--json", "as_json", is_flag=True, help="Write JSON."),
        click.option("--jsonl", is_flag=True, help="Read objects from standard input, one a line; write one for each."),
        click.option(
            "--dir", "crawl_dir", metavar="DIR", type=FOLDER,
            help="Check by the settings, scope and filters of this crawl.",
        ),
    ):  # fmt: skip
        function = decorate(function)
    return function


def file_option(what: str) -> Callable[[Function], Function]:
    """--file."""
    return click.option("--file", "file", metavar="FILE", type=click.Path(path_type=Path), help=what)


@command.command("url")
@click.argument("url", metavar="[URL]", required=False)
@click.option("--base", metavar="URL", help="The page that URL, then a reference, stands on.")
@common
def url(url: str | None, base: str | None, **options: Any) -> int:
    """Show what a URL or reference means: as requested, normalised, as a key; and whether a filter refuses it.

    With --jsonl: {"base", "href"} or {"url"}.
    """
    from cobnut.inspect.check import url as check

    basis = _basis(options)
    if options["jsonl"]:
        return _lines((url, base), lambda item: check.answer(item, basis))
    item = {"url": _needed(url, "a URL")} if base is None else {"base": base, "href": _needed(url, "a reference")}
    return _tell(check.answer(item, basis), check.story, options)


@command.command("robots")
@click.argument("url", metavar="[URL]", required=False)
@file_option("The robots.txt (- is standard input); without it, that of the URL's origin is fetched.")
@click.option("--agent", metavar="NAME", help="Whom to check for; fetcher.agent_name by default.")
@common
@on_network
def robots(url: str | None, file: Path | None, agent: str | None, **options: Any) -> int:
    """Show whether a robots.txt allows a URL, which line says so, and the crawl delay and sitemaps it names.

    With --jsonl: {"robots" or "robots_b64", "agent", "url"}, optionally "robots_url".
    """
    from cobnut.inspect.check import robots as check

    basis = _basis(options)
    if options["jsonl"]:
        return _lines((url, file, agent), lambda item: check.answer(item, basis))
    item: Item = {"url": _needed(url, "a URL"), "agent": agent}
    if file is not None:
        item["robots_b64"] = _coded(_read(file, basis, "robots_max_bytes"))
        return _tell(_checked(check.answer, item, basis), check.story, options)
    visit = _visit(item["url"], basis, robots_only=True)
    row: dict[str, Any] = visit.robots[-1] if visit.robots else {"state": "disallow_all", "reason": None}
    if row["state"] == "rules":
        item["robots_b64"] = _coded(row["body"] or b"")
    else:
        item["status"] = 404 if row["state"] == "allow_all" else 503
    return _tell({**_checked(check.answer, item, basis), "reason": row["reason"]}, check.story, options)


@command.command("parse")
@click.argument("url", metavar="[URL]", required=False)
@file_option("The page (- is standard input); without it, URL is fetched.")
@click.option("--content-type", metavar="TYPE", help="Content-Type of FILE.")
@click.option("--agent", metavar="NAME", help="Whose robots directives count; fetcher.agent_name by default.")
@common
@on_network
def parse(url: str | None, file: Path | None, content_type: str | None, agent: str | None, **options: Any) -> int:
    """Show what a page says: title, text, links, charset, language, robots directives and more.

    With --jsonl: {"url", "html" or "body_b64", "headers", "agent"}.
    """
    from cobnut.inspect.check import page as check

    basis = _basis(options)
    if options["jsonl"]:
        return _lines((url, file, content_type, agent), lambda item: check.answer(item, basis))
    item: Item = {"url": _needed(url, "a URL"), "agent": agent}
    if file is not None:
        item["body_b64"] = _coded(_read(file, basis, "other_max_bytes"))
        item["headers"] = {"Content-Type": content_type} if content_type else {}
        return _tell(_checked(check.answer, item, basis), check.story, options)
    return _tell_visited(item, basis, check.answer, check.story, options)


@command.command("query")
@click.argument("query", metavar="[QUERY]", required=False)
@common
def query(query: str | None, **options: Any) -> int:
    """Show how a query is understood: words as the index has them, phrases, exclusions, sites.

    With --jsonl: {"query"}.
    """
    from cobnut.inspect.check import query as check

    basis = _basis(options)
    if options["jsonl"]:
        return _lines((query,), lambda item: check.answer(item, basis))
    return _tell(check.answer({"query": _needed(query, "a query")}, basis), check.story, options)


@command.command("sitemap")
@click.argument("url", metavar="[URL]", required=False)
@file_option("The sitemap (- is standard input); without it, URL is fetched.")
@common
@on_network
def sitemap(url: str | None, file: Path | None, **options: Any) -> int:
    """Show the pages and sitemaps that a sitemap lists, and what of it cannot be read.

    With --jsonl: {"url", "body_b64"}, optionally "headers".
    """
    from cobnut.inspect.check import sitemap as check

    basis = _basis(options)
    if options["jsonl"]:
        return _lines((url, file), lambda item: check.answer(item, basis))
    item: Item = {"url": _needed(url, "a URL")}
    if file is not None:
        item["body_b64"] = _coded(_read(file, basis, "other_max_bytes"))
        return _tell(_checked(check.answer, item, basis), check.story, options)
    return _tell_visited(item, basis, check.answer, check.story, options)


@command.command("host")
@click.argument("host", metavar="[HOST]", required=False)
@common
@on_network
def host(host: str | None, **options: Any) -> int:
    """Ask the network about HOST (a name, NAME:PORT or a URL): addresses, robots.txt, sitemaps, pace that would hold.

    With --jsonl: {"host"} or {"url"}; addresses that are not public then need --allow-net or --resolve.
    """
    from cobnut.inspect.check import host as check
    from cobnut.inspect.check.basis import with_typed
    from cobnut.inspect.check.items import BadItemError
    from cobnut.observe.clock import SystemClock
    from cobnut.urls.hosts import host_of

    basis, clock = _basis(options), SystemClock()

    def visited(item: Item) -> Answer:
        hosts = {host_of(f"{origin}/") for origin in check.origins_of(item)}
        try:
            _agreed(hosts, basis)
        except InputError as error:
            raise BadItemError(error.line()) from None
        return check.answer(item, basis, clock.monotonic)

    if options["jsonl"]:
        return _lines((host,), visited)
    item: Item = {"host": _needed(host, "a host")}
    origins = _checked(lambda item, _basis: check.origins_of(item), item, basis)
    _agreed({host_of(f"{origin}/") for origin in origins}, basis)
    for origin in origins:
        basis = with_typed(basis, f"{origin}/")
    found = check.answer(item, basis, clock.monotonic)
    return _tell(found, check.story, options) or (1 if found["error"] else 0)


# ---------------------------------------------------------------------- what the commands share


def _basis(options: dict[str, Any]) -> Basis:
    from cobnut.inspect.check.basis import crawl_basis, default_basis
    from cobnut.storage.layout import CrawlFolder

    crawl_dir: Path | None = options["crawl_dir"]
    network = network_overrides(options.get("proxy"), options.get("resolve", ()), options.get("allow_net", ()))
    crawl = None if crawl_dir is None else CrawlFolder.open(crawl_dir)
    settings = settings_of(crawl_dir, options["overrides"], network).settings
    return default_basis(settings) if crawl is None else crawl_basis(crawl, settings)


def _needed(text: str | None, what: str) -> str:
    if text is None:
        raise InputError(f"{what} is missing", remedy="name one, or use --jsonl")
    return text


def _checked(answer: Callable[[Item, Basis], Any], item: Item, basis: Basis) -> Any:
    """What a check says; an item that cannot be checked is the user's error."""
    from cobnut.inspect.check.items import BadItemError

    try:
        return answer(item, basis)
    except BadItemError as wrong:
        raise InputError(str(wrong)) from None


def _lines(given: Iterable[object], check: Callable[[Item], Answer]) -> int:
    """Answers standard input line by line; 1 when a line could not be checked."""
    from cobnut.inspect.check.lines import answers

    if any(value is not None for value in given):
        raise InputError("with --jsonl all that is to be checked comes on standard input")
    failed = False
    out = sys.stdout.buffer
    for line, good in answers(sys.stdin.buffer, check):
        failed = failed or not good
        out.write(line + b"\n")
        out.flush()  # whoever talks to us line by line waits for it
    return 1 if failed else 0


def _tell(found: Answer, story: Callable[[Answer], Story], options: dict[str, Any]) -> int:
    from cobnut.cli.rows import json_line
    from cobnut.inspect.show import plain

    if options["as_json"]:
        click.echo(json_line(found))
        return 0
    lines = story(found)
    width = max((len(label) for label, _ in lines), default=0)
    for label, text in lines:
        click.echo(f"{plain(label):<{width}}  {plain(text)}".rstrip())
    return 0


def _tell_visited(
    item: Item, basis: Basis, answer: Callable[[Item, Basis], Answer], story: Callable[[Answer], Story],
    options: dict[str, Any],
) -> int:  # fmt: skip
    """Fetches the item's URL and checks what came; 1 when nothing came."""
    from cobnut.inspect.check.visits import visit_answer, visit_story

    visit = _visit(item["url"], basis)
    told = visit_answer(visit)
    if visit.body is None or visit.last is None:
        return _tell({"url": item["url"], "visit": told}, lambda found: visit_story(found["visit"]), options) or 1
    item |= {"url": visit.last["url"], "body_b64": _coded(visit.body), "headers": visit.headers}
    item["truncated"] = visit.last["truncated"]
    found = {**_checked(answer, item, basis), "visit": told}
    return _tell(found, lambda found: visit_story(found["visit"]) + story(found), options)


def _visit(url: str, basis: Basis, robots_only: bool = False) -> Visit:
    """Asks a server for a page, or for its robots.txt alone."""
    from cobnut.inspect.check.basis import with_typed
    from cobnut.inspect.check.live import Visitor
    from cobnut.inspect.webdb import forms_of
    from cobnut.observe.clock import SystemClock

    made = forms_of(url, basis.settings)
    _agreed({made.host}, basis)
    with Visitor(with_typed(basis, made.url), SystemClock().monotonic) as visitor:
        if robots_only:
            visitor.robots(made.url)
        else:
            visitor.page(made)
        return visitor.finish()


def _agreed(hosts: Iterable[str], basis: Basis) -> None:
    """Nothing leaves this machine without saying who asks."""
    from cobnut.cli.agent import agent_error, missing_agent

    missing = missing_agent(hosts, basis.settings.fetcher)
    if missing:
        raise agent_error(missing, ", ".join(sorted(hosts)))


def _read(file: Path, basis: Basis, limit: str) -> bytes:
    """A file, or standard input, as far as the fetcher would take an answer; more than that is no input for a check."""
    most: int = getattr(basis.settings.fetcher, limit)
    try:
        if str(file) == "-":
            data = sys.stdin.buffer.read(most + 1)
        else:
            with file.open("rb") as source:
                data = source.read(most + 1)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=str(file)) from error
    if len(data) > most:
        raise InputError(
            f"more than the {most:,} bytes that fetcher.{limit} allows", where=str(file),
            remedy=f"cut it, or raise the limit by -s fetcher.{limit}=BYTES",
        )  # fmt: skip
    return data


def _coded(data: bytes) -> str:
    import base64

    return base64.b64encode(data).decode()
