"""What was written by one export?"""

from __future__ import annotations

import msgspec


class Exported(msgspec.Struct):
    """Records of each part by the part's name, without the segment's; answers that no archive holds any more."""

    layout: str = "1.x"
    records: dict[str, int] = {}
    segments: int = 0
    without_content: int = 0
    bytes: int = 0

    def count(self, name: str, records: int) -> None:
        """Adds the records of a part; those of all segments together."""
        pieces = name.split("/")
        short = f"segments/{pieces[2]}" if pieces[0] == "segments" else pieces[0]
        if pieces[0] == "db":
            short = pieces[-1]
        self.records[short] = self.records.get(short, 0) + records
