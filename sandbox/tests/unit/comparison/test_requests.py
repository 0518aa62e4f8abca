from __future__ import annotations

from pathlib import Path

import pytest

from handloop_sandbox.comparison.requests import life_of, objects_in

_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1"}}


def test_the_objects_of_a_folder(tmp_path: Path) -> None:
    """Of all files, in their order, with lists taken apart; other documents and files are left out."""
    (tmp_path / "b.yaml").write_text("a: 1\n---\napiVersion: v1\nkind: Secret\n---\n", encoding="utf-8")
    (tmp_path / "a").mkdir()
    listed = '{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Pod"}]}'
    (tmp_path / "a" / "c.json").write_text(listed, encoding="utf-8")
    (tmp_path / "notes.txt").write_text("kind: Nothing", encoding="utf-8")
    assert [obj["kind"] for obj in objects_in(tmp_path)] == ["Pod", "Secret"]


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    """Nothing is compared then."""
    (tmp_path / "b.yaml").write_text("a: [", encoding="utf-8")
    with pytest.raises(ValueError, match=r"b\.yaml: "):
        list(objects_in(tmp_path))


def test_the_life_of_an_object() -> None:
    """Only dry runs come before it is made, mistakes among them; what follows is about the made object."""
    asks = list(life_of(_MAP, "/maps", ["status"]))
    made = next(index for index, ask in enumerate(asks) if ask.makes)
    assert all("dryRun=All" in ask.path for ask in asks[:made])
    assert {ask.path.partition("?")[0] for ask in asks[made + 1 :]} == {"/maps/a", "/maps/a/status"}
    assert "ConfigMap a: without data.x" in [ask.what for ask in asks]
    assert _MAP["data"] == {"x": "1"}
