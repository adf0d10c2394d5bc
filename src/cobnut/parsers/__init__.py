"""Bytes in, a parsed page out.

`page.parse_page` is the pure function on top; `pool` runs it in worker processes that the kernel ends when a
page takes too long. Everything here treats its input as hostile: sizes, counts, depths and times are capped.
"""
