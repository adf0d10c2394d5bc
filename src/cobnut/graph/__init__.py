"""Who links to whom, and how important is a page or host?"""
