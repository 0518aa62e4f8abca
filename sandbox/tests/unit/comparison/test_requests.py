from __future__ import annotations

import os
from pathlib import Path

from handloop_sandbox.comparison.requests import life_of, objects_in

_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1"}}


def test_the_objects_of_a_folder(tmp_path: Path) -> None:
    """Of all files, in their order, with lists taken apart; other documents and files are left out."""
    (tmp_path / "b.yaml").write_text("a: 1\n---\napiVersion: v1\nkind: Secret\n---\n", encoding="utf-8")
    (tmp_path / "a").mkdir()
    listed = '{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Pod"}]}'
    (tmp_path / "a" / "c.json").write_text(listed, encoding="utf-8")
    (tmp_path / "notes.txt").write_text("kind: Nothing", encoding="utf-8")
    assert [obj["kind"] for obj in objects_in(tmp_path, [])] == ["Pod", "Secret"]


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    """And left out, as the template of a chart is."""
    (tmp_path / "b.yaml").write_text("a: {{ .Values.a }}: b", encoding="utf-8")
    (tmp_path / "c.yaml").write_text("apiVersion: v1\nkind: Pod\n", encoding="utf-8")
    broken: list[str] = []
    assert [obj["kind"] for obj in objects_in(tmp_path, broken)] == ["Pod"]
    (told,) = broken
    assert told.startswith(f"{tmp_path}/b.yaml is not YAML: ")


def test_what_cannot_be_sent_is_named(tmp_path: Path) -> None:
    """To read a pipe would block for ever; the other files are compared all the same."""
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "gone.yaml").symlink_to("nowhere")
    (tmp_path / "bytes.yaml").write_text("a: !!binary eA==", encoding="utf-8")
    broken: list[str] = []
    assert list(objects_in(tmp_path, broken)) == []
    named = [each.removeprefix(f"{tmp_path}/").partition(" ")[0] for each in broken]
    assert named == ["bytes.yaml", "gone.yaml", "pipe.yaml"]


def test_the_life_of_an_object() -> None:
    """Only dry runs come before it is made, mistakes among them; what follows is about the made object."""
    asks = list(life_of(_MAP, "/maps", ["status"]))
    made = next(index for index, ask in enumerate(asks) if ask.makes)
    assert all("dryRun=All" in ask.path for ask in asks[:made])
    assert {ask.path.partition("?")[0] for ask in asks[made + 1 :]} == {"/maps/a", "/maps/a/status"}
    assert "ConfigMap a: without data.x" in [ask.what for ask in asks]
    assert _MAP["data"] == {"x": "1"}


def test_mistakes_go_deeper() -> None:
    """Into the objects below, and into the first one of a list."""
    pod = {**_MAP, "kind": "Pod", "spec": {"a": {"b": 1}, "c": [{"d": 1}, {"e": 1}]}}
    for depth, where in ((1, set()), (2, {"spec.a.b", "spec.c.0.d"})):
        told = [ask.what.partition("Pod a: without ")[2] for ask in life_of(pod, "/pods", [], depth)]
        assert {name for name in told if name.count(".") > 1} == where


def test_a_row_before_controllers_have_written() -> None:
    """Of a kind of Kubernetes itself it is asked for in a dry run, of another when it is there."""
    for version, method in (("apps/v1", "POST"), ("example.com/v1", "GET")):
        asks = life_of({**_MAP, "apiVersion": version}, "/maps", [])
        assert [ask.method for ask in asks if "as=Table" in ask.accept] == [method]
