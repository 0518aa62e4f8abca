"""An operator whose objects are paused, on themselves and by their namespace, while it is struck."""

from __future__ import annotations

from typing import Any, Final

import pytest

from handloop import APIStruct, Context, FrozenMap, Kind, Manager, ObjectMeta, controller_for
from handloop.kinds.core_v1 import ConfigMap
from handloop_explore import Workload, applied, changed, deleted, settled
from handloop_explore.explorer import run_plans

KEY: Final = "example.org/paused"


class Spec(APIStruct):
    """What a user wants."""

    host: str


class Site(Kind, group="example.org", version="v1"):
    """A kind without a status."""

    spec: Spec


def _reconcile(site: Site, context: Context) -> None:
    # the cache had the pause before: not even an event of the child may lead here
    assert site.metadata.annotations.get(KEY) != "true", "reconciled although it is paused"
    metadata = ObjectMeta(name=site.metadata.name, namespace=site.metadata.namespace)
    context.apply(ConfigMap(metadata=metadata, data=FrozenMap(host=site.spec.host)), owner=site)


def _set_up(manager: Manager) -> None:
    builder = controller_for(manager, "sites").for_(Site).owns(ConfigMap)
    builder.writes(ConfigMap, "create", "patch").complete(_reconcile)


def _site(name: str) -> dict[str, Any]:
    head = {"apiVersion": "example.org/v1", "kind": "Site"}
    return {**head, "metadata": {"name": name, "namespace": "default"}, "spec": {"host": "one"}}


def _annotated(value: str | None) -> dict[str, Any]:
    return {"metadata": {"annotations": {KEY: value}}}


NAMESPACE: Final = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
CHILD: Final = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
A, B = _site("a"), _site("b")
WORKLOAD: Final = Workload(
    _set_up,
    [
        applied(A),
        changed(A, _annotated("true")),
        changed(A, {"spec": {"host": "two"}}),
        deleted(CHILD),
        changed(A, _annotated(None)),
        settled(),
        changed(NAMESPACE, _annotated("true")),
        applied(B),
        changed(A, {"spec": {"host": "three"}}),
        changed(NAMESPACE, _annotated("no")),
        settled(),
        deleted(B),
    ],
    replicas=2,
)


@pytest.mark.parametrize("plan", ["0:late", "1:crash-after", "2:crash-before", "2:lost"])
def test_nothing_is_written_in_a_pause_and_nothing_is_lost(plan: str) -> None:
    """Whatever strikes at a write beside it; the end is that of a run that nothing disturbs."""
    assert run_plans(WORKLOAD, replay=plan).failures == []


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(20))
def test_no_strike_gets_a_write_into_a_pause(seed: int) -> None:
    """Of plans by 20 seeds, after all single strikes."""
    assert run_plans(WORKLOAD, plans=150, seed=seed).failures == []
