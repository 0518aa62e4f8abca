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
    "Background: the parent goes first. Foreground: it waits for its children. Orphan: the children stay.",
    "An owner is gone if no object has its uid, even if an object has its name.",
)


class End(NamedTuple):
    """The changes after each deletion, in order; the Deployments that were left."""

    histories: dict[str, list[str]]
    left: list[str]


def chapter(screen: Screen) -> End:
    """Tell the chapter."""
    with Stage() as stage:
        with stage.running(lambda manager: add_plain_foo(manager, workers=1)):
            for way in WAYS:
                stage.apply(way.lower())
                until(lambda way=way: _owners(stage, way.lower()), "a Deployment with its owner")  # type: ignore[misc]
        screen.tell("The plain controller has made Deployments for three Foos. Each has an owner reference:")
        screen.show(**_owners(stage, "background")[0])
        screen.code(cut(new_controller_ref, "return OwnerReference", "block_owner_deletion"))
        screen.tell(
            "The uid decides: a later Foo with the same name is a different owner. `controller` marks the "
            "one owner that may change the child, and the server refuses a second one. Now our controller "
            "has ended. Only the server and its garbage collector are still running."
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
        "It is deleted, too. The garbage collector looks for children whose owner is gone. With a plain "
        "`kubectl delete` the parent goes first, and the children follow in the background.",
        Words(("deleted", "deletes", "gone", "removed", "garbage"), ("stays", "stay", "remains", "nothing")),
    )
    screen.ask("With --cascade=foreground, which goes first: the Foo or its Deployment?")
    _list(screen, histories["Foreground"])
    screen.reveal(
        "The Deployment. The finalizer foregroundDeletion keeps the Foo until the children that block it "
        "(blockOwnerDeletion) are gone. A controller must not treat such a Foo as a live one, because the "
        "deletion would have to wait for every child that the controller creates now.",
        Words(("deployment", "child", "children"), ("foo", "parent")),
    )
    screen.tell("With --cascade=orphan the reference is removed, and the Deployment stays:")
    _list(screen, histories["Orphan"])


def _list(screen: Screen, history: list[str]) -> None:
    for sentence in history:
        screen.line(sentence)


def _with_another_uid(screen: Screen, stage: Stage, backup: list[dict[str, Any]]) -> None:
    """Give the orphan its old owner reference back, although that name now has another uid."""
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
        "No. The Foo is a new object with a new uid. The owner that the backup names is gone, so its child "
        "is garbage.",
        NO,
    )


def _owners(stage: Stage, name: str) -> list[dict[str, Any]]:
    owners: list[dict[str, Any]] = (
        stage.send("GET", f"{DEPLOYMENTS}/{name}").get("metadata", {}).get("ownerReferences", [])
    )
    return owners


def _delete(stage: Stage, way: str) -> list[str]:
    """
    Delete a Foo in one way.

    Returns: a sentence for each change of the Foo and its Deployment since then, as watches report them.
    Blocks: until the last change has come.
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
                # a late status change was not caused by the deletion
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
