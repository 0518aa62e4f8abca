"""
ResourceQuota admission: refuses objects that exceed a quota.

Follows: apiserver pkg/admission/plugin/resourcequota/controller.go.
"""

from __future__ import annotations

from typing import Final

from handloop_sandbox.cluster.quota_usage import SERVICES, grown, is_about, lacking, usage
from handloop_sandbox.cluster.resource_quotas import QUOTAS, exceeded
from handloop_sandbox.cluster.storage_protection import CLAIMS
from handloop_sandbox.cluster.workloads import PODS
from handloop_sandbox.requests.call import Call
from handloop_sandbox.storage.stored import Object

_GROWING: Final = frozenset({SERVICES, CLAIMS})
"""The collections whose objects can use more of a quota after an update."""


def check(call: Call, obj: Object, old: Object | None = None) -> None:
    """Refuse (403) a new object, or a change that uses more than before, if it exceeds a ResourceQuota."""
    if call.path.subresource or (old is not None and call.collection not in _GROWING):
        return
    namespace = obj["metadata"].get("namespace", "")
    quotas = call.state.list(QUOTAS, namespace) if namespace else ()
    for quota in (each for each in quotas if is_about(each, call.collection, obj)):
        name, hard = quota["metadata"]["name"], (quota.get("spec") or {}).get("hard") or {}
        if call.collection == PODS and (missing := lacking(hard, obj)):
            raise call.refused(obj, f"failed quota: {name}: must specify {missing}")
        before = usage(call.collection, old) if old is not None else {}
        found = exceeded(call.state, quota, grown(usage(call.collection, obj), before))
        if found is not None:
            amounts = ", ".join(f"{what}: {amount}" for what, amount in found.items())
            raise call.refused(obj, f"exceeded quota: {name}, {amounts}")
