"""The live page's experiments: what each one does, what to look for, and whether it is possible here."""

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
    One experiment, with three lines of text: what it does, what to look at, and what to conclude.

    in_sandbox is whether it is possible only on the sandbox.
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
        "The Foo is cached (5), and its key is queued (7). A worker creates a Deployment (10).",
        "No client called the controller. The change reached it through its watch.",
    ),
    Control(
        "scale",
        "Change the replicas",
        "A request sets the Foo's replicas to the number above.",
        "The worker patches the Deployment (10). The Deployment's new state comes back as a watch event (1).",
        "A sync compares the actual state with the desired one, and corrects the difference.",
    ),
    Control(
        "delete-deployment",
        "Delete the Deployment",
        "A request deletes the Foo's Deployment, as if by mistake.",
        "The handler queues the Deployment's owner, the Foo (7). The sync creates the Deployment again (10).",
        "A controller does not just act once. It corrects every later difference, too.",
    ),
    Control(
        "touch",
        f"Change a Foo {TOUCHES} times",
        f"{TOUCHES} patches change an annotation of the Foo.",
        "An add merges with a waiting key (7). If a worker has the key, it waits in dirty until done() (12).",
        "No change is lost, and two workers never sync the same Foo at once.",
    ),
    Control(
        "pause",
        "Pause the workers",
        f"No worker gets a key. Now change the Foo {TOUCHES} times, then press the button again.",
        "The queue contains the key once, however often it is added (7). Then one worker gets it (8).",
        "A key names the Foo and not a change, so one sync covers all changes.",
    ),
    Control(
        "fail",
        f"Fail a key {FAILURES} times",
        f"The next {FAILURES} syncs of the Foo raise an error.",
        "The delay doubles (11): 5, 10, 20 ms. The next success resets the failure count.",
        "Only retries wait. A watch event queues the key at once.",
    ),
    Control(
        "kill-watch",
        "Kill the watch of Foos",
        "The server cuts off the watch of Foos.",
        "The watch breaks. After a delay, a new one continues from the last version (1), without a list.",
        "The version is a position in the server's history, so the new watch misses no event.",
        in_sandbox=True,
    ),
    Control(
        "expire",
        "Force 410 Gone",
        "The Foo live-ghost is deleted, but the event is lost. Then the watch is answered with 410 Gone.",
        "The reflector lists again (1). The list has no live-ghost, so a tombstone goes into the FIFO (2).",
        "A list finds everything that a watch missed, including deletions.",
        in_sandbox=True,
    ),
    Control(
        "slow-handler",
        "Slow the handler of Foos",
        f"Calls take {SLOW_SECONDS:g} s longer. Change the Foo {TOUCHES} times, then press the button again.",
        "The handler's buffer grows, but the Indexer stays up to date (5).",
        "A slow handler delays its own keys, but never the cache.",
    ),
    Control(
        "lose-done",
        "Leave out done()",
        "The next done() of the Foo's key is left out. Change the replicas, then press the button again.",
        "The worker is free, but the key stays in processing. The next add puts it into dirty, too (7).",
        "The processing set locks a key. Without done(), no worker can get that key.",
        in_sandbox=True,
    ),
    Control(
        "delete",
        "Delete the Foo",
        "A request deletes the Foo.",
        "The Foo leaves the store (5). The Deployment follows when the garbage collector has deleted it.",
        "The controller deletes nothing. The Deployment's owner reference is enough.",
    ),
    Control(
        "many",
        f"Add {MANY} Foos",
        f"{MANY} requests create Foos. Press LIVE to see each step as it happens.",
        "The queue grows and drains. Each get (8) returns a single key.",
        "Reads from the cache (9) send no requests.",
        in_sandbox=True,
    ),
    Control(
        "clean",
        "Remove the page's Foos",
        "Requests delete all Foos that this page created.",
        "The Foos leave the store (5).",
        "The page labels each Foo that it creates, so it can find them again.",
        in_sandbox=True,
    ),
    Control(
        "steal-lease",
        "Steal the lease",
        "A request writes another holder into the lease.",
        "The leader finds the other holder, stops its workers, and ends the process.",
        "A process that lost the lease must stop. Otherwise two leaders could write at the same time.",
        in_sandbox=True,
    ),
)


class Controls:
    """
    Carries out the experiments.

    Threads: any thread can call the methods; an experiment can block until the server has answered.

    If cluster is None, no requests can be sent, so only experiments inside this process are possible.
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
        """Return all experiments for the page. `blocked` is why one is not possible here, or ""."""
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

        Args: wanted contains the Foo's `key` and the number of `replicas`, if the experiment needs them.
        Returns: a description of the change. Raises: ControlError if the experiment is not possible.
        """
        control = next((each for each in CONTROLS if each.name == name), None)
        if control is None:
            raise ControlError(f"there is no experiment {name}")
        if reason := self._blocked(control):
            raise ControlError(reason)
        return self._acts[name](wanted)

    def undo_all(self) -> None:
        """Undo the changes to this process. Changes in the cluster remain."""
        self._faults.restore()

    def _blocked(self, control: Control) -> str:
        if control.in_sandbox and not self._in_sandbox:
            return "possible only on the sandbox"
        if _FOO not in self._parts.queues():
            return "the Foo controller is not running"
        if control.name == "steal-lease" and self._parts.manager.elector is None:
            return "no lease exists: start the program with --leader-elect"
        return ""

    def _make(self, wanted: Mapping[str, Any]) -> str:
        key = str(wanted.get("key", ""))
        self._server.make(key)
        return f"{key} was created"

    def _delete(self, wanted: Mapping[str, Any]) -> str:
        key = _foo(self._parts, wanted).key
        self._server.delete(key)
        return f"{key} was deleted"

    def _pause(self, _wanted: Mapping[str, Any]) -> str:
        if self._faults.paused:
            self._faults.resume()
            return "the workers run again"
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
        return f"the next {FAILURES} syncs of {foo.key} will fail"

    def _kill_watch(self, _wanted: Mapping[str, Any]) -> str:
        self._server.kill_watch()
        return "the watch of Foos was cut off"

    def _expire(self, _wanted: Mapping[str, Any]) -> str:
        self._server.make_ghost()
        self._wait_for(f"default/{GHOST}")
        self._server.expire()
        return f"{GHOST} was deleted without an event, and the watch was answered with 410"

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
        return f"{MANY} Foos were created"

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
        return f"the next done() of {foo.key} will be left out"

    @property
    def _server(self) -> ClusterActs:
        if self._cluster is None:
            raise ControlError("no requests can be sent from this page")
        return self._cluster

    def _wait_for(self, key: str) -> None:
        """Wait until a Foo is in the cache."""
        ends_at = time.monotonic() + _WAIT_SECONDS
        while self._parts.manager.informer_for(Foo).get_by_key(key) is None:
            if time.monotonic() > ends_at:
                raise ControlError(f"{key} did not reach the cache in time: check that the watch is open")
            time.sleep(0.02)


class _ChosenFoo(NamedTuple):
    key: str
    name: ObjectName
    deployment: str
    replicas: int | None


def _foo(parts: Parts, wanted: Mapping[str, Any]) -> _ChosenFoo:
    """Return the Foo that a request names. Raises: ControlError if the cache does not have it."""
    key = str(wanted.get("key", ""))
    foo = parts.manager.informer_for(Foo).get_by_key(key)
    if foo is None:
        raise ControlError(f'there is no Foo "{key}" in the cache: create one first')
    return _ChosenFoo(key, object_name(foo), foo.spec.deployment_name, foo.spec.replicas)
