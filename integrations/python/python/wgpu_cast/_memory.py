"""Memory of new arrays."""

import numpy as np

from . import _native
from ._typing import Array

HUGE_PAGE = 2 << 20


def placed(new: Array) -> Array:
    """An array like ``new``, which nobody has written yet: itself if it is small. A large one begins where a huge page does: numpy's
    own memory begins and ends with hundreds of small pages, which the system provides one by one. So it is a part of a larger array."""
    if new.nbytes < _native.MAPPED_BYTES:
        return new
    memory = np.empty(new.nbytes + HUGE_PAGE, np.uint8)
    return np.ndarray(new.shape, new.dtype, memory, -memory.ctypes.data % HUGE_PAGE, new.strides)
