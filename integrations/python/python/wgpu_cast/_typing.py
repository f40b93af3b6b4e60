"""The types of arguments."""

import os
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]

Path: TypeAlias = str | os.PathLike[str]

How: TypeAlias = tuple[bool, str, bool, bool, str, int | None]
"""saturate, round_mode, strict, losses, device, opset"""
