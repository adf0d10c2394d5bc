"""How does a crawl of Nutch's come in?

One module a kind of thing: `pages` (CrawlDatum, Page), `links` (Inlinks, Link), `hosts` (HostDatum), `answers` (one
fetch and its parse), `segment` (a segment of ours from one of Nutch's), `staging` (the rows on their way), `losses`
(what was left out, and why), `run` (all of it).
"""

from cobnut.interop.nutch_import.losses import Losses
from cobnut.interop.nutch_import.run import NutchImport, Taken, look

__all__ = ["Losses", "NutchImport", "Taken", "look"]
