"""The exercise of chapter 12: which objects are garbage, and which ones a foreground deletion waits for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from handloop.apis.meta import ObjectMeta, OwnerReference
from handloop.kinds.core_v1 import ConfigMap
from handloop_learn.exercise import Exercise, Load, WrongError, expect
from handloop_learn.stage import Stage
from handloop_learn.waiting import until

START: Final = '''\
"""Chapter 12: think like the garbage collector."""


def garbage(objects):
    """
    objects  all objects that exist; each has metadata.name, .uid and .owner_references,
             and each reference has .name, .uid, .controller and .block_owner_deletion

    Returns: the names of the objects that the garbage collector deletes now, because their owners are gone.
    """
    return []


def waits_for(owner, objects):
    """Returns: the names of the objects that must be gone before a foreground deletion of owner ends."""
    return [each.metadata.name for each in objects if each.metadata.owner_references]
'''

_PATH: Final = "/api/v1/namespaces/default/configmaps"
_SLOW: Final = "example.org/slow"
_UID: Final = "An owner is identified by its uid. A later object with its name is a different one."
_ALL: Final = (
    "An object is garbage if it has owners and all of them are gone. A single remaining owner keeps it."
)
_BLOCK: Final = "Only a child whose reference sets block_owner_deletion delays its owner's deletion."


class _World:
    """ConfigMaps on a sandbox with a garbage collector. A finalizer delays the deletion of each child."""

    def __init__(self, stage: Stage) -> None:
        self._send = stage.send
        self._maps = stage.client.resource(ConfigMap)

    def make(self, name: str, *owners: ConfigMap, **flags: bool) -> ConfigMap:
        kind: Any = {"api_version": "v1", "kind": "ConfigMap", **flags}
        references = tuple(
            OwnerReference(name=owner.metadata.name, uid=owner.metadata.uid, **kind) for owner in owners
        )
        metadata = ObjectMeta(name=name, namespace="default", owner_references=references)
        if owners:
            metadata = replace(metadata, finalizers=(_SLOW,))
        return self._maps.create(ConfigMap(metadata=metadata))

    def gone(self, name: str) -> ConfigMap:
        made = self.make(name)
        self.delete(name)
        return made

    def delete(self, name: str, policy: str = "Background") -> None:
        self._maps.delete(name, namespace="default", propagation_policy=policy)

    def release(self, name: str) -> None:
        self._send("PATCH", f"{_PATH}/{name}", {"metadata": {"finalizers": None}})
        until(lambda: name not in self.names(), f"the end of {name}")

    def all(self) -> list[ConfigMap]:
        return self._maps.list(namespace="default").items

    def names(self, *, deleted: bool = False) -> set[str]:
        return {each.metadata.name for each in self.all() if each.metadata.deletion_timestamp or not deleted}


def check(load: Load) -> Iterator[str]:
    """See Check."""
    reader = load()
    with Stage() as stage:
        world = _World(stage)
        yield from _garbage(world, reader)
        yield from _foreground(world, reader)


def _garbage(world: _World, reader: Any) -> Iterator[str]:
    lives, gone, again = world.make("lives"), world.gone("gone"), world.gone("again")
    objects = [lives, world.make("again"), world.make("kept", lives), world.make("half", gone, lives)]
    objects += [world.make("orphan", gone), world.make("renewed", again)]
    named = _names(reader.garbage(objects), "garbage")
    until(lambda: len(world.names(deleted=True)) >= 2, "the garbage collector")
    deleted = world.names(deleted=True)
    happened = f"the garbage collector deleted {_said(deleted)}, but you named {_said(named)}"
    expect(named == deleted, happened, _ALL if "renewed" in named else _UID)
    yield f"the garbage collector deleted {_said(deleted)}, as you said"


def _foreground(world: _World, reader: Any) -> Iterator[str]:
    owner, other = world.make("owner"), world.make("other")
    former = world.gone("former")
    world.make("blocks", owner, block_owner_deletion=True)
    world.make("controlled", owner, controller=True)
    world.make("blocks-other", other, block_owner_deletion=True)
    world.make("blocks-former", former, block_owner_deletion=True)
    world.make("blocks-too", owner, block_owner_deletion=True, controller=True)
    named = _names(reader.waits_for(owner, world.all()), "waits_for")
    world.delete("owner", "Foreground")
    children = {"blocks", "controlled", "blocks-too"}
    until(lambda: children <= world.names(deleted=True), "the deletion of the children")
    world.release("controlled")
    held = set()
    for name in ("blocks", "blocks-too"):
        if "owner" in world.names():
            held.add(name)
        world.release(name)
    until(lambda: "owner" not in world.names(), "the end of the owner")
    hint = _BLOCK if named - held <= children else _UID
    expect(named == held, f"the owner waited for {_said(held)}, but you named {_said(named)}", hint)
    yield f"the owner waited for {_said(held)}, as you said"
    yield "the children of other owners, existing or deleted, do not delay this owner's deletion"


def _names(found: Any, function: str) -> set[str]:
    names = set(found or ())
    if any(not isinstance(name, str) for name in names):
        raise WrongError(f"{function} returned objects", "Return their names: each.metadata.name.")
    return names


def _said(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"


EXERCISE: Final = Exercise(
    "write garbage() and waits_for(): what the garbage collector deletes, and what a deletion waits for.",
    START,
    check,
)
