"""How important is each node of a link graph?

PageRank by power iteration (Page, Brin, Motwani, Winograd 1999): a surfer follows a random link with probability
`damping`, and otherwise jumps to any node; nodes without links pass their weight to all. The mean rank is 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def pagerank(
    sources: NDArray[np.int64], targets: NDArray[np.int64], nodes: int, damping: float, iterations: int
) -> NDArray[np.float64]:
    """Ranks of nodes 0 to `nodes` - 1, mean 1.0. `sources` and `targets` are the ends of the edges; an edge given
    several times counts once, an edge from a node to itself does not count."""
    import numpy as np

    if nodes == 0:
        return np.zeros(0)
    degree, into = _adjacency(sources, targets, nodes)
    share = np.divide(1.0, degree, out=np.zeros(nodes), where=degree > 0)
    dangling = degree == 0
    rank = np.ones(nodes)
    for _ in range(iterations):
        # edges stand in the order of their sources, so each source's part is repeated once for each of its edges
        passed = np.bincount(into, weights=np.repeat(rank * share, degree), minlength=nodes)
        rank = (1.0 - damping) + damping * (passed + rank[dangling].sum() / nodes)
    return rank


def _adjacency(
    sources: NDArray[np.int64], targets: NDArray[np.int64], nodes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many edges leave each node, and the targets of all edges in the order of their sources."""
    import numpy as np

    keep = sources != targets
    pairs = sources[keep].astype(np.int64) * nodes + targets[keep]
    pairs.sort()  # and not numpy.unique, which takes 16 times as long: it makes a hash table
    if len(pairs):
        pairs = pairs[np.concatenate(([True], pairs[1:] != pairs[:-1]))]
    out, into = np.divmod(pairs, nodes)
    return np.bincount(out, minlength=nodes), into
