"""The command ``flashkeep`` of the package: the same command line, in this process."""

from __future__ import annotations

import signal
import sys

from flashkeep import _native


def main() -> int:
    """Does what was typed; gives the exit code."""
    # The engine does not look at signals of Python: without this, Ctrl-C would wait until it is done.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.command(sys.argv[1:])
