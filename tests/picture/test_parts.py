"""The parts of a running program."""

from __future__ import annotations

import threading

from handloop.controller.foo.runnable import add_foo
from handloop.controller.foo.types import Foo
from handloop.controller.myapp.reconciler import add_myapp
from handloop.controller.myapp.types import MyApp
from handloop.informers.keys import ObjectName
from handloop.picture.parts import Parts, hold, is_held, release
from handloop.testing.eventually import eventually
from handloop.workqueue.queue import QueueOptions, ShutDown
from handloop.workqueue.rate_limiters import ItemExponentialFailureRateLimiter
from handloop.workqueue.rate_limiting_queue import RateLimitingQueue
from support.rigs.managed_sandbox import ManagedSandbox

NAME = ObjectName("default", "a")


def new_queue() -> RateLimitingQueue[ObjectName]:
    return RateLimitingQueue(ItemExponentialFailureRateLimiter(0.005, 1000), QueueOptions(name="test"))


def test_both_controllers_have_their_parts() -> None:
    """Foo by hand, MyApp on the runtime: queue and sync of each, and the listeners of a kind."""
    cluster = ManagedSandbox(Foo, MyApp)
    manager = cluster.manager()
    parts = Parts(manager, {"foo": add_foo(manager, workers=1), "myapp": add_myapp(manager, workers=1)})
    assert list(parts.queues()) == ["myapp"], "the controller by hand exists once it runs"
    with cluster.running(manager):
        eventually(lambda: list(parts.queues()) == ["foo", "myapp"], "both queues")
        eventually(lambda: [one.name for one in parts.listeners("foos")] == ["listener-foos-1"], "a listener")
        eventually(lambda: len(parts.listeners("deployments")) == 3, "two listeners of MyApp's, one of Foo's")
        names = {one.name for kind in ("foos", "deployments") for one in parts.listeners(kind)}
        assert len(names - parts.foreign_listeners()) == 2
        assert [method.name for method in parts.syncs().values()] == ["sync_handler", "reconcile"]
        assert all(callable(getattr(*method)) for method in parts.syncs().values())


def test_a_held_queue_hands_out_nothing_even_to_a_worker_that_waits_already() -> None:
    """Adds collapse meanwhile; release wakes the worker."""
    queue, got = new_queue(), threading.Event()

    def work() -> None:
        queue.get()
        got.set()

    worker = threading.Thread(target=work)
    worker.start()
    hold(queue)
    hold(queue)
    for _ in range(50):
        queue.add(NAME)
    assert (queue.statistics().queued, len(queue), got.is_set(), is_held(queue)) == (1, 1, False, True)
    release(queue)
    worker.join(20)
    assert got.is_set()
    assert not is_held(queue)
    queue.shut_down()


def test_a_held_queue_can_be_shut_down() -> None:
    """Its workers end; what waits stays there."""
    queue = new_queue()
    hold(queue)
    queue.add(NAME)
    queue.shut_down()
    ended = False
    try:
        queue.get()
    except ShutDown:
        ended = True
    assert ended
    release(queue)
    assert queue.get() == NAME
