"""Which stages have SQL, and with which parameters are their steps tried?"""

from __future__ import annotations

import importlib
import pkgutil

import cobnut.stages
from cobnut.records.steps import Sql, Stage
from cobnut.testing.tables import DAY_MS, MICRO, START_MS

_modules = [importlib.import_module(f"cobnut.stages.{m.name}") for m in pkgutil.iter_modules(cobnut.stages.__path__)]
STAGES: list[Stage] = [m.STAGE for m in _modules if any(isinstance(s, Sql) for s in m.STAGE.all_steps())]
STEPS: list[tuple[Stage, Sql]] = [(stage, s) for stage in STAGES for s in stage.all_steps() if isinstance(s, Sql)]

UPDATE = {
    "now_ms": START_MS, "interval_s": 86_400, "min_interval_s": 3_600, "max_interval_s": 90 * 86_400, "grow": 1.4,
    "shrink": 0.8, "gone_grow": 1.5, "retry_max": 3, "retry_delay_s": 86_400, "sync": False, "sync_rate": 0.3,
}  # fmt: skip

PARAMS: dict[str, list[dict[str, object]]] = {
    "inject": [
        {"now_ms": START_MS, "interval_s": 86_400, "overwrite": overwrite, "renew": renew}
        for overwrite, renew in ((False, False), (True, False), (False, True))
    ],
    "generate": [
        {
            "now_ms": START_MS,
            "ahead_ms": 0,
            "begun_ms": 0,
            "refresh": False,
            "early_permille": 100,
            "farthest_ms": 90 * DAY_MS,
            "some_statuses": False,
            "some_pages": False,
            "min_score": 0,
            "max_depth": 2**62,
            "ageing": 0,
            "by_domain": True,
        },
        {
            "now_ms": START_MS + DAY_MS,
            "ahead_ms": DAY_MS,
            "begun_ms": START_MS,
            "refresh": False,
            "early_permille": 900,
            "farthest_ms": DAY_MS,
            "some_statuses": False,
            "some_pages": True,
            "min_score": MICRO,
            "max_depth": 2**62,
            "ageing": 10_000,
            "by_domain": False,
        },
        {
            "now_ms": START_MS,
            "ahead_ms": 0,
            "begun_ms": START_MS,
            "refresh": True,
            "early_permille": 100,
            "farthest_ms": 90 * DAY_MS,
            "some_statuses": True,
            "some_pages": False,
            "min_score": -1,
            "max_depth": 2,
            "ageing": 1,
            "by_domain": True,
        },
    ],
    "updatedb": [
        UPDATE,
        {**UPDATE, "grow": 1.0, "shrink": 1.0, "retry_max": 1},
        {**UPDATE, "interval_s": 60, "sync": True},
    ],
    "invertlinks": [
        {"max_inlinks": 1000, "ignore_internal": False, "has_links": True, "everything": False},
        {"max_inlinks": 2, "ignore_internal": True, "has_links": False, "everything": True},
        {"max_inlinks": 1, "ignore_internal": False, "has_links": True, "everything": False},
    ],
    "updatesegs": [{"max_anchors": 50}, {"max_anchors": 2}, {"max_anchors": 0}],
    "dedup": [{}, {}, {}],
    "orphans": [{"now_ms": START_MS}, {"now_ms": 0}, {"now_ms": START_MS + DAY_MS}],
    "adopt": [
        {"now_ms": START_MS, "overwrite": overwrite, "with_seeds": with_seeds}
        for overwrite, with_seeds in ((False, True), (True, True), (False, False))
    ],
    "adopthosts": [{}, {}, {}],
    "adoptlinks": [
        {"max_inlinks": n, "imported": imported, "everything": n == 2}
        for n, imported in ((1000, "imported"), (2, "20260101000000"), (1, "20260103000000"))
    ],
}
"""Three sets of parameters for each stage."""
