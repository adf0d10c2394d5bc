"""How does a page become HTML?

Templates and style sheet are package data. Everything that enters a template is escaped (autoescape, no exception), and
a name that nobody gave a template is an error, not an empty place.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file of the page itself: its bytes, kind, and a tag that changes with its content."""

    body: bytes
    media_type: str
    tag: str


@lru_cache(maxsize=1)
def static_files() -> dict[str, StaticFile]:
    """The static files by name, read once."""
    kinds = {".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
    files = {}
    for path in sorted((FOLDER / "static").iterdir()):
        if path.suffix in kinds:
            body = path.read_bytes()
            files[path.name] = StaticFile(body, kinds[path.suffix], hashlib.sha256(body).hexdigest()[:12])
    return files


def _address(name: str) -> str:
    return f"/static/{name}?v={static_files()[name].tag}"


def thousands(number: int) -> str:
    """12,345 for 12345."""
    return f"{number:,}"


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader([FOLDER / "templates", FOLDER / "static"]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters["thousands"] = thousands
    environment.globals["has_bot"] = False
    environment.globals["static"] = {"style": _address("cobnut.css"), "icon": _address("cobnut.svg")}
    return environment


def tell_of_bot() -> None:
    """From now on the foot of every page leads to the page about the crawler."""
    _environment().globals["has_bot"] = True


def render(name: str, **values: Any) -> str:
    """The HTML of a template; the search form's values default to an empty form."""
    form = {"query": "", "explain": False, "focus": False, "max_chars": 400}
    return _environment().get_template(f"{name}.html").render(form | values)


NOBODY_ELSES = {"cache-control": "private, no-cache"}
"""Answers to queries are for who asked: no shared cache keeps them."""


def page(name: str, status: int = 200, **values: Any) -> HTMLResponse:
    """An answer with a rendered template."""
    return html_response(render(name, **values), status)


def html_response(html: str | bytes, status: int = 200) -> HTMLResponse:
    """An answer that is HTML already."""
    return HTMLResponse(html, status, headers=NOBODY_ELSES)
