"""Writes of a status: what is sent, and what becomes of it under another definition."""

from __future__ import annotations

import copy
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handloop.apis.conditions import Condition, Conditions
from handloop.apis.crd import custom_resource_definition
from handloop.apis.evolve import evolve
from handloop.apis.meta import EMPTY_MAP, APIStruct, FrozenMap, Kind, ObjectMeta
from handloop.apis.resource import Resource
from handloop.apis.schema_annotations import list_map
from handloop.client.errors import Conflict
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.reconciling.status_writes import TRY_AGAIN_SECONDS, StatusWrites, merge_patch
from handloop.testing.fake_clock import FakeClock
from support.checks.captured_logs import captured_logs
from support.rigs.managed_sandbox import ManagedSandbox

CRD_RESOURCE = Resource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
)
AT = "2026-01-01T00:00:00Z"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Endpoint(APIStruct):
    host: str = ""
    port: int = 0


class SiteStatus(APIStruct):
    replicas: int = 0
    selector: str = ""
    endpoint: Endpoint = Endpoint()
    conditions: Annotated[Conditions, list_map("type")] = ()
    observed_generation: int = 0


class Site(Kind, group="example.org", version="v1"):
    status: SiteStatus = SiteStatus()


def merged(target: Any, patch: Any) -> Any:
    """RFC 7396, by its own words."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


VALUES = st.recursive(
    st.booleans() | st.integers(0, 2) | st.text("ab", max_size=2) | st.lists(st.integers(0, 1), max_size=2),
    lambda inner: st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=8,
)
STATUSES = st.dictionaries(st.sampled_from("xyz"), VALUES, max_size=3)


@given(STATUSES, STATUSES, STATUSES)
def test_a_patch_turns_one_status_into_another(before: Any, after: Any, newer: Any) -> None:
    """And leaves what neither has, as a newer definition's fields."""
    patch = merge_patch(before, after)
    assert merged(before, patch) == after
    assert (patch == {}) == (before == after)
    others = {f"other-{key}": value for key, value in newer.items()}
    assert merged({**others, **before}, patch) == {**others, **after}


class Rig:
    """A Site under a definition that a test changes, and what the controller sends."""

    def __init__(self, *lacking: str) -> None:
        self.cluster = ManagedSandbox()
        self.definition = copy.deepcopy(custom_resource_definition(Site))
        self.fields = self.definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
        self.all_fields = copy.deepcopy(self.fields["status"]["properties"])
        for name in lacking:
            del self.fields["status"]["properties"][name]
            self.fields["status"]["default"].pop(name, None)
        self.cluster.post(CRDS, self.definition)
        self.sites = self.cluster.client.resource(Site)
        self.site = self.sites.create(Site.named("a", namespace="default"))
        self.clock = FakeClock()
        self.sent: list[Any] = []
        client = self.cluster.client.telling(lambda call, _answer: self.sent.append(call.body))
        self.context = Context(
            controller="sites", client=client, statuses=StatusWrites(self.clock), clock=self.clock
        )

    def update(self, **fields: Any) -> int:
        """A reconcile of what the server has. Returns: how many writes it sent."""
        before = len(self.sent)
        self.site = self.sites.get("a", namespace="default")
        status = SiteStatus(**fields)
        self.site = self.context.update_status(self.site, status)
        return len(self.sent) - before

    def upgrade(self, **fields: Any) -> None:
        """The definition gets all our fields, and more."""
        patch = {"properties": {**self.all_fields, **fields}}
        version = {**self.definition["spec"]["versions"][0]}
        schema = copy.deepcopy(version["schema"])
        schema["openAPIV3Schema"]["properties"]["status"] |= patch
        versions = [{**version, "schema": schema}]
        name = self.definition["metadata"]["name"]
        self.cluster.client.for_resource(CRD_RESOURCE).patch(name, {"spec": {"versions": versions}})

    def stored(self) -> dict[str, Any]:
        """The status as the server has it."""
        found: dict[str, Any] = (
            self.cluster.client.for_resource(Site.resource).get("a", namespace="default").content()["status"]
        )
        return found


def test_only_what_differs_is_sent() -> None:
    """For the version that was read; a status that is equal costs no request."""
    rig = Rig()
    assert [rig.update(replicas=1, selector="a"), rig.update(replicas=1, selector="a")] == [1, 0]
    assert rig.update(replicas=2, selector="a") == 1
    assert b'"status":{"replicas":2}' in rig.sent[-1]
    with pytest.raises(Conflict):
        rig.context.update_status(evolve(rig.site, "metadata.resource_version", "1"), SiteStatus(replicas=3))


def test_fields_of_a_newer_definition_stay() -> None:
    """Also beside ours in a nested object; a field of ours that goes is removed."""
    rig = Rig()
    rig.update(replicas=1, endpoint=Endpoint(host="h", port=1))
    endpoint = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    rig.upgrade(url={"type": "string"}, endpoint=endpoint)
    theirs = {"status": {"url": "http://x", "endpoint": {"zone": "eu"}}}
    rig.sites.patch("a", theirs, namespace="default", subresource="status")
    rig.update(replicas=2, endpoint=Endpoint(host="i"))
    stored = rig.stored()
    assert (stored["replicas"], stored["url"]) == (2, "http://x")
    assert (stored["endpoint"]["zone"], stored["endpoint"]["host"]) == ("eu", "i")


