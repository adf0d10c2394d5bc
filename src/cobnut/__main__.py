"""`python -m cobnut` is the command `cobnut`."""

import sys

from cobnut.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
