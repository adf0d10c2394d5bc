"""How do other programs' files come in and go out?

Nutch 0.7 to 1.x and the Hadoop containers they use, WARC, ARC and CDXJ.
"""
