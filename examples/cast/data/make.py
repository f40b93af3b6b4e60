"""Makes tiny.safetensors: damped waves in float32, special values, a bfloat16 tensor, and integers that stay as they are.

    python3 examples/cast/data/make.py
"""

import json
import math
import struct
from pathlib import Path

ROWS, COLUMNS = 24, 32

waves = [
    100 * math.exp(-column / 12) * math.sin(0.11 * (row + 1) * column) for row in range(ROWS) for column in range(COLUMNS)
]
specials = [0.0, 0.5, 1.0, 1.0625, 3.4e38, 65504.0, 65520.0, 57344.0, 61440.0, 448.0, 464.0, 465.0, 240.0, 6.0, 1e-40]
specials = [sign * value for value in [*specials, math.inf] for sign in (1, -1)] + [math.nan]


def floats(values):
    return b"".join(struct.pack("<f", value) for value in values)


tensors = [
    ("waves.weight", "F32", [ROWS, COLUMNS], floats(waves)),
    ("specials", "F32", [len(specials)], floats(specials)),
    ("norm.weight", "BF16", [COLUMNS], struct.pack("<H", 0x3F80) * COLUMNS),
    ("position_ids", "I64", [4], struct.pack("<4q", 0, 1, 2, 3)),
]
header, data = {"__metadata__": {"format": "pt"}}, b""
for name, dtype, shape, elements in tensors:
    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(elements)]}
    data += elements
text = json.dumps(header, separators=(",", ":")).encode()
text += b" " * (-len(text) % 8)
Path(__file__).with_name("tiny.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
