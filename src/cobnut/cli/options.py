"""Which arguments do many commands share?

Every command on a crawl takes DIR first and `-s KEY=VALUE` as often as wanted; those that go to the network also take
`--proxy`, `--resolve` and `--allow-net`, which are nothing but settings with a shorter name.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from cobnut.config.durations import parse_duration
from cobnut.config.load import Loaded, load_settings
from cobnut.config.sections import Settings
from cobnut.errors import InputError
from cobnut.storage.files import not_allowed
from cobnut.storage.layout import SETTINGS_FILE, CrawlFolder

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Function = TypeVar("Function", bound=Callable[..., Any])


class Opened(msgspec.Struct, frozen=True):
    """A crawl, the settings that hold for this command, and where each came from."""

    crawl: CrawlFolder
    settings: Settings
    origins: dict[str, str]


def complete_setting(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The settings whose name begins so, for the shell's completion."""
    from click.shell_completion import CompletionItem

    from cobnut.config.sections import DOCS

    return [CompletionItem(f"{name}=", help=text) for name, text in DOCS.items() if name.startswith(incomplete)]


class FolderType(click.Path):
    """A folder's path. Its name is kept in tables, reports and notes, all in UTF-8: one in other bytes cannot be."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, readable=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path; an `InputError` when its bytes are not UTF-8."""
        try:
            os.fspath(value).encode()
        except UnicodeEncodeError:
            raise InputError("folder names must be UTF-8", where=repr(os.fsencode(value))[2:-1]) from None
        return super().convert(value, param, ctx)


FOLDER = FolderType()

dir_argument = click.argument("crawl_dir", metavar="DIR", type=FOLDER)
set_option = click.option(
    "-s",
    "overrides",
    metavar="KEY=VALUE",
    multiple=True,
    shell_complete=complete_setting,
    help="Set one setting for this command; may be repeated.",
)
segment_argument = click.argument("segment", metavar="[SEGMENT]", required=False)
json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON.")


def on_crawl(function: Function) -> Function:
    """DIR and -s."""
    return dir_argument(set_option(function))


def on_network(function: Function) -> Function:
    """--proxy, --resolve and --allow-net."""
    for decorate in (
        click.option("--allow-net", metavar="NET", multiple=True, help="Private network that may be reached."),
        click.option("--resolve", metavar="RULE", multiple=True, help="Fixed address, HOST[:PORT]:ADDR[:PORT]."),
        click.option("--proxy", metavar="URL", help="Forward proxy for all requests, http://host:port."),
    ):
        function = decorate(function)
    return function


def network_overrides(proxy: str | None, resolve: Sequence[str], allow_net: Sequence[str]) -> list[str]:
    """The network options as `-s` texts."""
    found = [] if proxy is None else [f"fetcher.proxy={proxy}"]
    if resolve:
        found.append("fetcher.resolve=" + ",".join(resolve))
    if allow_net:
        found.append("fetcher.allow_net=" + ",".join(allow_net))
    return found


def settings_of(crawl_dir: Path | None, overrides: Sequence[str], options: Sequence[str] = ()) -> Loaded:
    """The settings for a command; `options` are its own options in the form of `-s`, and win."""
    typed: dict[str, list[str]] = {}
    for text in options:
        typed.setdefault(_option_of(text), []).append(text)
    return load_settings(crawl_dir, environ=os.environ, overrides=overrides, options=typed)


def _option_of(text: str) -> str:
    """The option that gave `section.name=value`, as problems are told: they are named alike."""
    name = text.partition("=")[0].partition(".")[2]
    return "--" + name.removesuffix("_s").replace("_", "-")


def crawl_or_none(folder: Path) -> Path | None:
    """The folder, when it is a crawl with settings of its own, and no index folder by itself."""
    try:
        return folder if (folder / SETTINGS_FILE).is_file() else None
    except PermissionError:
        raise not_allowed(folder) from None


def opened(crawl_dir: Path, overrides: Sequence[str], options: Sequence[str] = ()) -> Opened:
    """The crawl in DIR with its settings."""
    crawl = CrawlFolder.open(crawl_dir)
    loaded = settings_of(crawl_dir, overrides, options)
    crawl.lock_wait_s = loaded.settings.storage.lock_wait_s
    crawl.grace_s = loaded.settings.storage.grace_s
    return Opened(crawl, loaded.settings, loaded.origins)


@contextmanager
def writing(crawl: CrawlFolder) -> Iterator[None]:
    """One command at a time changes a crawl: holds its lock, or waits for it as long as `storage.lock_wait_s` says.

    A `MachineError` names who has it. `fetch` and `parse` do without: each part and each segment has a lock of its own.
    """
    with crawl.lock() as lock:
        if lock.taken_over_from:
            click.echo(f"cobnut: the last run ({lock.taken_over_from}) did not end by itself", err=True)
            crawl.sweep_segments()  # what it was making of a segment
        yield


def duration(ctx: click.Context, param: click.Parameter, value: str) -> float:
    """A duration as it is typed."""
    try:
        return parse_duration(value)
    except ValueError as error:
        raise InputError(str(error), where=f"--{param.name}") from None


def given_options(values: Mapping[str, Any]) -> list[str]:
    """Options that stand for settings, those not given left out, as `-s` texts."""
    return [f"{key}={value}" for key, value in values.items() if value is not None]


def changed_values(loaded: Loaded) -> dict[str, Any]:
    """What the command line set, to be kept in a settings file."""
    from cobnut.config.checks import value_of

    return {key: value_of(loaded.settings, key) for key, origin in loaded.origins.items() if origin.startswith("-")}
