"""``python -m wgpu_cast``: the command ``wgpu-cast``."""

import sys

from ._program import main

if __name__ == "__main__":
    sys.exit(main())
