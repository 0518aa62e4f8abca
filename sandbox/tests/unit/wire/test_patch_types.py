from __future__ import annotations

from handloop_sandbox.wire.patch_types import STRATEGIC, patch_types


def test_a_custom_resource_takes_all_but_strategic_patches() -> None:
    """A server has no Go type of it, which would say how its lists merge."""
    assert patch_types(custom=True) == tuple(each for each in patch_types(custom=False) if each != STRATEGIC)
