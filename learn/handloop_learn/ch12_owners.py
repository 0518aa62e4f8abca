"""Chapter 12: owner references determine whether a child is deleted after its parent, before it, or never."""

from __future__ import annotations

import time
from typing import Any, Final, NamedTuple

from handloop.apis.meta import new_controller_ref
from handloop.controller.foo.runnable import add_plain_foo
from handloop.controller.foo.types import Foo
from handloop_learn.prediction import NO, Words
from handloop_learn.screen import Screen
from handloop_learn.source import cut
from handloop_learn.stage import DEPLOYMENTS, FOOS, Stage
from handloop_learn.waiting import until

WAYS: Final = ("Background", "Foreground", "Orphan")
RECAP: Final = (
    "A child names its parent by uid. The garbage collector does the rest, even while no controller runs.",
    "Background deletes the parent first. Foreground deletes the children first. Orphan keeps the children.",
    "An owner is gone if no object has its uid, even if another object has its name.",
)


class End(NamedTuple):
    """The changes after each deletion, in order; the names of the Deployments that were left."""

    histories: dict[str, list[str]]
    left: list[str]


def chapter(screen: Screen) -> End:
    """Run the chapter."""
    with Stage() as stage:
        with stage.running(lambda manager: add_plain_foo(manager, workers=1)):
            for way in WAYS:
                stage.apply(way.lower())
                until(lambda way=way: _owners(stage, way.lower()), "a Deployment with its owner")  # type: ignore[misc]
        screen.tell(
            "The plain controller has created Deployments for three Foos. Each has an owner reference:"
        )
        screen.show(**_owners(stage, "background")[0])
        screen.code(cut(new_controller_ref, "return OwnerReference", "block_owner_deletion"))
        screen.tell(
            "The uid identifies the owner: a later Foo with the same name is a different owner. "
            "`controller` marks the one owner that may change the child, and the server refuses a second "
            "such owner. Our controller has now stopped. Only the server and its garbage collector are "
            "running."
        )
        screen.ask("The Foo `background` is deleted. What happens to its Deployment?")
        backup = _owners(stage, "orphan")
        histories = {way: _delete(stage, way) for way in WAYS}
        _tell(screen, histories)
        _with_another_uid(screen, stage, backup)
        left = [each["metadata"]["name"] for each in stage.send("GET", DEPLOYMENTS)["items"]]
    return End(histories, left)


def _tell(screen: Screen, histories: dict[str, list[str]]) -> None:
    _list(screen, histories["Background"])
    screen.reveal(
        "It is deleted, too. The garbage collector looks for children whose owner is gone. A plain `kubectl "
        "delete` deletes the parent first, and the children follow in the background.",
        Words(("deleted", "deletes", "gone", "removed", "garbage"), ("stays", "stay", "remains", "nothing")),
    )
    screen.ask("With --cascade=foreground, which is deleted first: the Foo or its Deployment?")
    _list(screen, histories["Foreground"])
    screen.reveal(
        "The Deployment. The finalizer foregroundDeletion keeps the Foo until the children that block it "
        "(blockOwnerDeletion) are gone. A controller must not create children for such a Foo, because the "
        "deletion would have to wait for them.",
        Words(("deployment", "child", "children"), ("foo", "parent")),
    )
    screen.tell("With --cascade=orphan the owner reference is removed, and the Deployment stays:")
    _list(screen, histories["Orphan"])


def _list(screen: Screen, history: list[str]) -> None:
    for sentence in history:
        screen.line(sentence)


def _with_another_uid(screen: Screen, stage: Stage, backup: list[dict[str, Any]]) -> None:
    """Restore the orphan's old owner reference, although the Foo with that name has another uid now."""
    screen.break_it(
        "somebody creates the Foo `orphan` again, and restores its Deployment's owner reference from a "
        "backup.",
        "Does the Deployment stay?",
    )
    foo = stage.apply("orphan")
    began = time.monotonic()
    stage.send("PATCH", f"{DEPLOYMENTS}/orphan", {"metadata": {"ownerReferences": backup}})
    until(lambda: stage.send("GET", f"{DEPLOYMENTS}/orphan")["kind"] == "Status", "the end of the Deployment")
    seconds = time.monotonic() - began
    screen.show(
        uid_in_the_backup=backup[0]["uid"],
        uid_of_the_Foo=foo["metadata"]["uid"],
        gone_after=f"{seconds * 1000:.0f} ms",
    )
    screen.reveal(
        "No. The new Foo has a new uid. The owner in the backup is gone, so the garbage collector deletes "
        "the Deployment.",
        NO,
    )


def _owners(stage: Stage, name: str) -> list[dict[str, Any]]:
    owners: list[dict[str, Any]] = (
        stage.send("GET", f"{DEPLOYMENTS}/{name}").get("metadata", {}).get("ownerReferences", [])
    )
    return owners


def _delete(stage: Stage, way: str) -> list[str]:
    """
    Delete a Foo with one propagation policy.

    Returns: a sentence for each later change of the Foo and its Deployment, as watches report them. Blocks:
    until the last change has arrived.
    """
    name = way.lower()
    before = stage.send("GET", FOOS)["metadata"]["resourceVersion"]
    stage.client.resource(Foo).delete(name, namespace="default", propagation_policy=way)
    seen: dict[int, str] = {}
    for path in (FOOS, DEPLOYMENTS):
        with stage.watch(path, before) as events:
            for event in events:
                metadata = event["object"]["metadata"]
                lives = event["type"] != "DELETED" and "deletionTimestamp" not in metadata
                # skip a late status change, which the deletion did not cause
                if metadata.get("name") != name or (
                    lives and (path == FOOS or metadata.get("ownerReferences"))
                ):
                    continue
                said = _said(event)
                if said not in seen.values():
                    seen[int(metadata["resourceVersion"])] = said
                if event["type"] == "DELETED" or (
                    path == DEPLOYMENTS and not metadata.get("ownerReferences")
                ):
                    break
    return [seen[version] for version in sorted(seen)]


def _said(event: dict[str, Any]) -> str:
    kind, metadata = event["object"]["kind"], event["object"]["metadata"]
    if event["type"] == "DELETED":
        return f"the {kind} is gone"
    if "deletionTimestamp" in metadata:
        return f"the {kind} is being deleted, and waits for {', '.join(metadata['finalizers'])}"
    return f"the {kind} no longer has an owner"
