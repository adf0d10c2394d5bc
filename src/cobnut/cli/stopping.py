"""What does Ctrl-C do to a long command?

The first one (or SIGTERM) asks it to stop at the next good moment, the second ends it at once. What was acknowledged
stays either way.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130
"""Exit code of a command that was stopped."""


class Stopping:
    """Whether the user asked to stop."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self) -> bool:
        return self.asked > 0


@contextmanager
def stopping(command: str) -> Iterator[Stopping]:
    """Takes over SIGINT and SIGTERM for the time of a command."""
    state = Stopping()

    def asked(number: int, frame: FrameType | None) -> None:
        state.asked += 1
        if state.asked == 1:
            line = f"\ncobnut {command}: stopping after what is under way; Ctrl-C again stops at once\n"
            os.write(sys.stderr.fileno(), line.encode())
        elif state.asked == 2:
            raise KeyboardInterrupt
        else:
            os._exit(130)  # the way out itself hangs; nothing acknowledged is lost by leaving now

    former = {number: signal.signal(number, asked) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield state
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
