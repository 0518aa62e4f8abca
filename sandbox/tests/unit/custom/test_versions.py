from __future__ import annotations

from dataclasses import replace
from typing import Any

from handloop_sandbox.custom.versions import served_form, stored_form
from handloop_sandbox.wire.resource import ServedResource


def _schema(**spec: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}


_SCHEMAS = {
    "v1": _schema(a={"type": "string"}, new={"type": "string", "default": "n"}),
    "v1beta1": _schema(a={"type": "string"}, old={"type": "string"}),
}
_NEW = ServedResource(
    group="g",
    version="v1",
    plural="things",
    kind="Thing",
    list_kind="ThingList",
    singular="thing",
    namespaced=True,
    verbs=("get",),
    storage_version="v1",
    custom=True,
    schema=_SCHEMAS["v1"],
    schemas=_SCHEMAS,
)
_OLD = replace(_NEW, version="v1beta1", schema=_SCHEMAS["v1beta1"])


def _thing(version: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"g/{version}", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec}


def test_the_storage_keeps_what_its_version_declares() -> None:
    """Its defaults come with a read."""
    stored = stored_form(_OLD, _thing("v1beta1", a="1", old="o"))
    assert stored == _thing("v1", a="1")
    assert served_form(_NEW, stored) == _thing("v1", a="1", new="n")
    assert served_form(_OLD, stored) == _thing("v1beta1", a="1")


def test_what_needs_no_change_stays_the_same_object() -> None:
    """So nothing is encoded twice."""
    stored = _thing("v1", a="1", new="x")
    assert served_form(_NEW, stored) is stored
    assert stored_form(_NEW, stored) is stored


def test_an_object_in_an_older_version_is_read_by_its_own_schema() -> None:
    """It was stored before the storage version changed."""
    assert served_form(_NEW, _thing("v1beta1", a="1", old="o", new="?")) == _thing("v1", a="1")


def test_where_a_webhook_would_convert_nothing_is_lost() -> None:
    """The sandbox does not call it."""
    old = replace(_OLD, has_webhook=True)
    assert stored_form(old, _thing("v1beta1", old="o")) == _thing("v1", old="o")
