"""What does the link rank cost on a graph of millions of links? Prints CPU seconds, and edges a second in an iteration.

    scripts/bench rank                                    20 million links among 2.5 million pages
    scripts/bench rank --edges 1000000 --pages 50000

The graph is made up: each page has as many links as the next, and a few pages get most of them (Zipf's law with an
exponent of 0.8). An iteration is measured as the difference between many and one, so that making the edges unique is
not counted to it.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from cobnut.graph.pagerank import pagerank

DAMPING = 0.85
ITERATIONS = 20


def graph(edges: int, pages: int) -> tuple[np.ndarray, np.ndarray]:
    """Ends of links, in no order."""
    rng = np.random.default_rng(1)
    weight = np.arange(1, pages + 1, dtype=np.float64) ** -0.8
    bounds = np.cumsum(weight / weight.sum())
    named = np.minimum(np.searchsorted(bounds, rng.random(edges)), pages - 1)
    return rng.integers(0, pages, edges), rng.permutation(pages)[named]


def cpu_of(sources: np.ndarray, targets: np.ndarray, pages: int, iterations: int) -> float:
    """CPU seconds of a rank."""
    begun = time.process_time()
    ranks = pagerank(sources, targets, pages, DAMPING, iterations)
    spent = time.process_time() - begun
    assert abs(ranks.mean() - 1.0) < 1e-6
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=int, default=20_000_000)
    parser.add_argument("--pages", type=int, default=2_500_000)
    args = parser.parse_args()
    sources, targets = graph(args.edges, args.pages)
    unique = len(np.unique(sources[sources != targets] * args.pages + targets[sources != targets]))
    once = min(cpu_of(sources, targets, args.pages, 1) for _ in range(2))
    whole = cpu_of(sources, targets, args.pages, 1 + ITERATIONS)
    each = (whole - once) / ITERATIONS
    load = Path("/proc/loadavg").read_text().split()[0] if Path("/proc/loadavg").exists() else "unknown"
    print(f"{args.edges:,} links among {args.pages:,} pages, {unique:,} of them different   (load {load})")
    print(f"edges made unique, one iteration   {once:7.2f} CPU s")
    print(f"{1 + ITERATIONS} iterations                      {whole:7.2f} CPU s")
    print(f"an iteration                       {each:7.3f} CPU s, {unique / each / 1e6:.0f} million edges a second")


if __name__ == "__main__":
    main()
