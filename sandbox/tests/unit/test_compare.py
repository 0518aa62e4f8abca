from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from handloop_sandbox import program
from handloop_sandbox.server import Sandbox
from support.builders.widgets import CRDS, widget_definition
from support.servers.api_server import APIServer, endpoint_of

_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: elsewhere}\ndata: {x: y}\n"
_CLASS = "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: c}\nprovisioner: p\n"


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Path]:
    """The kubeconfig of another server."""
    with Sandbox(controllers=()) as sandbox:
        yield sandbox.write_kubeconfig(tmp_path / "other")


def _compare(folder: Path, other: Path) -> int:
    return program.main(["compare", str(folder), "--bare", "--with", str(other)])


def test_two_alike(tmp_path: Path, other: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing differs, nothing is left, and an unknown kind is skipped."""
    files = tmp_path / "files"
    files.mkdir()
    (files / "a.yaml").write_text(f"{_MAP}---\n{_CLASS}---\napiVersion: x/v1\nkind: Y\n", encoding="utf-8")
    assert _compare(files, other) == 0
    shown = capsys.readouterr().out
    assert "skipped: x/v1 Y: the other server does not have this kind" in shown
    assert shown.endswith(" requests, 0 answers differ\n")
    with APIServer(endpoint_of(other), real=False) as server:
        assert server.get("/apis/storage.k8s.io/v1/storageclasses/c").status == 404
        assert all("deletionTimestamp" in item["metadata"] for item in _compared_namespaces(server))


def _compared_namespaces(server: APIServer) -> list[dict[str, dict[str, str]]]:
    items = server.get("/api/v1/namespaces").body["items"]
    return [item for item in items if item["metadata"]["name"].startswith("compare-")]


def test_what_was_there_is_left_alone(
    tmp_path: Path, other: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An object that the other server has already differs, is not changed, and is not deleted."""
    (tmp_path / "c.yaml").write_text(_CLASS, encoding="utf-8")
    with APIServer(endpoint_of(other), real=False) as server:
        before = server.create(
            "/apis/storage.k8s.io/v1/storageclasses", {"metadata": {"name": "c"}, "provisioner": "q"}
        )
        assert _compare(tmp_path / "c.yaml", other) == 1
        assert server.get("/apis/storage.k8s.io/v1/storageclasses/c").body == before.body
    assert "status 201 here, 409 there: StorageClass / storageclasses" in capsys.readouterr().out


def test_nobody_else_is_waited_for(tmp_path: Path, other: Path) -> None:
    """An object whose finalizer nobody takes off goes, too."""
    held = _CLASS.replace("name: c", "name: held, finalizers: [a.example.com/held]")
    (tmp_path / "c.yaml").write_text(held, encoding="utf-8")
    assert _compare(tmp_path / "c.yaml", other) == 0
    with APIServer(endpoint_of(other), real=False) as server:
        assert server.get("/apis/storage.k8s.io/v1/storageclasses/held").status == 404


def test_definitions_are_made_first(tmp_path: Path, other: Path) -> None:
    """Wherever they stand."""
    definition = widget_definition("compare.example.com")
    widget = "apiVersion: compare.example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {size: 3}\n"
    (tmp_path / "a.yaml").write_text(widget, encoding="utf-8")
    (tmp_path / "b.yaml").write_text(f"{definition}", encoding="utf-8")
    (tmp_path / "other").rename(tmp_path / "kubeconfig")
    assert _compare(tmp_path, tmp_path / "kubeconfig") == 0
    with APIServer(endpoint_of(tmp_path / "kubeconfig"), real=False) as server:
        server.eventually(f"{CRDS}/widgets.compare.example.com", lambda answer: answer.status == 404)


@pytest.mark.parametrize("text", ["", "apiVersion: v1\nkind: Config\n", "{}"])
def test_a_kubeconfig_that_leads_nowhere(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is named."""
    (tmp_path / "kubeconfig").write_text(text, encoding="utf-8")
    assert _compare(tmp_path, tmp_path / "kubeconfig") == 2
    assert "cannot find a server in " in capsys.readouterr().err


def test_what_a_terminal_would_obey_is_escaped(
    tmp_path: Path, other: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file may hold any text, and documents of any shape."""
    hostile = 'apiVersion: v1\nkind: "\\e[2Jx\\ny"\n---\napiVersion: 5\nkind: A\n---\n'
    hostile += "{kind: A, apiVersion: v1, metadata: 5}\n"
    broken = "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
    (tmp_path / "c.yaml").write_text(hostile + broken, encoding="utf-8")
    assert _compare(tmp_path / "c.yaml", other) == 0
    shown = capsys.readouterr().out
    assert "skipped: v1 \\x1b[2Jx\\ny: the other server does not have this kind" in shown
    assert "\x1b" not in shown
