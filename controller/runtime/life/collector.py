"""
How often Python's cycle collector runs, for a process that holds large caches.

Cached objects are immutable trees: they make no cycles and are freed by their reference counts. By default a
collection follows every 700 new containers: each page and each watch block would pay for a walk over objects
that were just decoded.
Decision: The cycle collector runs less often.
"""

from __future__ import annotations

import gc
from typing import Final

# one young collection per few hundred objects instead of per dozen; the older generations as by default
YOUNG_THRESHOLD: Final = 10_000


def relax_collector() -> None:
    """Collect less often from now on. Cycles are still found, a little later."""
    _, middle, old = gc.get_threshold()
    gc.set_threshold(YOUNG_THRESHOLD, middle, old)
