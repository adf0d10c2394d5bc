"""Fixtures for tests that fetch with real worker processes."""

import importlib.util
from pathlib import Path

import pytest

from cobnut.fetcher.pool import FetchPool
from cobnut.testing.fakeweb import FakeWeb

_SPEC = importlib.util.spec_from_file_location(
    "cobnut_tests_fetching", Path(__file__).resolve().parents[2] / "support" / "fetching.py"
)
_FETCHING = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_FETCHING)


@pytest.fixture(scope="session")
def fetch_pool():
    """One worker process for all tests: rounds must not leave anything behind that harms the next."""
    with FetchPool(1) as pool:
        yield pool


@pytest.fixture
def web():
    with FakeWeb() as served:
        yield served


@pytest.fixture
def bench_class():
    return _FETCHING.Bench


@pytest.fixture
def bench(tmp_path, web, fetch_pool):
    """A crawl whose every name leads to the fake web."""
    return _FETCHING.Bench(tmp_path / "crawl", web, fetch_pool)
