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
    from scipy.sparse import csr_matrix

    if nodes == 0:
        return np.zeros(0)
    keep = sources != targets
    pairs = np.unique(sources[keep].astype(np.int64) * nodes + targets[keep].astype(np.int64))
    out, into = pairs // nodes, pairs % nodes
    degree = np.bincount(out, minlength=nodes).astype(np.float64)
    share = np.divide(1.0, degree, out=np.zeros(nodes), where=degree > 0)
    matrix = csr_matrix((share[out], (into, out)), shape=(nodes, nodes))
    dangling = degree == 0
    rank = np.ones(nodes)
    for _ in range(iterations):
        rank = (1.0 - damping) + damping * (matrix @ rank + rank[dangling].sum() / nodes)
    return rank
