"""Makes waves.npy: float32 of shape (24, 32), damped waves and a last row of special values.

    python3 examples/cast/data/make.py
"""

import math
import struct
from pathlib import Path

ROWS, COLUMNS = 24, 32

waves = [
    100 * math.exp(-column / 12) * math.sin(0.11 * (row + 1) * column)
    for row in range(ROWS - 1)
    for column in range(COLUMNS)
]
specials = [0.0, 0.5, 1.0, 1.0625, 3.4e38, 65504.0, 65520.0, 57344.0, 61440.0, 448.0, 464.0, 465.0, 240.0, 6.0, 1e-40]
specials = [sign * value for value in [*specials, math.inf] for sign in (1, -1)][: COLUMNS - 1] + [math.nan]

header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({ROWS}, {COLUMNS}), }}"
header = header.ljust(117) + "\n"
data = b"".join(struct.pack("<f", value) for value in waves + specials)
npy = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data
Path(__file__).with_name("waves.npy").write_bytes(npy)
