"""The faults of a plan that are not the connection's: refusals, and what a rival does before a write."""

from __future__ import annotations

import json
from typing import Any, Final

from handloop.client.http.response import Response
from handloop.testing.explore.cluster import RefusedError, VirtualCluster

_KEPT: Final = ("name", "labels", "annotations", "finalizers", "ownerReferences")
RIVAL: Final = "rival.example.com/was-here"
_REASONS: Final = {
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


def answer_of(code: int) -> Response:
    """The server's refusal with a code."""
    reason = _REASONS[code]
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code}
    headers = {"Content-Type": "application/json"} | ({"Retry-After": "1"} if code == 429 else {})  # noqa: PLR2004
    body = json.dumps(status | {"message": f"the plan answers with {code}"}).encode()
    return Response(code, headers, body)


def target_of(method: str, path: str, body: bytes | None) -> str:
    """The path of the object that a write is about: of a create, the one that it makes; "" = not known."""
    target = path.removesuffix("/status").removesuffix("/finalizers").removesuffix("/scale")
    wanted: dict[str, Any] = json.loads(body) if body else {}
    name = wanted.get("metadata", {}).get("name", "")
    return f"{target}/{name}" if method == "POST" and name else target


def rival_acts(cluster: VirtualCluster, what: str, target: str, body: bytes | None) -> bool:
    """
    Do what another client does just before a write of the operator.

    Args: target as target_of. Returns: whether there was anything to do.
    """
    found = cluster.find(target)
    try:
        if what == "rival-takes-name":
            return found is None and _take_name(cluster, target, body)
        if found is None or "deletionTimestamp" in found["metadata"]:
            return False
        if what == "rival-edit":
            cluster.send("PATCH", target, {"metadata": {"labels": {RIVAL: "edit"}}})
        else:
            cluster.send("DELETE", target)
            if what == "rival-recreate":
                _make_again(cluster, target, found)
    except RefusedError:
        return False
    return True


def _take_name(cluster: VirtualCluster, target: str, body: bytes | None) -> bool:
    wanted: dict[str, Any] = json.loads(body) if body else {}
    metadata = {"name": target.rpartition("/")[2], "labels": {RIVAL: "owner"}}
    cluster.send("POST", target.rpartition("/")[0], {**wanted, "metadata": metadata})
    return True


def _make_again(cluster: VirtualCluster, target: str, found: dict[str, Any]) -> None:
    kept = {key: found["metadata"][key] for key in _KEPT if key in found["metadata"]}
    again = {**{key: value for key, value in found.items() if key != "status"}, "metadata": kept}

    def make() -> bool:
        if cluster.find(target) is not None:
            return False
        cluster.send("POST", target.rpartition("/")[0], again)
        return True

    # one with a finalizer goes once its owner has cleaned up
    if not make():
        cluster.repeat("rival", make)