def test_fields_that_an_older_definition_lacks_are_reported_once_and_not_sent_again() -> None:
    """Whatever their value; a real change is written, with them, and the log names fields, object and fix."""
    rig = Rig("selector", "observedGeneration")
    with captured_logs() as lines:
        assert rig.update(replicas=1, selector="a") == 1
        assert [rig.update(replicas=1, selector=f"{n}") for n in range(100)] == [0] * 100
        assert rig.update(replicas=2, selector="a") == 1
    (told,) = [line for line in lines if line.get("code") == "E18"]
    assert told["fields"] == "status.selector, status.observedGeneration"
    assert (told["object"], told["kind"]) == ("default/a", "Site")
    assert told["fix"] == "apply the CustomResourceDefinition of this release: sites.example.org"


class PoolStatus(APIStruct):
    pods: FrozenMap = EMPTY_MAP


class Pool(Kind, group="example.org", version="v1"):
    status: PoolStatus = PoolStatus()


def test_a_map_that_an_older_definition_lacks_is_one_field() -> None:
    """Its keys, such as pods that come and go, are neither reported nor remembered one by one."""
    statuses, pool = StatusWrites(FakeClock()), Pool(metadata=ObjectMeta(name="a", uid="u"))
    with captured_logs() as lines:
        for number in range(10):
            wanted = {"pods": {f"pod-{number}": "Ready"}}
            assert statuses.is_due(pool, wanted, wanted) == (number == 0)
            statuses.written(pool, wanted, wanted, pool, b"{}")
    assert [line["fields"] for line in lines if line.get("code") == "E18"] == ["status.pods"]
    assert len(statuses._dropped) == 1


def test_a_definition_that_is_mended_is_noticed() -> None:
    """By one object, ten minutes later at the latest, and then by all."""
    rig = Rig("selector")
    with captured_logs():
        rig.update(replicas=1, selector="a")
        rig.upgrade()
        assert rig.update(replicas=1, selector="a") == 0
        rig.clock.advance(TRY_AGAIN_SECONDS)
        assert [rig.update(replicas=1, selector="a") for _ in range(3)] == [1, 0, 0]
        assert rig.stored()["selector"] == "a"
        assert rig.update(replicas=1, selector="b") == 1


def test_all_objects_get_a_field_once_it_is_stored() -> None:
    """What one finds out, the others need not wait for."""
    rig = Rig("selector")
    other = rig.sites.create(Site.named("b", namespace="default"))
    with captured_logs():
        rig.update(replicas=1, selector="a")
        other = rig.context.update_status(other, SiteStatus(replicas=1, selector="b"))
        rig.upgrade()
        other = rig.sites.get("b", namespace="default")
        assert rig.context.update_status(other, SiteStatus(replicas=1, selector="b")) is other
        rig.clock.advance(TRY_AGAIN_SECONDS)
        rig.update(replicas=1, selector="a")
        told = rig.context.update_status(other, SiteStatus(replicas=1, selector="b"))
    assert told.status.selector == "b"


def test_a_part_of_a_list_is_stored_once_the_definition_has_it() -> None:
    """By one object, ten minutes later at the latest, and then by all."""
    rig = Rig()
    fields = rig.all_fields["conditions"]["items"]
    rig.upgrade(conditions={**rig.all_fields["conditions"], "items": _without(fields, "message")})
    other = rig.sites.create(Site.named("b", namespace="default"))
    ready = Condition(type="Ready", status="True", reason="R", message="m", last_transition_time=AT)
    status = SiteStatus(conditions=(ready,))
    with captured_logs():
        assert rig.update(conditions=status.conditions) == 1
        other = rig.context.update_status(other, status)
        rig.upgrade()
        assert rig.update(conditions=status.conditions) == 0
        rig.clock.advance(TRY_AGAIN_SECONDS)
        assert [rig.update(conditions=status.conditions) for _ in range(3)] == [1, 0, 0]
        assert rig.stored()["conditions"][0]["message"] == "m"
        assert rig.context.update_status(other, status).status.conditions[0].message == "m"


def _without(items: Any, name: str) -> dict[str, Any]:
    """The schema of a list's entries without a field."""
    properties = {key: value for key, value in items["properties"].items() if key != name}
    return {
        **items,
        "properties": properties,
        "required": [each for each in items["required"] if each != name],
    }


def test_a_part_of_a_list_that_is_dropped_is_no_reason_for_a_write() -> None:
    """The list is a whole: only what the last write made of it tells. A real change of it is written."""
    rig = Rig()
    items = rig.all_fields["conditions"]["items"]
    del items["properties"]["message"]
    items["required"] = [name for name in items.get("required", []) if name != "message"]
    rig.upgrade()
    one, other = (
        Condition(
            type="Ready", status=status, reason="R", message="m", last_transition_time="2026-01-01T00:00:00Z"
        )
        for status in ("True", "False")
    )
    with captured_logs():
        assert [rig.update(conditions=(one,)) for _ in range(5)] == [1, 0, 0, 0, 0]
        assert [rig.update(conditions=(other,)) for _ in range(3)] == [1, 0, 0]
    assert rig.stored()["conditions"][0]["status"] == "False"
