"""The command ``wgpu-cast``."""

import signal
import sys

from . import _native


def main() -> int:
    """Runs the program with the arguments of the process. Returns its exit status."""
    # Python's own handler only sets a flag, and no Python code runs until the program has ended. If the process ignores
    # the signal, it still does.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.program(["wgpu-cast", *sys.argv[1:]])
