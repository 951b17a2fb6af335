"""Threads that come and go do not each keep memory of their own."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest
from tests.helpers.running_service import source_folder

COUNT_ARENAS = """
import ctypes, sys, tempfile, threading
sys.path.insert(0, {folder!r})
from weft.service.process_memory import share_arenas
if {limited}:
    share_arenas()
libc, together = ctypes.CDLL(None), threading.Barrier(12)
libc.malloc.restype = libc.fopen.restype = ctypes.c_void_p
def allocate():
    together.wait()
    libc.malloc(1000)
    together.wait()
threads = [threading.Thread(target=allocate) for _ in range(12)]
for thread in threads: thread.start()
for thread in threads: thread.join()
with tempfile.NamedTemporaryFile() as file:
    stream = ctypes.c_void_p(libc.fopen(file.name.encode(), b"w"))
    libc.malloc_info(0, stream)
    libc.fclose(stream)
    print(file.read().count(b"<heap nr="))
"""


def arenas(*, limited: bool) -> int:
    code = COUNT_ARENAS.format(folder=str(source_folder()), limited=limited)
    return int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has arenas")
def test_threads_of_the_service_share_two_arenas() -> None:
    assert arenas(limited=True) <= 2 < arenas(limited=False)
