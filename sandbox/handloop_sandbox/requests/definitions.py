"""
CustomResourceDefinitions: the resources that they serve, and how they are established and removed.

`catalog` derives the served resources from the definitions. `DefinitionController` accepts names, establishes
definitions, and deletes the custom objects of deleted ones. `begin_removal` is the first step of a DELETE.
Follows: apiextensions pkg/apihelpers, pkg/controller/{status,establish,finalizer},
pkg/apiserver/customresource_handler.go, pkg/registry/customresourcedefinition/etcd.go (Delete).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Any, Final

from handloop_sandbox.cluster.cluster_controller import Step, View, Write
from handloop_sandbox.custom.definition_rules import APPROVAL, is_protected
from handloop_sandbox.kinds.kinds import builtin_resources
from handloop_sandbox.requests.call import Call, shallow_metadata
from handloop_sandbox.storage.catalog import Catalog
from handloop_sandbox.storage.state import State
from handloop_sandbox.storage.stored import Change, ChangeType, Object, Stored
from handloop_sandbox.storage.transaction import Transaction
from handloop_sandbox.wire import go_time
from handloop_sandbox.wire.conversion import Known, WebhookConversion
from handloop_sandbox.wire.resource import GroupResource, ScalePaths, ServedResource, Subresource
from handloop_sandbox.wire.status import Status

DEFINITIONS: Final = GroupResource("apiextensions.k8s.io", "customresourcedefinitions")
CLEANUP_FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"
_PENDING: Final = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"


def condition_status(crd: Object, kind: str) -> str:
    """Return the status of a definition's condition, or "" if it does not have the condition."""
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return next((entry["status"] for entry in conditions if entry["type"] == kind), "")


def definition_of(state: State, resource: ServedResource) -> Object | None:
    """Return the definition of a custom resource."""
    return state.get(DEFINITIONS, "", f"{resource.plural}.{resource.group}")


def begin_removal(call: Call, transaction: Transaction, obj: Object) -> Stored:
    """Mark a definition for deletion. It remains stored until all of its custom objects are deleted."""
    if obj["metadata"].get("deletionTimestamp"):
        stored = transaction.stored(DEFINITIONS, "", obj["metadata"]["name"])
        assert stored is not None
        return stored
    now = go_time.from_unix(call.context.now)
    finalizers = [*(obj["metadata"].get("finalizers") or ()), CLEANUP_FINALIZER]
    going = shallow_metadata(obj, deletionTimestamp=now, finalizers=list(dict.fromkeys(finalizers)))
    going = with_condition(going, ("Terminating", "True", "InstanceDeletionPending", _PENDING), now)
    return transaction.put(DEFINITIONS, going)


def with_condition(crd: Object, wanted: tuple[str, str, str, str], now: str) -> Object:
    """
    Return a definition with a condition, given as type, status, reason and message.

    The condition's lastTransitionTime changes only if its status changes.
    """
    kind, status, reason, message = wanted
    conditions = list((crd.get("status") or {}).get("conditions") or ())
    index = next((i for i, entry in enumerate(conditions) if entry["type"] == kind), len(conditions))
    before = conditions[index] if index < len(conditions) else {}
    since = before["lastTransitionTime"] if before.get("status") == status else now
    conditions[index : index + 1] = [
        {"type": kind, "status": status, "lastTransitionTime": since, "reason": reason, "message": message}
    ]
    return {**crd, "status": {**(crd.get("status") or {}), "conditions": conditions}}


_VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_SUB_VERBS: Final = ("get", "patch", "update")
_RETRY_SECONDS: Final = 1.0
_FAILED: Final = 500
_VERSION: Final = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_STABILITY: Final = {"alpha": 0, "beta": 1, None: 2}


def catalog(state: State, *, revision: int, known: Known | None = None) -> Catalog:
    """
    Return a catalog of the served resources: the built-in ones, and those of established definitions.

    Args: known contains the conversion results that webhooks have returned so far.
    """
    served = served_by(state.list(DEFINITIONS), known)
    return Catalog((*builtin_resources(), *served), revision=revision)


