"""Which command was called, and how does it end?

Exit codes: 0 done; 1 done, but something named on the command line failed; 2 your input; 3 the data on disk; 4 the
environment; 70 a fault of Cobnut itself; 130 interrupted. Whatever goes wrong is told in one line on stderr:
`cobnut: what: where; remedy`.
"""

from __future__ import annotations

import errno
import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

import cobnut
from cobnut.cli.groups import HintingGroup
from cobnut.cli.stopping import INTERRUPTED
from cobnut.errors import CobnutError, InputError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

INTERNAL = 70

_MACHINE = {
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EACCES, errno.EPERM, errno.EROFS, errno.EMFILE,
    errno.ENFILE,
}  # fmt: skip

COMMANDS: dict[str, tuple[str, str]] = {
    "crawl": ("crawl", "Crawl from seeds to a searchable index, or go on with it."),
    "search": ("search", "Search a crawl, or an index folder."),
    "serve": ("serve", "Serve the search page."),
    "publish": ("publish", "Copy the index to where it is searched, and replace it there in one go."),
    "why": ("why", "Tell all that is known of one URL, or of a host."),
    "check": ("check", "Ask what would be made of one URL, robots.txt, page, query, sitemap or host."),
    "read": ("read", "Look into a table, a segment or the index."),
    "dump": ("dump", "Write a whole table as JSON lines, CSV or Parquet."),
    "create": ("create", "1. Make a new, empty crawl."),
    "inject": ("inject", "2. Put seeds into the crawldb."),
    "generate": ("generate", "3. Make a segment: the list of what to fetch next."),
    "freegen": ("freegen", "   Make a segment from a list of URLs, due or not."),
    "fetch": ("fetch", "4. Fetch a segment."),
    "parse": ("parse", "   Parse what was fetched: title, text, links."),
    "updatedb": ("updatedb", "5. Merge results and links into the crawldb."),
    "invertlinks": ("invertlinks", "7. Build the linkdb: who links to a page, with which words."),
    "rank": ("rank", "   Compute link ranks of pages and hosts."),
    "updatesegs": ("updatesegs", "   Put scores and anchors into the segments."),
    "index": ("index", "8. Build an index inside each segment."),
    "dedup": ("dedup", "9. Decide which of several copies is shown."),
    "merge": ("merge", "10. Make one index out of the segments' indexes."),
    "mergedb": ("mergedb", "Take in the crawldb of other crawls, and what belongs to it."),
    "mergelinkdb": ("mergelinkdb", "Take in the links of other crawls."),
    "import": ("import_", "Take in what other programs crawled."),
    "export": ("export", "Write the crawl in a form that other programs read."),
    "cdx": ("cdx", "Write the index that replay tools want (CDXJ)."),
    "rollback": ("rollback", "Go back to the previous version of a table."),
    "forget": ("forget", "Never fetch, keep or show a page, a folder or a host again."),
    "clean": ("clean", "Remove what is not needed any more, and purge what is to be forgotten."),
    "doctor": ("doctor", "Look whether a crawl is whole, and put right what can be."),
    "backup": ("backup", "Copy a crawl whole, even while it is at work."),
    "upgrade": ("upgrade", "Bring a crawl to this program's format version."),
    "plugins": ("plugins", "Show which parts can be chosen by name, and which are active."),
    "bot-page": ("bot_page", "Write the page that tells webmasters about your crawler."),
    "config": ("config", "Show the settings and where they come from."),
    "completion": ("completion", "Print what bash, zsh or fish need to complete with Tab."),
    "admin": ("admin", "`admin db -create DIR`: the old name of create."),
}
"""Every command, in the order of `--help`: its module in `cli.commands`, and its line."""


