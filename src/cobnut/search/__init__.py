"""What did the searcher mean, what answers it best, and why?

`open` finds the index, `query` reads what was typed, `ranking` orders the candidates of the index and explains each
score, `snippet` cuts the words around a match, `searcher` puts them together, `answer` gives the form the API
documents.

Nothing here knows of the crawl: an index folder alone is enough. Not here: the engine (`index`), pages and HTTP
(`web`).
"""
