"""Another client that is faster: what it does just before a write of the operator, and some seconds later."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from handloop.testing.explore.administrator import Administrator, Object, RefusedError

RIVAL: Final = "rival.example.com/was-here"
FINALIZER: Final = "rival.example.com/hold"
HELD_SECONDS: Final = 20.0
_KEPT: Final = ("name", "labels", "annotations", "finalizers", "ownerReferences")
_MORE_REPLICAS: Final = 4


class Rivals:
    """The rivals of one run. tell writes a line of the story."""

    def __init__(self, cluster: Administrator, tell: Callable[[str, str], object]) -> None:
        self._cluster = cluster
        self._tell = tell

    def act(self, what: str, target: str, body: bytes | None) -> bool:
        """
        Do what another client does just before a write.

        Args: target and body are those of the write; see target_of.
        Returns: whether there was anything to do.
        """
        found = self._cluster.find(target)
        try:
            if what == "rival-takes-name":
                return found is None and self._take_name(target, body)
            if found is None or "deletionTimestamp" in found["metadata"]:
                return False
            return bool(self._acts[what](self, target, found))
        except RefusedError:
            return False

    def _take_name(self, target: str, body: bytes | None) -> bool:
        wanted: dict[str, Any] = json.loads(body) if body else {}
        collection, _, name = target.rpartition("/")
        metadata = {"name": name, "labels": {RIVAL: "owner"}}
        self._cluster.send("POST", collection, {**wanted, "metadata": metadata})
        return True

    def _edit(self, target: str, _: Object) -> bool:
        return self._patch(target, labels={RIVAL: "edit"})

    def _delete(self, target: str, _: Object) -> bool:
        self._cluster.send("DELETE", target)
        return True

    def _recreate(self, target: str, found: Object) -> bool:
        kept = {key: found["metadata"][key] for key in _KEPT if key in found["metadata"]}
        last = found

        def make() -> bool:
            nonlocal last
            # what users change until it is gone is in the new one, too: its end must not undo their wishes
            if (now := self._cluster.find(target)) is not None:
                last = now
                return False
            again = {key: value for key, value in last.items() if key != "status"}
            self._cluster.send("POST", target.rpartition("/")[0], {**again, "metadata": kept})
            return True

        self._delete(target, found)
        # one with a finalizer goes once its owner has cleaned up
        if not make():
            self._cluster.repeat("rival", make)
        return True

    def _finalizer(self, target: str, found: Object) -> bool:
        """Delete it, and let it go later."""
        held = [*found["metadata"].get("finalizers", ()), FINALIZER]
        self._patch(target, finalizers=held)

        def let_go() -> None:
            now = self._cluster.find(target)
            if now and FINALIZER in (names := now["metadata"].get("finalizers", ())):
                self._tell("rival", f"the rival removes its finalizer from {target}")
                self._patch(target, finalizers=[name for name in names if name != FINALIZER])

        self._cluster.later("rival", HELD_SECONDS, let_go)
        return self._delete(target, found)

    def _owner(self, target: str, found: Object) -> bool:
        """Take a controlled object over, and give it back later; meanwhile the Namespace controls it."""
        before = found["metadata"].get("ownerReferences", [])
        others = [one for one in before if not one.get("controller")]
        if len(others) == len(before):
            return False
        namespace = self._cluster.send("GET", f"/api/v1/namespaces/{found['metadata']['namespace']}")
        name, uid = namespace["metadata"]["name"], namespace["metadata"]["uid"]
        taken = {"apiVersion": "v1", "kind": "Namespace", "name": name, "uid": uid, "controller": True}
        self._patch(target, ownerReferences=[*others, taken])

        def give_back() -> None:
            now = self._cluster.find(target)
            if now and any(one["uid"] == uid for one in now["metadata"].get("ownerReferences", ())):
                self._tell("rival", f"the rival gives {target} back")
                self._patch(target, ownerReferences=before)

        self._cluster.later("rival", HELD_SECONDS, give_back)
        return True

    def _scale(self, target: str, found: Object) -> bool:
        if found["kind"] != "Deployment":
            return False
        self._cluster.send(
            "PATCH", target, {"spec": {"replicas": found["spec"]["replicas"] + _MORE_REPLICAS}}
        )
        return True

    def _patch(self, target: str, **metadata: Any) -> bool:
        self._cluster.send("PATCH", target, {"metadata": metadata})
        return True

    _acts: Final[dict[str, Callable[[Rivals, str, Object], bool]]] = {
        "rival-edit": _edit,
        "rival-delete": _delete,
        "rival-recreate": _recreate,
        "rival-finalizer": _finalizer,
        "rival-owner": _owner,
        "rival-scale": _scale,
        "rival-lease": _delete,
    }
