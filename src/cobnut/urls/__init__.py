"""What does this reference point to, what is its key, which host and domain, may it enter, may we connect?

One parser makes every form of a URL (`parse`), so that what is filtered, looked up in robots.txt, connected to,
logged and archived is always the same thing. A URL is a string here: millions pass through, objects would cost
more than the work.

* `resolve`: from a reference on a page to the URL requested, its normalised form and its key
* `keys`: the reversed-host form that tables are sorted by
* `normalizers`: named rules that may change a URL; `filters`: named rules that may only refuse one
* `hosts`: host, port, origin, registrable domain, bucket
* `addresses`: which addresses may be connected to
* `page_links`: all references of one page at once
"""
