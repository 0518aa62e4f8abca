"""
A custom resource definition as an object: its conditions, and what deleting it does first.

Follows: apiextensions pkg/apihelpers, pkg/registry/customresourcedefinition/etcd.go (Delete).
"""

from __future__ import annotations

from typing import Final

from handloop.sandbox.requests.call import Call, shallow_metadata
from handloop.sandbox.storage.state import State
from handloop.sandbox.storage.stored import Object, Stored
from handloop.sandbox.storage.transaction import Transaction
from handloop.sandbox.wire import go_time
from handloop.sandbox.wire.resource import GroupResource, ServedResource

DEFINITIONS: Final = GroupResource("apiextensions.k8s.io", "customresourcedefinitions")
CLEANUP_FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"
_PENDING: Final = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"


def condition_status(crd: Object, kind: str) -> str:
    """`True`, `False`, or "" when the definition has no such condition."""
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return next((entry["status"] for entry in conditions if entry["type"] == kind), "")


def definition_of(state: State, resource: ServedResource) -> Object | None:
    """The definition a custom resource comes from."""
    return state.get(DEFINITIONS, "", f"{resource.plural}.{resource.group}")


def begin_removal(call: Call, transaction: Transaction, obj: Object) -> Stored:
    """What DELETE does to a definition first: it stays until its resources are gone."""
    if obj["metadata"].get("deletionTimestamp"):
        stored = call.stored()
        assert stored is not None
        return stored
    now = go_time.from_unix(call.context.now)
    finalizers = [*(obj["metadata"].get("finalizers") or ()), CLEANUP_FINALIZER]
    going = shallow_metadata(obj, deletionTimestamp=now, finalizers=list(dict.fromkeys(finalizers)))
    going = with_condition(going, ("Terminating", "True", "InstanceDeletionPending", _PENDING), now)
    return transaction.put(DEFINITIONS, going)


def with_condition(crd: Object, wanted: tuple[str, str, str, str], now: str) -> Object:
    """A definition with a condition (type, status, reason, message); its time changes with its status."""
    kind, status, reason, message = wanted
    conditions = list((crd.get("status") or {}).get("conditions") or ())
    index = next((i for i, entry in enumerate(conditions) if entry["type"] == kind), len(conditions))
    before = conditions[index] if index < len(conditions) else {}
    since = before["lastTransitionTime"] if before.get("status") == status else now
    conditions[index : index + 1] = [
        {"type": kind, "status": status, "lastTransitionTime": since, "reason": reason, "message": message}
    ]
    return {**crd, "status": {**(crd.get("status") or {}), "conditions": conditions}}
