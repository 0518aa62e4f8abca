"""The experiments of the live page: what each does, what to look for, and whether it can be done here."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from handloop.controller.foo.types import Foo
from handloop.informers.keys import ObjectName, object_name
from handloop.picture.parts import Parts
from handloop_learn.live.cluster_acts import GHOST, MANY, ClusterActs
from handloop_learn.live.control_error import ControlError
from handloop_learn.live.instance_faults import InstanceFaults

TOUCHES: Final = 7
FAILURES: Final = 3
SLOW_SECONDS: Final = 0.5
_FOO: Final = "foo"
_FOOS: Final = Foo.resource.plural
_WAIT_SECONDS: Final = 5.0


class Control(NamedTuple):
    """
    One experiment, with a script of three lines: what it does, what to look at, and what follows from it.

    in_sandbox = possible only in the sandbox.
    """

    name: str
    title: str
    does: str
    look_at: str
    conclude: str
    in_sandbox: bool = False


CONTROLS: Final = (
    Control(
        "make",
        "Make a Foo",
        "A request creates a Foo with one replica, as kubectl apply does.",
        "The Foo goes into the cache (5), its key into the queue (7). A worker creates a Deployment (10).",
        "No client told the controller: it saw the change in its watch.",
    ),
    Control(
        "scale",
        "Change the replicas",
        "A request gives the Foo the number of replicas above.",
        "The worker patches the Deployment (10). The Deployment's new state comes back as a watch event (1).",
        "A sync compares what exists with what is wanted, and writes the difference.",
    ),
    Control(
        "delete-deployment",
        "Delete the Deployment",
        "A request deletes the Foo's Deployment, as if by mistake.",
        "The Deployment's handler enqueues its owner, the Foo (7), and the sync creates it again (10).",
        "A controller keeps a promise. It does not just follow an order once.",
    ),
    Control(
        "touch",
        f"Change a Foo {TOUCHES} times",
        f"{TOUCHES} patches change an annotation.",
        "An add merges with a waiting key (7). A key that a worker has stays in dirty until done() (12).",
        "No change is lost, and no two workers ever work on the same Foo.",
    ),
    Control(
        "pause",
        "Pause the workers",
        f"No worker gets a key. Now change the Foo {TOUCHES} times, then press the button again.",
        "The queue holds the key once, however often it is added (7). Then one get takes it (8).",
        "A key names the Foo and not the change, so one sync covers them all.",
    ),
    Control(
        "fail",
        f"Fail a key {FAILURES} times",
        f"The next {FAILURES} syncs of the Foo raise an error.",
        "The delay doubles (11): 5, 10, 20 ms. The next success resets the count.",
        "Only retries wait: a watch event queues the key at once.",
    ),
    Control(
        "kill-watch",
        "Kill the watch of Foos",
        "The server cuts off the watch of Foos.",
        "The watch breaks, waits, and opens again from the last version (1). No list follows.",
        "The version is a place in the server's history, so a broken watch misses nothing.",
        in_sandbox=True,
    ),
    Control(
        "expire",
        "Force 410 Gone",
        "A Foo, live-ghost, is deleted unseen. Then the server answers the watch with 410 Gone.",
        "The reflector lists again (1). The list lacks live-ghost, so a tombstone goes into the FIFO (2).",
        "A list repairs what a watch missed, including deletions.",
        in_sandbox=True,
    ),
    Control(
        "slow-handler",
        "Slow the handler of Foos",
        f"Each call takes {SLOW_SECONDS:g} s longer. Now change the Foo {TOUCHES} times, then press again.",
        "The handlers' buffer grows, while the Indexer is up to date (5).",
        "A slow handler delays its own keys, never the cache.",
    ),
    Control(
        "lose-done",
        "Leave out done()",
        "The next done() of the Foo's key is left out. Now change the replicas, then press again.",
        "The worker is free, but the key stays in processing, and the change in dirty (7).",
        "Processing is the lock on a key: without done() no worker can get the key.",
        in_sandbox=True,
    ),
    Control(
        "delete",
        "Delete the Foo",
        "A request deletes the Foo.",
        "The Foo leaves the store (5). Then the garbage collector deletes the Deployment, which leaves, too.",
        "The controller deletes nothing: the Deployment's owner reference is enough.",
    ),
    Control(
        "many",
        f"Add {MANY} Foos",
        f"{MANY} requests create Foos. LIVE shows all steps at once.",
        "The queue grows and drains. Each get (8) is for a single key.",
        "Reads from the cache (9) cost the server nothing.",
        in_sandbox=True,
    ),
    Control(
        "clean",
        "Remove the page's Foos",
        "Requests delete each Foo that this page made.",
        "The Foos leave the store (5).",
        "What a label marks can be found again.",
        in_sandbox=True,
    ),
    Control(
        "steal-lease",
        "Steal the lease",
        "A request writes another holder into the lease.",
        "The leader sees the other holder, stops its workers, and ends the process.",
        "Two leaders would write at once, so the one that lost must end.",
        in_sandbox=True,
    ),
)


class Controls:
    """
    Carries out the experiments. Threads: any; an act may block for as long as the server takes.

    cluster None = no requests can be sent, so only experiments inside this process are possible.
    """

    def __init__(self, parts: Parts, cluster: ClusterActs | None, *, in_sandbox: bool) -> None:
        self._parts = parts
        self._cluster = cluster
        self._in_sandbox = in_sandbox
        self._faults = InstanceFaults(parts)
        self._acts: dict[str, Callable[[Mapping[str, Any]], str]] = {
            "make": self._make,
            "delete": self._delete,
            "pause": self._pause,
            "touch": self._touch,
            "fail": self._fail,
            "kill-watch": self._kill_watch,
            "expire": self._expire,
            "scale": self._scale,
            "delete-deployment": self._delete_deployment,
            "slow-handler": self._slow_handler,
            "many": self._many,
            "steal-lease": self._steal_lease,
            "lose-done": self._lose_done,
            "clean": lambda _: f"{self._server.clean()} Foos were deleted",
        }

    def offers(self) -> list[dict[str, Any]]:
        """Every experiment as the page shows it: `blocked` is why it cannot be done here, "" if it can."""
        on = {
            "pause": self._faults.paused,
            "slow-handler": self._faults.slowed,
            "lose-done": self._faults.lost,
        }
        return [
            {
                "name": control.name,
                "title": control.title,
                "does": control.does,
                "lookAt": control.look_at,
                "conclude": control.conclude,
                "on": on.get(control.name),
                "blocked": self._blocked(control),
            }
            for control in CONTROLS
        ]

    def act(self, name: str, wanted: Mapping[str, Any]) -> str:
        """
        Carry out one experiment.

        Args: wanted: has `key`, the Foo's key, and `replicas`, if the control needs them.
        Returns: the change, in words. Raises: ControlError.
        """
        control = next((each for each in CONTROLS if each.name == name), None)
        if control is None:
            raise ControlError(f"there is no control {name}")
        if reason := self._blocked(control):
            raise ControlError(reason)
        return self._acts[name](wanted)

    def undo_all(self) -> None:
        """Undo the changes of this process; changes in the cluster stay."""
        self._faults.restore()

    def _blocked(self, control: Control) -> str:
        if control.in_sandbox and not self._in_sandbox:
            return "only on the sandbox"
        if _FOO not in self._parts.queues():
            return "the Foo controller is not running"
        if control.name == "steal-lease" and self._parts.manager.elector is None:
            return "there is no lease: start with --leader-elect"
        return ""

    def _make(self, wanted: Mapping[str, Any]) -> str:
        key = str(wanted.get("key", ""))
        self._server.make(key)
        return f"{key} was made"

    def _delete(self, wanted: Mapping[str, Any]) -> str:
        key = _foo(self._parts, wanted).key
        self._server.delete(key)
        return f"{key} was deleted"

    def _pause(self, _wanted: Mapping[str, Any]) -> str:
        if self._faults.paused:
            self._faults.resume()
            return "the workers get keys again"
        self._faults.pause()
        return "no worker gets a key"

    def _touch(self, wanted: Mapping[str, Any]) -> str:
        key = _foo(self._parts, wanted).key
        self._server.touch(key, TOUCHES)
        return f"{key} was changed {TOUCHES} times"

    def _fail(self, wanted: Mapping[str, Any]) -> str:
        foo = _foo(self._parts, wanted)
        self._faults.fail(_FOO, foo.key, FAILURES)
        self._parts.queues()[_FOO].add(foo.name)
        return f"the next {FAILURES} syncs of {foo.key} fail"

    def _kill_watch(self, _wanted: Mapping[str, Any]) -> str:
        self._server.kill_watch()
        return "the watch of Foos was cut off"

    def _expire(self, _wanted: Mapping[str, Any]) -> str:
        self._server.make_ghost()
        self._wait_for(f"default/{GHOST}")
        self._server.expire()
        return f"{GHOST} was deleted unseen, and the watch answered with 410"

    def _scale(self, wanted: Mapping[str, Any]) -> str:
        foo, replicas = _foo(self._parts, wanted), int(wanted.get("replicas", 2))
        if foo.replicas == replicas:
            raise ControlError(f"{foo.key} already wants {replicas}: choose another number")
        self._server.scale(foo.key, replicas)
        return f"{foo.key} wants {replicas} replicas"

    def _delete_deployment(self, wanted: Mapping[str, Any]) -> str:
        foo = _foo(self._parts, wanted)
        self._server.delete_deployment(foo.name.namespace, foo.deployment)
        return f"Deployment {foo.deployment} was deleted"

    def _slow_handler(self, _wanted: Mapping[str, Any]) -> str:
        if self._faults.slowed:
            self._faults.hasten()
            return "the handler runs at full speed again"
        self._faults.slow(_FOOS, SLOW_SECONDS)
        return f"each call of the handler takes {SLOW_SECONDS:g} s longer"

    def _many(self, _wanted: Mapping[str, Any]) -> str:
        self._server.add_many()
        return f"{MANY} Foos were made"

    def _steal_lease(self, _wanted: Mapping[str, Any]) -> str:
        elector = self._parts.manager.elector
        assert elector is not None
        namespace, _, name = elector.candidacy.statistics().lease.partition("/")
        self._server.steal_lease(namespace, name)
        return "somebody-else holds the lease"

    def _lose_done(self, wanted: Mapping[str, Any]) -> str:
        if self._faults.lost:
            self._faults.catch_up_on_done()
            return "the missing done() was called"
        foo = _foo(self._parts, wanted)
        self._faults.lose_done(_FOO, foo.key)
        self._parts.queues()[_FOO].add(foo.name)
        return f"the next done() of {foo.key} is left out"

    @property
    def _server(self) -> ClusterActs:
        if self._cluster is None:
            raise ControlError("no requests can be made from here")
        return self._cluster

    def _wait_for(self, key: str) -> None:
        """Wait until the cache holds a Foo."""
        ends_at = time.monotonic() + _WAIT_SECONDS
        while self._parts.manager.informer_for(Foo).get_by_key(key) is None:
            if time.monotonic() > ends_at:
                raise ControlError(f"{key} did not reach the cache: is the watch alive?")
            time.sleep(0.02)


class _ChosenFoo(NamedTuple):
    key: str
    name: ObjectName
    deployment: str
    replicas: int | None


def _foo(parts: Parts, wanted: Mapping[str, Any]) -> _ChosenFoo:
    """The Foo that a request names. Raises: ControlError."""
    key = str(wanted.get("key", ""))
    foo = parts.manager.informer_for(Foo).get_by_key(key)
    if foo is None:
        raise ControlError(f'there is no Foo "{key}" in the cache: make one first')
    return _ChosenFoo(key, object_name(foo), foo.spec.deployment_name, foo.spec.replicas)
