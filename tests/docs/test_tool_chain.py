"""The scripts: valid shell, runnable from anywhere, and honest about what they count and what they refuse."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = [
    *(ROOT / "scripts" / name for name in ("test", "check", "bench", "docs", "try", "package")),
    ROOT / ".ci/run",
]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_scripts_are_valid_strict_and_executable(script):
    assert os.access(script, os.X_OK)
    text = script.read_text("utf-8")
    assert text.startswith("#!/usr/bin/env bash\n# ")
    assert "\nset -euo pipefail\n" in text
    done = subprocess.run(["bash", "-n", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def copy_of_the_project(folder: Path, pyproject: str) -> Path:
    """A project of its own with our scripts, whose .venv borrows the packages of the running interpreter."""
    shutil.copytree(ROOT / "scripts", folder / "scripts")
    shutil.copytree(ROOT / ".venv", folder / ".venv", symlinks=True, ignore=shutil.ignore_patterns("lib", "lib64"))
    (folder / ".venv/lib").symlink_to(ROOT / ".venv/lib")
    (folder / "pyproject.toml").write_text(pyproject)
    (folder / "constraints.txt").write_text("")
    (folder / "tests").mkdir()
    return folder


@pytest.fixture
def project(tmp_path):
    if not (ROOT / ".venv/bin/python").exists():
        pytest.skip("these tests run in the project's own .venv only: scripts/test makes it")
    markers = 'markers = ["spark: x", "serial: x", "browser: x"]'
    folder = copy_of_the_project(
        tmp_path, f"[tool.pytest.ini_options]\ntestpaths = ['tests']\naddopts = '-q'\n{markers}\n"
    )
    # what is installed is taken as it is: these tests need no network
    names = subprocess.run(
        ["bash", "-c", 'source scripts/_venv; digest_of dev >.venv/ready-dev; digest_of base >.venv/ready-base'],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert names.returncode == 0, names.stderr
    return folder


def run_tests(project: Path, *arguments: str, body: str) -> tuple[int, str]:
    (project / "tests/test_it.py").write_text(body)
    done = subprocess.run(
        [project / "scripts/test", *arguments],
        cwd="/", capture_output=True, text=True, env={**os.environ, "COBNUT_NO_INSTALL": "1"},
    )  # fmt: skip
    return done.returncode, done.stdout.splitlines()[-1]


BOTH = """
import pytest
def test_a(): pass
@pytest.mark.serial
def test_b(): assert {}
@pytest.mark.skip
def test_c(): pass
"""


@pytest.mark.parametrize(
    ("arguments", "body", "expected"),
    [
        ((), BOTH.format("1"), (0, "2 passed, 0 failed, 1 skipped")),
        ((), BOTH.format("0"), (1, "1 passed, 1 failed, 1 skipped")),
        (("-m", "serial"), BOTH.format("1"), (0, "1 passed, 0 failed")),
        (("-q", "-k", "test_a"), BOTH.format("0"), (0, "1 passed, 0 failed")),
        (("-k", "nothing"), BOTH.format("1"), (5, "0 passed, 0 failed")),
        ((), "def broken(:", (1, "0 passed, 2 failed")),
    ],
    ids=["all pass", "the second run fails", "own markers", "own options", "nothing selected", "cannot be collected"],
)
def test_the_last_line_counts_both_runs(project, arguments, body, expected):
    assert run_tests(project, *arguments, body=body) == expected


def test_without_a_suitable_python_one_clear_line(project):
    shutil.rmtree(project / ".venv")
    environment = {**os.environ, "PYTHON": "/nonexistent/python3"}
    done = subprocess.run([project / "scripts/docs"], capture_output=True, text=True, env=environment)
    assert done.returncode == 4
    assert "no Python 3.11 or newer" in done.stderr


def test_unknown_benchmarks_and_options_are_named(project):
    done = subprocess.run([project / "scripts/bench", "nonsense"], capture_output=True, text=True)
    assert done.returncode == 4
    assert "nonsense" in done.stderr
