"""
Ask the server whether an owner still exists after one of its children has disappeared.

    a child is deleted --child_gone--> its owner is a suspect --check, before the next reconcile--> one GET

A watch can lag by more than a minute. Meanwhile, the cache still contains owners that no longer exist. If a
reconcile creates a child for such an owner, the garbage collector deletes the child. The deletion triggers
the next reconcile, which creates the child again, and so on at full speed. The builder prevents this loop for
every controller. A controller written by hand creates an OwnerRecheck, calls child_gone in its delete
handler, and calls check at the beginning of its sync; see handloop.controller.foo.production.
Follows: kubernetes pkg/controller RecheckDeletionTimestamp, differs: the server is asked only after a child
has disappeared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from handloop.apis.meta import Kind
from handloop.client.errors import Forbidden, NotFound
from handloop.client.resource_client import Client
from handloop.controller.runtime.guards.name_table import NameTable
from handloop.controller.runtime.guards.repeat_backoff import RepeatBackoff
from handloop.controller.runtime.reconcile import WaitError
from handloop.controller.runtime.sources.informer_source import OwnerCache, OwnerNames
from handloop.informers.keys import DeletedFinalStateUnknown, ObjectName, final_state
from handloop.seams.clock import REAL_CLOCK, Clock
from handloop.seams.locks import new_lock
from handloop.seams.logs import get_logger

log = get_logger("ownerrecheck")

T = TypeVar("T", bound=Kind)
C = TypeVar("C", bound=Kind)


class OwnerGoneError(WaitError):
    """The owner no longer exists or is being deleted, but the cache does not show that yet."""


class OwnerRecheck(Generic[T]):
    """
    Tracks the owners of one kind whose children have disappeared, and checks whether they still exist.

    State: _suspects, the owners to check before their next reconcile; under _lock, _told, which is set once
    the missing permission for that check has been logged.
    Threads: listeners call child_gone; workers call check, each for the name that it is working on.
    """

    def __init__(
        self,
        kind: type[T],
        client: Client,
        cache: OwnerCache,
        *,
        deleted_by_us: Callable[[ObjectName, Kind], bool] = lambda _owner, _child: False,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        """Args: cache stores the owners; deleted_by_us(owner, child) returns whether we deleted the child."""
        self._resource = kind.resource
        self._client = client.resource(kind)
        self._cache = cache
        self._owners_of = OwnerNames(kind, cache, every_owner=True)
        self._deleted_by_us = deleted_by_us
        self._backoff = RepeatBackoff("children disappear, and the role does not allow a check", clock=clock)
        self._lock = new_lock("OwnerRecheck._lock", 95)
        self._suspects: NameTable[bool] = NameTable()
        self._told = False

    def child_gone(self, child: C | DeletedFinalStateUnknown[C]) -> None:
        """Mark the owners of a deleted child for a check. Call this before their names are queued."""
        state = final_state(child)
        if state is None:
            return
        uids = {reference.uid for reference in state.metadata.owner_references}
        for name in self._owners_of(state):
            owner = self._cache.get_by_key(str(name))
            # Ignore a child of an earlier owner with the same name: its deletion is expected.
            if owner is not None and owner.metadata.uid in uids and not self._deleted_by_us(name, state):
                self.suspect(name)

    def suspect(self, name: ObjectName) -> None:
        """Mark an owner to be checked before its next reconcile: an object written for it disappeared."""
        self._suspects.put(name, True)

    def check(self, name: ObjectName) -> None:
        """
        Raise an error if a child of the owner with that name has disappeared, and the owner no longer exists.

        Raises: OwnerGoneError; HeldBackError if the role does not allow getting owners; ClientError if the
        request fails. The caller retries after each of these errors.
        Blocks: for one request if a child has disappeared; otherwise not at all.
        """
        # Remove the suspect first. A child that disappears during the request must add the owner again.
        if self._suspects.pop(name) is None:
            return
        try:
            self._ask(name)
        except BaseException:
            self.suspect(name)
            raise

    def forget_names(self, gone: Callable[[ObjectName], bool]) -> None:
        """Forget the owners for which gone is true, because another replica has taken them over."""
        self._suspects.forget_names(gone)
        self._backoff.forget_names(gone)

    def _ask(self, name: ObjectName) -> None:
        cached = self._cache.get_by_key(str(name))
        if cached is None or cached.metadata.deletion_timestamp is not None:
            return
        try:
            live = self._client.get(name.name, namespace=name.namespace).metadata
        except NotFound:
            live = None
        except Forbidden as error:
            self._tell(error)
            # The generation is part of the value: a reconcile of a changed spec is not a repetition.
            self._backoff.attempt(name, (cached.metadata.uid, cached.metadata.generation), lambda: True)
            return
        if live is None or live.uid != cached.metadata.uid or live.deletion_timestamp is not None:
            what = f"{self._resource.kind} {name}"
            raise OwnerGoneError(f"{what} is gone from the server, or going: waiting for the cache to know")

    def _tell(self, error: Forbidden) -> None:
        with self._lock:
            told, self._told = self._told, True
        if not told:
            resource = self._resource
            text = (
                "Children disappear, and the role does not allow checking whether their owner still exists. "
                "They are created again at increasing intervals"
            )
            rule = f'verb "get", resource "{resource.plural}", API group "{resource.group}"'
            log.warning(text, err=str(error), fix=f"add to the role: {rule}")
