"""What does a small internet on loopback look like?

One port takes every way in: as a forward proxy (`GET http://host/path`), as virtual hosts (`Host:` header), and with a
throw-away certificate authority over TLS, through CONNECT or on a second port. Hosts come from three places:

* *scripted* (`FakeWeb.site`): the test says what each path answers, faults included;
* *sites*: a folder of `<host>/` folders with files;
* *synth*: a made-up web of any size, computed page by page from a seed (`synthweb`).

Hosts that do not exist answer 502 through the proxy (a proxy's word for a failed look-up) and 421 to a plain request.
Limits: HTTP/1.1, no Range, no cookies, one process. It listens on 127.0.0.1 only, unless told otherwise.

    >>> from cobnut.testing.fakeweb import Answer, FakeWeb
    >>> with FakeWeb().site("a.test", {"/": "<a href=/x>x</a>", "/x": Answer(404)}) as web:
    ...     proxy = web.proxy_url
"""

from cobnut.testing.fakeweb.messages import Request, Response
from cobnut.testing.fakeweb.net import HostStats, LogEntry
from cobnut.testing.fakeweb.scripted import Answer, Page, moved
from cobnut.testing.fakeweb.synthweb import SynthWeb
from cobnut.testing.fakeweb.web import FakeWeb

__all__ = ["Answer", "FakeWeb", "HostStats", "LogEntry", "Page", "Request", "Response", "SynthWeb", "moved"]
