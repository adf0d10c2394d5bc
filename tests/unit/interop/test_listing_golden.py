"""All records that real Nutch wrote are listed as its own classes printed them."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from cobnut.interop.listing import Listing
from cobnut.interop.recognize import recognize

NUTCH = Path(__file__).parents[2] / "formats" / "nutch"
LISTINGS = sorted(NUTCH.glob("*/json/*.json"))
RECORDS = 1101


def comparable(value: Any) -> Any:
    """A value in a form in which only differences that mean something are left."""
    if isinstance(value, dict):
        if "inlinks" in value:  # the order is that of a hash table
            value = value | {"inlinks": sorted(value["inlinks"], key=json.dumps)}
        return {name: comparable(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [comparable(inner) for inner in value]
    if isinstance(value, float):  # Java prints some floats one digit longer than needed: the 32 bits count
        return struct.pack(">f", value).hex()
    return value


@pytest.mark.parametrize("listing", LISTINGS, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_the_listing_equals_the_true_contents(listing: Path) -> None:
    golden = json.loads(listing.read_text("utf-8"))
    file = NUTCH / golden["file"]
    shown = Listing(recognize(file))
    found = list(shown)
    assert [one.file for one in found] == [file.name] * golden["count"]
    assert [one.position for one in found] == [record["pos"] for record in golden["records"]]
    for one, record in zip(found, golden["records"], strict=True):
        assert comparable(one.key) == comparable(record["key"])
        assert comparable(one.value) == comparable(record["value"])
        assert list(one.as_json()) == ["file", "key", "value"]
        json.dumps(one.as_json(), allow_nan=False)
    assert list(shown.problems) == []


def test_all_golden_records_are_there() -> None:
    assert sum(json.loads(path.read_text("utf-8"))["count"] for path in LISTINGS) == RECORDS
