"""`cobnut search DIR "query"`: search a crawl, or an index folder by itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cobnut.cli.options import crawl_or_none, dir_argument, json_option, set_option, settings_of
from cobnut.cli.rows import json_line
from cobnut.errors import InputError
from cobnut.inspect.show import plain

if TYPE_CHECKING:
    from cobnut.search.searcher import Hit, Results


@click.command("search")
@dir_argument
@click.argument("query")
@json_option
@click.option("--limit", metavar="N", type=click.IntRange(1, 1_000), help="Hits shown; search.per_page by default.")
@click.option("--offset", metavar="N", type=click.IntRange(0), default=0, help="Hits left out at the beginning.")
@click.option("--explain", is_flag=True, help="Show what the score of each hit is made of.")
@set_option
def command(
    crawl_dir: Path, query: str, as_json: bool, limit: int | None, offset: int, explain: bool,
    overrides: tuple[str, ...],
) -> None:  # fmt: skip
    """Search the crawl in DIR, or the index folder DIR, for QUERY.

    All words are wanted; "several words" in quotes stand in a row; -word excludes; site:example.org keeps to a site.
    """
    if not query.strip():
        raise InputError("the query is empty", remedy='for example: cobnut search DIR "spider web"')
    settings = settings_of(crawl_or_none(crawl_dir), overrides).settings.search
    from cobnut.search.open import open_searcher

    searcher = open_searcher(crawl_dir, settings)
    try:
        results = searcher.search(query, limit=limit or settings.per_page, offset=offset, explain=explain)
    finally:
        searcher.close()
    if as_json:
        from cobnut.search.answer import as_json as answer

        click.echo(json_line(answer(results)))
        return
    _print(results)


def _print(results: Results) -> None:
    if results.notice:
        click.echo(f"Note: {plain(results.notice)}")
    if not results.hits:
        click.echo("nothing found" if results.total == 0 else f"{results.total:,} found, none from there on")
        return
    last = results.offset + len(results.hits)
    click.echo(f"{results.offset + 1}-{last} of {results.total:,} ({results.took_ms:.1f} ms)")
    for hit in results.hits:
        _print_hit(hit)


def _print_hit(hit: Hit) -> None:
    click.echo()
    click.echo(f"{hit.position}. {_styled(plain(hit.title or hit.shown_url, 200), bold=True)}")
    click.echo(f"   {_styled(plain(hit.shown_url, 500), fg='green')}")
    if hit.snippet.text:
        click.echo(f"   {_marked(hit.snippet.text, hit.snippet.ranges)}")
    for feature in hit.features:
        click.echo(f"   {feature.contribution:>10.4f}  {feature.name} ({feature.value:.6g})")
    if hit.features:
        click.echo(f"   {hit.score:>10.4f}  score")


def _marked(text: str, ranges: tuple[tuple[int, int], ...]) -> str:
    pieces, at = [], 0
    for start, end in ranges:
        pieces += [plain(text[at:start]), _styled(plain(text[start:end]), bold=True)]
        at = end
    return "".join([*pieces, plain(text[at:])])


def _styled(text: str, **style: object) -> str:
    """Styled text; `click.echo` takes the styles out when the output is no terminal."""
    return click.style(text, **style)  # type: ignore[arg-type]
