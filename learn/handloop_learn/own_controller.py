"""The plain Foo controller, in which a reader's pieces replace its own parts."""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from handloop import Client, Manager, ObjectName
from handloop.apis.apps_v1 import Deployment
from handloop.client.decoding.watch_stream import Bookmark, EventType
from handloop.client.errors import APIError, ClientError
from handloop.controller.foo.controller import FooController
from handloop.controller.foo.runnable import PlainFooRunnable
from handloop.controller.foo.types import Foo
from handloop.informers.delta_fifo import Deltas, DeltaType, Listed
from handloop.informers.keys import (
    deletion_handling_meta_namespace_key_func,
    final_state,
    meta_namespace_key_func,
)
from handloop.informers.processor import (
    AddNotification,
    DeleteNotification,
    Notification,
    UpdateNotification,
)
from handloop.informers.reflector import Reflector
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.seams.step_trace import TRACE
from handloop_learn.own_pieces import Pieces

INDEX = "foo"


class _Server:
    """
    The server and the store that a reader's reflect() receives, for one kind.

    State: _version is the version of the last list or event. _put_as is the type of the deltas that put adds.
    Threads: runs on the reflector's thread.
    """

    def __init__(self, client: Client, informer: Any, reflector: Reflector[Any]) -> None:
        self._resource = client.resource(informer.kind)
        self._informer = informer
        self._reflector = reflector
        self._version = ""
        self._put_as = DeltaType.UPDATED

    def run(self, reflect: Callable[..., object]) -> None:
        stop, clock = self._reflector._stop, self._informer._clock
        # a trial is short, so shorten the waits, which readers choose for a real cluster
        reflect(self, self, stop.is_set, lambda seconds: clock.sleep(min(seconds, 1.0), stop))
        clock.sleep(0.2, stop)

    def list(self) -> tuple[builtins.list[Any], int]:
        page = self._resource.list()
        self._version = page.resource_version
        TRACE.tell(1, self._informer.name, "", listed=len(page.items), resource_version=self._version)
        return [*page.items], int(self._version)

    def watch(self, version: int) -> Iterator[tuple[str, Any, int]]:
        """Yield the events after a version. Raises: Gone if the server no longer has all of them."""
        response: Any = self._reflector._response
        response.open(str(version))
        TRACE.tell(1, self._informer.name, "", opened=True, resource_version=str(version))
        try:
            while (events := response.read()) and not self._reflector._stop.is_set():
                for kind, thing in events:
                    if isinstance(thing, APIError):
                        raise thing
                    is_bookmark = isinstance(thing, Bookmark)
                    self._version = thing.resource_version if is_bookmark else thing.metadata.resource_version
                    facts = {"events": int(not is_bookmark), "resource_version": self._version}
                    TRACE.tell(1, self._informer.name, "", **facts)
                    self._put_as = DeltaType.ADDED if kind == EventType.ADDED else DeltaType.UPDATED
                    yield str(kind), None if is_bookmark else thing, int(self._version)
        except ClientError as error:
            if isinstance(error, APIError):
                raise
        finally:
            response.close()

    def replace(self, things: Iterable[Any]) -> None:
        listed: Listed[Any] = Listed()
        for thing in things:
            listed.take(meta_namespace_key_func(thing), thing)
        self._informer._fifo.replace(listed, self._version)

    def put(self, thing: Any) -> None:
        self._informer._fifo.enqueue_batch([(self._put_as, thing)])

    def remove(self, thing: Any) -> None:
        self._informer._fifo.enqueue_batch([(DeltaType.DELETED, thing)])


class _Store:
    """
    The store that a reader's process() receives.

    State: told contains the notifications so far. Threads: runs on the informer's thread.
    """

    def __init__(self, informer: SharedIndexInformer[Any]) -> None:
        self._indexer = informer.indexer
        self._old: Any = None
        self.told: list[Notification[Any]] = []

    def get_by_key(self, key: str) -> Any:
        return self._indexer.get_by_key(key)

    def add(self, obj: Any) -> None:
        self._old = self._indexer.get(obj)
        self._indexer.add(obj)

    def delete(self, obj: Any) -> None:
        self._old = obj
        self._indexer.delete(obj)

    def tell(self, what: str, key: str, *, is_initial: bool) -> None:
        new = self._indexer.get_by_key(key)
        if what == "delete":
            self.told.append(DeleteNotification(self._old))
        elif what == "add":
            self.told.append(AddNotification(new, is_initial))
        else:
            self.told.append(UpdateNotification(self._old or new, new))


