from __future__ import annotations

import pytest

from handloop.informers.informer_options import InformerOptions


def test_a_page_holds_an_object_at_least() -> None:
    """A server takes a limit of 0 for none."""
    with pytest.raises(ValueError, match="page_size must be at least 1"):
        InformerOptions(page_size=0)
