"""
Warn about mistakes in a reconciler that raise no error but can be detected without false alarms.

The mistakes are: a reconcile that keeps triggering itself; a Result that was created but not returned; an
object whose deletion waits for this program's finalizer; a reconcile that still uses its object after it has
removed the last finalizer.
"""

from __future__ import annotations

from collections.abc import Sequence

from handloop.apis.grammar.times import parse_time
from handloop.apis.meta import Kind
from handloop.controller.runtime.guards.name_table import NameTable
from handloop.controller.runtime.reconcile import Result
from handloop.informers.keys import ObjectName
from handloop.seams.clock import REAL_CLOCK, Clock
from handloop.seams.logs import get_logger

BUSY_RECONCILES = 100
BUSY_SECONDS = 10.0
HELD_SECONDS = 600.0


class QuietFaults:
    """
    Checks how the reconciles of one controller end.

    State: _idle, name -> since when, and how often, it was reconciled without a write.
    Threads: workers, each for the name that it is working on.
    """

    def __init__(self, controller: str, clock: Clock = REAL_CLOCK) -> None:
        self._log = get_logger(controller, controller=controller)
        self._clock = clock
        self._idle: NameTable[tuple[float, int]] = NameTable()
        self.forget_names = self._idle.forget_names

    def reconciled(self, name: ObjectName, causes: Sequence[str], *, wrote: bool) -> None:
        """Warn if a name is reconciled ten times a second without a write, no matter what triggers it."""
        now = self._clock.now()
        since, count = self._idle.get(name) or (now, 0)
        if wrote or now - since > BUSY_SECONDS:
            since, count = now, 0
        count += not wrote
        is_busy = count >= BUSY_RECONCILES
        self._idle.put(name, (now, 0) if is_busy else (since, count))
        if is_busy:
            self._log.warning(
                "Reconciled again and again without a write",
                object=name,
                causes=", ".join(causes),
                fix="return Result(requeue_after=...) of a second or more, or wait for a watch event",
            )

    def ended(self, name: ObjectName, made: Sequence[Result], returned: object) -> None:
        """
        Warn if a reconcile created a Result with requeue_after, but returned None.

        Args: made contains the Results that the reconcile created.
        """
        lost = [each for each in made if each.requeue_after] if returned is None else []
        if lost:
            self._log.warning(
                "A Result was created but not returned, so it has no effect",
                object=name,
                result=f"Result(requeue_after={lost[-1].requeue_after:g})",
                fix="return Result(...)",
            )

    def went_on(self, name: ObjectName, error: Exception) -> None:
        """Warn that a reconcile removed its object's last finalizer, but then still requested the object."""
        self._log.warning(
            "Reconcile continued after it removed the last finalizer, so the object is gone",
            object=name,
            err=str(error),
            fix="return after remove_finalizer(...)",
        )

    def kept(self, obj: Kind | None) -> None:
        """
        Warn if a reconciled object was marked for deletion long ago, but still has a finalizer of this
        program.

        Args: obj is None if the object no longer exists. A finalizer is ours if its domain ends with the
        kind's API group.
        """
        there = None if obj is None else obj.metadata
        if obj is None or there is None or there.deletion_timestamp is None:
            return
        ours = [each for each in there.finalizers if each.partition("/")[0].endswith(obj.resource.group)]
        seconds = self._clock.time() - parse_time(there.deletion_timestamp)
        if obj.resource.group and ours and seconds >= HELD_SECONDS:
            self._log.warning(
                "Object deleted long ago still has a finalizer of this program",
                object=ObjectName(there.namespace, there.name),
                finalizers=", ".join(ours),
                since=there.deletion_timestamp,
                fix="remove_finalizer(...) once everything is cleaned up",
            )
