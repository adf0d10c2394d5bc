"""The pages for people who come from Nutch: everything they name exists, and both languages say the same."""

import re
import shlex
from pathlib import Path

import click
import pytest

from cobnut.cli.main import cli
from cobnut.config.sections import DOCS
from cobnut.frontier.scoring import BUILT_IN, PLACES
from cobnut.records import catalogue, outcomes
from cobnut.stages import inject
from cobnut.urls.filters import FILTERS
from cobnut.urls.normalizers import RULES

ROOT = Path(__file__).resolve().parents[2]
PAGES = {"en": ROOT / "docs/from-nutch.md", "zh": ROOT / "docs/zh/from-nutch.md"}
READMES = {"en": ROOT / "README.md", "zh": ROOT / "README.zh-CN.md"}
CRAWL = ROOT / "tests/formats/v1/crawl"

SPAN = re.compile(r"`([^`\n]+)`")
TABLES = {t.name: t for t in catalogue.TABLES}
NAMES = {
    *outcomes.STATUSES, *outcomes.OUTCOMES, *outcomes.REASONS, *FILTERS, *RULES, *BUILT_IN, *TABLES, *DOCS,
    inject.SCORE, inject.INTERVAL, inject.FIXED, *(method for methods in PLACES.values() for method in methods),
}  # fmt: skip


def options_of(command: click.Command) -> set[str]:
    return {name for p in command.params if isinstance(p, click.Option) for name in (*p.opts, *p.secondary_opts)}


def commands(group: click.Group, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], click.Command]:
    context = click.Context(group)
    found: dict[tuple[str, ...], click.Command] = {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        found[(*path, name)] = command
        if isinstance(command, click.Group):
            found |= commands(command, (*path, name))
    return found


ALL = commands(cli)
ALL_OPTIONS = {option for command in ALL.values() for option in options_of(command)}


def is_command(span: str) -> bool:
    """A command line: the command is there, each option is one of its own, and no argument is too many."""
    words = shlex.split(span.partition("#")[0])[1:]
    path: tuple[str, ...] = ()
    while words and (*path, words[0]) in ALL:
        path = (*path, words.pop(0))
    if not path:
        return False
    command = ALL[path]
    if path == ("admin",):
        return words[:2] == ["db", "-create"]
    if isinstance(command, click.Group):
        return not words
    try:
        command.make_context(path[-1], list(words))
    except click.UsageError:
        return False
    return True


def is_file(span: str) -> bool:
    """A file or folder of the crawl that is kept of this format version."""
    return bool(re.fullmatch(r"[\w./-]+", span)) and any(CRAWL.glob(span.replace("NAME", "*")))


def exists(span: str) -> bool:
    if span.startswith("cobnut ") or span == "cobnut":
        return is_command(span)
    if span.startswith("-"):
        return span.split()[0] in ALL_OPTIONS
    table, dot, column = span.partition(".")
    if dot and table in TABLES and column in TABLES[table].column_names:
        return True
    return span in NAMES or is_file(span) or span == "URL TAB nutch.score=…"


def ours(text: str) -> list[str]:
    """All code spans but those of Nutch, which stand in the first column of tables."""
    spans: list[str] = []
    for line in text.splitlines():
        if line.startswith("| "):
            line = line.split(" | ", 1)[1] if " | " in line else ""
        spans += SPAN.findall(line)
    return spans


@pytest.mark.parametrize("language", PAGES)
def test_everything_that_is_named_exists(language):
    spans = ours(" ".join(PAGES[language].read_text("utf-8").splitlines(keepends=True)).replace("\n ", "\n"))
    assert len(spans) > 120
    assert [span for span in spans if not exists(span)] == []


@pytest.mark.parametrize(
    "span",
    [
        "cobnut nothing DIR", "cobnut inject DIR", "cobnut inject DIR SEEDS MORE", "cobnut read webdb DIR --nothing",
        "cobnut read nothing DIR", "crawldb.nothing", "fetcher.nothing", "segments/NAME/nothing", "--nothing",
        "cobnut admin create", "nothing",
    ],
)  # fmt: skip
def test_what_does_not_exist_is_noticed(span):
    assert not exists(span)


def test_code_spans_are_never_cut_by_a_line_end():
    for path in (*PAGES.values(), *READMES.values()):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            assert line.count("`") % 2 == 0, f"{path.name}:{number}"


def shape(text: str) -> list[tuple[str, object]]:
    """Headings by level, table rows by the code spans of their cells, code blocks, list items."""
    found: list[tuple[str, object]] = []
    for line in text.splitlines():
        if line.startswith("#"):
            found.append(("heading", len(line) - len(line.lstrip("#"))))
        elif line.startswith("|") and not line.startswith("| ---"):
            cells = re.split(r"(?<!\\)\|", line)[1:-1]
            found.append(("row", [sorted(SPAN.findall(cell)) for cell in cells]))
        elif line.startswith("    "):
            found.append(("code", line.partition("#")[0].strip()))
        elif line.startswith("* "):
            found.append(("item", None))
    return found


def test_both_pages_have_the_same_structure_and_name_the_same_things():
    english, chinese = (shape(PAGES[language].read_text("utf-8")) for language in ("en", "zh"))
    assert english == chinese
    assert sum(kind == "row" for kind, _ in english) > 100
    assert sorted(SPAN.findall(PAGES["en"].read_text("utf-8"))) == sorted(SPAN.findall(PAGES["zh"].read_text("utf-8")))


def test_every_step_is_on_the_page():
    text = PAGES["en"].read_text("utf-8")
    names = {path.stem for path in (ROOT / "src/cobnut/stages").glob("[a-z]*.py")}
    assert len(names) > 9
    # run by `cobnut import nutch`, `cobnut mergedb` and `cobnut inject --filter-existing`: no commands
    names -= {"adopt", "adopthosts", "adoptlinks", "screen"}
    names -= {"orphans"}  # part of `cobnut invertlinks`
    for name in (*names, "create", "crawl", "search", "serve", "publish", "why", "plugins"):
        assert f"`cobnut {name}" in text, name


@pytest.mark.parametrize("language", PAGES)
def test_links_to_headings_lead_to_one(language):
    text = PAGES[language].read_text("utf-8")
    slugs = {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
        for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    }
    targets = re.findall(r"\]\(#([^)]+)\)", text)
    assert targets
    assert set(targets) <= slugs


def test_chinese_is_written_with_chinese_signs():
    for path in (PAGES["zh"], READMES["zh"]):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            text = re.sub(r"`[^`]*`|\]\([^)]*\)", "", line)
            assert not re.search(r"[\u4e00-\u9fff][,:;?!]|[,;?!][\u4e00-\u9fff]", text), f"{path.name}:{number}"


def test_the_chinese_readme_is_short_and_holds_the_same_commands():
    english, chinese = (READMES[language].read_text("utf-8") for language in ("en", "zh"))
    assert len(chinese.splitlines()) <= 100
    assert "](README.zh-CN.md)" in english
    assert "](README.md)" in chinese

    def told(text: str) -> list[tuple[str, object]]:
        return [(kind, what) for kind, what in shape(text) if kind in ("code", "heading")]

    assert told(english) == told(chinese)
