from __future__ import annotations

import pytest

from support.builders.row_samples import STORAGE_ROWS, Row


@pytest.mark.parametrize("row", STORAGE_ROWS)
def test_cells(row: Row) -> None:
    """Those that a real server shows; what it fills in is what the object says here."""
    filled = {"Filesystem": "<unset>", "Retain": "", "Pending": ""}
    cells = [filled.get(cell, cell) if row.plural.startswith("persistent") else cell for cell in row.cells]
    assert row.printed() == [row.shown_as.format("a"), *cells]
