"""What is added to a manager before it runs: its runnables, and their access to the cluster."""

from __future__ import annotations

from typing import Final

from handloop.apis.meta import Kind
from handloop.controller.runtime.life.runnable import Runnable
from handloop.controller.runtime.rbac.access import Access, merged
from handloop.seams.locks import new_lock

_LONGEST_NAME: Final = 128


class Roster:
    """
    The runnables of one manager. They can be added only before the manager runs.

    State, under _lock: _runnables, _access, _reconciled and _written; _begun, the names that were announced
    with begin, but whose runnables have not been added yet; _ran, whether the manager runs or has run. A
    second call of run also reads _ran without the lock. Threads: any thread can call the methods.
    """

    def __init__(self) -> None:
        """Create an empty roster."""
        self._lock = new_lock("Roster._lock", 3)
        self._runnables: list[Runnable] = []
        self._begun: set[str] = set()
        self._access: list[Access] = []
        self._reconciled: list[type[Kind]] = []
        self._written: list[type[Kind]] = []
        self._ran = False

    def add(self, runnable: Runnable) -> None:
        """
        Add a runnable, before run.

        Raises: RuntimeError once run has begun; ValueError for a name that begin would refuse.
        """
        with self._lock:
            self._accept_locked(runnable.name)
            self._runnables.append(runnable)
            self._begun.discard(runnable.name)

    def begin(self, name: str) -> None:
        """
        Announce that a controller with this name will be added. run fails if it is not added.

        Raises: RuntimeError once run has begun; ValueError for a name that is already used, or that the API
        server would refuse as a field manager.
        """
        with self._lock:
            self._accept_locked(name)
            self._begun.add(name)

    def _accept_locked(self, name: str) -> None:
        if self._ran:
            raise RuntimeError(f"controller {name} would never start: its manager is running or has stopped")
        if not name:
            raise ValueError("a controller needs a name")
        if len(name) > _LONGEST_NAME or not name.isprintable():
            text = "it is the field manager of writes, so it must be printable, with at most 128 characters"
            raise ValueError(f"controller name {name[:_LONGEST_NAME]!r}: {text}")
        if any(known.name == name for known in self._runnables):
            raise ValueError(f"controller with name {name} already exists")

    def declare(self, *access: Access) -> None:
        """Declare the access that a controller needs."""
        with self._lock:
            self._access += access

    def declare_reconciled(self, kind: type[Kind]) -> None:
        """Declare that a controller reconciles a kind. The kind may need a CRD in the cluster."""
        with self._lock:
            self._reconciled.append(kind)

    def declare_written(self, *kinds: type[Kind]) -> None:
        """Declare the kinds that a controller writes, in addition to the one it reconciles."""
        with self._lock:
            self._written += kinds

    def access(self) -> tuple[Access, ...]:
        """Return the declared access of all controllers, merged."""
        with self._lock:
            return merged(self._access)

    def reconciled_kinds(self) -> tuple[type[Kind], ...]:
        """Return the kinds that controllers reconcile, without duplicates."""
        with self._lock:
            return tuple(dict.fromkeys(self._reconciled))

    def written_kinds(self) -> tuple[type[Kind], ...]:
        """Return the kinds that controllers write, without duplicates."""
        with self._lock:
            return tuple(dict.fromkeys(self._written))

    def runnables(self) -> dict[str, Runnable]:
        """Return all runnables by name, in the order in which they were added."""
        with self._lock:
            return {runnable.name: runnable for runnable in self._runnables}

    def _complete(self, *, watches: bool) -> list[Runnable]:
        """Refuse further runnables, and return all. Args: watches is True if there are informers to run."""
        with self._lock:
            self._refuse_a_second_run()
            if self._begun:
                names = ", ".join(sorted(self._begun))
                raise RuntimeError(f"controllers that are not complete: {names}: call complete(reconcile)")
            if not self._runnables and not watches:
                raise RuntimeError("the manager has nothing to run: add a controller, with controller_for")
            self._ran = True
            return list(self._runnables)

    def _refuse_a_second_run(self) -> None:
        """
        Refuse a second run.

        The lock is not acquired. If a thread of a parent process held it during a fork, it is never released
        in the child.
        """
        if self._ran:
            raise RuntimeError("a manager runs only once: create another one, with another registry")

    def _workers_check(self) -> str | None:
        return self._reasons("workers_check")

    def _ready_check(self) -> str | None:
        return self._reasons("ready_check")

    def _reasons(self, member: str) -> str | None:
        """Return the problems that runnables report. Args: member is the name of an optional health check."""
        with self._lock:
            checks = [getattr(runnable, member, None) for runnable in self._runnables]
        reasons = [reason for check in checks if check is not None and (reason := check())]
        return "; ".join(reasons) or None
