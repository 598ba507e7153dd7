"""Freed memory goes back to the system, so that the process stays as large as its work needs."""

import ctypes
import platform
from typing import Final

_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
"""Parameters of `mallopt`. Source: glibc 2.36, malloc.h."""
_MMAP_THRESHOLD_BYTES: Final = 1_048_576
_ARENAS: Final = 2


def return_freed_memory() -> bool:
    """Tell glibc's allocator to give large blocks back as soon as they are freed.

    Left to itself it raises the size from which a block is mapped by itself to that of the largest
    one ever freed (32 MiB at most), and keeps a pool for each thread. Every new length of utterance
    then makes the pools grow a little: 60 MB after fifty streams, in place of 15.

    Returns:
        Whether it was done: only glibc has these parameters.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    mallopt.argtypes, mallopt.restype = (ctypes.c_int, ctypes.c_int), ctypes.c_int
    return bool(
        mallopt(_M_MMAP_THRESHOLD, _MMAP_THRESHOLD_BYTES) and mallopt(_M_ARENA_MAX, _ARENAS)
    )
