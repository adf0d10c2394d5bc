"""Fixtures for tests that fetch with real worker processes."""

from fetching import bench, bench_class, fetch_pool, wait_until, web

__all__ = ["bench", "bench_class", "fetch_pool", "wait_until", "web"]
