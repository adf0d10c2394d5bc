"""Which reference pages follow from the code? Tables, settings, commands, reasons, exit codes, Nutch's properties.

Run it by `scripts/docs`; with --check it writes nothing and names the pages that are out of step.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from cobnut import errors
from cobnut.config import sections
from cobnut.records import catalogue, outcomes

if TYPE_CHECKING:
    from cobnut.interop.nutch_config.properties import Row

HERE = Path(__file__).resolve().parent
NOTE = "<!-- made by scripts/docs from {source}; do not edit -->\n\n"
TYPES = {
    "map": "map of string to string",
    "strings": "list of strings",
    "anchors": "list of {from_key, anchor}",
}


def cell(text: str) -> str:
    """Text that stands in one cell of a Markdown table."""
    return text.replace("|", "\\|").replace("\n", " ").strip()


def grid(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *[[cell(c) for c in row] for row in rows]]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def tables() -> str:
    """The reference of all tables."""
    out = [
        NOTE.format(source="records.catalogue"),
        "# Tables\n\n",
        "Stages meet only in these tables: this page is the interface between all parts of the crawler. Times are "
        "int64 milliseconds since 1970-01-01 UTC, scores int64 millionths (1,000,000 is 1.0). A column in **bold** "
        f"belongs to the key; *may be NULL* is said where it may. Format version {catalogue.FORMAT_VERSION}.\n\n",
        grid(
            ("table", "of", "key", "written by", "holds"),
            (
                (f"[{t.name}](#{t.name})", t.scope, ", ".join(t.key), ", ".join(t.writers), t.doc)
                for t in catalogue.TABLES
            ),
        ),
    ]
    for table in catalogue.TABLES:
        parted = f"Partitioned by `{table.bucket_column}`." if table.bucket_column else "Not partitioned."
        out.append(f"\n## {table.name}\n\n{table.doc} {parted}\n\n")
        rows = []
        for column in table.columns:
            name = f"**{column.name}**" if column.name in table.key else column.name
            doc = column.doc + (" *May be NULL.*" if column.nullable and "NULL" not in column.doc else "")
            rows.append((name, TYPES.get(column.type, column.type), doc))
        out.append(grid(("column", "type", "meaning"), rows))
    return "".join(out)


def shown(value: object) -> str:
    """A default value as it would stand in cobnut.toml."""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        inner = ", ".join(f'"{v}"' if isinstance(v, str) else str(v) for v in value)
        return f"`[{inner}]`"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


def settings() -> str:
    """The reference of all settings."""
    out = [
        NOTE.format(source="config.sections"),
        "# Settings\n\n",
        "Settings stand in `cobnut.toml` of a crawl, one table a section. The environment overrides them "
        "(`COBNUT_FETCHER__DELAY_S=0`), and `-s fetcher.delay_s=0` on any command overrides both. "
        "`cobnut config show DIR --origin` says what is in force and who set it. An unknown name is an error that "
        "names the nearest known one.\n",
    ]
    for section in msgspec.structs.fields(sections.Settings):
        kind = section.type
        out.append(f"\n## {section.name}\n\n{inspect.getdoc(kind) or ''}\n\n")
        rows = []
        for field in msgspec.structs.fields(kind):
            name = f"{section.name}.{field.name}"
            rows.append((f"`{name}`", shown(field.default), sections.DOCS[name]))
        out.append(grid(("setting", "default", "meaning"), rows))
    return "".join(out)


def reasons() -> str:
    """States, outcomes, reasons, kinds of link, exit codes."""
    classes = (errors.PartlyFailedError, errors.InputError, errors.DataError, errors.MachineError)
    codes = [("0", "Done. Pages that could not be fetched are no failure of the command but data: see the summary.")]
    codes += [(str(c.exit_code), (inspect.getdoc(c) or "").split("\n\n")[0].replace("\n", " ")) for c in classes]
    codes.append(("70", "A fault of Cobnut itself. Please report it, with what COBNUT_DEBUG=1 shows."))
    codes.append(("130", "Interrupted (Ctrl-C). What was acknowledged is kept; run the command again to go on."))
    return "".join(
        [
            NOTE.format(source="records.outcomes and errors"),
            "# States, reasons and exit codes\n\n",
            "Every URL that was not fetched, not parsed, not indexed or not found has a reason; `cobnut why DIR URL` "
            "prints it, and `reason` of the [crawldb](tables.md#crawldb) holds it.\n\n",
            "## States of a URL\n\nThe nine states of Nutch 1.x, with its codes. `duplicate` and `orphan` are read "
            "off the tables [duplicates](tables.md#duplicates) and [orphans](tables.md#orphans).\n\n",
            grid(("state", "code"), ((f"`{n}`", f"0x{c:02x}") for n, c in outcomes.STATUSES.items())),
            "\n## Outcomes of a request\n\n",
            grid(("outcome", "meaning"), ((f"`{n}`", d) for n, d in outcomes.OUTCOMES.items())),
            "\n## Reasons\n\nA number or the name of a rule may follow, as in `http_404` or `filtered_by:scope`.\n\n",
            grid(("reason", "meaning"), ((f"`{n}`", d) for n, d in outcomes.REASONS.items())),
            "\n## Kinds of link\n\n",
            grid(("kind", "meaning"), ((f"`{n}`", d) for n, d in outcomes.LINK_KINDS.items())),
            "\n## Flags of a page\n\nWhat a page is, if it is none to be read; in the column `flags` of "
            "[parsed](tables.md#parsed), and of [fetched](tables.md#fetched) for answers that refuse "
            "(401, 403, 429, 503). A flag changes nothing about what becomes of the page.\n\n",
            grid(("flag", "meaning"), ((f"`{n}`", d) for n, d in outcomes.FLAGS.items())),
            "\n## Exit codes\n\nA message on standard error is one line: what happened, where, and what to do.\n\n",
            grid(("code", "meaning"), codes),
        ]
    )


VERDICTS = {"sets": "a setting", "built in": "no setting is needed", "none": "no counterpart"}


def nutch_properties() -> str:
    """What becomes of Nutch's properties."""
    from cobnut.interop.nutch_config.properties import ROWS

    def target(row: Row) -> str:
        return ", ".join(f"`{key}`" for key, _ in row.settings) or VERDICTS[row.verdict]

    return "".join(
        [
            NOTE.format(source="interop.nutch_config.properties"),
            "# Nutch's properties\n\n",
            "What `cobnut import nutch-config` makes of each property, from 0.7 to 1.23. A name that ends in `*` "
            "stands for all that begin so and have no row of their own. Numbers come into the unit of the setting "
            "(milliseconds, minutes and days become seconds) and into its range; a negative number that means "
            "that there is no limit becomes the greatest value there is. [Filters and normalizers](rules.md) become "
            "rule files.\n\n",
            grid(("property", "becomes", "note"), ((f"`{r.name}`", target(r), r.note) for r in ROWS)),
        ]
    )


