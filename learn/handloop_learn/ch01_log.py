"""Chapter 1: a list is a state at a version, a watch is the log from a version on. Plain HTTP, no client."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

from handloop_learn.prediction import YES, Words
from handloop_learn.screen import Colour, Screen
from handloop_learn.stage import FOOS, Stage
from handloop_sandbox.storage.store import FIRST_RESOURCE_VERSION

RECAP: Final = (
    "A list is the state at one version; a watch is the log from a version on.",
    "List, then watch from the list's version: no change is lost between the two.",
    "The log has a beginning. Before it you get a 410, and have to list again.",
)


class End(NamedTuple):
    """Event types of the three watches, the versions of the first, and the code of the refusal."""

    from_the_list: list[str]
    versions: list[int]
    from_now: str
    too_old: str
    code: int


def chapter(screen: Screen) -> End:
    """Tell the chapter."""
    with Stage(bookmark_seconds=0.2, lifelike=False) as stage:
        listed = stage.send("GET", FOOS)
        rv = listed["metadata"]["resourceVersion"]
        # apiserver: pkg/server/options/etcd.go, --etcd-servers-overrides
        screen.tell(
            "A list returns objects and a version, the resourceVersion. Here every write increments it, "
            "whatever the kind. The real API guarantees an order only within a kind: each may have its own "
            f"etcd. The sandbox counts from {FIRST_RESOURCE_VERSION}, and has made "
            f"{int(rv) - FIRST_RESOURCE_VERSION} writes so far: for namespaces, roles, CRDs, and so on."
        )
        screen.show(request=f"GET {FOOS}", items=len(listed["items"]), resourceVersion=rv)
        stage.apply("kept")
        stage.apply("short-lived")
        stage.send("PATCH", f"{FOOS}/kept", {"spec": {"replicas": 2}})
        stage.send("DELETE", f"{FOOS}/short-lived")
        stage.send("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "no-foo"}})
        screen.tell(
            "Since that list, two Foos have been created, `kept` has been changed, `short-lived` has been "
            "deleted, and a ConfigMap has been created. No watch was open. Now we open a watch of Foos from "
            "the list's version."
        )
        screen.ask("Does the watch show `short-lived`, which no longer exists?")
        with stage.watch(FOOS, rv) as events:
            history = _show(screen, events, 5)
        types = [event["type"] for event in history]
        screen.reveal(f"Yes: {', '.join(types)}. A watch reads the log of changes from a version on.", YES)
        screen.tell("The BOOKMARK carries only a version, the ConfigMap's: you know all Foos up to it.")
        screen.ask("What does a watch without a version show first: the past, or the present objects?")
        with stage.watch(FOOS, "") as events:
            present = _show(screen, events, 1)
        screen.reveal(
            f"{present[0]['object']['metadata']['name']!r} as {present[0]['type']}: such a watch begins "
            "with the present objects. The changes before are not in it.",
            Words(("present", "objects", "kept", "now"), ("past", "everything", "all", "history")),
        )
        refused = _compacted(screen, stage, rv)
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in history]
    return End(types, versions, present[0]["type"], refused["type"], refused["object"]["code"])


def _compacted(screen: Screen, stage: Stage, rv: str) -> dict[str, Any]:
    """Watch from before the log begins. Returns: the only event."""
    screen.break_it(
        f"the server drops its old log (a compaction). We watch from {rv} again.",
        "What does it send?",
    )
    stage.sandbox.faults.compact()
    with stage.watch(FOOS, rv) as events:
        (refused,) = _show(screen, events, 1)
    code = refused["object"]["code"]
    screen.reveal(
        f"{code} Gone: the server no longer knows what happened since {rv}. List again.",
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
