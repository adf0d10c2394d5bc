"""Which characters does a page hold, in which language, and what are its words made of?

* `charset`: from bytes to characters
* `language`: which language a text is in
* `folding`: white space folded
* `cjk`: Chinese, Japanese and Korean runs as pairs of characters
* `digest`: the signature of exactly this content
"""
