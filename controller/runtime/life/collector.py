"""
Set how often Python's cycle collector runs, for a process with large caches.

Cached objects are immutable trees. They form no cycles, so reference counts free them. By default, a
collection runs after every 700 new containers. Every page and every watch block would then trigger scans of
objects that were just decoded.
Decision: The cycle collector runs less often.
"""

from __future__ import annotations

import gc
from typing import Final

# Collect the young generation once every few hundred objects, not every dozen. Keep the defaults of the older
# generations.
YOUNG_THRESHOLD: Final = 10_000


def relax_collector() -> None:
    """Make cycle collections less frequent. Cycles are still collected, but a little later."""
    _, middle, old = gc.get_threshold()
    gc.set_threshold(YOUNG_THRESHOLD, middle, old)
