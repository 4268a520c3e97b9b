"""`python -m blocktensor`: the command line, as the program `blocktensor`."""

import signal
import sys

from ._native import main

if __name__ == "__main__":
    # No Python code runs that could see Ctrl-C: it ends the program, as everywhere on a command line.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(main(["blocktensor", *sys.argv[1:]]))
