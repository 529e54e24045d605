"""The command ``flashkeep`` of the package: the same command line, in this process."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from flashkeep import _native


#: The plugin of nbdkit; a wheel for a machine without glibc has none.
PLUGIN = Path(__file__).with_name("libflashkeep_nbd.so")


def with_plugin(words: list[str]) -> list[str]:
    """The words of `serve` with the plugin of this package, unless they name one: the program of this process is Python, and
    beside that there is none."""
    names_one = any(word == "--plugin" or word.startswith("--plugin=") for word in words)
    if words[:1] != ["serve"] or names_one or not PLUGIN.exists():
        return words
    return ["serve", f"--plugin={PLUGIN}", *words[1:]]


def main() -> int:
    """Does what was typed; gives the exit code."""
    # The engine does not look at signals of Python: without this, Ctrl-C would wait until it is done.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.command(with_plugin(sys.argv[1:]))
