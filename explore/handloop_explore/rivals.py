"""Plays rivals, which are other clients that act before an operator's write or on a cluster at rest."""

from __future__ import annotations

import copy
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from handloop_explore.administrator import Administrator, Object, RefusedError
from handloop_explore.difference import UID, Path, value_at

RIVAL: Final = "rival.example.com/was-here"
FINALIZER: Final = "rival.example.com/hold"
HELD_SECONDS: Final = 20.0
_KEPT: Final = ("name", "labels", "annotations", "finalizers", "ownerReferences")
_MORE_REPLICAS: Final = 4
_MOST_TRIES: Final = 8
_NOT_CHANGED: Final = ("apiVersion", "kind", "metadata", "status", "type", "immutable")


class Rivals:
    """The rivals of one run. Args: tell: adds a line to the story."""

    def __init__(self, cluster: Administrator, tell: Callable[[str, str], object]) -> None:
        self._cluster = cluster
        self._tell = tell

    def act(self, what: str, target: str, body: bytes | None) -> bool:
        """
        Act as another client just before a write, or at rest.

        Args: what: the strike; target: the object's path, as target_of() returns it; body: the write's body.
        Returns: whether the rival changed anything.
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
        """Create an object that resembles the desired one. To adopt it, the operator must change it."""
        wanted: dict[str, Any] = json.loads(body) if body else {}
        collection, _, name = target.rpartition("/")
        if UID.search(name):
            return False  # The name contains a uid, so a rival could not have chosen it.
        made = {**wanted, "metadata": {"name": name, "labels": {RIVAL: "owner"}}}
        return self._send_other("POST", collection, made, _leaves(wanted)) or bool(
            self._cluster.send("POST", collection, made)
        )

    def _drift(self, target: str, found: Object) -> bool:
        """Change a field that the operator has set, and label the object."""
        labels = {**(found["metadata"].get("labels") or {}), RIVAL: "edit"}
        labelled = {**found, "metadata": {**found["metadata"], "labels": labels}}
        return self._send_other("PUT", target, labelled, _set_leaves(found))

    def _send_other(self, method: str, path: str, obj: Object, leaves: Iterable[Path]) -> bool:
        """
        Send an object with several changed fields. If the server refuses it, try the changes one by one.

        Returns: whether the server accepted an object.
        """
        chosen = list(itertools.islice(leaves, _MOST_TRIES))
        for paths in [chosen, *([path] for path in chosen)] if chosen else ():
            other = copy.deepcopy(obj)
            for *above, last in paths:
                inner: Any = value_at(other, above)
                inner[last] = _other(inner[last], is_secret=obj.get("kind") == "Secret")
            with suppress(RefusedError):
                self._cluster.send(method, path, other)
                return True
        return False

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
            # The new object contains the changes that users make before the deletion, so that the rival does
            # not undo them.
            if (now := self._cluster.find(target)) is not None:
                last = now
                return False
            again = {key: value for key, value in last.items() if key != "status"}
            self._cluster.send("POST", target.rpartition("/")[0], {**again, "metadata": kept})
            return True

        self._delete(target, found)
        # An object with a finalizer disappears only after the finalizer's owner has cleaned up.
        if not make():
            self._cluster.repeat("rival", make)
        return True

    def _finalizer(self, target: str, found: Object) -> bool:
        """Add a finalizer to an object, delete the object, and remove the finalizer later."""
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
        """Make the Namespace the controller of a controlled object, and restore the controller later."""
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
        "rival-drift": _drift,
        "rival-recreate": _recreate,
        "rival-finalizer": _finalizer,
        "rival-owner": _owner,
        "rival-scale": _scale,
        "rival-lease": _delete,
    }


def _leaves(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the paths of an object's strings and numbers, except in fields such as kind and metadata."""
    inner = (
        value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    )
    for name, one in inner:
        if path or name not in _NOT_CHANGED:
            yield from _leaves(one, (*path, name))
    if isinstance(value, str | int):
        yield path


def _set_leaves(obj: Object) -> Iterator[Path]:
    """Return the paths of fields that clients have set, except list keys. Fields are matched by name only."""
    entries = obj["metadata"].get("managedFields", ())
    text = json.dumps([one for one in entries if not one["manager"].startswith("kube-")])
    keys = set(re.findall(r'\\"(\w+)\\":', text))
    return (path for path in _leaves(obj) if f'"f:{path[-1]}"' in text and path[-1] not in keys)


def _other(value: str | int, *, is_secret: bool) -> str | int:
    """Return a different value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return "cml2YWw=" if is_secret else f"{value}-rival"
