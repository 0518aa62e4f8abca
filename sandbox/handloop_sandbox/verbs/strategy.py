"""
The changes that the server makes to an object before validation, which depend on its kind.

`prepare_create` removes the client's status, and adds the fields that admission and the kind's strategy set
(for pods, in pod_admission). `prepare_update` accepts only the changes that the endpoint allows, and
increments the generation.
Follows: kubernetes pkg/registry/*/strategy.go (PrepareForCreate, PrepareForUpdate),
plugin/pkg/admission/storageobjectinuseprotection, apiextensions
pkg/registry/customresource/{strategy,status_strategy}.go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from handloop_sandbox.cluster.bootstrap import PRIORITY_CLASSES
from handloop_sandbox.cluster.storage_protection import ATTRIBUTES_CLASSES, CLAIMS, PROTECTIONS, VOLUMES
from handloop_sandbox.cluster.workloads import DAEMON_SETS
from handloop_sandbox.kinds import autoscaler_versions, typed
from handloop_sandbox.kinds.default_rules import TEMPLATE_GENERATION
from handloop_sandbox.requests.call import Call, shallow_metadata
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.verbs import service_addresses, signing_requests
from handloop_sandbox.verbs.pod_admission import admitted, only_default
from handloop_sandbox.wire import go_time
from handloop_sandbox.wire.resource import GroupResource, ServedResource

_KEEPS_STATUS: Final = (GroupResource("", "nodes"),)
_CONTROLLER_UID: Final = "batch.kubernetes.io/controller-uid"

_STORAGE_CLASSES: Final = GroupResource("storage.k8s.io", "storageclasses")
_SOURCES: Final = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))
"""The groups and kinds that a dataSource can name. A new dataSource with any other kind is dropped."""
_CLAIMED_CLASS: Final = "volume.beta.kubernetes.io/storage-class"

Prepare = Callable[[Call, Object], Object]


def prepare_create(call: Call, obj: Object) -> Object:
    """Return a new object without the client's status, and with the fields that its kind adds."""
    resource = call.resource
    if resource.subresource("status") and resource.group_resource not in _KEEPS_STATUS:
        obj = without_status(resource, obj)
    if resource.custom:
        return obj
    prepare = _BY_KIND.get(resource.group_resource)
    return obj if prepare is None else prepare(call, obj)


def without_status(resource: ServedResource, obj: Object) -> Object:
    """Return an object with the initial status of its kind."""
    rest = {key: value for key, value in obj.items() if key != "status"}
    if resource.custom or resource.schema is None:
        return rest
    status = typed.decode(resource.schema, {}, typed.Report()).get("status")
    return rest if status is None else {**rest, "status": status}


def with_status(obj: Object, **fields: object) -> Object:
    """Return an object with some fields in its status replaced."""
    return {**obj, "status": {**(obj.get("status") or {}), **fields}}


def with_finalizer(obj: Object, finalizer: str) -> Object:
    """Return an object with an additional finalizer."""
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
    obj = with_finalizer(with_status(obj, phase="Pending"), PROTECTIONS[CLAIMS])
    notes, spec = obj["metadata"].get("annotations") or {}, with_data_source(obj.get("spec") or {})
    obj = {**obj, "spec": spec}
    if _CLAIMED_CLASS in notes or spec.get("storageClassName") is not None:
        return obj
    found = [entry for entry in call.state.list(_STORAGE_CLASSES) if _is_default(entry)]
    if not found:
        return obj
    newest = max(found, key=lambda entry: str(entry["metadata"]["creationTimestamp"]))
    return {**obj, "spec": {**spec, "storageClassName": newest["metadata"]["name"]}}


def with_data_source(spec: Object, *, old: Object | None = None) -> Object:
    """
    Return a claim's spec in which dataSource and dataSourceRef are filled in from each other.

    A dataSource of an unsupported kind is dropped, unless the old claim has a source.
    """
    source, wider = spec.get("dataSource"), spec.get("dataSourceRef")
    if wider is not None and wider.get("namespace"):
        # This requires the feature gate CrossNamespaceVolumeDataSource, which is off.
        spec = {name: value for name, value in spec.items() if name != "dataSourceRef"}
        wider = None
    if wider is not None:
        return spec if source is not None else {**spec, "dataSource": wider}
    had_one = bool(old and (old.get("dataSource") or old.get("dataSourceRef")))
    is_odd = source is not None and (source.get("apiGroup") or "", source.get("kind")) not in _SOURCES
    if is_odd and not had_one:
        return {name: value for name, value in spec.items() if name != "dataSource"}
    return spec if source is None else {**spec, "dataSourceRef": source}


def _is_default(storage_class: Object) -> bool:
    notes = storage_class["metadata"].get("annotations") or {}
    return any(
        notes.get(f"storageclass{part}.kubernetes.io/is-default-class") == "true" for part in ("", ".beta")
    )


def _volume(call: Call, obj: Object) -> Object:
    changed_at = go_time.from_unix(call.context.now)
    obj = with_status(obj, phase="Pending", lastPhaseTransitionTime=changed_at)
    return with_finalizer(obj, PROTECTIONS[VOLUMES])


def _attributes_class(call: Call, obj: Object) -> Object:
    del call
    return with_finalizer(obj, PROTECTIONS[ATTRIBUTES_CLASSES])


def _autoscaler(call: Call, obj: Object) -> Object:
    del call
    return autoscaler_versions.without_status(obj)


