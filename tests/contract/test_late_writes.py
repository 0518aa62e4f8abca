"""A write of a former leader that was under way for long, on each server."""

from __future__ import annotations

from typing import Final

from handloop.client.resource_client import Client
from handloop.controller.runtime.children.applied_fields import AppliedFields
from handloop.controller.runtime.children.apply import apply
from handloop.informers.keys import ObjectName
from handloop.kinds.core_v1 import ConfigMap

_MANAGER: Final = "late-writes"


def test_what_it_brings_back_is_taken_back(client: Client, namespace: str) -> None:
    """Once; a field of another client stays, and costs a read."""
    maps = client.resource(ConfigMap)
    wanted, late = (
        ConfigMap.named("a", namespace=namespace, data=data)
        for data in ({"a": "1"}, {"a": "1", "revoked": "1"})
    )
    fields, name = AppliedFields(), ObjectName(namespace, "owner")

    def put(obj: ConfigMap) -> ConfigMap:
        return apply(maps, obj, field_manager=_MANAGER)

    def are_all_wanted(present: ConfigMap) -> bool:
        return fields.is_as_wanted(wanted, present, client=client, manager=_MANAGER, reconciled=name)

    fields.remember(wanted, put(wanted), reconciled=name)
    maps.patch("a", {"data": {"foreign": "1"}}, namespace=namespace, field_manager="other")
    assert are_all_wanted(maps.get("a", namespace=namespace))
    assert not are_all_wanted(put(late))
    again = put(wanted)
    assert dict(again.data) == {"a": "1", "foreign": "1"}
    fields.remember(wanted, again, reconciled=name)
    assert are_all_wanted(maps.get("a", namespace=namespace))