class OwnController(FooController):
    """A FooController that uses a reader's index, worker, back-off and sync if they exist."""

    def __init__(self, pieces: Pieces, client: Client, *parts: Any, **options: Any) -> None:
        self._modules = pieces.modules
        self._indexer = parts[0].indexer
        super().__init__(client, *parts, **options)
        if module := self._modules.get("back-off"):
            self._workqueue._rate_limiter = module.Backoff()

    def _run_worker(self, stop: threading.Event) -> None:
        if module := self._modules.get("work"):
            module.work(self._workqueue, self.sync_handler)
        else:
            super()._run_worker(stop)

    def sync_handler(self, name: ObjectName) -> None:
        """Call the reader's sync, and then write the status, because no exercise writes it."""
        module = self._modules.get("sync")
        if module is None:
            super().sync_handler(name)
            return
        module.sync(name, _Cache(self._foos_lister), _Cache(self._deployments_lister), self._deployments)
        foo = self._foos_lister.get(name)
        deployment = None if foo is None else self._child_of(foo)
        if foo is not None and deployment is not None:
            self.update_foo_status(foo, deployment)

    def _child_of(self, foo: Foo) -> Deployment | None:
        """Return the Foo's Deployment from the cache, found by the reader's index if there is one."""
        namespace, module = foo.metadata.namespace, self._modules.get("index")
        if module is None:
            return self._deployments_lister.get(foo.spec.deployment_name, namespace=namespace)
        return next(iter(module.deployments_of(self._indexer, namespace, foo.metadata.name)), None)

    def _handle_object(self, obj: object) -> None:
        module, state = self._modules.get("index"), final_state(obj)
        if module is None or not isinstance(state, Deployment):
            super()._handle_object(obj)
            return
        for value in module.by_foo(state):
            self._workqueue.add(ObjectName(*value.split("/")))  # (7) enqueue key


class _Cache:
    """A lister with the method names that the exercise uses."""

    def __init__(self, lister: Any) -> None:
        self._lister = lister

    def get_by_key(self, key: str) -> Any:
        namespace, _, name = key.rpartition("/")
        return self._lister.get(name, namespace=namespace)

    def list(self) -> builtins.list[Any]:
        return [*self._lister.list()]


class OwnRunnable(PlainFooRunnable):
    """A runnable for OwnController, which installs a reader's reflect() and process() in the informers."""

    def __init__(self, manager: Manager, *, workers: int, pieces: Pieces) -> None:
        super().__init__(manager, workers=workers)
        self._pieces = pieces
        modules = pieces.modules
        for informer in manager.informers():
            if informer.kind not in (Foo, Deployment):
                continue
            if "reflector" in modules:
                _reflect_by(modules["reflector"].reflect, informer, manager.client)
            if "process" in modules:
                _process_by(modules["process"].process, informer)
            if "index" in modules and informer.kind is Deployment:
                informer.add_indexers({INDEX: modules["index"].by_foo})

    def run(self, stop: threading.Event) -> None:
        """Run OwnController as PlainFooRunnable runs its controller."""
        manager = self._manager
        parts: Any = (manager.client, *self._informers, self._recorder)
        options: Any = {"metrics": manager.workqueue_metrics, "seams": manager.seams}
        self._run(OwnController(self._pieces, *parts, **options), stop)


def add_own_foo(manager: Manager, *, workers: int, pieces: Pieces) -> OwnRunnable:
    """Add the reader's controller to a manager, in place of the plain one."""
    runnable = OwnRunnable(manager, workers=workers, pieces=pieces)
    manager.add(runnable)
    return runnable


def _reflect_by(reflect: Callable[..., object], informer: SharedIndexInformer[Any], client: Client) -> None:
    """Make an informer use a reader's function to list and watch when it starts."""
    start = informer._start

    def started() -> Reflector[Any] | None:
        reflector = start()
        if reflector is not None:
            server = _Server(client, informer, reflector)
            reflector.list_and_watch = lambda: server.run(reflect)  # type: ignore[method-assign]
        return reflector

    informer._start = started  # type: ignore[method-assign]


def _process_by(process: Callable[..., object], informer: SharedIndexInformer[Any]) -> None:
    """Make an informer use a reader's function to process its deltas."""

    def process_batch(batch: list[tuple[Deltas[Any], bool]]) -> None:
        with informer._block_deltas:
            for deltas, is_initial in batch:
                store = _Store(informer)
                key = deletion_handling_meta_namespace_key_func(deltas[0].object)

                def tell(what: str, key: str, store: _Store = store, *, initial: bool = is_initial) -> None:
                    store.tell(what, key, is_initial=initial)

                process(key, [tuple(delta) for delta in deltas], store, tell)
                adds = sum(isinstance(each, AddNotification) for each in store.told)
                informer._processor.distribute(store.told, store.told, initial=adds if is_initial else 0)

    informer._deltas.process = process_batch  # type: ignore[method-assign]
