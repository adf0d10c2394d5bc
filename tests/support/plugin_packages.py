"""How does a test install a package with plug-ins? Its files and its dist-info in a folder on PYTHONPATH."""

from __future__ import annotations

import tomllib
from pathlib import Path


def install(folder: Path, pyproject: str, modules: dict[str, str]) -> None:
    """What an installer leaves of a package: its modules, METADATA, entry_points.txt."""
    project = tomllib.loads(pyproject)["project"]
    for name, text in modules.items():
        (folder / name).write_text(text)
    info = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = project.get("entry-points", {})
    (info / "entry_points.txt").write_text(
        "".join(f"[{group}]\n" + "".join(f"{n} = {v}\n" for n, v in points.items()) for group, points in groups.items())
    )
