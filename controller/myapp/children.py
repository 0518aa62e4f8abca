"""
The children of a MyApp, which have its name: their desired state, and the writes that produce it.

The fields set here are written with an apply, so that the controller owns them. The number of replicas is
patched instead. If it were applied, and later omitted so that an autoscaler could set it, the server would
reset it to 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar

import msgspec

from handloop import (
    APIStruct,
    Context,
    FrozenMap,
    Kind,
    NameTakenError,
    ObjectMeta,
    PatchType,
    WaitError,
    controller_of,
    is_being_deleted,
    is_controlled_by,
    object_name,
)
from handloop.apis import apps_v1, autoscaling_v2, core_v1
from handloop.controller.myapp.types import AutoScaling, MyApp

PORT: Final = "http"

K = TypeVar("K", bound=Kind)


def labels(app: MyApp) -> FrozenMap:
    """The children's labels and pod selector. They depend only on the name, not on the spec."""
    names = {"name": "myapp", "instance": app.metadata.name, "managed-by": "myapp-operator"}
    return FrozenMap({f"app.kubernetes.io/{key}": name for key, name in names.items()})


def _metadata(app: MyApp) -> ObjectMeta:
    return ObjectMeta(name=app.metadata.name, namespace=app.metadata.namespace, labels=labels(app))


def new_deployment(app: MyApp, present: apps_v1.Deployment | None = None) -> apps_v1.Deployment:
    """Return the desired Deployment, without replicas. An existing one keeps its immutable selector."""
    spec = app.spec
    container = {
        "name": "app",
        "image": spec.image,
        "ports": [{"name": PORT, "containerPort": spec.port}],
        "env": msgspec.to_builtins(spec.env),
        "resources": msgspec.to_builtins(spec.resources),
    }
    pods = msgspec.convert({"containers": [container]}, core_v1.PodSpec)
    template = core_v1.PodTemplateSpec(metadata=ObjectMeta(labels=labels(app)), spec=pods)
    selector = apps_v1.LabelSelector(match_labels=labels(app)) if present is None else present.spec.selector
    wanted = apps_v1.DeploymentSpec(selector=selector, template=template)
    return apps_v1.Deployment(metadata=_metadata(app), spec=wanted)


def new_service(app: MyApp) -> core_v1.Service:
    """Return the desired Service. The server allocates its cluster IP and node port."""
    port = core_v1.ServicePort(name=PORT, port=app.spec.port, target_port=PORT)
    spec = core_v1.ServiceSpec(type=app.spec.service_type, selector=labels(app), ports=(port,))
    return core_v1.Service(metadata=_metadata(app), spec=spec)


def new_autoscaler(app: MyApp, scaling: AutoScaling) -> autoscaling_v2.HorizontalPodAutoscaler:
    """Return the desired autoscaler, which scales the Deployment by CPU utilization."""
    target = {"type": "Utilization", "averageUtilization": scaling.target_cpu_utilization_percentage}
    spec = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": app.metadata.name},
        "minReplicas": scaling.min_replicas,
        "maxReplicas": scaling.max_replicas,
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
    }
    wanted = msgspec.convert(spec, autoscaling_v2.HorizontalPodAutoscalerSpec)
    return autoscaling_v2.HorizontalPodAutoscaler(metadata=_metadata(app), spec=wanted)


def owned(kind: type[K], app: MyApp, context: Context) -> K | None:
    """Return the cached child, or None if it does not exist or another object controls it."""
    found = context.lister_for(kind).get(object_name(app))
    return found if found is not None and is_controlled_by(found, app) else None


def child(kind: type[K], app: MyApp, context: Context) -> K | None:
    """
    Return the cached child, or None if it does not exist.

    Raises: NameTakenError if it is not ours; WaitError if it is being deleted or belongs to an earlier MyApp.
    """
    found = context.lister_for(kind).get(object_name(app))
    what, ours = f'{kind.resource.kind} "{app.metadata.name}"', MyApp.resource
    if found is None or is_controlled_by(found, app):
        if found is not None and is_being_deleted(found):
            raise WaitError(f"{what} is not gone yet")
        return found
    owner = controller_of(found) or next(iter(found.metadata.owner_references), None)
    if owner is None:
        raise NameTakenError(f"{what} already exists and has no owner")
    is_namesake = (owner.kind, owner.name) == (ours.kind, app.metadata.name) and owner.uid != app.metadata.uid
    if is_namesake and owner.api_version.partition("/")[0] == ours.group:
        raise WaitError(f"{what} of an earlier MyApp of this name is not gone yet")
    raise NameTakenError(f'{what} already exists and belongs to {owner.kind} "{owner.name}"')


def patched(live: K, changes: dict[str, Any], context: Context) -> K:
    """Send a strategic merge patch. Raises: Conflict if the object has changed since it was read."""
    there = live.metadata
    seen = {"resourceVersion": there.resource_version, "uid": there.uid}
    return context.client.resource(type(live)).patch(
        there.name,
        {"metadata": seen, **changes},
        namespace=there.namespace,
        patch_type=PatchType.STRATEGIC,
        field_manager=context.controller,
    )


def moved(live: Sequence[APIStruct], wanted: Sequence[APIStruct], number: str) -> list[dict[str, Any]]:
    """Return a patch that changes our port's number. An apply would add a second port of the same name."""
    ours, ports = msgspec.to_builtins(wanted[0]), msgspec.to_builtins(live)
    named = [port[number] for port in ports if port.get("name") == PORT and port[number] != ours[number]]
    return [*({number: each, "$patch": "delete"} for each in named), ours] if named else []


def corrections(live: apps_v1.Deployment, wanted: apps_v1.Deployment) -> dict[str, Any]:
    """Return a patch for what an apply cannot change: our port's number, and a variable's type of source."""
    (ours,), containers = wanted.spec.template.spec.containers, live.spec.template.spec.containers
    there = next((each for each in containers if each.name == ours.name), ours)
    ports = moved(there.ports, ours.ports, "containerPort")
    variables = {each.name: each for each in there.env}
    env = [_sourced(each) for each in ours.env if _source(variables.get(each.name, each)) != _source(each)]
    changed = {"containers": [{"name": ours.name, "ports": ports, "env": env}]}
    return {"template": {"spec": changed}} if ports or env else {}


def _source(variable: core_v1.EnvVar) -> tuple[bool, set[str] | None]:
    origin = variable.value_from
    return bool(variable.value), None if origin is None else {*msgspec.to_builtins(origin)}


def _sourced(variable: core_v1.EnvVar) -> dict[str, Any]:
    origin = variable.value_from and {"$patch": "replace", **msgspec.to_builtins(variable.value_from)}
    return {"name": variable.name, "value": variable.value or None, "valueFrom": origin}
