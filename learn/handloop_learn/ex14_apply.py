"""The exercise of chapter 14: pass a field from one manager to another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from handloop.client.errors import Conflict
from handloop.client.resource_client import PatchType, ResourceClient
from handloop.controller.foo.types import Foo
from handloop_learn.exercise import Exercise, Load, WrongError, expect
from handloop_learn.stage import FOOS, Stage

NAME: Final = "example-foo"
PATH: Final = f"{FOOS}/{NAME}"
REPOSITORY: Final[dict[str, Any]] = {
    "metadata": {"labels": {"team": "web"}},
    "spec": {"deploymentName": "example-foo", "replicas": 2},
}
START: Final = '''\
"""Chapter 14: from now on, the scaler sets the replicas."""

from handloop import Conflict


def hand_over(apply, foo):
    """
    `gitops` has applied the label team, deploymentName and replicas. Now `scaler` alone should own replicas.

    apply  apply(who, fields) applies as manager `who`, and raises Conflict for another manager's field;
           apply(who, fields, force=True) takes that field. fields is all that this manager wants, such as
           {"metadata": {"labels": {...}}, "spec": {"deploymentName": ..., "replicas": ...}}
    foo    the current Foo: foo.metadata.labels, foo.spec.deployment_name, foo.spec.replicas

    The Foo must have its replicas all the time, and their number must not change. Do not use force.
    """
    apply("gitops", {"spec": {"deploymentName": foo.spec.deployment_name}})
'''

_FIRST: Final = (
    "The new owner applies first. An equal value is not a conflict, so the field has two owners for now."
)
_THEN: Final = (
    "Then gitops applies everything that it still wants. It no longer owns the fields that it omits."
)
_KEEP: Final = (
    "Each apply must contain every field that the manager wants. An omitted field is removed if it has no "
    "other owner."
)
_ONLY: Final = "Scaler applies replicas, and nothing else."


def apply(foos: ResourceClient[Foo], who: str, *, force: bool = False, **wanted: Any) -> Foo:
    """
    Apply only these fields of the Foo.

    Raises: Conflict if another manager owns a field that changes, and force is false.
    """
    kind = {"apiVersion": Foo.resource.api_version, "kind": Foo.resource.kind}
    body = {**kind, **wanted, "metadata": {**wanted.get("metadata", {}), "name": NAME}}
    return foos.patch(
        NAME, body, namespace="default", patch_type=PatchType.APPLY, field_manager=who, force=force
    )


def owned_fields(obj: dict[str, Any]) -> dict[str, list[str]]:
    """Return the paths of the fields that each manager owns."""
    return {entry["manager"]: _names(entry["fieldsV1"]) for entry in obj["metadata"]["managedFields"]}


def _names(fields: dict[str, Any], path: str = "") -> list[str]:
    """Return the paths in a managedFields entry, such as spec.replicas."""
    names = []
    for key, below in fields.items():
        name = f"{path}.{key.removeprefix('f:')}".lstrip(".")
        names += _names(below, name) if below else [name]
    return names


class _World:
    """A Foo that gitops has applied on a sandbox. State: seen contains the replicas after each apply."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._foos = stage.client.resource(Foo)
        self.seen: list[int | None] = []
        self.apply("gitops", {**REPOSITORY, "spec": {**REPOSITORY["spec"], "replicas": 4}})
        self.seen.clear()

    def apply(self, who: str, fields: dict[str, Any], *, force: bool = False) -> Foo:
        expect(not force, "you used force", _FIRST)
        applied = apply(self._foos, who, **fields)
        self.seen.append(applied.spec.replicas)
        return applied

    def foo(self) -> Foo:
        return self._foos.get(NAME, namespace="default")

    def owned(self) -> dict[str, list[str]]:
        return owned_fields(self._stage.send("GET", PATH))


def check(load: Load) -> Iterator[str]:
    """See Check."""
    with Stage(lifelike=False) as stage:
        world = _World(stage)
        try:
            load().hand_over(world.apply, world.foo())
        except Conflict as error:
            raise WrongError(f"the server refused: {error.status.message}", _FIRST) from error
        yield from _check(world)


def _check(world: _World) -> Iterator[str]:
    expect(None not in world.seen, "for a moment the Foo had no replicas", _FIRST)
    expect(set(world.seen) <= {4}, f"the Foo had 4 replicas, then {world.seen[-1:]}", "foo.spec.replicas")
    yield "the Foo had its replicas all the time"
    owned, foo = world.owned(), world.foo()
    scalers = owned.get("scaler", [])
    expect("spec.replicas" in scalers, f"scaler owns {scalers or 'nothing'}", _FIRST)
    expect("spec.replicas" not in owned.get("gitops", []), "gitops still owns the replicas, too", _THEN)
    expect(owned["scaler"] == ["spec.replicas"], f"scaler owns {', '.join(owned['scaler'])}", _ONLY)
    yield "only scaler owns the replicas"
    wanted = (REPOSITORY["metadata"]["labels"], REPOSITORY["spec"]["deploymentName"])
    found = (dict(foo.metadata.labels), foo.spec.deployment_name)
    expect(found == wanted, f"the Foo had {wanted}, and now it has {found}", _KEEP)
    yield "gitops owns the rest, as before"
    world.apply("scaler", {"spec": {"replicas": 7}})
    yield "scaler changes the replicas without a conflict"


EXERCISE: Final = Exercise(
    "write hand_over(), which passes spec.replicas from one manager to another without changing its value.",
    START,
    check,
)
