"""Serve the sample site until interrupted: `python -m cobnut.testing.sample [--port N]`."""

from __future__ import annotations

import argparse
import asyncio
import sys

from cobnut.errors import CobnutError
from cobnut.testing.sample import sample_web


def main() -> int:
    """Serve; prints the address once it listens."""
    parser = argparse.ArgumentParser(prog="python -m cobnut.testing.sample", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    try:
        asyncio.run(sample_web(parser.parse_args().port).run())
    except KeyboardInterrupt:
        return 130
    except CobnutError as error:
        print(f"sample site: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
