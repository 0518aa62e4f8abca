"""
The condition Stalled: the reconcile ended with a TerminalError, so nothing happens until something changes.

kstatus, and with it `helm --wait` and Flux, takes such an object for Failed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any, Final, get_args, get_origin

from msgspec.structs import replace

from handloop.apis.conditions import Condition, Conditions, find_condition, remove_condition
from handloop.apis.declaration import StructType, fields_of, is_built_in
from handloop.apis.meta import Kind
from handloop.client.errors import NotFound
from handloop.controller.runtime.context import Context
from handloop.controller.runtime.reconcile import Result, TerminalError
from handloop.controller.runtime.reconciler import ReconcileFunc
from handloop.informers.keys import ObjectName

STALLED: Final = "Stalled"
TERMINAL_ERROR: Final = "TerminalError"
"""The reason of our conditions; those with another one are the author's."""
_LONGEST: Final = 32_768


def can_stall(kind: type[Kind]) -> bool:
    """Whether the status of a kind has conditions, and is its controller's: none of a partial view."""
    status = fields_of(kind).get("status")
    if status is None or kind.partial or is_built_in(kind.resource.group):
        return False
    structs = [each for each in (status.type, *get_args(status.type)) if isinstance(each, StructType)]
    found = [fields_of(struct)["conditions"].type for struct in structs if "conditions" in fields_of(struct)]
    plain = [get_args(each)[0] if get_origin(each) is Annotated else each for each in found]
    return any(Condition in get_args(each) for each in plain)


class Stalling:
    """Calls a reconcile, and writes whether its object is stalled. Implements Reconciler[ObjectName]."""

    def __init__(
        self, cached: Callable[[ObjectName], Kind | None], reconcile: ReconcileFunc[ObjectName]
    ) -> None:
        self._cached = cached
        self._reconcile = reconcile

    def reconcile(self, name: ObjectName, context: Context) -> Result | None:
        """Raises: errors of the reconcile; ClientError of the write, so that it is tried again."""
        seen = self._cached(name)
        try:
            result = self._reconcile(name, context)
        except TerminalError as error:
            error.is_told = not _tell(seen, context, str(error)) and is_stalled(seen)
            raise
        _tell(seen, context, None)
        return result


def _tell(seen: Any, context: Context, text: str | None) -> bool:
    """
    Write the condition, or its absence, if that differs from the object before the reconcile.

    The reconcile may have written, so the live object decides. One of another generation has not been
    reconciled yet: its watch event brings the next reconcile.
    Returns: whether it differs.
    """
    if seen is None or seen.status is None or told(seen, context, text) is seen.status.conditions:
        return False
    there = seen.metadata
    with suppress(NotFound):
        live = context.client.resource(type(seen)).get(there.name, namespace=there.namespace)
        if (live.metadata.uid, live.metadata.generation) == (there.uid, there.generation):
            status = replace(live.status, conditions=told(live, context, text))
            context.update_status(live, status)
    return True


def is_stalled(obj: Any) -> bool:
    """Whether our condition is there."""
    own = None if obj is None or obj.status is None else find_condition(obj.status.conditions, STALLED)
    return own is not None and own.reason == TERMINAL_ERROR


def told(obj: Any, context: Context, text: str | None) -> Conditions:
    """
    The conditions of an object with the text of its error, None = there is none; the same if nothing changes.

    Stalled comes first: kstatus goes by the first of it and Reconciling.
    """
    before: Conditions = obj.status.conditions
    own = find_condition(before, STALLED)
    if own is not None and own.reason != TERMINAL_ERROR:
        return before
    if text is None:
        return remove_condition(before, STALLED)
    stalled = Condition(type=STALLED, status="True", reason=TERMINAL_ERROR, message=text[:_LONGEST])
    after = context.set_conditions(obj, stalled)
    return after if own is not None else (after[-1], *after[:-1])
