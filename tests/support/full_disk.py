"""A file system that is full, and what a command has to say of it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from killing import Ran

KEPT_BACK = 8_192
"""Bytes that a file system needs for the names of files."""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 12 MiB of its own; only root may make one."""
    place = tmp_path / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a small file system cannot be mounted here (needs root)")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def filled(disk: Path, left: int) -> Path:
    """A file that leaves so many bytes of a disk, or a little less."""
    status = os.statvfs(disk)
    filler = disk / "filler"
    filler.write_bytes(bytes(max(0, status.f_bavail * status.f_bsize - left - KEPT_BACK)))
    return filler


def refused(ran: Ran, what: str, done: str | None = None) -> bool:
    """The machine says no, in one line with the remedy; or there was room enough. `done`: what is said where an earlier
    run had room for all but its report, and nothing is left to do."""
    if ran.code == 0 or (done is not None and ran.code in (1, 2) and done in ran.err):
        return False
    assert ran.code == 4, (what, ran)
    lines = [line for line in ran.err.splitlines() if line.startswith("cobnut:")]
    assert len(lines) == 1, (what, ran)
    words = ("No space left", "File too large", "disk is full", "space")
    assert any(word in lines[0] for word in words), (what, ran)
    assert "Traceback" not in ran.err
    return True
