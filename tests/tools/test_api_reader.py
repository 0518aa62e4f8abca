from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from handloop_sandbox.server import Sandbox
from tools.api_reader import APIReader


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[APIReader]:
    """A reader of a running sandbox."""
    with (
        Sandbox(controllers=()) as sandbox,
        APIReader(str(sandbox.write_kubeconfig(tmp_path / "k"))) as found,
    ):
        yield found


def test_it_reads_json_as_the_user_of_a_kubeconfig(reader: APIReader) -> None:
    """The token of the current context is sent, the answer decoded."""
    found = reader.get_json("/api/v1/namespaces/default")
    assert (found["kind"], found["metadata"]["name"]) == ("Namespace", "default")


def test_anything_but_200_is_an_error(reader: APIReader) -> None:
    """The error has the path and the server's message."""
    with pytest.raises(RuntimeError, match=r"GET /api/v1/nosuch: 404"):
        reader.get_json("/api/v1/nosuch")


def test_requests_carry_json_or_bytes(reader: APIReader) -> None:
    """A value is sent as JSON, bytes as they are; a query is a part of the path."""
    path = "/api/v1/namespaces/default/configmaps"
    created = reader.request("POST", path, {"metadata": {"name": "a"}, "data": {"x": "1"}})
    assert (created.status, created.json()["data"]) == (201, {"x": "1"})
    patch = json.dumps({"data": {"x": "2"}}).encode()
    merged = reader.request("PATCH", f"{path}/a", patch, content_type="application/merge-patch+json")
    assert merged.json()["data"] == {"x": "2"}
    table = reader.get_json(f"{path}?limit=1", "application/json;as=Table;v=v1;g=meta.k8s.io")
    assert (table["kind"], len(table["rows"])) == ("Table", 1)