def program() -> click.Group:
    """The command line as a click group."""
    from cobnut.cli import main

    groups = [value for value in vars(main).values() if isinstance(value, click.Group)]
    if not groups:
        raise SystemExit("cobnut.cli.main holds no click group to document")
    return groups[0]


def visible(group: click.Group, context: click.Context) -> list[tuple[str, click.Command]]:
    """The commands of a group that are shown, in its order."""
    found = [(name, group.get_command(context, name)) for name in group.list_commands(context)]
    return [(name, command) for name, command in found if command is not None and not command.hidden]


def command_page(name: str, command: click.Command, parent: click.Context, level: int) -> Iterable[str]:
    """One command and, where it is a group, those below it."""
    context = click.Context(command, info_name=name, parent=parent)
    usage = command.get_usage(context).removeprefix("Usage: ")
    text = inspect.cleandoc(command.help or command.short_help or "").replace("\b\n", "")
    yield f"\n{'#' * level} {context.command_path}\n\n    {' '.join(usage.split())}\n\n{text}\n"
    records = [p.get_help_record(context) for p in command.get_params(context)]
    rows = [r for r in records if r and r[1] and "--help" not in r[0]]
    if rows:
        yield "\n" + grid(("option", "meaning"), ((f"`{option}`", meaning) for option, meaning in rows))
    if isinstance(command, click.Group):
        for child_name, child in visible(command, context):
            yield from command_page(child_name, child, context, level + 1)


def commands() -> str:
    """The reference of all commands."""
    from cobnut.cli.main import COMMANDS

    group = program()
    context = click.Context(group, info_name="cobnut", terminal_width=1000, max_content_width=1000)
    listed = [(f"[{name}](#cobnut-{name})", COMMANDS[name][1].strip()) for name, _ in visible(group, context)]
    out = [
        NOTE.format(source="the click commands"),
        "# Commands\n\n",
        "Every command that works on a crawl takes its folder first, and `-s SECTION.NAME=VALUE` for single settings. "
        "Exit codes are [listed here](reasons.md#exit-codes).\n\n",
        grid(("command", "does"), listed),
    ]
    for name, command in visible(group, context):
        out += command_page(name, command, context, 2)
    return "".join(out)


PAGES: dict[str, Callable[[], str]] = {
    "tables.md": tables,
    "settings.md": settings,
    "reasons.md": reasons,
    "commands.md": commands,
    "nutch-properties.md": nutch_properties,
}


def main() -> int:
    """Write the pages, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a page is out of step")
    asked = parser.parse_args()
    stale = []
    for name, make in PAGES.items():
        file, text = HERE / name, make()
        if not file.exists() or file.read_text("utf-8") != text:
            stale.append(name)
            if not asked.check:
                file.write_text(text, "utf-8")
    if asked.check and stale:
        print(f"out of step with the code: {', '.join('docs/' + name for name in stale)}; run scripts/docs")
        return 1
    if not asked.check:
        print(f"{len(PAGES)} pages, {len(stale)} rewritten")
    return 0


if __name__ == "__main__":
    sys.exit(main())
