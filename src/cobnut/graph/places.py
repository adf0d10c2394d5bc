"""Which place has each of many keys in a long list?

Arrow looks values up by making a hash table of the whole list at every call, which for links read batch by batch costs
more than all else. Here the list is numbered and sorted once; keys that have one number are told apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


class Places:
    """Places of keys, from 0. Each key is in the list once; an array of strings, its offsets of either width."""

    def __init__(self, keys: pa.Array) -> None:
        import duckdb
        import numpy as np

        self._keys = keys
        self._connection = duckdb.connect(config={"threads": 1})
        numbers = self._numbers(keys)
        self._order = np.argsort(numbers, kind="stable")
        self._sorted = numbers[self._order]
        again = np.flatnonzero(self._sorted[1:] == self._sorted[:-1]) + 1
        self._hidden = self._order[again]  # behind a key of the same number

    def of(self, values: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
        """The place of each value; -1 where it is not in the list, or is NULL."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        if not len(self._keys) or not len(values):
            return np.full(len(values), -1, np.int64)
        at = np.minimum(np.searchsorted(self._sorted, self._numbers(values)), len(self._order) - 1)
        places = self._order[at]
        same = pc.fill_null(pc.equal(self._keys.take(pa.array(places)), values), False)
        places = np.where(np.asarray(same.to_numpy(zero_copy_only=False), bool), places, -1)
        if len(self._hidden):
            missed = np.flatnonzero(places < 0)
            found = pc.index_in(values.take(pa.array(missed)), value_set=self._keys.take(pa.array(self._hidden)))
            found = np.asarray(found.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)
            places[missed] = np.where(found < 0, -1, self._hidden[found])
        return places

    def _numbers(self, values: Any) -> NDArray[np.uint64]:
        import pyarrow as pa

        self._connection.register("given", pa.table({"key": values}))
        try:
            return self._connection.execute("SELECT hash(key) AS number FROM given").fetchnumpy()["number"]
        finally:
            self._connection.unregister("given")
