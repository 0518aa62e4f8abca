"""The figures that every subject prints: the process's CPU seconds, for all threads, and its memory."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import sys
import time
from pathlib import Path

EVENT_TIMEOUT_SECONDS = 300


class Meter:
    """
    Measures the resources of this process between two points in time.

    CPU is the process's user and system time, for all threads. Memory is the resident memory after a
    collection.
    """

    def __init__(self) -> None:
        self._memory = _resident_bytes()
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def lap(self) -> dict[str, float]:
        """
        Return the measurements since the last lap.

        Other threads continue; only this call's own time is excluded.
        """
        wall, cpu, own = time.perf_counter(), time.process_time(), time.thread_time()
        memory = _resident_bytes()
        result = {"cpu": cpu - self._cpu, "wall": wall - self._wall, "memory": float(memory - self._memory)}
        self._memory = memory
        self._wall, self._cpu = wall, cpu + time.thread_time() - own
        return result


def _resident_bytes() -> int:
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def report(**laps: dict[str, float]) -> None:
    """Print the result as the one line that the runner reads."""
    print(json.dumps(laps), flush=True)
