"""A small internet on one loopback port, for crawlers of any make.

    python -m cobnut.testing.fakeweb --synth hosts=1000,pages=200000 --port 8800
    python -m cobnut.testing.fakeweb --sites DIR --ca DIR --log FILE
    python -m cobnut.testing.fakeweb --synth hosts=1000,pages=200000 --describe     what it holds, as JSON

http://fakeweb.invalid/stats through the proxy answers the figures per host as JSON; /reset clears them, /hosts lists
the hosts.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
from pathlib import Path

from cobnut.errors import CobnutError
from cobnut.testing.fakeweb.synthweb import SynthWeb, options
from cobnut.testing.fakeweb.web import FakeWeb


def main() -> int:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m cobnut.testing.fakeweb",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--sites", type=Path, help="folder of <host>/ folders")
    parser.add_argument(
        "--synth", help="a made-up web: hosts,pages,seed,zipf,links,delay,suffix,quirks,kb as key=value,…"
    )
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--log", type=Path, help="file for one tab-separated line per answer")
    parser.add_argument("--ca", type=Path, help="folder for a throw-away CA: turns CONNECT and a TLS port on")
    parser.add_argument("--stats-host", default="fakeweb.invalid")
    parser.add_argument("--describe", action="store_true", help="print what the made-up web holds, and end")
    asked = parser.parse_args()
    try:
        synth = SynthWeb(**options(asked.synth)) if asked.synth is not None else None
    except TypeError as error:
        parser.error(f"--synth: {error}")
    if asked.describe:
        print(json.dumps((synth or SynthWeb()).describe(), indent=1))
        return 0
    with contextlib.ExitStack() as stack:
        log = stack.enter_context(asked.log.open("a", buffering=1 << 16)) if asked.log else None
        try:
            web = FakeWeb(
                synth=synth,
                sites=asked.sites,
                ca=asked.ca,
                address=asked.address,
                port=asked.port,
                keep_log=False,
                log_file=log,
                stats_host=asked.stats_host,
            )
            asyncio.run(web.run())
        except KeyboardInterrupt:
            return 130
        except CobnutError as error:
            print(f"fake web: {error}", file=sys.stderr)
            return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
