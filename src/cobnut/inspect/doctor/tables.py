"""Are the rows of the crawl's tables what they should be?

Not here: whether the files are whole (`generations`), whether tables agree (`across`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cobnut.inspect.doctor.clock import CONSEQUENCE, REMEDY
from cobnut.inspect.doctor.finding import counted
from cobnut.inspect.doctor.generations import LOST
from cobnut.inspect.doctor.probe import Broken
from cobnut.inspect.doctor.remedies import Help, for_table
from cobnut.inspect.doctor.visit import CLOCK_SLACK_MS, Visit
from cobnut.inspect.show import iso_time
from cobnut.records import catalogue
from cobnut.records.columns import Table
from cobnut.storage.layers import layer_of

FAULTS = {
    "repeated": ("rows have the key of the row before them", "one of the two is never seen"),
    "unsorted": ("rows do not stand in the order of their keys", "look-ups miss them"),
    "bucket": ("rows have a bucket that is not the hash of their host", "stages do not see them"),
    "host": ("keys are not of their row's host", "they are filtered, paced and looked up wrongly"),
    "partition": ("rows are in a partition that is not theirs", "stages do not see them"),
    "foot": ("rows are missing or too many", "some of what was known is lost"),
    "null": ("values are missing where there must be one", "stages fail over them"),
    "word": ("values are none of the known ones", "they are taken for something else, or left out"),
    "negative": ("times and numbers are below zero", "pages are due never or always"),
}
"""Name of each fault of rows: what is so, and what it means."""


FUTURE = "future"


def check_rows(visit: Visit, table: Table) -> None:
    """The rows of a sound table, file by file."""
    generation, manifest = visit.sound[table.name]
    helped: Help | None = None
    before = _faults(visit)
    for entry in manifest["files"]:
        path = generation.path / entry["name"]
        visit.say(f"{table.name}: {path.name}")
        try:
            answer = visit.probe.ask(
                "file", path=str(path), table=table.name, partition=entry["partition"],
                partitions=manifest["partitions"], is_sorted=True, now_ms=visit.now_ms + CLOCK_SLACK_MS,
                only_keys=entry["gone"], deep=visit.deep,
            )  # fmt: skip
        except Broken as error:
            answer = {"rows": entry["rows"], "schema": [], "faults": {}, "broken": str(error)}
        visit.checked.rows += 0 if entry["gone"] else answer["rows"]
        tell_future(visit, table.name, path, answer)
        for fault, consequence in told(answer, entry["rows"]):
            helped = helped or for_table(visit.crawl, table.name)
            visit.find("rows", f"{table.name}: {fault}", path, consequence, helped.text, *helped.mends)
    if _faults(visit) == before:
        _check_replaced(visit, table)
    if _faults(visit) > before:
        generation.close()
        del visit.sound[table.name]


def _faults(visit: Visit) -> int:
    """Findings so far that make a table no basis for further questions; a wrong clock does not."""
    return sum(finding.check != "clock" for finding in visit.diagnosis.findings)


def told(answer: dict[str, Any], rows: int | None) -> list[tuple[str, str]]:
    """What a probe's answer about a file comes to: faults in words, each with what it means."""
    if "broken" in answer:
        return [(f"the file cannot be read to its end ({answer['broken']})", "what is in it is lost")]
    if answer.get("is_sealed") is False:
        return [("its checksum differs", "what is in it cannot be trusted")]
    found = [
        (f"other columns than this program reads ({fault})", "stages cannot read it") for fault in answer["schema"]
    ]
    if not found and rows is not None and answer["rows"] != rows:
        found.append((f"{answer['rows']:,} rows where the manifest has {rows:,}", "some of what was known is lost"))
    for name, (count, example) in answer["faults"].items():
        kind, _, column = name.partition(":")
        if kind == FUTURE:
            continue
        what, consequence = FAULTS[kind]
        of = f" of {column}" if column else ""
        first = f" (first: {example})" if example else ""
        found.append((f"{count:,}{of}: {what}{first}", consequence))
    return found


def tell_future(visit: Visit, of: str, path: Path, answer: dict[str, Any]) -> None:
    """Times in the future are no fault of the table, but of a clock."""
    for name, (count, latest) in answer["faults"].items():
        kind, _, column = name.partition(":")
        if kind == FUTURE:
            what = f"{of}: {counted(count, 'row')} with {column} in the future ({iso_time(int(latest))})"
            visit.find("clock", what, path, CONSEQUENCE, REMEDY)


def _check_replaced(visit: Visit, table: Table) -> None:
    """Does each delta, with what is gone beside it, replace as many rows of its base as the manifest says?"""
    generation, manifest = visit.sound[table.name]
    for partition in range(manifest["partitions"]):
        mine = [e for e in manifest["files"] if e["partition"] == partition]
        delta = [e for e in mine if e["replaced"] is not None]
        if not delta:
            continue
        base = [e for e in mine if layer_of(e) == "base"]
        newer = [e for e in mine if layer_of(e) != "base"]
        path = generation.path / delta[0]["name"]
        visit.say(f"{table.name}: {path.name}")
        try:
            found = visit.probe.ask("replaced", base=_paths(generation.path, base),
                                    newer=_paths(generation.path, newer), key=table.key[0])  # fmt: skip
        except Broken as error:
            _find(visit, table, path, f"the file cannot be read to its end ({error})")
            continue
        said = sum(e["replaced"] for e in delta)
        if found != said:
            _find(visit, table, path, f"the delta replaces {found:,} rows of its base, and {said:,} by the manifest")


def _find(visit: Visit, table: Table, path: Path, what: str) -> None:
    helped = for_table(visit.crawl, table.name)
    visit.find("replaced", f"{table.name}: {what}", path, LOST[table.name], helped.text, *helped.mends)


def _paths(folder: Path, entries: list[dict[str, Any]]) -> list[str]:
    return [str(folder / entry["name"]) for entry in entries]


def layered(visit: Visit, name: str, partition: int, of: int) -> dict[str, list[str]]:
    """The files of a sound table that may hold rows of a partition, as the probe is asked."""
    from cobnut.storage.tables import partition_range

    generation, manifest = visit.sound[name]
    low, high = partition_range(partition, of)
    found: dict[str, list[str]] = {"base": [], "delta": [], "gone": []}
    for entry in manifest["files"]:
        first, last = partition_range(entry["partition"], manifest["partitions"])
        if first < high and last > low:
            found[layer_of(entry)].append(str(generation.path / entry["name"]))
    return found


CRAWL_TABLES = tuple(sorted((t for t in catalogue.TABLES if t.scope == "crawl"), key=lambda t: t.name != "crawldb"))
"""The crawldb first: it is published last, so that the others can only be newer than what was opened of it."""
