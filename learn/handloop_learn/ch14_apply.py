"""Chapter 14: server-side apply: the server knows who owns each field, and rejects changes by others."""

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
    "An apply says what you want in the fields that you care about. It leaves the rest alone.",
    "Changing another manager's field is a conflict. Leave it out, use the same value, or take it by force.",
    "A field that you no longer apply, and that nobody else owns, is removed.",
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
    """Tell the chapter."""
    with Stage(lifelike=False) as stage:
        foos = stage.client.resource(Foo)
        screen.tell(
            "Two programs write one Foo. `gitops` applies what a repository says, and `scaler` sets the "
            "replicas. Each uses server-side apply under its own name, and sends only the fields that it "
            "cares about:"
        )
        screen.show(gitops=json.dumps(REPOSITORY), scaler=json.dumps(SCALE))
        apply(foos, "gitops", **REPOSITORY)
        fields = [_show(screen, stage, "gitops has applied its fields")]
        screen.ask("scaler applies replicas=5. How many replicas does the Foo have then?")
        conflict = _refused(foos)
        screen.line(f"scaler: {conflict}")
        fields.append(_show(screen, stage, "Nothing has changed"))
        screen.reveal(
            "2. This 409 is not the one of chapter 9: no version is old, but the field has another owner. An "
            "equal value would have been accepted, and the field would now have two owners.",
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
        "scaler, because now it is gitops that gets the conflict. If both used force, they would undo each "
        "other's writes forever. A controller may force the fields that only it can know. It should leave "
        "the other fields to their owners.",
        Words(("scaler",), ("gitops", "both", "nobody")),
    )
    return [taken]


def _left_out(screen: Screen, stage: Stage, foos: ResourceClient[Foo]) -> list[Fields]:
    screen.ask("gitops leaves replicas and the label out of its next apply. Does the label stay?")
    apply(foos, "gitops", spec={"deploymentName": "example-foo"})
    shared = _show(screen, stage, "gitops has applied only the name")
    screen.reveal(
        "No. Only gitops owned it, and gitops no longer wants it. So an apply can also delete. replicas "
        "stays, because scaler owns it.",
        NO,
    )
    apply(foos, "scaler")
    nobody = _show(screen, stage, "scaler applies an empty configuration, which gives up replicas")
    screen.tell("Nobody owns replicas now, so the field is gone.")
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
