"""The rows of built-in kinds, as kubectl prints them."""

from __future__ import annotations

import re
import uuid

import pytest

from support.builders.row_samples import AGE, NETWORK_ROWS, OTHER_ROWS, STORAGE_ROWS, Row
from support.servers.api_server import APIServer

_ROWS = (*NETWORK_ROWS, *STORAGE_ROWS, *OTHER_ROWS)
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize("row", _ROWS, ids=[f"{row.plural}{index}" for index, row in enumerate(_ROWS)])
def test_the_row_of_a_new_object(server: APIServer, namespace: str, row: Row) -> None:
    """Every cell, the wide ones too."""
    if server.real and row.shown_as != "{}":
        pytest.skip("the claims of all other tests would get this class")
    name = f"row-{uuid.uuid4().hex[:8]}"
    path = row.path(namespace)
    created = server.create(path, row.made(name))
    assert created.status == 201, created
    try:
        table = server.get(f"{path}/{name}", accept=_TABLE).body
    finally:
        server.delete(f"{path}/{name}")
    (found,) = table["rows"]
    cells = [AGE if re.fullmatch(r"\d+s", str(cell)) else cell for cell in found["cells"]]
    assert cells == [row.shown_as.format(name), *row.cells]
    assert len(cells) == len(table["columnDefinitions"])