def served_by(definitions: Iterable[Object], known: Known | None = None) -> Iterator[ServedResource]:
    """Yield the resources of established definitions, sorted by group, with preferred versions first."""
    established = [crd for crd in definitions if condition_status(crd, "Established") == "True"]
    found = [resource for crd in established for resource in _resources(crd, known or Known())]
    yield from sorted(found, key=lambda resource: (resource.group, _version_rank(resource.version)))


def redefined(before: Catalog, after: Catalog) -> list[GroupResource]:
    """Return the collections of custom resources whose definitions were removed or changed."""
    found = {
        resource.group_resource: None
        for resource in before.resources
        if resource.custom
        and not _same(resource, after.find(resource.group, resource.version, resource.plural))
    }
    return list(found)


def _same(resource: ServedResource, other: ServedResource | None) -> bool:
    return other is not None and all(
        getattr(resource, field.name) == getattr(other, field.name) for field in fields(ServedResource)
    )


def _resources(crd: Object, known: Known) -> Iterator[ServedResource]:
    spec = crd["spec"]
    names = {**spec["names"], **{k: v for k, v in crd["status"]["acceptedNames"].items() if v}}
    storage = next((v["name"] for v in spec["versions"] if v.get("storage")), "")
    conversion = _conversion(crd, known)
    for version in spec["versions"]:
        if version.get("served"):
            yield _resource(spec, names, version, storage, conversion)


def _conversion(crd: Object, known: Known) -> WebhookConversion | None:
    """Return the conversion by a definition's webhook, or None if it does not have a webhook."""
    conversion, metadata = crd["spec"].get("conversion") or {}, crd["metadata"]
    if conversion.get("strategy") != "Webhook":
        return None
    revision = metadata["uid"], metadata.get("generation", 0)
    return WebhookConversion(metadata["name"], revision, conversion["webhook"], known)


def _resource(
    spec: Object, names: Object, version: Object, storage: str, conversion: WebhookConversion | None
) -> ServedResource:
    subresources = version.get("subresources") or {}
    scale = subresources.get("scale")
    return ServedResource(
        group=spec["group"],
        version=version["name"],
        plural=names["plural"],
        kind=names["kind"],
        list_kind=names.get("listKind") or f"{names['kind']}List",
        singular=names.get("singular") or names["kind"].lower(),
        namespaced=spec.get("scope") == "Namespaced",
        verbs=_VERBS,
        storage_version=storage,
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=tuple(_subresources(names["kind"], subresources)),
        schema=(version.get("schema") or {}).get("openAPIV3Schema"),
        custom=True,
        schemas={
            each["name"]: (each.get("schema") or {}).get("openAPIV3Schema") for each in spec["versions"]
        },
        conversion=conversion,
        printer_columns=tuple(version.get("additionalPrinterColumns") or ()),
        scale_paths=None if scale is None else _scale_paths(scale),
        selectable_fields=tuple(
            entry["jsonPath"].removeprefix(".") for entry in version.get("selectableFields") or ()
        ),
        has_generation=True,
        unconditional_update=False,
        deprecation_warning=_deprecation(spec, names["kind"], version),
    )


def _subresources(kind: str, served: Object) -> Iterator[Subresource]:
    if served.get("status") is not None:
        yield Subresource(name="status", kind=kind, verbs=_SUB_VERBS)
    if served.get("scale") is not None:
        yield Subresource(name="scale", kind="Scale", group="autoscaling", version="v1", verbs=_SUB_VERBS)


def _scale_paths(scale: dict[str, str]) -> ScalePaths:
    return ScalePaths(
        scale["specReplicasPath"], scale["statusReplicasPath"], scale.get("labelSelectorPath") or ""
    )


