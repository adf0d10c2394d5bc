"""The link rank: against small graphs worked out by hand, and against the definition as a dense matrix."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cobnut.graph.pagerank import pagerank


def ranks(edges, nodes, damping=0.85, iterations=100):
    ends = np.array(edges, np.int64).reshape(-1, 2)
    return pagerank(ends[:, 0], ends[:, 1], nodes, damping, iterations)


def by_definition(edges, nodes, damping, iterations):
    """The same with a matrix of all pairs."""
    matrix = np.zeros((nodes, nodes))
    for source, target in {(s, t) for s, t in edges if s != t}:
        matrix[target, source] = 1.0
    degree = matrix.sum(axis=0)
    matrix[:, degree == 0] = 1.0
    matrix /= np.where(degree == 0, nodes, degree)
    rank = np.ones(nodes)
    for _ in range(iterations):
        rank = 1 - damping + damping * matrix @ rank
    return rank


def test_an_empty_graph_has_no_ranks():
    assert len(ranks([], 0)) == 0


def test_without_links_all_are_equal():
    assert ranks([], 3) == pytest.approx([1, 1, 1])


def test_a_ring_is_even_and_a_star_is_not():
    assert ranks([(0, 1), (1, 2), (2, 0)], 3) == pytest.approx([1, 1, 1])
    # two leaves link to the centre, the centre to both: c = .15 + .85 * 2 l, and c + 2 l = 3
    centre = (0.15 + 0.85 * 3) / 1.85
    assert ranks([(1, 0), (2, 0), (0, 1), (0, 2)], 3) == pytest.approx([centre, (3 - centre) / 2, (3 - centre) / 2])


def test_an_edge_counts_once_and_an_edge_to_itself_not_at_all():
    plain = ranks([(0, 1), (1, 2)], 3)
    assert ranks([(0, 1), (0, 1), (1, 2), (1, 1)], 3) == pytest.approx(plain)


@given(
    nodes=st.integers(1, 12),
    edges=st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=60),
    iterations=st.integers(0, 8),
)
@settings(max_examples=150, deadline=None)
def test_as_by_definition(nodes, edges, iterations):
    edges = [(s % nodes, t % nodes) for s, t in edges]
    rank = ranks(edges, nodes, 0.85, iterations)
    assert rank == pytest.approx(by_definition(edges, nodes, 0.85, iterations))
    assert rank.sum() == pytest.approx(nodes)  # what is passed on is neither lost nor made


@given(edges=st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19)), max_size=80), seed=st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_the_order_of_the_edges_changes_nothing(edges, seed):
    shuffled = list(edges)
    np.random.default_rng(seed).shuffle(shuffled)
    assert (ranks(edges, 20) == ranks(shuffled, 20)).all()  # to the bit