class LazyGroup(HintingGroup):
    """A group whose commands are imported when they are called; `--help` reads the table above."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported now."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"cobnut.cli.commands.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The names that begin so, without importing anything."""
        from click.shell_completion import CompletionItem

        found = [CompletionItem(n, help=line.strip()) for n, (_, line) in COMMANDS.items() if n.startswith(incomplete)]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table, without importing anything."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    name="cobnut",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    no_args_is_help=False,
    invoke_without_command=True,
)
@click.version_option(cobnut.__version__, prog_name="cobnut", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """A web search engine that one person can run: crawler, crawl database, link graph, index and search page."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main(args: Sequence[str] | None = None) -> int:
    """Runs one command line; its exit code. The entry point of the program."""
    words = sys.argv[1:] if args is None else list(args)
    _stand_in_for_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a page's characters must not end a command
    if "_COBNUT_COMPLETE" in os.environ:
        cli.main(words, prog_name="cobnut")  # click's shell completion; ends the process
    try:
        _check_text(words)
        # not cli.main(): it turns a broken pipe into exit code 1, and Ctrl-C into an empty line
        with cli.make_context("cobnut", words) as context:
            result = cli.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as end:
        return end.exit_code
    except CobnutError as error:
        return _told(error.line(), error.exit_code)
    except click.UsageError as error:
        return _told(usage_line(error), 2)
    except click.ClickException as error:
        return _told(error.format_message(), 2)
    except (KeyboardInterrupt, click.exceptions.Abort):
        return _told("interrupted", INTERRUPTED)
    except BrokenPipeError:
        return _quiet()
    except OSError as error:
        return (
            _told(f"{error.strerror or error}: {error.filename or 'output'}", 4)
            if error.errno in _MACHINE
            else (_internal(error))
        )
    except MemoryError:
        return _told("out of memory; lower storage.memory_mib, or the number of workers", 4)
    except Exception as error:
        return _internal(error)
    return result if isinstance(result, int) else 0


def _check_text(words: Sequence[str]) -> None:
    """Refuses a URL with bytes that are not UTF-8; the name of a file may have them."""
    for word in words:
        if "://" in word and any("\ud800" <= c <= "\udfff" for c in word):
            raise InputError("the URL is not UTF-8", where=word, remedy="write its bytes as %XX")


def _stand_in_for_closed_streams() -> None:
    """Started with `>&-`, there is no stream: what is written goes nowhere, and no file of ours gets its number.

    An input that is closed stays so: whoever wants to read from it says that it is.
    """
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            if number:
                setattr(sys, name, open(number, "w", encoding="utf-8", closefd=False))  # noqa: SIM115 - stays open to the end


def usage_line(error: click.UsageError) -> str:
    """A usage error as one line: what, in which command, and the nearest that exists."""
    if isinstance(error, click.NoSuchOption):
        what = f"no such option {error.option_name}"
        if error.possibilities:
            import difflib

            near = difflib.get_close_matches(error.option_name, error.possibilities, n=1, cutoff=0.0)
            what += f"; did you mean {near[0]}?"
    else:
        what = error.format_message().rstrip(".")
        what = what[:1].lower() + what[1:]
    path = error.ctx.command_path.partition(" ")[2] if error.ctx is not None else ""
    first, semicolon, rest = what.partition("; ")
    if not semicolon:
        rest = f"see `cobnut {path} --help`" if path else "see `cobnut --help`"
    return f"{first}: {path}; {rest}" if path else f"{first}; {rest}"


def _told(line: str, code: int) -> int:
    from cobnut.inspect.show import plain

    try:
        sys.stdout.flush()
        print("cobnut:", plain(line), file=sys.stderr, flush=True)
    except BrokenPipeError:
        return _quiet()
    return code


def _internal(error: Exception) -> int:
    if os.environ.get("COBNUT_DEBUG") == "1":
        import traceback

        traceback.print_exception(error)
    where = ""
    trace = error.__traceback__
    while trace is not None:
        where = f" at {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
        trace = trace.tb_next
    what = f"{type(error).__name__}: {str(error)[:300]}"
    return _told(f"internal error, please report it: {what}{where}; COBNUT_DEBUG=1 shows more", INTERNAL)


def _quiet() -> int:
    """Whoever read our output has gone: nothing more is written, and that is no failure."""
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (BrokenPipeError, ValueError):
            os.dup2(null, stream.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main())
