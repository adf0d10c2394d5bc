"""What becomes of what a crawl knows of hosts, origins and seeds when that of another crawl comes in?

Reads rows of another crawl's hostdb, robots and seeds. Of two rows of a host the one that changed last stays, of two
robots.txt of an origin the one that was read last, the present one when both are as old. Counts are not added up: a
crawl merged twice would count twice. Seeds come together.

Adopting the same rows again changes nothing.

Not here: pages (`stages.adopt`), links (`stages.adoptlinks`).
"""

from __future__ import annotations

from cobnut.records import catalogue as tables
from cobnut.records.steps import Input, Output, Sql, Stage

STAGE = Stage(
    "adopthosts",
    "Merges what another crawl knows of hosts, origins and seeds.",
    inputs=(
        Input("other_hostdb", tables.HOSTDB, "files"),
        Input("other_robots", tables.ROBOTS, "files"),
        Input("other_seeds", tables.SEEDS, "files", partitioned=False),
        Input("hostdb", tables.HOSTDB, "current"),
        Input("robots", tables.ROBOTS, "current"),
        Input("seeds", tables.SEEDS, "current", partitioned=False),
    ),
    steps=(
        Sql("adopthosts_hostdb", ("hostdb", "other_hostdb"), "next_hostdb", tables.HOSTDB.columns),
        Sql("adopthosts_robots", ("robots", "other_robots"), "next_robots", tables.ROBOTS.columns),
    ),
    finale=(Sql("adopthosts_seeds", ("seeds", "other_seeds"), "next_seeds", tables.SEEDS.columns),),
    outputs=(
        Output("next_seeds", tables.SEEDS, keeps="seeds"),
        Output("next_robots", tables.ROBOTS, keeps="robots"),
        Output("next_hostdb", tables.HOSTDB, keeps="hostdb"),
    ),
)
