"""
Write the condition Stalled if a reconcile ends with a TerminalError and is not retried until a change.

kstatus, which `helm --wait` and Flux use, reports an object with this condition as Failed. While the object
is retried, the condition is Reconciling instead; while the object is paused, it is Paused.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any, Final, get_args, get_origin

from msgspec.structs import replace

from handloop.apis.class_attributes import has_status_subresource
from handloop.apis.conditions import Condition, Conditions, find_condition
from handloop.apis.declaration import StructType, fields_of, is_built_in
from handloop.apis.meta import Kind, encodable
from handloop.client.errors import ClientError, NotFound
from handloop.controller.runtime.reconcile import Result, TerminalError, WaitError
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.reconciling.reconciler import ReconcileFunc
from handloop.informers.keys import ObjectName
from handloop.seams.logs import in_words

STALLED: Final = "Stalled"
RECONCILING: Final = "Reconciling"
PAUSED: Final = "Paused"
TERMINAL_ERROR: Final = "TerminalError"
_REASONS: Final = {STALLED: TERMINAL_ERROR, RECONCILING: "Retrying", PAUSED: "Annotated"}
"""The reasons of the conditions that this module writes. A condition with another reason is the author's."""
_LONGEST: Final = 32_768


def can_stall(kind: type[Kind]) -> bool:
    """Return whether we can add conditions to a kind's status. False for built-in kinds and partial views."""
    status = fields_of(kind).get("status")
    if status is None or not has_status_subresource(kind) or kind.partial or is_built_in(kind.resource.group):
        return False
    structs = [each for each in (status.type, *get_args(status.type)) if isinstance(each, StructType)]
    found = [fields_of(struct)["conditions"].type for struct in structs if "conditions" in fields_of(struct)]
    plain = [get_args(each)[0] if get_origin(each) is Annotated else each for each in found]
    return any(Condition in get_args(each) for each in plain)


class Stalling:
    """Calls a reconcile, and writes a condition if the object stalls. Implements Reconciler[ObjectName]."""

    def __init__(
        self,
        cached: Callable[[ObjectName], Kind | None],
        reconcile: ReconcileFunc[ObjectName],
        *,
        is_last: Callable[[ObjectName], bool] = lambda _name: False,
    ) -> None:
        """Args: is_last returns whether a name would not be retried if its current reconcile failed."""
        self._cached = cached
        self._reconcile = reconcile
        self._is_last = is_last

    def reconcile(self, name: ObjectName, context: Context) -> Result | None:
        """
        Call the reconcile, and write or remove the condition.

        If the reconcile fails and will be retried, or must wait, the condition Stalled or Paused is replaced
        by Reconciling. Otherwise kstatus would report the object as failed or done.
        Raises: any error that the reconcile raises; ClientError if the condition cannot be written after a
        TerminalError or a success, so that the write is retried.
        """
        seen = self._cached(name)
        try:
            result = self._reconcile(name, context)
        except TerminalError as error:
            error.is_told = not tell_condition(seen, context, (STALLED, in_words(error))) and is_stalled(seen)
            raise
        except BaseException as error:
            is_last = not isinstance(error, WaitError) and self._is_last(name)
            with suppress(ClientError):
                if is_last:
                    tell_condition(seen, context, (STALLED, in_words(error)))
                elif is_stalled(seen) or _has(seen, PAUSED):
                    tell_condition(seen, context, (RECONCILING, "tried again"))
            raise
        tell_condition(seen, context, None)
        return result


_Say = tuple[str, str] | None
"""The type and message of the condition to write. None means that the condition is removed."""


def tell_condition(seen: Any, context: Context, say: _Say) -> bool:
    """
    Write or remove our condition, unless the object had the right one before the reconcile.

    The live object is read first, because the reconcile may have written it. If its generation differs from
    that of seen, nothing is written, because the spec has changed, and the watch event of that change causes
    another reconcile.

    Args: seen is the object before the reconcile. Returns: True if the conditions of seen were not right.
    """
    if seen is None or seen.status is None:
        return False
    is_observed = getattr(seen.status, "observed_generation", None) in (None, seen.metadata.generation)
    is_about_spec = say is not None and say[0] != PAUSED
    if told(seen, context, say) == seen.status.conditions and (is_observed or not is_about_spec):
        return False
    there = seen.metadata
    with suppress(NotFound):
        live = context.client.resource(type(seen)).get(there.name, namespace=there.namespace)
        if (live.metadata.uid, live.metadata.generation) == (there.uid, there.generation):
            status = replace(live.status, conditions=told(live, context, say))
            # A paused reconcile has not read the spec, so it does not change the observed generation.
            context.update_status(live, status, observed=say is None or is_about_spec)
    return True


def is_stalled(obj: Any) -> bool:
    """Return whether the object has our condition Stalled."""
    return _has(obj, STALLED)


def _has(obj: Any, name: str) -> bool:
    found = None if obj is None or obj.status is None else find_condition(obj.status.conditions, name)
    return found is not None and _is_ours(found)


def _is_ours(condition: Condition) -> bool:
    return _REASONS.get(condition.type) == condition.reason


def told(obj: Any, context: Context, say: _Say) -> Conditions:
    """
    Return the object's conditions with ours added, replaced or removed, and the author's unchanged.

    Our condition comes first, because kstatus uses the first of Stalled and Reconciling.
    """
    before: Conditions = obj.status.conditions
    others = tuple(each for each in before if not _is_ours(each))
    if say is None or find_condition(others, say[0]) is not None:
        return others
    name, text = say
    message = encodable(text[:_LONGEST])[:_LONGEST]
    condition = Condition(type=name, status="True", reason=_REASONS[name], message=message)
    after = context.set_conditions(obj, condition)
    return (find_condition(after, name) or condition, *others)
