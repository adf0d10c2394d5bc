"""Which files belong to a Nutch configuration, and which lines do its seeds have?

CONF is a `conf` folder, a Nutch folder that has one, or a `nutch-site.xml`; all else is looked for beside it. A
property that names a file names one in this folder, nothing elsewhere.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from cobnut.errors import InputError, MachineError
from cobnut.interop.nutch_config.xmlconf import read_bytes

SITE, DEFAULT = "nutch-site.xml", "nutch-default.xml"
_KNOWN = (SITE, DEFAULT, "regex-urlfilter.txt", "crawl-urlfilter.txt", "regex-normalize.xml")
MAX_SEEDS = 5_000_000
MAX_SEED_BYTES = 512 * 1024 * 1024


class Conf(NamedTuple):
    """The folder, the file with the user's own properties and the one with the defaults, where there are such."""

    folder: Path
    site: Path | None
    default: Path | None

    def file(self, name: str) -> Path | None:
        """A file of this name in the folder; None when there is none, or the name leads elsewhere."""
        plain = name.strip()
        if not plain or plain != Path(plain).name or plain.startswith(".") or not plain.isprintable():
            return None
        path = self.folder / plain
        return path if path.is_file() else None


def find_conf(given: Path) -> Conf:
    """What lies at CONF. An `InputError` when it is no Nutch configuration."""
    try:
        if given.is_file():
            default = given.parent / DEFAULT
            return Conf(given.parent, given, default if default.is_file() and given.name != DEFAULT else None)
        for folder in (given, given / "conf"):
            if any((folder / name).is_file() for name in _KNOWN):
                site, default = folder / SITE, folder / DEFAULT
                return Conf(folder, site if site.is_file() else None, default if default.is_file() else None)
    except (OSError, ValueError) as error:
        raise MachineError(f"cannot look into the configuration ({error})", where=str(given)) from error
    if not given.exists():
        raise InputError("no such file or folder", where=str(given), remedy="name Nutch's conf folder")
    raise InputError(f"no Nutch configuration (no {SITE} in it)", where=str(given), remedy="name Nutch's conf folder")


def read_text(path: Path) -> str:
    """A text file of the configuration; what is no UTF-8 is read as Latin-1, as Java may have written it."""
    data = read_bytes(path)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError("the file is in UTF-16", where=str(path), remedy="save it in UTF-8")
    if b"\0" in data:
        raise InputError("this is no text", where=str(path))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def seed_files(conf: Conf) -> list[Path]:
    """Where Nutch's users keep seeds: a folder `urls` or `seeds`, or `seed.txt`, in the folder or beside it."""
    for base in (conf.folder, conf.folder.parent):
        for name in ("urls", "seeds"):
            folder = base / name
            if folder.is_dir():
                return sorted(p for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))
            if folder.is_file():
                return [folder]
        if (base / "seed.txt").is_file():
            return [base / "seed.txt"]
    return []


def seed_lines(files: list[Path], notes: list[str]) -> list[str]:
    """The lines of all seed files that name a URL, as they stand: the metadata after the tabs means the same here."""
    lines: list[str] = []
    left = MAX_SEED_BYTES
    for path in files:
        try:
            with path.open("rb") as file:
                data = file.read(left + 1)
        except OSError as error:
            raise MachineError(f"cannot read the seeds ({error.strerror or error})", where=str(path)) from error
        if data[:2] == b"\x1f\x8b" or b"\0" in data[:4096]:
            notes.append(f"{path}: no text: not read (give it to `cobnut inject` itself if it is gzip)")
            continue
        left -= len(data)
        if left < 0:
            raise InputError("more than 512 MiB of seeds", where=str(path), remedy="give them to `cobnut inject`")
        for line in data.decode("utf-8", "replace").removeprefix("\ufeff").split("\n"):
            text = line.strip()
            if text and not text.startswith("#"):
                lines.append(text)
        if len(lines) > MAX_SEEDS:
            raise InputError(f"more than {MAX_SEEDS:,} seeds", where=str(path), remedy="give them to `cobnut inject`")
    return lines
