"""
The target of a HorizontalPodAutoscaler: an object with replicas, of a built-in or a custom kind.

Follows: kubernetes pkg/controller/podautoscaler/horizontal.go (scaleForResourceMappings).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from handloop_sandbox.cluster.cluster_controller import View, Write
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.wire import label_selector
from handloop_sandbox.wire.resource import ScalePaths, ServedResource


class NoScaleError(Exception):
    """The target cannot be scaled. The message equals that of kube-controller-manager."""


class ScaleTarget(NamedTuple):
    """An object to scale, with its wanted number of replicas. selector is in query form (`app=a`)."""

    resource: ServedResource
    object: Object
    replicas: int
    selector: str

    @property
    def paths(self) -> ScalePaths:
        """The paths of the replicas and the selector in objects of the target's kind."""
        assert self.resource.scale_paths is not None
        return self.resource.scale_paths


def find(view: View, namespace: str, reference: Mapping[str, Any]) -> ScaleTarget:
    """Return the target of a scaleTargetRef. Raises: NoScaleError if it cannot be scaled."""
    group = reference.get("apiVersion", "").rpartition("/")[0]
    kind, name = reference["kind"], reference["name"]
    resource = next((r for r in view.catalog.resources if (r.group, r.kind) == (group, kind)), None)
    if resource is None:
        raise NoScaleError(f'no matches for kind "{kind}" in group "{group}"')
    stored = view.catalog.storage(resource.group_resource) or resource
    if stored.scale_paths is None:
        raise NoScaleError("the server could not find the requested resource")
    obj = view.state.get(stored.group_resource, namespace, name)
    if obj is None:
        raise NoScaleError(f'{stored.qualified} "{name}" not found')
    return _target(stored, stored.scale_paths, obj)


def resized(target: ScaleTarget, replicas: int) -> Write:
    """Return the write that changes a target's number of replicas."""
    changed = with_value(target.object, target.paths.spec_replicas, replicas)
    return Write.of("update", target.resource.group_resource, changed, subresource="scale")


def _target(resource: ServedResource, paths: ScalePaths, obj: Object) -> ScaleTarget:
    wanted = _at(obj, paths.spec_replicas)
    # An object that is older than the definition's scale subresource may have anything there.
    if resource.custom and (not isinstance(wanted, int) or isinstance(wanted, bool)):
        where = paths.spec_replicas
        raise NoScaleError(f'Internal error occurred: the spec replicas field "{where}" does not exist')
    return ScaleTarget(resource, obj, int(wanted or 0), _selector(resource, paths, obj))


def _selector(resource: ServedResource, paths: ScalePaths, obj: Object) -> str:
    if resource.custom:
        return str(_at(obj, paths.label_selector) or "") if paths.label_selector else ""
    return label_selector.text(obj["spec"].get("selector"))


def _parts(path: str) -> list[str]:
    return path.removeprefix(".").split(".")


def _at(obj: Any, path: str) -> Any:
    for part in _parts(path):
        obj = obj.get(part) if isinstance(obj, dict) else None
    return obj


def with_value(obj: Object, path: str, value: int) -> Object:
    """Return a copy of an object with a new value at a path such as `.spec.replicas`."""
    first, _, rest = path.removeprefix(".").partition(".")
    inner = obj.get(first)
    below = inner if isinstance(inner, dict) else {}
    return {**obj, first: with_value(below, rest, value) if rest else value}
