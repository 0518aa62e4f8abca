from __future__ import annotations

import pytest

from support.builders.row_samples import NETWORK_ROWS, Row


@pytest.mark.parametrize("row", NETWORK_ROWS)
def test_cells(row: Row) -> None:
    """Those that a real server shows."""
    assert row.printed() == [row.shown_as.format("a"), *row.cells]
