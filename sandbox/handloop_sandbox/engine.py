"""
The sandbox's engine: the state, the API, the controllers and the open watches, guarded by one lock.

handle() answers a request: `_handle` authenticates the sender, applies faults, calls `api.handle` and commits
the changes. tick() runs the controllers, and `_apply` carries out and commits their writes. Only `_commit`
changes the state, except for rewind() and the bootstrap. take() and take_due() return the lines of open
watches.

Some custom objects must be converted by a webhook, which is never called with the lock held. A request that
needs a conversion becomes Work: finish() calls the webhook, and repeats the request from the start until it
needs no more conversions. Watches and controllers leave their Work for settle().

The HTTP server's loop (or a test) calls tick() after each commit and at the time that next_wake() returns.
Requests can come from any thread.
"""

from __future__ import annotations

import contextlib
import logging
import random
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import inf
from typing import Final, NamedTuple

from handloop_sandbox import api
from handloop_sandbox.api import refusal
from handloop_sandbox.authenticator import Authenticator
from handloop_sandbox.clock import Clock
from handloop_sandbox.cluster import bootstrap
from handloop_sandbox.cluster.cluster_controller import ClusterController, Runner, View, Write
from handloop_sandbox.cluster.events import EventExpiry
from handloop_sandbox.cluster.namespaces import NamespaceController
from handloop_sandbox.controls import controls
from handloop_sandbox.conversion_work import ConversionWork, Work, new_uid
from handloop_sandbox.converters import ConvertFunction
from handloop_sandbox.faults.faults import UNTOUCHED, Faults, LostAnswerError, NoAnswerError, Verdict
from handloop_sandbox.faults.injection import Injection
from handloop_sandbox.faults.request_attributes import attributes_of
from handloop_sandbox.faults.watch_output import WatchOutput
from handloop_sandbox.listeners import Listeners
from handloop_sandbox.request_counts import RequestCounts, exposition
from handloop_sandbox.requests import definitions
from handloop_sandbox.requests.authorization import is_master
from handloop_sandbox.requests.definitions import DEFINITIONS
from handloop_sandbox.requests.documents import Site
from handloop_sandbox.requests.presentation import all_served
from handloop_sandbox.requests.request import Context, Headers, Outcome, Request, Response, User
from handloop_sandbox.storage.state import PastState, State
from handloop_sandbox.storage.store import DEFAULT_HISTORY_SIZE, Store
from handloop_sandbox.storage.stored import Change, Stored
from handloop_sandbox.storage.watches import Watcher
from handloop_sandbox.system_writes import carry_out
from handloop_sandbox.wire.conversion import ConversionFailedError, ConversionNeededError
from handloop_sandbox.wire.resource import GroupResource, ServedResource
from handloop_sandbox.wire.status import (
    PageNotFoundError,
    Status,
    StatusError,
    failure,
    forbidden_path,
    internal_error,
    internal_failure,
    unauthorized,
)

log = logging.getLogger("sandbox")

ADMIN: Final = User("sandbox-admin", ("system:masters", "system:authenticated"))
DEFAULT_BOOKMARK_SECONDS: Final = 10.0
COMPACTION_SECONDS: Final = 300.0
"""Seconds between compactions, as on a real server. Each removes the versions before the previous one."""


_CHANGED: Final = failure(409, "Conflict", "the object has been modified")


Recorder = Callable[[str, Sequence[Change]], object]
"""Called with the name of a user or controller and the changes that it made. The result is ignored."""


class Stream(NamedTuple):
    """The answer to a watch request: status 200, these headers, and then the lines that take() returns."""

    headers: Headers
    watcher: WatchOutput


class _Handled(NamedTuple):
    """The result of a request. If failure is set, it is raised, and the answer is not returned."""

    answer: Response | Stream
    changed: bool = False
    failure: LostAnswerError | NoAnswerError | None = None


