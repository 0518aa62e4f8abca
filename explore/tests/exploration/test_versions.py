"""An operator whose users write both versions of its kind, of which one needs functions."""

from __future__ import annotations

from typing import Any, Final

import pytest

from handloop import APIStruct, Context, FrozenMap, Kind, Manager, ObjectMeta, controller_for
from handloop.kinds.core_v1 import ConfigMap
from handloop_explore import Workload, applied, changed, deleted, settled
from handloop_explore.explorer import run_plans


class OldSpec(APIStruct):
    """Before the split."""

    address: str


class OldSite(Kind, group="example.org", version="v1beta1", kind="Site"):
    """The version before."""

    spec: OldSpec


class Spec(APIStruct):
    """In parts, and one field more."""

    host: str
    port: int = 80
    note: str = ""


class Site(Kind, group="example.org", version="v1", previous=OldSite):
    """The newest."""

    kept_fields = ("spec.note",)
    spec: Spec

    @classmethod
    def from_previous(cls, old: OldSite) -> Site:
        """Takes the address apart."""
        host, _, port = old.spec.address.partition(":")
        return cls(metadata=old.metadata, spec=Spec(host=host, port=int(port)))

    def to_previous(self) -> OldSite:
        """Puts it together."""
        address = f"{self.spec.host}:{self.spec.port}"
        return OldSite(metadata=self.metadata, spec=OldSpec(address=address))


def _reconcile(site: Site, context: Context) -> None:
    data = FrozenMap(host=site.spec.host, port=str(site.spec.port), note=site.spec.note)
    metadata = ObjectMeta(name=site.metadata.name, namespace=site.metadata.namespace)
    context.apply(ConfigMap(metadata=metadata, data=data), owner=site)


def _set_up(manager: Manager) -> None:
    builder = controller_for(manager, "sites").for_(Site).owns(ConfigMap)
    builder.writes(ConfigMap, "create", "patch").complete(_reconcile)


def _site(name: str, version: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": f"example.org/{version}", "kind": "Site", "metadata": metadata, "spec": spec}


OLD: Final = _site("a", "v1beta1", address="h:1")
NEW: Final = _site("b", "v1", host="h", port=2, note="n")
WORKLOAD: Final = Workload(
    _set_up,
    [
        applied(OLD),
        applied(NEW),
        changed(_site("a", "v1"), {"spec": {"note": "m"}}),
        # a user of the old version, who does not see the note
        changed(_site("b", "v1beta1"), {"spec": {"address": "i:3"}}),
        changed(OLD, {"spec": {"address": "h:4"}}),
        settled(),
        deleted(_site("b", "v1beta1")),
    ],
    replicas=2,
)


@pytest.mark.parametrize("plan", ["0:late", "2:crash-after", "4:crash-after"])
def test_the_end_is_the_same_whoever_writes_in_which_version(plan: str) -> None:
    """Also where the operator is late, or ends in the middle."""
    assert run_plans(WORKLOAD, replay=plan).failures == []


@pytest.mark.nightly
def test_no_single_strike_changes_the_end() -> None:
    """Of all plans with one strike each."""
    assert run_plans(WORKLOAD, plans=200).failures == []
