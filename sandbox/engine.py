"""
The sandbox as one machine: state, API, controllers and open watches behind one lock.

Whoever drives it (the HTTP server's loop, a test) calls tick() when a commit or the clock says so; requests
may come from any thread.
"""

from __future__ import annotations

import logging
import random
import secrets
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sandbox import api, bootstrap, crds
from sandbox.api import refusal
from sandbox.clock import Clock
from sandbox.cluster.controllers import Controller, Runner, View, Write
from sandbox.metrics import RequestCounts, exposition
from sandbox.requests import tokens
from sandbox.requests.access import ANONYMOUS
from sandbox.requests.definition import DEFINITIONS
from sandbox.requests.documents import Site
from sandbox.requests.request import Context, Headers, Request, Response, User
from sandbox.secret_path import unveil
from sandbox.storage.store import DEFAULT_HISTORY_SIZE, Store
from sandbox.storage.stored import Change
from sandbox.storage.watches import Watcher
from sandbox.system_writes import carry_out
from sandbox.verbs import reviews
from sandbox.wire.resource import GroupResource
from sandbox.wire.status import Status, internal_error, unauthorized

log = logging.getLogger("sandbox")

ADMIN: Final = User("sandbox-admin", ("system:masters", "system:authenticated"))
DEFAULT_BOOKMARK_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Stream:
    """The answer to a watch: 200 with these headers, then what take() gives."""

    headers: Headers
    watcher: Watcher


