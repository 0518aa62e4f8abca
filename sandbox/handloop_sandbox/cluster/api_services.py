"""
The APIServices that the API server creates itself: one for each group version that it serves.

Follows: kube-aggregator pkg/controllers/autoregister, apiserver pkg/controlplane/apiserver/aggregator.go (for
priorities) and crdregistration (for the APIServices of CustomResourceDefinitions).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from handloop_sandbox.cluster.cluster_controller import KeyedController, Pace, Step, View, Write
from handloop_sandbox.storage.stored import Change, Object
from handloop_sandbox.wire.resource import GroupResource

DEFINITIONS: Final = GroupResource("apiextensions.k8s.io", "customresourcedefinitions")
API_SERVICES: Final = GroupResource("apiregistration.k8s.io", "apiservices")

_MANAGED: Final = "kube-aggregator.kubernetes.io/automanaged"
_REACTION_SECONDS: Final = 0.05
_OF_DEFINITIONS: Final = 1000, 100
_VERSION_PRIORITY: Final = 15
_VERSION_PRIORITIES: Final = {
    "v1": 1,
    "autoscaling/v2": 30,
    "flowcontrol.apiserver.k8s.io/v1": 21,
    "resource.k8s.io/v1": 21,
}
_GROUPS: Final = {
    "": 18000,
    "apps": 17800,
    "events.k8s.io": 17750,
    "authentication.k8s.io": 17700,
    "authorization.k8s.io": 17600,
    "autoscaling": 17500,
    "batch": 17400,
    "certificates.k8s.io": 17300,
    "networking.k8s.io": 17200,
    "policy": 17100,
    "rbac.authorization.k8s.io": 17000,
    "storage.k8s.io": 16800,
    "apiextensions.k8s.io": 16700,
    "admissionregistration.k8s.io": 16700,
    "scheduling.k8s.io": 16600,
    "coordination.k8s.io": 16500,
    "node.k8s.io": 16300,
    "discovery.k8s.io": 16200,
    "resource.k8s.io": 16200,
    "flowcontrol.apiserver.k8s.io": 16100,
}
"""The built-in groups, each with its minimum priority."""


class ApiServiceController(KeyedController[str]):
    """
    Creates the built-in groups' APIServices once, and keeps those for CustomResourceDefinitions up to date.

    The keys are APIService names, such as `v1.example.com`.

    State: _began is True after the first step.
    """

    name = "kube-apiserver"
    interests: frozenset[GroupResource] | None = frozenset({DEFINITIONS, API_SERVICES})

    def __init__(self, pace: Pace) -> None:
        super().__init__(pace)
        self._began = False

    def step(self, view: View, changes: Sequence[Change], now: float) -> Step:
        """Run one step. The first step also creates the APIServices of the built-in groups."""
        built_in = [] if self._began else [*_built_in(view)]
        self._began = True
        writes, wake = super().step(view, changes, now)
        return Step([*built_in, *writes], wake)

    def _observe(self, view: View, change: Change, now: float) -> None:
        del view
        states = [state.object for state in (change.new, change.old) if state is not None]
        for name in _names(states) if change.group_resource == DEFINITIONS else (change.name,):
            self._dirty.mark(name, now + self._pace.seconds(_REACTION_SECONDS))

    def _sync(self, view: View, key: str, now: float) -> list[Write]:
        del now
        version, _, group = key.partition(".")
        present = view.state.get(API_SERVICES, "", key)
        if present is not None and (present["metadata"].get("labels") or {}).get(_MANAGED) != "true":
            return []  # created by a user, or for a built-in group
        if not _is_served(view, group, version):
            return [] if present is None else [Write.of("delete", API_SERVICES, present)]
        wanted = _new(group, version, _OF_DEFINITIONS, "true")
        if present is None:
            return [Write.of("create", API_SERVICES, wanted)]
        if present["spec"] == wanted["spec"]:
            return []
        return [Write.of("update", API_SERVICES, {**present, "spec": wanted["spec"]})]


def _built_in(view: View) -> Iterator[Write]:
    for group, priority in _GROUPS.items():
        for version in view.catalog.versions(group):
            name = f"{group}/{version}" if group else version
            priorities = priority, _VERSION_PRIORITIES.get(name, _VERSION_PRIORITY)
            yield Write.of("create", API_SERVICES, _new(group, version, priorities, "onstart"))


def _names(definitions: Sequence[Object]) -> set[str]:
    return {
        f"{version['name']}.{definition['spec']['group']}"
        for definition in definitions
        for version in definition["spec"]["versions"]
    }


def _is_served(view: View, group: str, version: str) -> bool:
    return any(
        each["name"] == version and each.get("served")
        for definition in view.state.list(DEFINITIONS)
        if definition["spec"]["group"] == group
        for each in definition["spec"]["versions"]
    )


def _new(group: str, version: str, priorities: tuple[int, int], managed: str) -> dict[str, Any]:
    least, own = priorities
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"{version}.{group}", "labels": {_MANAGED: managed}},
        "spec": {
            **({"group": group} if group else {}),
            "version": version,
            "groupPriorityMinimum": least,
            "versionPriority": own,
        },
    }
