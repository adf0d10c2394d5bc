"""Is all in the wheel and the source distribution that belongs there, and nothing else?

Run by `scripts/package` with the folder they were built into. Prints what it found and ends with 1 when something is
wrong. The names of the metadata are those of the core metadata specifications.
"""

from __future__ import annotations

import base64
import csv
import email
import hashlib
import io
import re
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"

DATA = (
    "cobnut/py.typed",
    "cobnut/stages/updatedb.sql",
    "cobnut/testing/sample/site/index.html",
    "cobnut/web/static/cobnut.css",
    "cobnut/web/templates/base.html",
)
"""Some of what is not Python and easily left out; the comparison below holds for all files."""

SDIST = (
    "CHANGELOG.md", "LICENSE", "PKG-INFO", "README.md", "constraints.txt", "pyproject.toml", "docs/index.md",
    "packaging/check_dists.py", "scripts/package", "scripts/test", "src/cobnut/__init__.py", "tests/conftest.py",
)  # fmt: skip

NEVER = re.compile(r"(^|/)(__pycache__|\.venv|\.git|\.hypothesis|dist|\.[a-z]+_cache)(/|$)|\.py[co]$|(^|/)\.DS_Store$")
MACHINE_PATH = re.compile(rb"(?<![\w./~-])/(?:work|root|home|Users)/\w+")


class Findings:
    """What is wrong, one line each."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def unless(self, good: object, line: str) -> None:
        """Notes the line when `good` is false."""
        if not good:
            self.lines.append(line)


def package_files() -> dict[str, bytes]:
    """All files of the package in the source tree."""
    files = (path for path in (SOURCE / "cobnut").rglob("*") if path.is_file())
    return {
        str(path.relative_to(SOURCE)): path.read_bytes()
        for path in files
        if not NEVER.search(str(path.relative_to(SOURCE)))
    }


def check_wheel(path: Path, project: dict[str, object], found: Findings) -> int:
    """Contents, record, metadata and entry point of the wheel; how many files it has."""
    name, version = project["name"], project["version"]
    found.unless(path.name == f"{name}-{version}-py3-none-any.whl", f"{path.name} is no pure wheel of {version}")
    with zipfile.ZipFile(path) as archive:
        inside = {entry: archive.read(entry) for entry in archive.namelist() if not entry.endswith("/")}
    info = f"{name}-{version}.dist-info"
    wanted = package_files()
    code = {entry: data for entry, data in inside.items() if not entry.startswith(f"{info}/")}
    for entry in sorted(wanted.keys() - code.keys()):
        found.unless(False, f"{entry} is missing in the wheel")
    for entry in sorted(code.keys() - wanted.keys()):
        found.unless(False, f"{entry} does not belong in the wheel")
    for entry in sorted(code.keys() & wanted.keys()):
        found.unless(code[entry] == wanted[entry], f"{entry} in the wheel is not that of the source tree")
    for entry in (*DATA, f"{info}/licenses/LICENSE", f"{info}/METADATA", f"{info}/entry_points.txt"):
        found.unless(entry in inside, f"{entry} is missing in the wheel")
    for entry, data in inside.items():
        found.unless(not MACHINE_PATH.search(data), f"{entry} names a path of one machine")
    check_record(inside, f"{info}/RECORD", found)
    check_metadata(email.message_from_bytes(inside[f"{info}/METADATA"]), project, found)
    points = inside[f"{info}/entry_points.txt"].decode()
    found.unless("cobnut = cobnut.cli.main:main" in points, "the command cobnut is missing")
    return len(inside)


def check_record(inside: dict[str, bytes], name: str, found: Findings) -> None:
    """RECORD names every file with its size and SHA-256."""
    rows = {row[0]: row for row in csv.reader(io.StringIO(inside[name].decode()))}
    found.unless(rows.keys() == inside.keys(), "RECORD does not name the files of the wheel")
    for entry, data in inside.items():
        if entry != name and entry in rows:
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            found.unless(rows[entry][1:] == [f"sha256={digest}", str(len(data))], f"RECORD is wrong about {entry}")


def check_metadata(metadata: Message, project: dict[str, object], found: Findings) -> None:
    """What an index and an installer read."""
    expected = {
        "Name": project["name"], "Version": project["version"], "Summary": project["description"],
        "License-Expression": project["license"], "License-File": "LICENSE",
        "Description-Content-Type": "text/markdown",
    }  # fmt: skip
    for name, value in expected.items():
        found.unless(metadata[name] == value, f"metadata: {name} is {metadata[name]!r}, not {value!r}")
    same = sorted(str(metadata["Requires-Python"]).split(",")) == sorted(str(project["requires-python"]).split(","))
    found.unless(same, "metadata: Requires-Python")
    found.unless("\n" not in str(metadata["Summary"]), "metadata: the summary is one line")
    readme = (ROOT / "README.md").read_text("utf-8")
    body = metadata.get_payload(decode=True)
    found.unless(
        isinstance(body, bytes) and body.decode().strip() == readme.strip(),
        "metadata: the description is not the README",
    )
    extras = project["optional-dependencies"]
    assert isinstance(extras, dict)
    declared = set(metadata.get_all("Provides-Extra") or ())
    found.unless(declared == set(extras), f"metadata: extras are {sorted(declared)}, not {sorted(extras)}")
    plain = [r for r in metadata.get_all("Requires-Dist") or () if "extra ==" not in r]
    dependencies = project["dependencies"]
    assert isinstance(dependencies, list)
    found.unless(len(plain) == len(dependencies), "metadata: not all dependencies are there")
    found.unless(
        all(">=" in r and " @ " not in r for r in plain),
        "metadata: a dependency without a least version, or by address",
    )


def check_sdist(path: Path, project: dict[str, object], found: Findings) -> int:
    """Contents of the source distribution; how many files it has."""
    top = f"{project['name']}-{project['version']}"
    found.unless(path.name == f"{top}.tar.gz", f"{path.name} is no source distribution of {project['version']}")
    with tarfile.open(path) as archive:
        members = archive.getmembers()
    names = {member.name.partition("/")[2] for member in members if member.isfile()}
    for member in members:
        found.unless(member.name.startswith(f"{top}/"), f"{member.name} lies outside {top}")
        kind = member.isfile() or member.isdir() or (member.islnk() and member.linkname.startswith(f"{top}/"))
        found.unless(kind, f"{member.name} is no file, no folder, and no second name of a file inside")
        found.unless(not NEVER.search(member.name), f"{member.name} does not belong in the source distribution")
    for name in (*SDIST, *(f"src/{entry}" for entry in package_files())):
        found.unless(name in names, f"{name} is missing in the source distribution")
    return len(names)


def main() -> int:
    """Check the two files in the folder named on the command line."""
    folder = Path(sys.argv[1])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found = Findings()
    sys.path.insert(0, str(SOURCE))
    import cobnut

    found.unless(cobnut.__version__ == project["version"], "cobnut.__version__ is not the version of pyproject.toml")
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    found.unless(f"\n## {project['version']}" in changelog, f"the changelog says nothing of {project['version']}")
    for kind, pattern, check in (("wheel", "*.whl", check_wheel), ("sdist", "*.tar.gz", check_sdist)):
        paths = list(folder.glob(pattern))
        found.unless(len(paths) == 1, f"{len(paths)} files {pattern} in {folder}")
        for path in paths:
            print(f"{path} {path.stat().st_size / 1000:,.0f} kB, {check(path, project, found)} files ({kind})")
    for line in found.lines:
        print(f"wrong: {line}", file=sys.stderr)
    return 1 if found.lines else 0


if __name__ == "__main__":
    sys.exit(main())
