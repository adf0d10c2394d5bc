"""What becomes of a stage of which a partition does not fit in memory?

The engine writes to disk what joins and sorts have no room for; gathered lists are what it has to hold.
"""

import re

import pytest

from cobnut.config.sections import CrawlSettings, EngineSettings, Settings, StorageSettings
from cobnut.crawl.condition import Condition
from cobnut.crawl.inject import inject
from cobnut.engines.local import LocalEngine, Run
from cobnut.errors import OutOfMemoryError
from cobnut.records import catalogue as tables
from cobnut.records.steps import Input, Stage, column
from cobnut.storage.layout import CrawlFolder
from cobnut.testing.clock import VirtualClock
from cobnut.testing.tables import START_MS

LINES = [f"http://host{n % 499}.example.org/a/path/{n}?with=some&words={n}" for n in range(20_000)]
TIMES = 60
STAGE = Stage(
    "gather",
    "Gathers every URL of a partition many times in one list.",
    inputs=(Input("crawldb", tables.CRAWLDB, "current"),),
    steps=(
        Condition(
            "gather", ("crawldb",), "gathered", (column("n", "int64"),),
            "SELECT len(list(url_key || r.range::VARCHAR)) AS n FROM crawldb, "
            f"(SELECT range FROM range({TIMES})) r",
        ),
    ),
)  # fmt: skip


@pytest.fixture(scope="module")
def crawl(tmp_path_factory):
    crawl = CrawlFolder.create(tmp_path_factory.mktemp("memory") / "crawl", "")
    inject(crawl, Settings(crawl=CrawlSettings(scope="web")), LINES, clock=VirtualClock(START_MS))
    return crawl


def gathered(crawl, memory_mib):
    """Rows that the partitions gathered, as one who is told to begin again counts them, and what the run says."""
    counts = []

    def count(session, partition, of):
        counts.append(session.connection.execute("SELECT sum(n) FROM gathered").fetchall()[0][0])

    engine = LocalEngine(Settings(engine=EngineSettings(threads=1), storage=StorageSettings(memory_mib=memory_mib)))
    outcome = engine.run(Run(crawl, STAGE, on_partition=count, on_again=counts.clear))
    return sum(counts), outcome


def test_what_has_no_room_gets_more_before_anything_is_done_again(crawl):
    rows, roomy = gathered(crawl, 1024)
    assert (rows, roomy.partitions, roomy.messages) == (len(LINES) * TIMES, 1, [])
    rows, short = gathered(crawl, 96)
    assert (rows, short.partitions) == (len(LINES) * TIMES, 1)
    assert len(short.messages) == 1
    assert re.fullmatch(r"memory was short: gather took (192|384) MiB instead of 96", short.messages[0])


def test_it_is_done_again_in_more_partitions(crawl):
    rows, short = gathered(crawl, 16)
    assert rows == len(LINES) * TIMES
    assert short.partitions in (4, 16)
    assert short.messages[0] == f"memory was short: done again in {short.partitions} partitions"


def test_where_no_partition_is_small_enough_the_error_says_what_to_raise(crawl):
    with pytest.raises(OutOfMemoryError, match=r"storage\.memory_mib"):
        gathered(crawl, 2)
