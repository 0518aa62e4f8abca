"""
The child of one kind, by the name of its MyApp: looked up in the cache, created, corrected, deleted.

An object that this very MyApp does not control, by UID, is never written. A correction carries the resource
version and the UID that were read, a deletion the UID: a change in between makes a Conflict, and a retry.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final, Generic, TypeVar

from handloop.apis.meta import Kind, controller_of, is_controlled_by
from handloop.client.errors import NotFound
from handloop.client.resource_client import PatchType, ResourceClient
from handloop.controller.myapp.changes import Changes, guarded
from handloop.controller.myapp.types import MyApp
from handloop.controller.runtime.context import Context, NameTakenError
from handloop.controller.runtime.owner_references import is_of_predecessor
from handloop.controller.runtime.reconcile import ReconcileError, WaitError
from handloop.informers.lister import Lister

FIELD_MANAGER: Final = "myapp-operator"

K = TypeVar("K", bound=Kind)


class Child(Generic[K]):
    """The children of one kind. State: none. Threads: any."""

    def __init__(self, kind: type[K], lister: Lister[K]) -> None:
        self._type = kind
        self._kind = kind.resource.kind
        self._lister = lister

    def owned(self, app: MyApp) -> K | None:
        """The child in the cache; None without one, or when it is not ours."""
        live = self._cached(app)
        return live if live is not None and is_controlled_by(live, app) else None

    def is_taken(self, app: MyApp) -> bool:
        """Whether a foreign object has the name."""
        live = self._cached(app)
        return live is not None and not is_controlled_by(live, app)

    def ensure(
        self, app: MyApp, wanted: K, changes: Callable[[K, K], Changes], context: Context
    ) -> tuple[K, bool]:
        """
        Create the child, or correct it.

        Args: changes(live, wanted) is a strategic merge patch, {} for none.
        Returns: the child, and whether it was written.
        Raises: NameTakenError; WaitError for the child of an earlier MyApp of this name, and for a child that
        is being deleted, or gone though the cache has it; ClientError.
        """
        live = self._cached(app)
        if live is None:
            return self._objects(context).create(wanted, field_manager=FIELD_MANAGER), True
        if not is_controlled_by(live, app):
            raise self._foreign(live, app)
        if live.metadata.deletion_timestamp is not None:
            # even a correct child will be gone soon
            raise self._going(live)
        patch = changes(live, wanted)
        if not patch:
            return live, False
        return self._corrected(live, patch, context), True

    def remove(self, app: MyApp, context: Context) -> None:
        """
        Delete our child, if there is one.

        Raises: WaitError while it is in the cache; ClientError.
        """
        live = self.owned(app)
        if live is None:
            return
        metadata = live.metadata
        if metadata.deletion_timestamp is None:
            with suppress(NotFound):
                children = self._objects(context)
                children.delete(metadata.name, namespace=metadata.namespace, uid=metadata.uid)
        raise self._going(live)

    def _cached(self, app: MyApp) -> K | None:
        return self._lister.get(app.metadata.name, namespace=app.metadata.namespace)

    def _objects(self, context: Context) -> ResourceClient[K]:
        return context.client.resource(self._type)

    def _corrected(self, live: K, patch: Changes, context: Context) -> K:
        name = live.metadata.name
        try:
            return self._objects(context).patch(
                name,
                guarded(live, patch),
                namespace=live.metadata.namespace,
                patch_type=PatchType.STRATEGIC,
                field_manager=FIELD_MANAGER,
            )
        except NotFound as error:
            raise WaitError(f'{self._kind} "{name}" has just been deleted') from error

    def _going(self, live: K) -> WaitError:
        return WaitError(f'{self._kind} "{live.metadata.name}" is not gone yet')

    def _foreign(self, live: K, app: MyApp) -> ReconcileError:
        what = f'{self._kind} "{live.metadata.name}"'
        owner = controller_of(live) or next(iter(live.metadata.owner_references), None)
        if owner is None:
            return NameTakenError(f"{what} already exists and has no owner")
        if is_of_predecessor(owner, app):
            return WaitError(f"{what} of an earlier MyApp of this name is not gone yet")
        return NameTakenError(f'{what} already exists and belongs to {owner.kind} "{owner.name}"')
