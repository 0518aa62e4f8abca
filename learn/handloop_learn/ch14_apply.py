"""Chapter 14: server-side apply records each field's owner, and a change to another's field is a conflict."""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

from handloop.client.errors import Conflict
from handloop.client.resource_client import ResourceClient
from handloop.controller.foo.types import Foo
from handloop_learn.ex14_apply import PATH, REPOSITORY, apply, owned_fields
from handloop_learn.prediction import NO, Words
from handloop_learn.screen import Screen
from handloop_learn.stage import Stage

SCALE: Final[dict[str, Any]] = {"spec": {"replicas": 5}}
RECAP: Final = (
    "An apply contains your own fields with the values that you want. It leaves all other fields unchanged.",
    "Changing another manager's field is a conflict. Omit the field, send its current value, or use force.",
    "A field that you no longer apply, and that no other manager owns, is removed.",
)


class Fields(NamedTuple):
    """A Foo's state: replicas (None = not set), its labels, and the fields of each manager."""

    replicas: int | None
    labels: dict[str, str]
    owners: dict[str, list[str]]


class End(NamedTuple):
    """The fields after each step, and the message of the conflict."""

    fields: list[Fields]
    conflict: str


def chapter(screen: Screen) -> End:
    """Run the chapter."""
    with Stage(lifelike=False) as stage:
        foos = stage.client.resource(Foo)
        screen.tell(
            "Two programs write to one Foo. `gitops` applies the files of a repository, and `scaler` sets "
            "the replicas. Each uses server-side apply under its own name, and sends only its own fields:"
        )
        screen.show(gitops=json.dumps(REPOSITORY), scaler=json.dumps(SCALE))
        apply(foos, "gitops", **REPOSITORY)
        fields = [_show(screen, stage, "gitops has applied its fields")]
        screen.ask("scaler applies replicas=5. How many replicas does the Foo have then?")
        conflict = _refused(foos)
        screen.line(f"scaler: {conflict}")
        fields.append(_show(screen, stage, "Nothing has changed"))
        screen.reveal(
            "2. In chapter 9, a 409 meant that the version was old. This one means that the field has "
            "another owner. If scaler had sent 2, the server would have accepted it, and the field "
            "would have two owners.",
            2,
        )
        fields += _by_force(screen, stage, foos)
        fields += _left_out(screen, stage, foos)
    return End(fields, conflict)


def _refused(foos: ResourceClient[Foo]) -> str:
    try:
        apply(foos, "scaler", **SCALE)
    except Conflict as error:
        return error.status.message
    return "accepted"


def _by_force(screen: Screen, stage: Stage, foos: ResourceClient[Foo]) -> list[Fields]:
    screen.break_it(
        "scaler applies replicas=5 again, this time by force. Then gitops applies its repository again.",
        "Who wins in the end, gitops or scaler?",
    )
    apply(foos, "scaler", **SCALE, force=True)
    taken = _show(screen, stage, "scaler has taken replicas by force")
    try:
        apply(foos, "gitops", **REPOSITORY)
    except Conflict as error:
        screen.line(f"gitops: {error.status.message}")
    screen.reveal(
        "scaler, because now gitops gets the conflict. If both used force, they would undo each other's "
        "writes forever. A controller may force the fields whose values only it can know. It should leave "
        "the other fields to their owners.",
        Words(("scaler",), ("gitops", "both", "nobody")),
    )
    return [taken]


def _left_out(screen: Screen, stage: Stage, foos: ResourceClient[Foo]) -> list[Fields]:
    screen.ask("gitops leaves replicas and the label out of its next apply. Does the label stay?")
    apply(foos, "gitops", spec={"deploymentName": "example-foo"})
    shared = _show(screen, stage, "gitops has applied only the name")
    screen.reveal(
        "No. Only gitops owned it, and gitops no longer applies it. So an apply can also remove a field. "
        "`replicas` stays, because scaler owns it.",
        NO,
    )
    apply(foos, "scaler")
    nobody = _show(screen, stage, "scaler applies an empty configuration, so it no longer owns replicas")
    screen.tell("No manager owns replicas now, so the server removed the field.")
    return [shared, nobody]


def _show(screen: Screen, stage: Stage, when: str) -> Fields:
    foo = stage.send("GET", PATH)
    metadata = foo["metadata"]
    owners = owned_fields(foo)
    fields = Fields(foo["spec"].get("replicas"), metadata.get("labels", {}), owners)
    rows = [(who, ", ".join(names) or "nothing") for who, names in owners.items()]
    replicas = "unset" if fields.replicas is None else fields.replicas
    labels = ", ".join(map("=".join, fields.labels.items())) or "none"
    screen.tell(f"{when}. Replicas: {replicas}; labels: {labels}.")
    screen.table(("manager", "owns"), rows)
    return fields
