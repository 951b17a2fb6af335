"""How the memory of the process is shared between its threads."""

from __future__ import annotations

import ctypes
import platform

ARENA_MAX = -8  # M_ARENA_MAX of glibc's malloc.h
ARENAS = 2


def share_arenas() -> None:
    """Let all threads allocate from two arenas of glibc; elsewhere, do nothing.

    By default, glibc gives new threads arenas of their own, up to eight for each core, and an arena keeps what its
    largest computation needed. Models compute in threads that come and go, so memory would grow until all arenas have
    seen a large batch.
    """
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).mallopt(ARENA_MAX, ARENAS)
