"""
A process's informers, one per kind, selection and namespace, and health checks for their caches.

Follows: controller-runtime pkg/cache, differs: a kind has one informer, not one for its typed and one for its
unstructured form.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final, Protocol, TypeVar

from msgspec.structs import replace

from handloop.apis.core_v1 import Namespace
from handloop.apis.grammar.label_syntax import label_value_errors
from handloop.apis.grammar.labels import Operator, Selector, parse_selector
from handloop.apis.meta import Kind
from handloop.apis.partial_metadata import PartialObjectMetadata
from handloop.controller.runtime.caching.multi_namespace_informer import (
    ChangingNamespaces,
    MultiNamespaceInformer,
    failing,
    is_refused,
    waits_for_conversion,
)
from handloop.controller.runtime.caching.takeover import catch_up
from handloop.controller.runtime.metrics.informer_metrics import lag_seconds
from handloop.controller.runtime.rbac.access import FOLLOWING_NAMESPACES, Access
from handloop.controller.runtime.reconcile import Deadline
from handloop.informers.factory import ResourceSource, SharedInformerFactory
from handloop.informers.handlers import ResourceEventHandlerFuncs
from handloop.informers.informer_options import DEFAULT_OPTIONS, InformerOptions
from handloop.informers.keys import ObjectName, deletion_handling_object_to_name
from handloop.informers.listwatch import ListWatch
from handloop.informers.object_watch import Changed, ObjectWatch
from handloop.informers.progress import SyncProgress
from handloop.informers.restriction import Unrestricted
from handloop.informers.selection import EVERYTHING, Selection
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.informers.sync import LONGEST_POLL_SECONDS, poll_seconds
from handloop.seams.locks import new_lock
from handloop.seams.logs import get_logger
from handloop.seams.seams import REAL_SEAMS, Seams
from handloop.seams.threads import Joinable, join_all

log = get_logger("caches")

T = TypeVar("T", bound=Kind)


MOST_OBJECTS: Final = 48
"""The largest number of single objects that a process may watch. Each needs a thread and a connection."""

MOST_INFORMERS: Final = 6
"""The largest number of informers for single callers. Each needs three threads and a connection."""

WARM_UP_SECONDS: Final = 60.0
"""The longest time that warm_up waits for caches to be filled."""

FRESH_SECONDS: Final = 120.0
"""The longest lag of a ready process's caches. A rolling restart of API servers takes less time."""
BLOCKED_SECONDS: Final = 60.0
"""The longest handler call of a ready process. A call of STUCK_SECONDS also fails the liveness check."""
STUCK_SECONDS: Final = 300.0


class _One(Protocol):
    """A watch or function that was started for one caller. It ends when the caches stop, or earlier."""

    def stop(self) -> None:
        """Tell the watch or function to end. Does not wait."""


class _Beside:
    """A function that ends when the caches stop."""

    def __init__(self, run: Callable[[], None]) -> None:
        self.run = run

    def stop(self) -> None:
        """Do nothing, because the function watches the caches' stop event."""


