"""What can a person ask about one URL, one host or one table?

`read` looks into tables, `webdb` answers as the WebDB of old did, `why` tells the story of one URL. All of them give
data; printing is thin. Nothing here changes a crawl.
"""
