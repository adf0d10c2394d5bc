"""What is there to crawl when there is no web? The sample site: our own pages about Cobnut, served on loopback.

The pages are the files of `site/`: a few header lines (`title`, `lang`, `robots`, `description`), an empty line, and
the body in HTML. Around them the site has what real sites have: a redirect (/about), a dead link (/roadmap.html), a
page that forbids indexing (/drafts.html), a folder that robots.txt forbids (/private/), a sitemap, the same page at two
addresses (/crawling.html and /print/crawling.html), a plain text file (/licence.txt).
"""

from __future__ import annotations

import hashlib
from html import escape
from pathlib import Path

from cobnut.testing.fakeweb import Answer, FakeWeb, Page, Request, moved

_SITE = Path(__file__).parent / "site"
_HOSTS = ("127.0.0.1", "localhost", "[::1]")
_SAME_PAGE = {"/print/crawling.html": "/crawling.html"}
_NAVIGATION = (
    ("/", "Home"),
    ("/crawling.html", "Crawling"),
    ("/indexing.html", "Indexing"),
    ("/searching.html", "Searching"),
    ("/why.html", "Why?"),
    ("/glossary.html", "Glossary"),
)
_STYLE = (
    "body{font:17px/1.55 Georgia,serif;max-width:42rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "nav a{margin-right:1rem}code{background:#f2efe8;padding:0 .2em}footer{margin-top:3rem;font-size:.85em;color:#666}"
)


def pages() -> dict[str, Page]:
    """All paths of the sample site and what they answer."""
    site: dict[str, Page] = {}
    for file in sorted(_SITE.rglob("*.html")):
        path = "/" + file.relative_to(_SITE).as_posix()
        site[path.removesuffix("index.html")] = _answer(_html(file.read_text("utf-8")), "text/html; charset=utf-8")
    for copy, original in _SAME_PAGE.items():
        site[copy] = site[original]
    for file in sorted(_SITE.glob("*.txt")):
        site[f"/{file.name}"] = _answer(file.read_text("utf-8"), "text/plain; charset=utf-8")
    listed = [path for path in site if not path.startswith("/private/") and path != "/drafts.html"]
    site["/about"] = moved("/")
    site["/robots.txt"] = lambda request: Answer(
        200, f"User-agent: *\nDisallow: /private/\n\nSitemap: {_origin(request)}/sitemap.xml\n", (), "text/plain"
    )
    site["/sitemap.xml"] = lambda request: Answer(200, _sitemap(_origin(request), listed), (), "application/xml")
    return site


def sample_web(port: int = 0) -> FakeWeb:
    """The sample site as a fake web that is not started yet; `port` 0 takes a free one."""
    web, site = FakeWeb(port=port), pages()
    for host in _HOSTS:
        web.site(host, site)
    return web


def serve(port: int = 0) -> str:
    """Serve the sample site from a thread of this process until it ends; its address."""
    return sample_web(port).start().proxy_url + "/"


def _answer(text: str, content_type: str) -> Answer:
    etag = f'"{hashlib.sha256(text.encode()).hexdigest()[:16]}"'
    return Answer(200, text, (), content_type, etag=etag, compress=True)


def _html(source: str) -> str:
    """A whole page from its source."""
    head, _, body = source.partition("\n\n")
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    title = escape(fields["title"])
    metas = "".join(
        f'<meta name="{name}" content="{escape(fields[name])}">\n'
        for name in ("description", "robots")
        if name in fields
    )
    links = " ".join(f'<a href="{path}">{text}</a>' for path, text in _NAVIGATION)
    return (
        f'<!DOCTYPE html>\n<html lang="{fields.get("lang", "en")}">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{title}</title>\n{metas}<style>{_STYLE}</style>\n</head>\n<body>\n<nav>{links}</nav>\n"
        f"<main>\n<h1>{title}</h1>\n{body.strip()}\n</main>\n"
        '<footer>The sample site of Cobnut. <a href="/about">About</a> · <a href="/de/">Deutsch</a> · '
        '<a href="/ja/">日本語</a> · <a href="/zh/">中文</a> · <a href="/licence.txt">Licence</a></footer>\n'
        "</body>\n</html>\n"
    )


def _origin(request: Request) -> str:
    return f"{request.scheme}://{request.host}" + (f":{request.port}" if request.port else "")


def _sitemap(origin: str, paths: list[str]) -> str:
    urls = "".join(f"<url><loc>{origin}{path}</loc></url>\n" for path in paths)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{urls}</urlset>\n'
    )
