"""
CertificateSigningRequests: their author, their approval, and the fields that each endpoint can change.

Follows: kubernetes pkg/registry/certificates/certificates/strategy.go,
plugin/pkg/admission/certificates/{approval,signing}, plugin/pkg/auth/certauthorization.
"""

from __future__ import annotations

from typing import Final

from handloop_sandbox.requests import authorization
from handloop_sandbox.requests.authorization import Attributes
from handloop_sandbox.requests.call import Call
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.wire import go_time
from handloop_sandbox.wire.resource import GroupResource
from handloop_sandbox.wire.status import forbidden

SIGNING_REQUESTS: Final = GroupResource("certificates.k8s.io", "certificatesigningrequests")
_APPROVALS: Final = ("Approved", "Denied")
_ASKING: Final = ("username", "uid", "groups", "extra")


def asked_by(call: Call, request: Object) -> Object:
    """Return a new request that names its real author, even if the client named another one."""
    spec = {key: value for key, value in (request.get("spec") or {}).items() if key not in _ASKING}
    return {**request, "spec": {**spec, **call.context.user.info()}}


def changed(call: Call, new: Object, old: Object) -> Object:
    """
    Return a changed request with only the changes that the endpoint allows.

    Missing times in conditions are filled in.
    """
    new = {**new, "spec": old.get("spec")}
    before, sent = old.get("status") or {}, new.get("status") or {}
    conditions = sent.get("conditions") or []
    match call.path.subresource:
        case "approval":
            return _with_conditions(new, before, _with_times(call, conditions, before))
        case "status":
            conditions = _with_times(call, _with_approvals(conditions, before), before)
            return _with_conditions(new, sent, conditions)
    return {**new, "status": before}


def check_signer(call: Call, new: Object, old: Object) -> None:
    """Refuse (403) a user who may not approve or sign requests for this request's signer."""
    verb = {"approval": "approve", "status": "sign"}.get(call.path.subresource)
    if verb is None or (verb == "sign" and new.get("status") == old.get("status")):
        return
    signer = old["spec"]["signerName"]
    for name in (signer, f"{signer.partition('/')[0]}/*"):
        wanted = Attributes(verb, SIGNING_REQUESTS.group, "signers", name=name)
        if authorization.allowed(call.state, call.context.user, wanted):
            return
    text = f'user not permitted to {verb} requests with signerName "{signer}"'
    raise forbidden(call.resource, call.name, text)


def _with_conditions(request: Object, status: Object, conditions: list[Object]) -> Object:
    """Return a request with a status that contains these conditions. An empty list is omitted."""
    rest = {key: value for key, value in status.items() if key != "conditions"}
    return {**request, "status": {**rest, "conditions": conditions} if conditions else rest}


def _with_approvals(conditions: list[Object], before: Object) -> list[Object]:
    """Return the new conditions, but with existing approval conditions unchanged."""
    kept = {entry["type"]: entry for entry in before.get("conditions") or () if entry["type"] in _APPROVALS}
    return [kept.get(entry.get("type", ""), entry) for entry in conditions]


def _with_times(call: Call, conditions: list[Object], before: Object) -> list[Object]:
    now = go_time.from_unix(call.context.now)
    since = {
        (entry["type"], entry["status"]): entry.get("lastTransitionTime")
        for entry in before.get("conditions") or ()
    }
    return [
        {
            **entry,
            "lastUpdateTime": entry.get("lastUpdateTime") or now,
            "lastTransitionTime": entry.get("lastTransitionTime")
            or since.get((entry.get("type", ""), entry.get("status", "")))
            or now,
        }
        for entry in conditions
    ]
