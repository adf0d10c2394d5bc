"""Cobnut: a web search engine that one person can run."""

__version__ = "0.1.0"
