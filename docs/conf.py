"""How is the HTML of the documentation built? Used by `scripts/docs --html`."""

project = "Cobnut"
author = "the Cobnut authors"
extensions = ["myst_parser"]
myst_heading_anchors = 3
html_theme = "furo"
exclude_patterns = ["_build"]
