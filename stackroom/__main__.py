"""``python -m stackroom`` is the ``stackroom`` command."""

import sys

from stackroom.cli import main

if __name__ == "__main__":
    sys.exit(main())