def _deprecation(spec: Object, kind: str, version: Object) -> str:
    """Return the warning for users of a deprecated version, or "" if the version is not deprecated."""
    if not version.get("deprecated"):
        return ""
    group, rank = spec["group"], _version_rank(version["name"])
    better = sorted(
        (_version_rank(other["name"]), other["name"])
        for other in spec["versions"]
        if other.get("served") and not other.get("deprecated") and _version_rank(other["name"]) < rank
    )
    use = f"; use {group}/{better[0][1]} {kind}" if better else ""
    return version.get("deprecationWarning") or f"{group}/{version['name']} {kind} is deprecated{use}"


def _version_rank(version: str) -> tuple[int, int, int, int, str]:
    """Return a sort key: stable, beta and alpha versions, each newest first, and then all other names."""
    found = _VERSION.fullmatch(version)
    if found is None:
        return (1, 0, 0, 0, version)
    major, stability, minor = found.groups()
    return (0, -_STABILITY[stability], -int(major), -int(minor or 0), version)


class DefinitionController:
    """
    Accepts names, establishes definitions, and deletes the objects of definitions that are being deleted.

    State: _failures maps a definition's name to the reason why its objects could not be deleted. _again_at is
    the time of the next attempt. Every step reads the current definitions.
    """

    name = "kube-apiserver"
    interests = None

    def __init__(self) -> None:
        self._failures: dict[str, str] = {}
        self._again_at: float | None = None

    def step(self, view: View, changes: Sequence[Change], now: float) -> Step:
        """Process the definitions that changed, or whose objects were deleted or could not be deleted."""
        is_due = self._again_at is not None and now >= self._again_at
        touched = self._touched(view.state, changes, self._failures if is_due else ())
        self._again_at = None if is_due else self._again_at
        writes: list[Write] = []
        for crd in touched:
            failure = self._failures.get(crd["metadata"]["name"], "")
            writes += _writes(view.state, crd, go_time.from_unix(now), failure)
        return Step(writes, self._again_at)

    def refused(self, write: Write, status: Status, now: float) -> None:
        """Retry a failed deletion. After other errors, the next change to the definition triggers a retry."""
        if write.verb == "delete" and status["code"] == _FAILED:
            self._failures[str(write.group_resource)] = status["message"]
            self._again_at = now + _RETRY_SECONDS

    def _touched(self, state: State, changes: Sequence[Change], failed: Iterable[str]) -> list[Object]:
        names: dict[str, None] = dict.fromkeys(failed)
        for change in changes:
            if change.group_resource == DEFINITIONS:
                names[change.name] = None
                if change.type is ChangeType.DELETED:
                    self._failures.pop(change.name, None)
                    # Other definitions can now accept the names that the deleted one used.
                    names.update(dict.fromkeys(crd["metadata"]["name"] for crd in state.list(DEFINITIONS)))
            elif change.type is ChangeType.DELETED:
                names[str(change.group_resource)] = None
        found = (state.get(DEFINITIONS, "", name) for name in names)
        return [crd for crd in found if crd is not None]


def _writes(state: State, crd: Object, now: str, failure: str) -> Iterator[Write]:
    if crd["metadata"].get("deletionTimestamp"):
        yield from _removal(state, crd, now, failure)
        return
    accepted = _with_approval(_with_names(state, crd, now), now)
    if accepted != crd:
        yield _status_update(accepted)
    elif condition_status(crd, "NamesAccepted") == "True" and condition_status(crd, "Established") != "True":
        text = "the initial names have been accepted"
        yield _status_update(with_condition(crd, ("Established", "True", "InitialNamesAccepted", text), now))


def _with_approval(crd: Object, now: str) -> Object:
    """Return a definition with the condition that reports whether its protected group was approved."""
    approved = (crd["metadata"].get("annotations") or {}).get(APPROVAL)
    if not approved or not is_protected(crd["spec"]["group"]):
        return crd
    kind = "KubernetesAPIApprovalPolicyConformant"
    if approved.startswith("unapproved"):
        return with_condition(
            crd, (kind, "False", "UnapprovedAnnotation", f'not approved: "{approved}"'), now
        )
    return with_condition(crd, (kind, "True", "ApprovedAnnotation", f"approved in {approved}"), now)


