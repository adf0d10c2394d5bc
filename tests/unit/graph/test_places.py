"""Where in a long list a key stands."""

import numpy as np
import pyarrow as pa
import pytest

from cobnut.graph.places import Places

# the engine's number of both is the same
TWINS = ("org,example,h98)http/section14/page-797484.html", "org,example,h95)http/section14/page-792384.html")


def test_each_value_is_found_where_it_stands():
    keys = [f"com,example,h{n % 7})http/{n}" for n in np.random.default_rng(1).permutation(5000)]
    places = Places(pa.array(keys, pa.string()))
    values = [*keys[::-1], "com,example)http/unknown", None, "", keys[3]]
    assert places.of(pa.array(values, pa.string())).tolist() == [*range(4999, -1, -1), -1, -1, -1, 3]


@pytest.mark.parametrize("twins", [TWINS, TWINS[::-1]])
def test_keys_of_one_number_are_told_apart(twins):
    places = Places(pa.array(["a", *twins, "b"], pa.string()))
    assert len(places._hidden) == 1, "the twins are none any more: look for others"
    assert places.of(pa.array([twins[1], "b", twins[0], "c"], pa.string())).tolist() == [2, 3, 1, -1]
    alone = Places(pa.array([twins[0]], pa.string()))
    assert alone.of(pa.array(twins, pa.string())).tolist() == [0, -1]


def test_nothing_known_and_nothing_asked():
    none = pa.array([], pa.string())
    assert Places(none).of(pa.array(["a"], pa.string())).tolist() == [-1]
    assert Places(pa.array(["a"], pa.string())).of(none).tolist() == []
    assert Places(pa.array(["a", "b"], pa.string())).of(pa.chunked_array([["b"], ["c", "a"]])).tolist() == [1, -1, 0]