class Engine:
    """
    Answers requests one at a time.

    State: the store, the catalog derived from its definitions, the controllers' queues, the open watches, and
    the work left for settle(). _lock guards all of it.
    Threads: any thread can use it. Listeners are called without holding the lock, after each commit
    and when faults change.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        controllers: Sequence[ClusterController] = (),
        users: Mapping[str, User] | None = None,
        seed: int | None = None,
        history_size: int = DEFAULT_HISTORY_SIZE,
        bookmark_seconds: float = DEFAULT_BOOKMARK_SECONDS,
        tokens_in_paths: bool = True,
        sharded_list_and_watch: bool = False,
        conversions: Mapping[str, ConvertFunction] | None = None,
    ) -> None:
        """
        Build the state of a new cluster.

        Args: users maps bearer tokens to users; None makes every client an administrator. seed is the seed
        of all random values; None selects a random one. For tokens_in_paths, see
        handloop_sandbox.authenticator. sharded_list_and_watch turns on the feature gate ShardedListAndWatch.
        For conversions, see handloop_sandbox.server.
        """
        self.address = "127.0.0.1"
        self._clock = clock
        self._random = random.Random(seed)
        self._new_uid = partial(new_uid, self._random)
        self._controller_random = random.Random(self._random.getrandbits(64))
        self._authenticator = Authenticator(users, everybody=ADMIN, tokens_in_paths=tokens_in_paths)
        self._bookmark_seconds = bookmark_seconds
        self._sharded_list_and_watch = sharded_list_and_watch
        # Without controllers, namespaces have no default service accounts for pods to use. Therefore, turn
        # off this admission, as envtest does.
        self._account_admission = any(isinstance(entry, NamespaceController) for entry in controllers)
        self._lock = threading.Lock()
        self._listeners = Listeners()
        self._recorders: list[Recorder] = []
        self._counts = RequestCounts()
        self._watchers: dict[WatchOutput, None] = {}
        self._converted: dict[GroupResource, list[ServedResource]] = {}
        self.faults = Faults(
            self, random=random.Random(self._random.getrandbits(64)), changed=self.tell_listeners
        )
        self._store = Store(history_size=history_size)
        self._conversions = ConversionWork(
            {} if conversions is None else conversions,
            lock=self._lock,
            state=self._store,
            context=self._context,
        )
        self._catalog = definitions.catalog(self._store, revision=1, known=self._conversions.known)
        self._view = View(
            self._store,
            self._catalog,
            self._controller_random,
            self._authenticator.credentials.signing_key,
        )
        self._expiry = EventExpiry()
        self._runner = Runner((definitions.DefinitionController(), self._expiry, *controllers))
        self._compact_at = clock.time() + COMPACTION_SECONDS
        self._compact_to = self._store.resource_version
        self._bootstrap()
        self._start = self._store.snapshot()
        self._runner.start(self._store)

    def listen(self, listener: Callable[[], None]) -> None:
        """Register listener, which any thread can call after a change. It must return quickly."""
        self._listeners.add(listener)

    def record(self, recorder: Recorder) -> None:
        """Register recorder, which is called for every commit. Locks: called with the engine's lock held."""
        self._recorders.append(recorder)

    def listen_weakly(self, method: Callable[[], None]) -> None:
        """Register a method as a listener until unlisten(), without keeping its object alive."""
        self._listeners.add_weakly(method)

    def unlisten(self, listener: Callable[[], None]) -> None:
        """Stop calling listener."""
        self._listeners.remove(listener)

    def tell_listeners(self) -> None:
        """Call every listener. Locks: the caller holds none."""
        self._listeners.tell()

    def delay(self, request: Request) -> float:
        """Return how many seconds faults delay a request. Call this once, before handle()."""
        if not self.faults.active:
            return 0.0
        request = self._authenticator.unveiled(request)
        with self._lock:
            user = self._user(request)
        if user is None or controls.concerns(request.path):
            return 0.0
        return self.faults.delay(attributes_of(request, user))

    def handle(self, request: Request) -> Response | Stream:
        """
        Answer one request, and commit what it changes.

        Raises: LostAnswerError or NoAnswerError if a fault withholds the answer. Blocks: while a webhook
        converts.
        """
        begun = self.begin(request)
        return self.finish(begun) if isinstance(begun, Work) else begun

    def begin(self, request: Request) -> Response | Stream | Work[_Handled]:
        """Answer a request as handle() does. If it needs a webhook, return Work for finish() instead."""
        request = self._authenticator.unveiled(request)
        if controls.concerns(request.path):
            return self._control(request)
        with self._lock:
            handled = self._handle(request)
        return handled if isinstance(handled, Work) else self._told(handled)

    def finish(self, work: Work[_Handled]) -> Response | Stream:
        """
        Complete Work that begin() returned, and return the answer.

        Raises: the same errors as handle(). Blocks: while a webhook converts.
        """
        handled = self._conversions.complete(work)
        assert handled is not None
        return self._told(handled)

    def settle(self) -> bool:
        """
        Request the conversions that watches, controllers and caches need, and complete their work.

        Returns: whether any work was left. Blocks: while webhooks convert.
        """
        settled = self._conversions.settle()
        if settled:
            self.tell_listeners()
        return settled

    @property
    def is_waiting(self) -> bool:
        """Whether settle() has anything to do."""
        return self._conversions.is_waiting

    def _told(self, handled: _Handled) -> Response | Stream:
        if handled.changed:
            self.tell_listeners()
        if handled.failure is not None:
            if isinstance(handled.answer, Stream):
                self.close(handled.answer.watcher)
            raise handled.failure
        return handled.answer

    def tick(self, *, rounds: int | None = None) -> float | None:
        """
        Run the controllers that are due.

        Args: rounds limits the number of rounds; None runs until no controller is due.
        Returns: the unix time of the next tick, or None if nothing is due before the next change.
        """
        with self._lock:
            self._runner.run(lambda: self._view, self._clock.time(), self._apply, rounds=rounds)
            return self._next_wake()

    def take(self, watcher: WatchOutput) -> list[bytes]:
        """Return the lines that a watch must send now. Blocks: while a webhook converts."""
        while True:
            with self._lock:
                lines = self._take(watcher)
                if not isinstance(lines, Work):
                    return lines
            self._conversions.complete(lines)

    def take_due(self, watchers: Iterable[WatchOutput]) -> list[tuple[WatchOutput, list[bytes]]]:
        """Return the lines of the watches that are due. Leave conversions by a webhook to settle()."""
        taken = []
        with self._lock:
            now = self._clock.time()
            for watcher in watchers:
                if self._conversions.is_left(watcher) or not watcher.is_due(now):
                    continue
                lines = self._take(watcher)
                if isinstance(lines, Work):
                    self._conversions.leave(lines, key=watcher)
                else:
                    taken.append((watcher, lines))
        return taken

    def _take(self, watcher: WatchOutput) -> list[bytes] | Work[None]:
        now = self._clock.time()
        if self.faults.active:
            self.faults.end_those_due(now)
        try:
            lines = watcher.take(now)
        except ConversionNeededError:
            return self._conversions.new(lambda context: watcher.watcher.prepare(context.now), ADMIN)
        if watcher.ended:
            self._watchers.pop(watcher, None)
        return lines

    def due(self, watchers: Iterable[WatchOutput]) -> list[WatchOutput]:
        """Return the watches for which take() has work to do."""
        with self._lock:
            now = self._clock.time()
            return [watcher for watcher in watchers if watcher.is_due(now)]

    def next_wake(self) -> float | None:
        """Return the unix time of the next tick, or None if nothing is due before the next change."""
        with self._lock:
            return self._next_wake()

    def close(self, watcher: WatchOutput) -> None:
        """Close a watch whose client has disconnected."""
        with self._lock:
            watcher.close()
            self._watchers.pop(watcher, None)

    @property
    def clock(self) -> Clock:
        """The clock that the engine follows."""
        return self._clock

    def answer(self, request: Request) -> Response:
        """Answer a request that is not a watch. Raises: the same errors as handle()."""
        found = self.handle(request)
        assert isinstance(found, Response), f"{request.path} is a watch"
        return found

    def keep_as_start(self) -> None:
        """Make reset() restore the objects that exist now."""
        with self._lock:
            self._start = self._store.snapshot()

    def reset(self) -> int:
        """
        Restore the initial objects, and delete all others immediately, even if they have finalizers.

        Resource versions continue to rise, and watches deliver every change. Returns: the number of changes.
        """
        with self._lock:
            changes = self._store.changes_to(self._start)
            self._commit(changes, "sandbox")
        self.tell_listeners()
        return len(changes)

    def now(self) -> float:
        """Return the unix time of the engine's clock."""
        return self._clock.time()

    def version(self) -> int:
        """Return the newest resource version."""
        return self._store.resource_version  # a single number, read without holding the lock

    def apply_to_open_watches(self, injection: Injection) -> None:
        """Apply an injected fault to each open watch that it matches, oldest first."""
        with self._lock:
            for watcher in self._watchers:
                watcher.apply_to_open_watches(injection)

    def compact(self, resource_version: int | None = None) -> None:
        """Discard the versions before resource_version (default: the newest), as etcd's compaction does."""
        with self._lock:
            newest = self._store.resource_version
            self._store.compact(newest if resource_version is None else resource_version)

    def expire(self, group_resource: GroupResource | None = None) -> None:
        """Discard the history of one or all collections, so that watches cannot resume from it."""
        with self._lock:
            self._store.expire(group_resource)

    def rewind(self, *, changes: int | None = None, resource_version: int | None = None) -> int:
        """
        Undo the last `changes` changes, or all changes after resource_version, as if a backup were restored.

        Every watch ends. Returns: the version that is now the newest. Raises: ValueError if the state at that
        version is not available, or if not exactly one argument is given.
        """
        if (changes is None) == (resource_version is None):
            raise ValueError("specify either a number of changes or a resource version")
        with self._lock:
            newest = self._store.resource_version
            version = newest - changes if changes is not None else resource_version or 0
            undone = self._store.rewind(version)
            self._expiry.committed(undone, self._clock.time())
            self._runner.committed(undone)
            if any(change.group_resource == DEFINITIONS for change in undone):
                self._follow_definitions()
        self.tell_listeners()
        return version

    def _control(self, request: Request) -> Response:
        """Answer a request about the sandbox itself. Locks: the caller holds none."""
        with self._lock:
            user = self._user(request)
        try:
            if user is None:
                raise unauthorized()
            if not is_master(user):
                raise forbidden_path(user.name, request.method.lower(), request.path)
            return controls.answer(self, request)
        except StatusError as error:
            return refusal(request, error)
        except PageNotFoundError:
            return api.PAGE_NOT_FOUND

    def _handle(self, request: Request) -> _Handled | Work[_Handled]:
        user = self._user(request)
        if user is None:
            return _Handled(refusal(request, unauthorized()))
        verdict = self._verdict(request, user)
        if verdict.refusal is not None:
            self._counts.answered(request.method, verdict.refusal.code)
            return _Handled(refusal(request, verdict.refusal))
        if not _is_executed(verdict):
            return _Handled(refusal(request, internal_error("not carried out")), failure=_failure(verdict))
        try:
            return self._carry_out(request, verdict, self._context(user))
        except ConversionNeededError:
            work = self._conversions.new(partial(self._carry_out, request, verdict), user)
            return self._conversions.attempt(work) or work

    def _carry_out(self, request: Request, verdict: Verdict, context: Context) -> _Handled:
        try:
            outcome = api.handle(self._site(verdict.up_to), request, context)
        except ConversionNeededError:
            raise
        except Exception as error:
            log.exception("%s %s failed in the sandbox itself", request.method, request.path)
            return _Handled(refusal(request, internal_failure(repr(error))))
        self._commit(outcome.changes, context.user.name)
        answer = self._answer(request, context.user, outcome)
        return _Handled(answer, bool(outcome.changes), _failure(verdict))

    def _user(self, request: Request) -> User | None:
        return self._authenticator.user(self._store, request, self._clock.time())

    def _verdict(self, request: Request, user: User) -> Verdict:
        if not self.faults.active:
            return UNTOUCHED
        return self.faults.on_request(
            attributes_of(request, user), self._clock.time(), self._store.resource_version
        )

    def _answer(self, request: Request, user: User, outcome: Outcome) -> Response | Stream:
        """Return the answer to a request that was carried out. If the request is a watch, open it."""
        response = outcome.response
        if isinstance(response, Response):
            self._counts.answered(request.method, response.status)
            return response
        self._counts.answered("WATCH", 200)
        now = self._clock.time()
        seconds = self._bookmark_seconds
        watcher = Watcher(response.subscription, self._store, bookmark_seconds=seconds, now=now)
        output = WatchOutput(watcher, self._store, attributes_of(request, user), self.faults)
        self._watchers[output] = None
        return Stream(response.headers, output)

    def _context(self, user: User) -> Context:
        return Context(
            self._clock.time(),
            user,
            self._random,
            self._new_uid,
            self._authenticator.credentials.signing_key,
            self._sharded_list_and_watch,
            self._authenticator.credentials.users,
            self._account_admission,
        )

    def _site(self, up_to: int | None = None) -> Site:
        """Return the Site for a request. If up_to is given, the request reads the state at that version."""
        state: State = self._store if up_to is None else PastState(self._store, up_to)
        return Site(state, self._catalog, self.address, self._metrics)

    def _metrics(self) -> str:
        return exposition(self._store, self._counts, watches=len(self._watchers))

    def _apply(self, controller: str, write: Write) -> Status | None:
        user = User(f"system:{controller}", ("system:masters", "system:authenticated"))
        try:
            return self._write(controller, write, self._context(user))
        except ConversionNeededError:
            again = partial(self._write_later, self._runner.stepping, controller, write, self._base(write))
            self._conversions.leave(self._conversions.new(again, user))
            return None

    def _write(self, controller: str, write: Write, context: Context) -> Status | None:
        outcome = carry_out(self._site(), write, controller, context)
        self._commit(outcome.changes, controller)
        return outcome.refusal

    def _base(self, write: Write) -> Stored | None:
        return self._store.stored(write.group_resource, write.namespace, write.name)

    def _write_later(
        self, index: int, controller: str, write: Write, base: Stored | None, context: Context
    ) -> None:
        """Apply a write that waited for a webhook, or refuse it if its object has changed in the meantime."""
        is_same = self._base(write) is base
        refusal = self._write(controller, write, context) if is_same else _CHANGED
        if refusal is not None:
            self._runner.refused(index, write, refusal, context.now)

    def _fill_caches(self, resources: Iterable[ServedResource], items: Sequence[Stored]) -> None:
        """Convert objects to other versions ahead of time, as a kube-apiserver's watch caches do."""
        for resource in resources:

            def fill(_: Context, resource: ServedResource = resource) -> None:
                with contextlib.suppress(ConversionFailedError):  # a list will retry
                    all_served(resource, items)

            self._conversions.leave(self._conversions.new(fill, ADMIN))

    def _commit(self, changes: Sequence[Change], who: str) -> None:
        if not changes:
            return
        self._store.commit(changes)
        for recorder in self._recorders:
            recorder(who, changes)
        self._expiry.committed(changes, self._clock.time())
        self._runner.committed(changes)
        now = self._clock.time()
        if now >= self._compact_at:
            self._store.forget(self._compact_to)
            self._compact_at, self._compact_to = now + COMPACTION_SECONDS, self._store.resource_version
        if self.faults.active:
            for watcher in self._watchers:
                with contextlib.suppress(ConversionNeededError):
                    watcher.arrive(now)
        if self._converted:
            for change in changes:
                self._fill_caches(self._converted.get(change.group_resource, ()), [change.new])
        if any(change.group_resource == DEFINITIONS for change in changes):
            self._follow_definitions()

    def _follow_definitions(self) -> None:
        before = self._catalog
        self._catalog = definitions.catalog(
            self._store, revision=before.revision + 1, known=self._conversions.known
        )
        self._view = self._view._replace(catalog=self._catalog)
        for group_resource in definitions.redefined(before, self._catalog):
            self._store.redefine(group_resource)
        self._converted = {}
        for resource in self._catalog.resources:
            if resource.conversion is None:
                continue
            self._converted.setdefault(resource.group_resource, []).append(resource)
            known = before.find(resource.group, resource.version, resource.plural)
            if known is None or known.conversion != resource.conversion:
                items = list(self._store.collection(resource.group_resource).objects.values())
                self._fill_caches([resource], items)

    def _next_wake(self) -> float | None:
        wakes: list[float | None] = [watcher.next_wake() for watcher in self._watchers]
        wakes += [self._runner.next_wake(), self.faults.next_wake()]
        return min((wake for wake in wakes if wake is not None and wake != inf), default=None)

    def _bootstrap(self) -> None:
        context = self._context(ADMIN)
        for write in bootstrap.writes():
            outcome = carry_out(self._site(), write, "kube-apiserver", context)
            if outcome.refusal is not None:
                raise RuntimeError(f"bootstrap: {outcome.refusal['message']}")
            self._store.commit(outcome.changes)


def _failure(verdict: Verdict) -> LostAnswerError | NoAnswerError | None:
    if verdict.lost is not None:
        return LostAnswerError("a fault lost the answer")
    return None if verdict.silent is None else NoAnswerError("a fault keeps the answer back")


def _is_executed(verdict: Verdict) -> bool:
    return (verdict.lost is None or verdict.lost.executed) and (
        verdict.silent is None or verdict.silent.executed
    )