def _with_names(state: State, crd: Object, now: str) -> Object:
    """Return a definition whose status accepts its names or reports a conflict within its group."""
    wanted = crd["spec"]["names"]
    conflict = _conflict(state, crd)
    if conflict is None:
        accepted = _with_accepted(crd, {key: value for key, value in wanted.items() if value})
        accepted = with_condition(
            accepted, ("NamesAccepted", "True", "NoConflicts", "no conflicts found"), now
        )
        if condition_status(crd, "Established") == "True":
            return accepted
        text = "the initial names have been accepted"
        if condition_status(crd, "NamesAccepted") == "True":
            return accepted
        return with_condition(accepted, ("Established", "False", "Installing", text), now)
    reason, message = conflict
    present = (crd.get("status") or {}).get("acceptedNames") or {}
    names = {**present, "plural": wanted["plural"], "kind": present.get("kind", "")}
    crd = _with_accepted(crd, names)
    crd = with_condition(crd, ("NamesAccepted", "False", reason, message), now)
    if condition_status(crd, "Established") == "True":
        return crd
    return with_condition(crd, ("Established", "False", "NotAccepted", "not all names are accepted"), now)


def _conflict(state: State, crd: Object) -> tuple[str, str] | None:
    """Return the reason and message for the last name that is already in use, or None if all are free."""
    taken_names, taken_kinds = _taken(state, crd)
    names = crd["spec"]["names"]
    found = None
    candidates = (
        ("PluralConflict", names["plural"], taken_names),
        ("SingularConflict", names.get("singular", ""), taken_names),
        *(("ShortNamesConflict", short, taken_names) for short in names.get("shortNames") or ()),
        ("KindConflict", names["kind"], taken_kinds),
        ("ListKindConflict", names.get("listKind", ""), taken_kinds),
    )
    for reason, name, taken in candidates:
        if name in taken:
            found = (reason, f'"{name}" is already in use')
    return found


def _taken(state: State, crd: Object) -> tuple[set[str], set[str]]:
    names: set[str] = set()
    kinds: set[str] = set()
    for other in state.list(DEFINITIONS):
        same = other["metadata"]["name"] == crd["metadata"]["name"]
        if same or other["spec"]["group"] != crd["spec"]["group"]:
            continue
        accepted = (other.get("status") or {}).get("acceptedNames") or {}
        names |= {
            accepted.get("plural", ""),
            accepted.get("singular", ""),
            *(accepted.get("shortNames") or ()),
        }
        kinds |= {accepted.get("kind", ""), accepted.get("listKind", "")}
    return names - {""}, kinds - {""}


def _with_accepted(crd: Object, names: dict[str, Any]) -> Object:
    return {**crd, "status": {**(crd.get("status") or {}), "acceptedNames": names}}


def _removal(state: State, crd: Object, now: str, failure: str) -> Iterator[Write]:
    collection = GroupResource(crd["spec"]["group"], crd["spec"]["names"]["plural"])
    in_progress = (
        "Terminating",
        "True",
        "InstanceDeletionInProgress",
        "CustomResource deletion is in progress",
    )
    if condition_status(crd, "Established") == "True" and state.count(collection):
        marked = with_condition(crd, in_progress, now)
        if failure:
            text = f"could not issue all deletes: {failure}"
            marked = with_condition(crd, ("Terminating", "True", "InstanceDeletionFailed", text), now)
        if marked != crd:
            yield _status_update(marked)
        for obj in state.list(collection):
            metadata = obj["metadata"]
            if not metadata.get("deletionTimestamp"):
                namespace, name = metadata.get("namespace", ""), metadata["name"]
                yield Write(verb="delete", group_resource=collection, namespace=namespace, name=name)
        return
    finalizers = [f for f in crd["metadata"].get("finalizers") or () if f != CLEANUP_FINALIZER]
    yield Write.of("update", DEFINITIONS, shallow_metadata(crd, finalizers=finalizers or None))


def _status_update(crd: Object) -> Write:
    return Write.of("update", DEFINITIONS, crd, subresource="status")