def _daemon_set(call: Call, obj: Object) -> Object:
    del call
    annotations = obj["metadata"].get("annotations") or {}
    given = annotations.get(TEMPLATE_GENERATION, "")
    number = given if given.isascii() and given.isdigit() and int(given) else "1"
    return shallow_metadata(obj, annotations={**annotations, TEMPLATE_GENERATION: number})


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
    template = {**template, "metadata": {**inner, "labels": {**labels, **(inner.get("labels") or {})}}}
    selector = spec.get("selector") or {}
    found = {_CONTROLLER_UID: uid, **(selector.get("matchLabels") or {})}
    spec = {**spec, "selector": {**selector, "matchLabels": found}, "template": template}
    # As in Go, a Job without its own labels shares the label map of its template.
    own = obj["metadata"].get("labels")
    obj = {**obj, "spec": spec}
    return (
        obj
        if own and own is not inner.get("labels")
        else shallow_metadata(obj, labels=template["metadata"]["labels"])
    )


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


def _api_service(call: Call, obj: Object) -> Object:
    """Return an APIService. If it names no service, it is served locally and is therefore available."""
    if (obj.get("spec") or {}).get("service"):
        return obj
    told = {"reason": "Local", "message": "Local APIServices are always available"}
    since = go_time.from_unix(call.context.now)
    condition = {"type": "Available", "status": "True", "lastTransitionTime": since, **told}
    return with_status(obj, conditions=[condition])


_BY_KIND: Final[dict[GroupResource, Prepare]] = {
    GroupResource("", "limitranges"): _limit_range,
    GroupResource("", "namespaces"): _namespace,
    GroupResource("", "nodes"): _node,
    CLAIMS: _claim,
    VOLUMES: _volume,
    ATTRIBUTES_CLASSES: _attributes_class,
    GroupResource("autoscaling", "horizontalpodautoscalers"): _autoscaler,
    GroupResource("", "pods"): admitted,
    GroupResource("", "services"): service_addresses.allocated,
    GroupResource("apiextensions.k8s.io", "customresourcedefinitions"): _definition,
    GroupResource("apiregistration.k8s.io", "apiservices"): _api_service,
    DAEMON_SETS: _daemon_set,
    GroupResource("batch", "jobs"): _job,
    PRIORITY_CLASSES: only_default,
    signing_requests.SIGNING_REQUESTS: signing_requests.asked_by,
}


_META_COUNTS: Final = {"Deployment": "annotations", "EndpointSlice": "labels"}
"""The part of a kind's metadata whose changes also increment the generation."""
_LABELS_STAY: Final = ("apps",)


def prepare_update(resource: ServedResource, new: Object, old: Object, subresource: str) -> Object:
    """Return a changed object with only the changes that the endpoint allows."""
    match subresource:
        case "status":
            return _custom_status(new, old) if resource.custom else _built_in_status(resource, new, old)
        case "finalize":
            return {**old, "metadata": new["metadata"], "spec": new.get("spec") or {}}
    return _main(resource, new, old)


def _main(resource: ServedResource, new: Object, old: Object) -> Object:
    if resource.subresource("status"):
        new = _with(new, "status", old)
    if resource.kind == "Service" and not resource.custom:
        new = service_addresses.without_what_the_type_lost(new, old)
    if resource.kind == "Namespace" and not resource.custom:
        new = _with(new, "spec", old)
    if resource.group_resource == CLAIMS:
        new = {**new, "spec": with_data_source(new.get("spec") or {}, old=old.get("spec"))}
    if resource.group_resource == DAEMON_SETS:
        new = _with_template_generation(new, old)
    if resource.kind == "CustomResourceDefinition" and not resource.custom:
        new = _with_stored_version(new)
    if resource.has_generation and _counts(resource, new, old):
        generation = old["metadata"].get("generation", 0) + 1
        return shallow_metadata(new, generation=generation)
    return new


def _with_template_generation(new: Object, old: Object) -> Object:
    """Return a DaemonSet with the server's value of the annotation that counts template changes."""
    number = int((old["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "0"))
    number += new["spec"].get("template") != old["spec"].get("template")
    annotations = {**(new["metadata"].get("annotations") or {}), TEMPLATE_GENERATION: str(number)}
    return shallow_metadata(new, annotations=annotations)


def _with_stored_version(definition: Object) -> Object:
    """Return a definition whose status.storedVersions includes the storage version."""
    versions, status = definition["spec"].get("versions") or (), definition.get("status") or {}
    stored = list(status.get("storedVersions") or ())
    first = next((entry["name"] for entry in versions if entry.get("storage")), None)
    stored += [first] if first is not None and first not in stored else []
    return {**definition, "status": {**status, "storedVersions": stored or None}}


def _counts(resource: ServedResource, new: Object, old: Object) -> bool:
    """Return whether an update increments the generation."""
    if resource.group_resource == PRIORITY_CLASSES:
        return False
    counted = None if resource.custom else _META_COUNTS.get(resource.kind)
    if counted and new["metadata"].get(counted) != old["metadata"].get(counted):
        return True
    if resource.custom or "spec" not in old:
        names = {*new, *old} - {"metadata", "apiVersion", "kind"}
        return any(new.get(name) != old.get(name) for name in names)
    return bool(new.get("spec") != old.get("spec"))


def _custom_status(new: Object, old: Object) -> Object:
    metadata = shallow_metadata(old, managedFields=new["metadata"].get("managedFields"))
    return _with(metadata, "status", new)


def _built_in_status(resource: ServedResource, new: Object, old: Object) -> Object:
    before = old["metadata"]
    kept = {"ownerReferences": before.get("ownerReferences")}
    if resource.group in _LABELS_STAY:
        kept["labels"] = before.get("labels")
    obj = {**old, "metadata": shallow_metadata(new, **kept)["metadata"]}
    return _with(obj, "status", new)


def _with(obj: Object, name: str, source: Object) -> Object:
    """Return a copy of obj with the member `name` of source, or without this member if source has none."""
    rest = {key: value for key, value in obj.items() if key != name}
    return {**rest, name: source[name]} if name in source else rest
