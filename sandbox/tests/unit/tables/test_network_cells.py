from __future__ import annotations

import pytest

from handloop_sandbox.kinds.kinds import builtin_resources
from handloop_sandbox.tables.table import cells_of
from support.builders.row_samples import NETWORK_ROWS, Row

_NEW = {"creationTimestamp": "2026-01-01T00:00:00Z"}
_RESOURCES = {(found.api_version, found.plural): found for found in builtin_resources()}


@pytest.mark.parametrize("row", NETWORK_ROWS)
def test_cells(row: Row) -> None:
    """Those that a real server shows; what it fills in is what the object says here."""
    made = row.made("a")
    obj = {**made, "metadata": {**made["metadata"], **_NEW}}
    cells = cells_of(_RESOURCES[row.api_version, row.plural], obj, 1767225600.0)
    filled = {"Filesystem": "<unset>", "Retain": "", "Pending": ""}
    assert [cells[0], *cells[1:]] == [
        row.shown_as.format("a"),
        *(filled.get(cell, cell) if row.plural.startswith("persistent") else cell for cell in row.cells),
    ]
