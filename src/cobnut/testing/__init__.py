"""How is a search engine tested without the web?

Public: plug-in authors may build on it. A fake web on loopback (`testing.fakeweb`), a virtual clock
(`testing.clock`) and the sample site about Cobnut (`testing.sample`).

Not here: the tests themselves, which live in `tests/`.
"""
