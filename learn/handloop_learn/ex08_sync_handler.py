"""The exercise of chapter 8: a level-triggered sync handler."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from msgspec.structs import replace

from handloop.apis.apps_v1 import Deployment
from handloop.client.errors import AlreadyExists, InternalError
from handloop.controller.foo.types import Foo
from handloop.informers.indexer import Indexer
from handloop.informers.keys import ObjectName
from handloop_learn.exercise import Exercise, Load, WrongError, expect
from handloop_learn.stage import DEPLOYMENTS, FOOS, SAMPLE, Stage

START: Final = '''\
"""Chapter 8: make what exists match what is wanted."""

from handloop.apis.meta import is_controlled_by  # is_controlled_by(deployment, foo)
from handloop.controller.foo.controller import new_deployment, scale_patch


def sync(name, foos, deployments, server):
    """
    name         the Foo's name.namespace and name.name; str(name) is its key
    foos         the cache: foos.get_by_key(key) is a Foo, or None
                 foo.spec.replicas is a number, which may be 0, or None if others set it
    deployments  the cache: the key of a Foo's Deployment is f"{name.namespace}/{foo.spec.deployment_name}"
    server       server.create(new_deployment(foo))
                 server.patch(deployment.metadata.name, scale_patch(deployment, replicas), namespace=...)

    Return if all is well or the Foo is gone. Raise to retry later, also if another owner has the Deployment.
    Write only what differs.
    """
    foo = foos.get_by_key(str(name))
    server.create(new_deployment(foo))
'''

_OUT: Final = "Do not catch the error, because only a sync that raises is retried."
_UNSET: Final = "foo.spec.replicas is None, so others set the number. Do not scale."
_ZERO: Final = "In Python, 0 is false. Only None means that the Foo leaves the number to others."
_LEVEL: Final = "Read the caches in each sync. Others may have undone your earlier writes."


class _World:
    """A sandbox, caches that are filled before each sync, and the reader's sync."""

    def __init__(self, stage: Stage, load: Load) -> None:
        self._stage = stage
        self._load = load
        self._reader: Any = load()

    def restart(self) -> None:
        self._reader = self._load()

    def sync(self, name: str, *, replicas: int | None = None) -> int:
        """
        Fill the caches, and call sync. Returns: the number of writes that it sent.

        Args: replicas is the cached Foo's spec.replicas; it can be 0, although the Foo CRD does not allow
        that. None keeps the value on the server.
        """
        client = self._stage.client
        foos: Indexer[Foo] = Indexer()
        deployments: Indexer[Deployment] = Indexer()
        items = client.resource(Foo).list().items
        if replicas is not None:
            items = [replace(each, spec=replace(each.spec, replicas=replicas)) for each in items]
        foos.replace(items)
        deployments.replace(client.resource(Deployment).list().items)
        before = self._stage.counts.total()
        self._reader.sync(ObjectName("default", name), foos, deployments, client.resource(Deployment))
        return self._stage.counts.total() - before

    def refuse(self, verb: str) -> None:
        self._stage.sandbox.faults.error(500, verbs=[verb], resources=["deployments"], count=1)

    def replicas(self) -> int | None:
        replicas: int | None = self._stage.send("GET", f"{DEPLOYMENTS}/foo").get("spec", {}).get("replicas")
        return replicas


def check(load: Load) -> Iterator[str]:
    """See Check."""
    with Stage(lifelike=False) as stage:
        try:
            yield from _check(stage, _World(stage, load))
        except AlreadyExists as error:
            raise WrongError(f"you created a Deployment twice: {error.status.message}", _LEVEL) from error