class Caches:
    """
    A process's informer factories: one per namespace, or a single one for all namespaces.

    If the namespaces are given as a label selector, factories come and go with the namespaces that it
    selects. When a namespace leaves, its informers end, and no handler is called, because nothing was
    deleted. A cluster-scoped kind always has one informer.
    State: _stop, the event passed to start, or None before that. start sets _stop first. Then it starts each
    factory under the factory's own lock. If an informer is created too late to be started by start,
    informer_for starts it.
    Under _lock (4): _factories, a mapping that is replaced, not changed; _views, which maps (kind, selection)
    to its informers; _left, the namespaces that have left; _ones, which maps each watch or function of a
    single caller to its thread; _ended, set once the caches have stopped.
    Threads: any thread may call the methods.
    """

    def __init__(
        self,
        client: ResourceSource,
        *,
        namespaces: Sequence[str] | str | Selector = (),
        options: InformerOptions = DEFAULT_OPTIONS,
        fill: Callable[[Any, str], None] = lambda _informer, _namespace: None,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        """
        Create the factories. They send no request to the server before start.

        Args: fill is passed to every MultiNamespaceInformer.
        Raises: the same errors as chosen_namespaces.
        """
        self._client = client
        self._options = options
        self._seams = seams
        self._fill = fill
        self._clock = seams.clock
        self._stop: threading.Event | None = None
        self._lock = new_lock("Caches._lock", 4)
        self._ones: dict[_One, Joinable] = {}
        self._ended = threading.Event()
        self._views: dict[tuple[type[Kind], Selection], MultiNamespaceInformer[Any]] = {}
        self._left: set[str] = set()
        self._factories: dict[str, SharedInformerFactory] = {}
        self._namespaces: SharedInformerFactory | None = None
        self._changing: ChangingNamespaces | None = None
        chosen = chosen_namespaces(namespaces)
        if isinstance(chosen, Selector):
            self._cluster = self._new_factory("")
            self._model = SharedInformerFactory(
                client, options=replace(options, metrics_provider=None), seams=seams
            )
            self._follow(chosen)
            return
        for namespace in chosen:
            self._factories[namespace] = self._new_factory(
                namespace, f"@{namespace}" if len(chosen) > 1 else ""
            )
        self._cluster = next(iter(self._factories.values()))

    def _new_factory(self, namespace: str, suffix: str = "") -> SharedInformerFactory:
        options = replace(self._options, name_suffix=suffix)
        return SharedInformerFactory(self._client, namespace=namespace, options=options, seams=self._seams)

    # namespaces that come and go

    def _follow(self, labels: Selector) -> None:
        """Watch the namespaces with these labels."""
        plain = replace(self._options, transform=None, tweak=None, name_suffix="[watched]")
        self._namespaces = SharedInformerFactory(self._client, options=plain, seams=self._seams)
        informer = self._namespaces.informer_for(Namespace, labels=labels)
        registration = informer.add_event_handler(
            ResourceEventHandlerFuncs(
                add_func=lambda each: self._join(each.metadata.name),
                # If no thread was available when the namespace joined, a resync retries the start.
                update_func=lambda _old, each: self._start_all_of(each.metadata.name),
                delete_func=lambda each: self._leave(deletion_handling_object_to_name(each).name),
            )
        )
        self._changing = ChangingNamespaces(str(labels), registration.has_synced, model=None)

    def _join(self, namespace: str) -> None:
        """The listener of the namespaces."""
        factory = self._new_factory(namespace, f"@{namespace}")
        with self._lock:
            self._factories = {**self._factories, namespace: factory}
            for (kind, selection), view in self._views.items():
                if kind.resource.namespaced:
                    view.join(namespace, factory.informer_of(kind, selection))
            # Last, so that no write leaves for a namespace that an informer does not watch yet.
            self._left.discard(namespace)
        self._start_all_of(namespace)
        # The startup log line contains the namespaces from the first list.
        say = log.info if self._changing is not None and self._changing.known() else log.debug
        say("Namespace is watched", namespace=namespace)

    def _start_all_of(self, namespace: str) -> None:
        assert self._stop is not None
        self._factories[namespace].start(self._stop)

    def _leave(self, namespace: str) -> None:
        """The listener of the namespaces."""
        with self._lock:
            self._left.add(namespace)
            factory = self._factories[namespace]
            self._factories = {name: its for name, its in self._factories.items() if name != namespace}
            views = [view for (kind, _), view in self._views.items() if kind.resource.namespaced]
        for view in views:
            view.mute(namespace)
        for view in views:
            view.leave(namespace)
        for informer in factory.informers():
            informer.stop()
            if self._options.metrics_provider is not None:
                self._options.metrics_provider.forget(informer.name)
        log.info("Namespace is watched no longer", namespace=namespace)

    def access(self) -> Iterator[Access]:
        """What following namespaces needs."""
        if self._namespaces is not None:
            yield FOLLOWING_NAMESPACES

    def has_left(self, namespace: str) -> bool:
        """Return whether a namespace was watched earlier, and is not watched now."""
        return namespace in self._left

    # informers

    def informer_for(self, kind: type[T], selection: Selection = EVERYTHING) -> MultiNamespaceInformer[T]:
        """Return a selection's shared informers. After start, also start them, without waiting for them."""
        with self._lock:
            view = self._views.get((kind, selection))
            if view is None:
                view = self._views[kind, selection] = self._new_view(kind, selection)
        if self._stop is not None:
            self.start(self._stop)
        return view

    def _new_view(self, kind: type[T], selection: Selection) -> MultiNamespaceInformer[T]:
        changing = self._changing if kind.resource.namespaced else None
        factories = self._factories if kind.resource.namespaced else {"": self._cluster}
        if changing is not None:
            # This informer never starts. It refuses the same indexes as the informers of namespaces that join
            # later.
            changing = changing._replace(model=self._model.informer_of(kind, selection))
        return MultiNamespaceInformer(
            kind,
            {namespace: factory.informer_of(kind, selection) for namespace, factory in factories.items()},
            selection=selection,
            changing=changing,
            fill=self._fill,
        )

    def watch(
        self, kind: type[T], namespace: str, *, plain: bool = False
    ) -> MultiNamespaceInformer[T] | None:
        """
        Start an informer of a namespace for one caller, who has to stop it.

        The informer also ends when the caches stop. It has no metrics, because metrics would outlive it.

        Args: plain omits the options that the author chose for the controllers' kinds.
        Returns: None if MOST_INFORMERS such informers are running, if no thread is available, or if the
        caches have stopped.
        """
        suffix = f"@{namespace}" if namespace else ""
        # Its failures are not logged as warnings, because the caller can read from another source.
        options = replace(
            self._options,
            metrics_provider=None,
            name_suffix=suffix,
            restrictions=Unrestricted(),
            quiet=True,
            **({"transform": None, "tweak": None} if plain else {}),
        )
        objects = ListWatch(
            self._client.resource(kind), namespace, tweak=options.tweak, abridged=options.abridged_of(kind)
        )
        informer: SharedIndexInformer[T] = SharedIndexInformer(
            objects, kind, namespace=namespace, options=options, seams=self._seams
        )
        name = f"informer-{kind.resource.plural}"
        stop = self._stop
        assert stop is not None, "call start before starting a watch"
        if not self._start_one(name, informer, partial(informer.run, stop), MOST_INFORMERS):
            return None
        return MultiNamespaceInformer(kind, {namespace: informer}, fill=self._fill)

    def watch_object(self, kind: type[T], name: ObjectName, changed: Changed[T]) -> ObjectWatch[T] | None:
        """
        Start a watch of one object for one caller, who has to stop it.

        The watch also ends when the caches stop.
        Returns: None if MOST_OBJECTS such watches are running, if no thread is available, or if the caches
        have stopped.
        """
        objects = self._client.resource(kind)
        watch = ObjectWatch(
            objects, kind, name, changed, options=self._options, fill=self._fill, seams=self._seams
        )
        thread = f"watch-{kind.resource.plural}"
        return watch if self._start_one(thread, watch, watch.run, MOST_OBJECTS) else None

    def run_beside(self, name: str, run: Callable[[threading.Event], None]) -> bool:
        """Run a function in a thread until the caches stop. Returns: False if that is impossible."""
        assert self._stop is not None, "call start before run_beside"
        beside = _Beside(partial(run, self._stop))
        return self._start_one(name, beside, beside.run, math.inf)

    def _start_one(self, name: str, one: _One, run: Callable[[], None], most: float) -> bool:
        """
        Start a thread for one caller.

        Returns: False if `most` threads for objects of one's type are running, if no thread is available, or
        if the caches have stopped.
        """
        assert self._stop is not None, "call start before starting a watch"
        with self._lock:
            if self._ended.is_set():
                return False
            self._ones = {each: its for each, its in self._ones.items() if its.is_alive()}
            if sum(type(each) is type(one) for each in self._ones) >= most:
                return False
        try:
            thread = self._seams.spawn(name, run)
        except RuntimeError as error:  # can't start new thread
            log.warning("No thread is available for a watch", thread=name, err=str(error))
            return False
        with self._lock:
            self._ones[one] = thread
            has_ended = self._ended.is_set()
        if has_ended:
            # The caches have stopped since the check above, and may not have found this one.
            one.stop()
        return True

    def informer_of(self, group_resource: str) -> MultiNamespaceInformer[Any] | None:
        """
        Return the existing shared informers that cache a whole kind, or None if there are none.

        Args: group_resource is the kind as `plural.group`.
        """
        whole = (
            informer.kind
            for informer in self.informers()
            if not informer.selection and not issubclass(informer.kind, PartialObjectMetadata)
        )
        kind = next((kind for kind in whole if kind.resource.group_resource == group_resource), None)
        return None if kind is None else self.informer_for(kind)

    def kinds(self) -> set[type[Kind]]:
        """Return the kinds that have been requested, even if no namespace is known yet."""
        with self._lock:
            return {kind for kind, _ in self._views}

    def views(self) -> list[MultiNamespaceInformer[Any]]:
        """Return the shared informers, one entry per kind and selection."""
        with self._lock:
            return list(self._views.values())

    def informers(self) -> list[SharedIndexInformer[Any]]:
        """Return all informers, namespace by namespace, in the order in which they were first requested."""
        return [informer for factory in self._all_factories() for informer in factory.informers()]

    def _all_factories(self) -> list[SharedInformerFactory]:
        other = [] if self._namespaces is None else [self._namespaces, self._cluster]
        return [*other, *self._factories.values()]

    def start(self, stop: threading.Event) -> None:
        """Start the existing informers, and every informer that is created from now on. Does not wait."""
        self._stop = stop
        for factory in self._all_factories():
            factory.start(stop)

    def stop(self) -> None:
        """Tell all informers to end, permanently. Does not wait."""
        with self._lock:
            self._ended.set()
            ones = list(self._ones)
        for informer in [*self.informers(), *ones]:
            informer.stop()

    def shutdown(self, seconds: float = math.inf) -> list[str]:
        """
        Stop all informers, permanently.

        Returns: the plurals of the kinds whose informers have not ended within the given seconds.
        Blocks: until the informers have ended, or the given seconds have passed.
        """
        deadline = Deadline(seconds, clock=self._clock)
        late = [kind for each in self._all_factories() for kind in each.shutdown(deadline.remaining())]
        with self._lock:
            self._ended.set()
            ones = dict(self._ones)
        for one in ones:
            one.stop()
        late += [
            one.kind for one in join_all(ones, deadline.remaining(), self._clock) if hasattr(one, "kind")
        ]
        return list(dict.fromkeys(kind.resource.plural for kind in late))

    def warm_up(self, stop: threading.Event) -> None:
        """
        Wait until every cache is either filled or reports a problem.

        Blocks: until every cache is filled or reports a problem, for at most WARM_UP_SECONDS.
        """
        progress = self._progress()
        began_at = self._clock.now()
        while (waited := self._clock.now() - began_at) < WARM_UP_SECONDS and self._any_is_being_filled():
            progress.tick()
            if self._clock.sleep(poll_seconds(waited), stop):
                return

    def catch_up(self, stop: threading.Event) -> None:
        """
        Wait until all caches contain everything that was written before this call, even by a former leader.

        Blocks: until the caches are up to date, or until stop is set.
        """
        catch_up(
            self.informers(),
            stop,
            clock=self._clock,
            is_failing=lambda each: failing(each) is not None,
            has_ended=lambda each: each not in self.informers(),
        )

    def report(self, stop: threading.Event) -> None:
        """
        Report from time to time how complete the caches are.

        Blocks: until all caches are filled, or until stop is set.
        """
        progress = self._progress()
        while self._unfilled():
            progress.tick()
            if self._clock.sleep(LONGEST_POLL_SECONDS, stop):
                return
        progress.finished()

    def synced_check(self) -> str | None:
        """
        A health check: every cache is filled.

        A cache counts as filled if the server cannot convert its objects yet. The webhook's Service sends
        requests only to ready pods, and this pod may be the one that has to convert them. A cache also counts
        as filled if the server does not serve its version yet.
        """
        waiting = [view.kind.resource.plural for view in self._unfilled() if not _waits_for_conversion(view)]
        return f"caches not filled yet: {', '.join(dict.fromkeys(waiting))}" if waiting else None

    def _any_is_being_filled(self) -> bool:
        unknown = self._changing is not None and not self._changing.known()
        return unknown or any(map(_is_being_filled, self.informers()))

    def _unfilled(self) -> list[MultiNamespaceInformer[Any]]:
        return [view for view in self.views() if not view.has_synced()]

    def alive_check(self) -> str | None:
        """A health check: every informer thread is alive, and none is stuck in a handler's call."""
        dead = [informer.name for informer in self.informers() if informer.has_died()]
        return f"dead threads: {', '.join(dead)}" if dead else self._blocked(STUCK_SECONDS)

    def _blocked(self, seconds: float) -> str | None:
        """Return, as text, the handlers (or map functions) whose call has lasted longer than seconds."""
        found = [
            f"{informer.name}: {listener.name} for {listener.blocked_seconds:.0f}s"
            for informer in self.informers()
            for listener in informer.statistics().listeners
            if listener.blocked_seconds > seconds
        ]
        if found:
            log.warning("A handler, or its predicate or map function, blocks", which=", ".join(found))
        return f"blocked: {', '.join(found)}" if found else None

    def fresh_check(self) -> str | None:
        """
        A health check: no cache lags by more than FRESH_SECONDS. Caches lag while no API server answers.

        If the server refuses access to one of several namespaces, the process logs a warning, but stays
        ready.
        """
        now = self._clock.now()
        informers = self.informers()
        if len(self._factories) > 1:
            informers = [each for each in informers if each.has_synced() or not is_refused(each)]
        if self._namespaces is not None:
            informers = [*self._namespaces.informers(), *self._cluster.informers()]
        # See synced_check. If every replica became unready, no object would be converted.
        informers = [each for each in informers if not waits_for_conversion(each)]
        lags = {each.name: lag_seconds(each, now) for each in (one.statistics() for one in informers)}
        old = [f"{name} for {lag:.0f}s" for name, lag in lags.items() if lag > FRESH_SECONDS]
        return f"nothing heard from {', '.join(old)}" if old else self._blocked(BLOCKED_SECONDS)

    def _progress(self) -> SyncProgress:
        return SyncProgress(
            self.informers(), interval_seconds=self._options.progress_seconds, clock=self._clock
        )


def chosen_namespaces(namespaces: Sequence[str] | str | Selector) -> list[str] | Selector:
    """
    Return the names of the namespaces to watch, without duplicates, or [""] for all namespaces; if namespaces
    is a label selector, return the selector.

    Raises: TypeError for a str that is or contains a name; SelectorError for an invalid selector; ValueError
    if "" is combined with names, because their objects would be cached twice.
    """
    if isinstance(namespaces, Selector):
        return namespaces
    if isinstance(namespaces, str):
        if not namespaces or not label_value_errors(namespaces):
            raise TypeError(
                f"namespaces must be a sequence of names, such as ({namespaces!r},), or a label selector"
            )
        selector = parse_selector(namespaces)
        if any(each.operator is Operator.EXISTS for each in selector.requirements):
            raise TypeError(f"namespaces={namespaces!r} contains a name: pass a tuple of names, or labels")
        return selector
    chosen = list(dict.fromkeys(namespaces)) or [""]
    if "" in chosen and len(chosen) > 1:
        raise ValueError(
            f'namespaces={namespaces!r} contains names and "", which means all namespaces: '
            'remove "" to watch only the named ones, or pass () for all'
        )
    return chosen


def _waits_for_conversion(view: MultiNamespaceInformer[Any]) -> bool:
    """Return whether the view's informers are unfilled only because conversions are missing."""
    unfilled = [each for each in view.informers if not each.has_synced()]
    return bool(unfilled) and all(map(waits_for_conversion, unfilled))


def _is_being_filled(informer: SharedIndexInformer[Any]) -> bool:
    """Return whether the first list is still in progress, and has not failed so far."""
    return not informer.has_synced() and failing(informer) is None
