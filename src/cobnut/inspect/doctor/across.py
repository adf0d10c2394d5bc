"""Do the tables of a crawl agree with one another?

A round publishes `pages`, `hostdb` and `robots` before the crawldb, so that a kill between two of them, or going back
in one, leaves the crawldb behind: the round is then applied again, and nothing is wrong.

Not here: tables by themselves (`tables`), segments by themselves (`segments`).
"""

from __future__ import annotations

from cobnut.inspect.doctor.finding import counted
from cobnut.inspect.doctor.probe import Broken
from cobnut.inspect.doctor.remedies import cobnut, for_table
from cobnut.inspect.doctor.tables import layered
from cobnut.inspect.doctor.visit import Visit
from cobnut.storage.tables import partition_range

FOLLOWING = ("hostdb", "robots")
"""Tables that lose little when they lack a round."""


def check_applied(visit: Visit) -> None:
    """Do the tables hold the same segments?"""
    if "crawldb" not in visit.sound:
        return
    crawl, known = visit.crawl, visit.applied("crawldb")
    on_disk = {s.name for s in crawl.segments_path.iterdir()} if crawl.segments_path.is_dir() else set()
    if "pages" in visit.sound:
        missing = [name for name in known if name not in set(visit.applied("pages"))]
        if missing:
            visit.find(
                "applied", f"the crawldb holds {_segments(missing)} and pages does not", crawl.path / "pages",
                "what these pages said of themselves is lost, and is not made good by any later round",
                _back_to(visit, missing),
            )  # fmt: skip
        _check_ahead(visit, "pages", known, on_disk)
    for name in FOLLOWING:
        lacking = [s for s in known if name in visit.sound and s not in set(visit.applied(name))]
        if lacking:
            visit.note(
                "applied", f"{name} does not hold {_segments(lacking)}", crawl.path / name,
                "what these rounds learned of hosts is not remembered", "none is needed: it is learned again",
            )  # fmt: skip
    if "linkdb" in visit.sound:
        _check_ahead(visit, "linkdb", known, on_disk)


def _check_ahead(visit: Visit, name: str, known: list[str], on_disk: set[str]) -> None:
    """Segments that a table holds and the crawldb does not: to be applied again, which takes the segment."""
    ahead = [s for s in visit.applied(name) if s not in set(known)]
    gone = [s for s in ahead if s not in on_disk]
    if gone and name == "pages":
        visit.find(
            "applied", f"pages holds {_segments(gone)}, the crawldb does not, and they are not on disk",
            visit.crawl.path / "crawldb", "what these rounds found is lost to the crawldb",
            f"{cobnut('rollback', visit.crawl.path, 'pages')}, or restore the crawldb from a backup",
        )  # fmt: skip
    elif ahead:
        visit.note(
            "applied", f"{name} holds {_segments(ahead)}, the crawldb not yet", visit.crawl.path / name,
            "none: a command was ended in between, or the crawldb went back", cobnut("updatedb", visit.crawl.path),
        )  # fmt: skip


def _back_to(visit: Visit, missing: list[str]) -> str:
    """How the crawldb comes to apply segments again."""
    from cobnut.inspect.doctor.manifests import TableManifest, read_manifest
    from cobnut.inspect.doctor.remedies import folder_of, whole_former
    from cobnut.records import catalogue

    store = visit.crawl.table(catalogue.CRAWLDB).generations
    former = whole_former(store)
    manifest = None if former is None else read_manifest(folder_of(store, former))
    if isinstance(manifest, TableManifest) and not {e.segment for e in manifest.applied} & set(missing):
        return f"{cobnut('rollback', visit.crawl.path, 'crawldb')}, then {cobnut('updatedb', visit.crawl.path)}"
    return "restore both tables from a backup"


def check_keys(visit: Visit) -> None:
    """Do the crawldb and the pages hold the same URLs?"""
    if not {"crawldb", "pages"} <= set(visit.sound):
        return
    only_crawldb = only_pages = visited = 0
    examples: list[str] = []
    of = max(visit.sound[name][1]["partitions"] for name in ("crawldb", "pages"))
    for partition in range(of):
        visit.say(f"crawldb and pages: {partition + 1} of {of}")
        low, high = partition_range(partition, of)
        try:
            answer = visit.probe.ask(
                "keys", crawldb=layered(visit, "crawldb", partition, of), pages=layered(visit, "pages", partition, of),
                where=f"bucket >= {low} AND bucket < {high}",
            )  # fmt: skip
        except Broken as error:
            visit.find(
                "keys", f"crawldb and pages cannot be compared ({error})", visit.crawl.path, "it is not known whether "
                "they hold the same URLs", "run the command again where there is more memory",
            )  # fmt: skip
            return
        only_crawldb += answer["only_crawldb"][0]
        only_pages += answer["only_pages"][0]
        visited += answer["visited"]
        examples += answer["only_crawldb"][1] + answer["only_pages"][1]
    some = f" ({', '.join(examples[:3])})" if examples else ""
    if only_crawldb:
        visit.find(
            "keys", f"{counted(only_crawldb, 'URL')} of the crawldb not in pages{some}", visit.crawl.path / "pages",
            "they are fetched, but what they say of themselves is lost", for_table(visit.crawl, "pages").text,
        )  # fmt: skip
    if only_pages:
        _tell_more_pages(visit, only_pages, visited, some)


def _tell_more_pages(visit: Visit, count: int, visited: int, some: str) -> None:
    """More pages than the crawldb has: after a kill, or going back; otherwise the crawldb has lost them."""
    what = f"{counted(count, 'URL')} of pages not in the crawldb{some}"
    pages, crawldb = (visit.sound[name][1] for name in ("pages", "crawldb"))
    is_behind = set(visit.applied("pages")) - set(visit.applied("crawldb")) or (
        pages["created_at"] > crawldb["created_at"] or pages["stage"] != crawldb["stage"]
    )
    if visited and not is_behind:
        visit.find(
            "keys", what, visit.crawl.path / "crawldb", "they are not fetched any more",
            for_table(visit.crawl, "crawldb").text,
        )  # fmt: skip
        return
    visit.note(
        "keys", what, visit.crawl.path / "crawldb", "they are not known yet: a command was ended in between, or the "
        "crawldb went back", "run the command again that was ended (inject, import or updatedb)",
    )  # fmt: skip


def _segments(names: list[str]) -> str:
    more = ", …" if len(names) > 3 else ""
    return f"{counted(len(names), 'segment')} ({', '.join(names[:3])}{more})"
