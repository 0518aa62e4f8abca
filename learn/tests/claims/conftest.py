"""Each claim on the whole, which does not do harm, and on what lacks a part, which does."""

from __future__ import annotations

import pytest


@pytest.fixture(params=[True, False], ids=["whole", "without"])
def whole(request: pytest.FixtureRequest) -> bool:
    """Whether the part that the test is about is there."""
    return bool(request.param)