class Engine:
    """
    Answers requests one at a time.

    State: the store, the catalog that follows from it, the controllers' queues, and the open watches; all of
    it is only touched with the lock held. Threads: any. listeners are called
    after a commit, without the lock.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        controllers: Sequence[Controller] = (),
        users: Mapping[str, User] | None = None,
        seed: int | None = None,
        history_size: int = DEFAULT_HISTORY_SIZE,
        bookmark_seconds: float = DEFAULT_BOOKMARK_SECONDS,
    ) -> None:
        """
        Build the state of a new cluster.

        Args: users by bearer token; None = everybody is an administrator. seed None = different every time.
        """
        self.address = "127.0.0.1"
        self._clock = clock
        self._users = users
        self._random = random.Random(seed)
        self._controller_random = random.Random(self._random.getrandbits(64))
        self._signing_key = secrets.token_bytes(32)
        self._bookmark_seconds = bookmark_seconds
        self._lock = threading.Lock()
        self._listeners: list[Callable[[], None]] = []
        self._counts = RequestCounts()
        self._watchers: set[Watcher] = set()
        self._store = Store(history_size=history_size)
        self._catalog = crds.catalog(self._store, revision=1)
        self._runner = Runner((crds.DefinitionController(), *controllers))
        self._bootstrap()
        self._runner.start(self._store)

    def listen(self, listener: Callable[[], None]) -> None:
        """Have listener called, by any thread, whenever something changed; it must be quick."""
        self._listeners.append(listener)

    def handle(self, request: Request) -> Response | Stream:
        """Answer one request; commits what it changes."""
        with self._lock:
            answer, changed = self._handle(request)
        if changed:
            for listener in self._listeners:
                listener()
        return answer

    def tick(self, *, rounds: int | None = None) -> float | None:
        """
        Step the controllers that are due, each as often as it is or that many times.

        Returns: the unix time of the next tick; None = when something changes.
        """
        with self._lock:
            self._runner.run(self._view, self._clock.time(), self._apply, rounds=rounds)
            return self._next_wake()

    def take(self, watcher: Watcher) -> list[bytes]:
        """The lines a watch has to send now."""
        with self._lock:
            lines = watcher.take(self._clock.time())
            if watcher.ended:
                self._watchers.discard(watcher)
            return lines

    def take_due(self, watchers: Iterable[Watcher]) -> list[tuple[Watcher, list[bytes]]]:
        """The lines of those watches that have something to send or have ended."""
        taken = []
        with self._lock:
            now = self._clock.time()
            for watcher in watchers:
                if watcher.is_due(now):
                    taken.append((watcher, watcher.take(now)))
                    if watcher.ended:
                        self._watchers.discard(watcher)
        return taken

    def close(self, watcher: Watcher) -> None:
        """Forget a watch whose client has gone."""
        with self._lock:
            watcher.ended = True
            self._watchers.discard(watcher)

    def compact(self, resource_version: int | None = None) -> None:
        """Forget older versions, as etcd's compaction does; None = all but the newest."""
        with self._lock:
            newest = self._store.resource_version
            self._store.compact(newest if resource_version is None else resource_version)

    def expire(self, group_resource: GroupResource | None = None) -> None:
        """Forget the history that watches continue from, of one collection or all."""
        with self._lock:
            self._store.expire(group_resource)

    def _handle(self, request: Request) -> tuple[Response | Stream, bool]:
        request = unveil(request, self._users or ())
        user = self._user(request)
        if user is None:
            return refusal(request, unauthorized()), False
        try:
            outcome = api.handle(self._site(), request, self._context(user))
        except Exception as error:
            log.exception("%s %s failed in the sandbox itself", request.method, request.path)
            return refusal(request, internal_error(f"Internal error occurred: {error!r}")), False
        self._commit(outcome.changes)
        response = outcome.response
        if isinstance(response, Response):
            self._counts.answered(request.method, response.status)
            return response, bool(outcome.changes)
        self._counts.answered("WATCH", 200)
        now = self._clock.time()
        seconds = self._bookmark_seconds
        watcher = Watcher(response.subscription, self._store, bookmark_seconds=seconds, now=now)
        self._watchers.add(watcher)
        return Stream(response.headers, watcher), False

    def _user(self, request: Request) -> User | None:
        """Who sends a request; None for credentials that are wrong."""
        if self._users is None:
            return ADMIN
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not token.strip():
            return ANONYMOUS
        token = token.strip()
        known = next(
            (user for text, user in self._users.items() if secrets.compare_digest(text, token)), None
        )
        if known is not None:
            return known
        claims = tokens.verify(self._signing_key, token, self._clock.time())
        return None if claims is None else reviews.account_of(claims)

    def _context(self, user: User) -> Context:
        return Context(self._clock.time(), user, self._random, self._new_uid, self._signing_key)

    def _new_uid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def _site(self) -> Site:
        return Site(self._store, self._catalog, self.address, self._metrics)

    def _view(self) -> View:
        return View(self._store, self._catalog, self._controller_random)

    def _metrics(self) -> str:
        return exposition(self._store, self._counts, watches=len(self._watchers))

    def _apply(self, controller: str, write: Write) -> Status | None:
        user = User(f"system:{controller}", ("system:masters", "system:authenticated"))
        outcome = carry_out(self._site(), write, controller, self._context(user))
        self._commit(outcome.changes)
        return outcome.refusal

    def _commit(self, changes: Sequence[Change]) -> None:
        if not changes:
            return
        self._store.commit(changes)
        self._runner.committed(changes)
        if any(change.group_resource == DEFINITIONS for change in changes):
            self._follow_definitions()

    def _follow_definitions(self) -> None:
        before = self._catalog
        self._catalog = crds.catalog(self._store, revision=before.revision + 1)
        for group_resource in crds.redefined(before, self._catalog):
            self._store.redefine(group_resource)

    def _next_wake(self) -> float | None:
        wakes = [watcher.next_wake() for watcher in self._watchers]
        from_controllers = self._runner.next_wake()
        return min(wakes if from_controllers is None else [*wakes, from_controllers], default=None)

    def _bootstrap(self) -> None:
        context = self._context(ADMIN)
        for write in bootstrap.writes():
            outcome = carry_out(self._site(), write, "kube-apiserver", context)
            if outcome.refusal is not None:
                raise RuntimeError(f"bootstrap: {outcome.refusal['message']}")
            self._store.commit(outcome.changes)
