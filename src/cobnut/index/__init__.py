"""Documents in, an index out, and the engine's side of searching it.

`document` says what a document is, `schema` how it is cut into words and fields, `writer` makes a complete index
folder, `merge` makes one out of several by linking files, `reader` opens one and answers queries put as plain values
(`clauses`), `manifest` is the small file that says what an index folder holds.

The engine (tantivy) is known in this package alone. Not here: what a query text means and which hit is best (`search`).
"""
