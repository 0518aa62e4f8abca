"""
What the server adds to a new built-in object beyond defaults: the work of admission and of strategies.

Follows: kubernetes pkg/registry/*/strategy.go (PrepareForCreate), plugin/pkg/admission (serviceaccount,
defaulttolerationseconds, priority, storageobjectinuseprotection), pkg/registry/core/service/storage.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from handloop.sandbox.kinds import typed
from handloop.sandbox.requests.call import Call, shallow_metadata
from handloop.sandbox.storage.stored import Object
from handloop.sandbox.verbs import pod_defaults, service_addresses
from handloop.sandbox.wire import go_time
from handloop.sandbox.wire.resource import GroupResource, ServedResource

_KEEPS_STATUS: Final = ("nodes", "apiservices")
_CONTROLLER_UID: Final = "batch.kubernetes.io/controller-uid"

Prepare = Callable[[Call, Object], Object]


def prepare_create(call: Call, obj: Object) -> Object:
    """A new object as it goes to validation: without the client's status, with what its kind adds."""
    resource = call.resource
    if resource.subresource("status") and resource.plural not in _KEEPS_STATUS:
        obj = without_status(resource, obj)
    if resource.custom:
        return obj
    prepare = _BY_KIND.get(resource.group_resource)
    return obj if prepare is None else prepare(call, obj)


def without_status(resource: ServedResource, obj: Object) -> Object:
    """An object with the status of one that was just made."""
    rest = {key: value for key, value in obj.items() if key != "status"}
    if resource.custom or resource.schema is None:
        return rest
    status = typed.decode(resource.schema, {}, typed.Report()).get("status")
    return rest if status is None else {**rest, "status": status}


def with_status(obj: Object, **fields: object) -> Object:
    """An object with some of its status replaced."""
    return {**obj, "status": {**(obj.get("status") or {}), **fields}}


def with_finalizer(obj: Object, finalizer: str) -> Object:
    """An object with one more finalizer."""
    finalizers = obj["metadata"].get("finalizers") or []
    return obj if finalizer in finalizers else shallow_metadata(obj, finalizers=[*finalizers, finalizer])


def _namespace(call: Call, obj: Object) -> Object:
    del call
    finalizers = (obj.get("spec") or {}).get("finalizers") or []
    if "kubernetes" not in finalizers:
        finalizers = [*finalizers, "kubernetes"]
    labels = {
        **(obj["metadata"].get("labels") or {}),
        "kubernetes.io/metadata.name": obj["metadata"].get("name", ""),
    }
    obj = shallow_metadata(
        {**obj, "spec": {**(obj.get("spec") or {}), "finalizers": finalizers}}, labels=labels
    )
    return with_status(obj, phase="Active")


def _limit_range(call: Call, obj: Object) -> Object:
    return obj if obj["metadata"].get("name") else shallow_metadata(obj, name=call.context.new_uid())


def _claim(call: Call, obj: Object) -> Object:
    del call
    return with_finalizer(with_status(obj, phase="Pending"), "kubernetes.io/pvc-protection")


def _volume(call: Call, obj: Object) -> Object:
    changed_at = go_time.from_unix(call.context.now)
    obj = with_status(obj, phase="Pending", lastPhaseTransitionTime=changed_at)
    return with_finalizer(obj, "kubernetes.io/pv-protection")


def _daemon_set(call: Call, obj: Object) -> Object:
    del call
    annotations = obj["metadata"].get("annotations") or {}
    return shallow_metadata(obj, annotations={**annotations, "deprecated.daemonset.template.generation": "1"})


def _job(call: Call, obj: Object) -> Object:
    del call
    spec = obj.get("spec") or {}
    if spec.get("manualSelector"):
        return obj
    uid, name = obj["metadata"]["uid"], obj["metadata"]["name"]
    labels = {
        _CONTROLLER_UID: uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
    }
    template = spec.get("template") or {}
    inner = template.get("metadata") or {}
    template = {**template, "metadata": {**inner, "labels": {**(inner.get("labels") or {}), **labels}}}
    spec = {**spec, "selector": {"matchLabels": {_CONTROLLER_UID: uid}}, "template": template}
    obj = {**obj, "spec": spec}
    return shallow_metadata(obj, labels={**(obj["metadata"].get("labels") or {}), **labels})


def _node(call: Call, obj: Object) -> Object:
    del call
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    spec = obj.get("spec") or {}
    taints = spec.get("taints") or []
    known = any(entry["key"] == taint["key"] and entry["effect"] == taint["effect"] for entry in taints)
    return obj if known else {**obj, "spec": {**spec, "taints": [*taints, taint]}}


def _definition(call: Call, obj: Object) -> Object:
    del call
    stored = [version["name"] for version in obj["spec"].get("versions") or [] if version.get("storage")][:1]
    status = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored}
    return {**obj, "status": {**status, "storedVersions": stored or None}}


def _pod(call: Call, obj: Object) -> Object:
    return pod_defaults.admitted(call, obj)


_BY_KIND: Final[dict[GroupResource, Prepare]] = {
    GroupResource("", "limitranges"): _limit_range,
    GroupResource("", "namespaces"): _namespace,
    GroupResource("", "nodes"): _node,
    GroupResource("", "persistentvolumeclaims"): _claim,
    GroupResource("", "persistentvolumes"): _volume,
    GroupResource("", "pods"): _pod,
    GroupResource("", "services"): service_addresses.allocated,
    GroupResource("apiextensions.k8s.io", "customresourcedefinitions"): _definition,
    GroupResource("apps", "daemonsets"): _daemon_set,
    GroupResource("batch", "jobs"): _job,
}