def _check(stage: Stage, world: _World) -> Iterator[str]:
    child, wish = f"{DEPLOYMENTS}/foo", f"{FOOS}/foo"
    stage.apply("foo", replicas=2)
    world.sync("foo")
    expect(world.replicas() == 2, f"a new Foo wants 2 replicas, and has {world.replicas()}", _LEVEL)
    yield "a new Foo gets its Deployment"
    writes = world.sync("foo")
    expect(not writes, f"nothing had changed, and you sent {writes} requests", "Write only what differs.")
    yield "a second sync writes nothing"
    stage.send("DELETE", child)
    world.sync("foo")
    lost = "somebody deleted the Deployment, and your sync did not create another"
    expect(world.replicas() == 2, lost, f"Your sync acted only on the first change (the edge). {_LEVEL}")
    yield "a deleted Deployment is created again"
    stage.send("PATCH", wish, {"spec": {"replicas": 3}})
    world.sync("foo")
    expect(
        world.replicas() == 3, f"the Foo wants 3 replicas, but its Deployment has {world.replicas()}", _LEVEL
    )
    stage.send("PATCH", child, {"spec": {"replicas": 7}})
    world.sync("foo")
    expect(
        world.replicas() == 3,
        f"somebody scaled the Deployment to 7, and after your sync it has {world.replicas()}",
        _LEVEL,
    )
    world.sync("foo", replicas=0)
    expect(
        world.replicas() == 0, f"the Foo wants 0 replicas, but its Deployment has {world.replicas()}", _ZERO
    )
    world.sync("foo")
    yield "the Deployment is scaled, no matter whether the Foo or the Deployment changed"
    world.restart()
    writes = world.sync("foo")
    expect(not writes, f"after a restart you sent {writes} requests, though nothing differs", _LEVEL)
    yield "a restart makes no difference, because sync does not depend on what it did before"
    yield from _refused(stage, world)
    yield from _unset(stage, world)
    yield from _foreign(stage, world)
    stage.send("DELETE", wish)
    stage.send("DELETE", child)
    try:
        world.sync("foo")
    except AttributeError as error:
        hint = "A deleted Foo's name is also queued. If foos.get_by_key returns None, return."
        raise WrongError(f"the Foo is gone, and your sync raised: {error}", hint) from error
    expect(world.replicas() is None, "the Foo is gone, and you created a Deployment for it", _LEVEL)
    yield "a deleted Foo is not an error"


def _refused(stage: Stage, world: _World) -> Iterator[str]:
    for verb, wanted in (("patch", 4), ("create", 3)):
        if verb == "create":
            stage.send("DELETE", f"{DEPLOYMENTS}/foo")
        stage.send("PATCH", f"{FOOS}/foo", {"spec": {"replicas": wanted}})
        world.refuse(verb)
        with suppress(InternalError):
            world.sync("foo")
            expect(world.replicas() == wanted, f"your {verb} got a 500, but your sync did not raise", _OUT)
        world.sync("foo")
        expect(world.replicas() == wanted, f"the sync after a refused {verb} did not repeat it", _LEVEL)
    yield "a 500 response is an error, and the next sync tries again"


def _unset(stage: Stage, world: _World) -> Iterator[str]:
    foo = {**SAMPLE, "metadata": {"name": "unset"}, "spec": {"deploymentName": "unset"}}
    stage.send("POST", FOOS, foo)
    world.sync("unset")
    writes = world.sync("unset")
    expect(not writes, f"a Foo leaves its replicas to others, but you sent {writes} requests", _UNSET)
    stage.send("PATCH", f"{DEPLOYMENTS}/unset", {"spec": {"replicas": 6}})
    world.sync("unset")
    found = stage.send("GET", f"{DEPLOYMENTS}/unset")["spec"]["replicas"]
    expect(
        found == 6, f"a Foo sets no replicas, its Deployment had 6, and you changed them to {found}", _UNSET
    )
    yield "if a Foo sets no replicas, your sync does not change them"


def _foreign(stage: Stage, world: _World) -> Iterator[str]:
    stage.apply("other", deployment="foo", replicas=9)
    hint = "If not is_controlled_by(deployment, foo), the Deployment has another owner, so raise."
    try:
        world.sync("other")
    except AlreadyExists:
        raise
    except Exception:  # noqa: BLE001 - the reader may raise what they like
        expect(world.replicas() == 3, f"you scaled another owner's Deployment to {world.replicas()}", hint)
        yield "another owner's Deployment is not changed, and the Foo is retried later"
    else:
        raise WrongError("another Foo names the same Deployment, but your sync did not raise", hint)


EXERCISE: Final = Exercise("write sync(), which makes a Foo's Deployment match the Foo.", START, check)
