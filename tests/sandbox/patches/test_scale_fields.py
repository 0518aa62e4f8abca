from __future__ import annotations

from typing import Any

from handloop.sandbox.patches.scale_fields import to_parent, to_scale

_PATH = ".spec.replicas"
_REPLICAS: dict[str, Any] = {"f:spec": {"f:replicas": {}}}


def _entry(manager: str, fields: dict[str, Any], **more: str) -> dict[str, Any]:
    about = {"manager": manager, "operation": "Update", "apiVersion": "apps/v1", "time": "t", **more}
    return {**about, "fieldsType": "FieldsV1", "fieldsV1": fields}


_ONE = _entry("one", {"f:spec": {"f:paused": {}, "f:replicas": {}}})
_TWO = _entry("two", {"f:spec": {"f:paused": {}}})


def test_a_scale_shows_who_owns_the_replicas() -> None:
    """Managers of other fields are not in it; the version is that of the Scale."""
    (found,) = to_scale([_ONE, _TWO], _PATH)
    assert (found["manager"], found["apiVersion"], found["time"]) == ("one", "autoscaling/v1", "t")
    assert found["fieldsV1"] == _REPLICAS
    assert to_scale([{"manager": "broken"}], _PATH) == []


def test_replicas_change_hands() -> None:
    """Who set them through the Scale has an entry of its own, without a time; the others keep the rest."""
    scale = [_entry("three", _REPLICAS, apiVersion="autoscaling/v1", subresource="scale")]
    after = {entry["manager"]: entry for entry in to_parent([_ONE, _TWO], scale, _PATH, "apps/v1")}
    assert after["one"]["fieldsV1"] == {"f:spec": {"f:paused": {}}}
    assert after["two"] == _TWO
    assert after["three"]["fieldsV1"] == _REPLICAS
    assert (after["three"]["apiVersion"], after["three"]["subresource"]) == ("apps/v1", "scale")
    assert "time" not in after["three"]


def test_who_owned_nothing_else_goes() -> None:
    """An entry that is left without a field is dropped; an applier who applied them keeps them."""
    only = _entry("one", _REPLICAS)
    assert to_parent([only], [], _PATH, "apps/v1") == []
    applied = _entry("a", _REPLICAS, operation="Apply")
    shown = to_scale([applied], _PATH)
    assert to_parent([applied], shown, _PATH, "apps/v1") == [applied]
