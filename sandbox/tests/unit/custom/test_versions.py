from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from handloop_sandbox.custom.versions import served_form, stored_form
from handloop_sandbox.wire.conversion import (
    ConversionFailedError,
    ConversionNeededError,
    Known,
    WebhookConversion,
    question,
)
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


def test_what_a_webhook_has_to_convert_is_asked_for_first() -> None:
    """Once the answer is known, it is pruned by its schema, and keeps the object's metadata."""
    known = Known()
    old = replace(_OLD, conversion=WebhookConversion("things.g", ("u", 1), {}, known))
    thing = _thing("v1beta1", old="o")
    with pytest.raises(ConversionNeededError) as needed:
        stored_form(old, thing)
    assert (needed.value.objects, needed.value.api_version) == ([thing], "g/v1")
    known.answers[question("things.g", thing, "g/v1")] = {
        **_thing("v1", new="o", more=1, a=None),
        "metadata": {"name": "b", "labels": {"c": "d"}},
    }
    made = {**_thing("v1", new="o"), "metadata": {"name": "a", "labels": {"c": "d"}}}
    assert stored_form(old, thing) == made
    known.answers[question("things.g", thing, "g/v1")] = "it is ill"
    with pytest.raises(ConversionFailedError, match="it is ill"):
        stored_form(old, thing)
