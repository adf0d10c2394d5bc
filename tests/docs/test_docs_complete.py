"""Nothing is without documentation: tables, settings, reasons, commands; links lead somewhere; pages are in step."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest

from cobnut.config import sections
from cobnut.records import catalogue, outcomes

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def page(name: str) -> str:
    return (DOCS / name).read_text("utf-8")


def test_every_table_and_column_is_described():
    text = page("tables.md")
    for table in catalogue.TABLES:
        assert f"\n## {table.name}\n" in text
        section = text.partition(f"\n## {table.name}\n")[2].partition("\n## ")[0]
        for column in table.columns:
            assert re.search(rf"^\| \**{column.name}\** \|", section, re.MULTILINE), f"{table.name}.{column.name}"
            assert len(column.doc) > 3, f"{table.name}.{column.name}"


def test_every_setting_is_described():
    text = page("settings.md")
    names = {
        f"{section.name}.{field.name}"
        for section in msgspec.structs.fields(sections.Settings)
        for field in msgspec.structs.fields(section.type)
    }
    assert names == set(sections.DOCS)
    for name in names:
        assert f"| `{name}` |" in text


def test_every_state_outcome_reason_and_kind_of_link_is_described():
    text = page("reasons.md")
    for name in (*outcomes.STATUSES, *outcomes.OUTCOMES, *outcomes.REASONS, *outcomes.LINK_KINDS):
        assert f"| `{name}` |" in text


@pytest.mark.parametrize("code", [0, 1, 2, 3, 4, 70, 130])
def test_every_exit_code_is_described(code):
    assert f"\n| {code} | " in page("reasons.md")


def test_every_command_is_described():
    from cobnut.cli.main import COMMANDS

    text = page("commands.md")
    for name in COMMANDS:
        assert f"\n## cobnut {name}\n" in text


def test_the_generated_pages_are_in_step():
    done = subprocess.run([sys.executable, DOCS / "generate.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_relative_link_leads_to_a_file():
    for file in (ROOT / "README.md", *DOCS.rglob("*.md")):
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", file.read_text("utf-8")):
            assert (file.parent / target).exists(), f"{file.name}: {target}"


def test_every_decision_is_listed_and_complete():
    index = page("index.md")
    records = sorted((DOCS / "decisions").glob("*.md"))
    assert records
    for record in records:
        assert f"(decisions/{record.name})" in index
        text = record.read_text("utf-8")
        for part in ("**Context.**", "**Options.**", "**Decision.**", "**What would change our mind.**"):
            assert part in text, f"{record.name}: {part}"


def test_the_architecture_page_knows_every_package():
    text = page("architecture.md")
    for folder in (ROOT / "src/cobnut").iterdir():
        if folder.is_dir() and (folder / "__init__.py").exists():
            assert f"| `{folder.name}` |" in text, folder.name


def test_the_glossary_is_in_order():
    words = re.findall(r"^\| ([^|]+) \| [A-Z]", page("glossary.md"), re.MULTILINE)
    assert len(words) > 30
    assert words == sorted(words, key=lambda word: word.lower().replace("_", " "))


def test_pins_cover_what_the_project_declares():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    pins = {}
    for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, version = line.partition("==")
            assert version, line
            pins[re.sub(r"[-_.]+", "-", name).lower()] = version
    wanted = [*project["dependencies"], *(d for extra in project["optional-dependencies"].values() for d in extra)]
    for requirement in wanted:
        name = re.split(r"[<>=!~\[ ]", requirement)[0]
        assert re.sub(r"[-_.]+", "-", name).lower() in pins, name
