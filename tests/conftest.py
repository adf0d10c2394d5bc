"""What the machine must have for some tests; where it has not, they are skipped by name with the reason."""

import shutil
import signal

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def pytest_addoption(parser):
    parser.addoption("--spark", action="store_true", help="run the tests marked spark too (pyspark and Java)")


def pytest_configure(config):
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # a shell starts what runs in the background so, and every command that a test interrupts would be deaf
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config, items):
    no_spark = pytest.mark.skip(reason="the Spark half runs with scripts/test --spark")
    no_browser = pytest.mark.skip(reason="no Chromium on this machine: install the package chromium")
    has_browser = any(shutil.which(name) for name in BROWSERS)
    for item in items:
        if item.get_closest_marker("spark") and not config.getoption("--spark"):
            item.add_marker(no_spark)
        if item.get_closest_marker("browser") and not has_browser:
            item.add_marker(no_browser)
