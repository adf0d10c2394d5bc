"""How do web archives (WARC, ARC) come in and go out, and how are they indexed (CDXJ)?

`source` unpacks a file, `records` finds the records in it, `answers` reads a document off a record, `reading` goes
through whole archives; `export` writes a crawl as WARC; `surt` and `cdx` make the index that replay tools want.

Not here: segments made of documents (`interop.intake`).
"""
