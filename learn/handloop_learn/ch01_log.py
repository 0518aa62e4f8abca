"""Chapter 1: over plain HTTP, a list is the state at one version, and a watch is the log of later changes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

from handloop_learn.prediction import YES, Words
from handloop_learn.screen import Colour, Screen
from handloop_learn.stage import FOOS, Stage
from handloop_sandbox.storage.store import FIRST_RESOURCE_VERSION

RECAP: Final = (
    "A list is the state at one version. A watch is the log of all changes after a version.",
    "If you list, and then watch from the list's version, you miss no change.",
    "The server drops old changes. A watch from an older version gets a 410, and you must list again.",
)


class End(NamedTuple):
    """The event types in the three watches, the versions in the first, and the status code of the third."""

    from_the_list: list[str]
    versions: list[int]
    from_now: str
    too_old: str
    code: int


def chapter(screen: Screen) -> End:
    """Run the chapter."""
    with Stage(bookmark_seconds=0.2, lifelike=False) as stage:
        listed = stage.send("GET", FOOS)
        rv = listed["metadata"]["resourceVersion"]
        # apiserver: pkg/server/options/etcd.go, --etcd-servers-overrides
        screen.tell(
            "A list returns objects and a version, the resourceVersion. In the sandbox, every write to any "
            "kind increments it. The real API guarantees an order only within a kind, because each kind can "
            f"have its own etcd. The sandbox counts from {FIRST_RESOURCE_VERSION}. So far, it has executed "
            f"{int(rv) - FIRST_RESOURCE_VERSION} writes, for namespaces, roles, CRDs, and so on."
        )
        screen.show(request=f"GET {FOOS}", items=len(listed["items"]), resourceVersion=rv)
        stage.apply("kept")
        stage.apply("short-lived")
        stage.send("PATCH", f"{FOOS}/kept", {"spec": {"replicas": 2}})
        stage.send("DELETE", f"{FOOS}/short-lived")
        stage.send("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "no-foo"}})
        screen.tell(
            "After that list, we created the Foos `kept` and `short-lived`, changed `kept`, deleted "
            "`short-lived`, and created a ConfigMap. No watch was open. Now we watch Foos from the list's "
            "version."
        )
        screen.ask("Does the watch show `short-lived`, which no longer exists?")
        with stage.watch(FOOS, rv) as events:
            history = _show(screen, events, 5)
        types = [event["type"] for event in history]
        screen.reveal(
            f"Yes: {', '.join(types)}. A watch reads the log of all changes after its version.", YES
        )
        screen.tell(
            "The BOOKMARK carries only a version, here the ConfigMap's. It means that you have received "
            "every change to a Foo up to that version."
        )
        screen.ask("What does a watch without a version send first: past changes, or the current objects?")
        with stage.watch(FOOS, "") as events:
            present = _show(screen, events, 1)
        screen.reveal(
            f"{present[0]['object']['metadata']['name']!r} as {present[0]['type']}, because this watch "
            "starts with the objects that exist now, and leaves out all earlier changes.",
            Words(("present", "objects", "kept", "now"), ("past", "everything", "all", "history")),
        )
        refused = _compacted(screen, stage, rv)
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in history]
    return End(types, versions, present[0]["type"], refused["type"], refused["object"]["code"])


def _compacted(screen: Screen, stage: Stage, rv: str) -> dict[str, Any]:
    """Watch from a version that is older than the log. Returns: the only event."""
    screen.break_it(
        f"the server drops old changes from its log (a compaction). We watch from version {rv} again.",
        "What does the server send?",
    )
    stage.sandbox.faults.compact()
    with stage.watch(FOOS, rv) as events:
        (refused,) = _show(screen, events, 1)
    code = refused["object"]["code"]
    screen.reveal(
        f"{code} Gone. The server no longer has the changes after version {rv}, so we must list again.",
        Words((f"{code}", "error", "gone", "expired", "refuses"), ("events", "nothing", "all", "bookmark")),
    )
    return refused


def _show(screen: Screen, events: Iterator[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """Show the first lines of a watch."""
    seen = list(islice(events, count))
    for event in seen:
        about = event["object"].get("metadata", {})
        words = event["object"].get("message") or f"rv {about['resourceVersion']}  {about.get('name', '')}"
        screen.line(f"{event['type']:<9} {words}", Colour.RED if event["type"] == "ERROR" else Colour.GREEN)
    return seen
