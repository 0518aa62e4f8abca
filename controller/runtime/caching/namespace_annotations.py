"""
The annotations that users put on namespaces for this process's controllers, read from a metadata watch.

The first controller starts the watch, unless the program watches only named namespaces. If the program is not
permitted to list namespaces, it logs this once, and then uses only the annotations of the objects themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from handloop.apis.core_v1 import Namespace
from handloop.apis.meta import Kind
from handloop.apis.partial_metadata import metadata_of
from handloop.controller.runtime.caching.multi_namespace_informer import MultiNamespaceInformer, is_refused
from handloop.informers.handlers import ResourceEventHandlerFuncs
from handloop.informers.keys import deletion_handling_object_to_name, final_state
from handloop.seams.locks import new_lock
from handloop.seams.logs import get_logger

log = get_logger("manager")


class NamespaceAnnotations:
    """
    The annotations of all namespaces.

    State, under _lock: _started; _told, which is set once the missing permission has been logged; _informer,
    which is written once and read without the lock. _informer is None before start, or if no thread was
    available. Readers are added to _readers only before start.
    Threads: any thread may read; the readers are called on the thread that delivers namespace events.
    """

    def __init__(self, watch: Callable[[type[Kind]], MultiNamespaceInformer[Any] | None] | None) -> None:
        """Args: watch starts an informer that runs until the process ends. None means not to watch."""
        self._watch = watch
        self._lock = new_lock("NamespaceAnnotations._lock", 2)
        self._readers: list[tuple[str, Callable[[str], None]]] = []
        self._informer: MultiNamespaceInformer[Any] | None = None
        self._started = self._told = False

    def follow(self, key: str, changed: Callable[[str], None]) -> None:
        """Call `changed` with a namespace when its annotation with that key changes. Call before start."""
        self._readers.append((key, changed))

    def get(self, namespace: str, key: str) -> str | None:
        """Return an annotation from the cache, or None if it does not exist or is not known. Never blocks."""
        informer = self._informer
        found = None if informer is None or not namespace else informer.get_by_key(namespace)
        return None if found is None else found.metadata.annotations.get(key)

    def start(self) -> None:
        """Start the watch, once. A later caller waits until it has started."""
        with self._lock:
            if not self._started and self._watch is not None:
                self._started = True
                self._informer = self._watch(metadata_of(Namespace))
                if self._informer is not None:
                    self._informer.add_event_handler(
                        ResourceEventHandlerFuncs(
                            add_func=lambda each: self._changed(each.metadata.name, {}, each),
                            update_func=lambda old, new: self._changed(
                                new.metadata.name, old.metadata.annotations, new
                            ),
                            delete_func=self._gone,
                        )
                    )

    def _changed(self, namespace: str, before: Any, now: Any) -> None:
        after = {} if now is None else now.metadata.annotations
        for key, changed in self._readers:
            if before.get(key) != after.get(key):
                changed(namespace)

    def _gone(self, obj: Any) -> None:
        """Report a deleted namespace's annotations as removed. A recreated namespace is reported as added."""
        state: Any = final_state(obj)
        before = {} if state is None else state.metadata.annotations
        self._changed(deletion_handling_object_to_name(obj).name, before, None)

    def troubles(self) -> list[str]:
        """
        Return why the annotations are not known yet.

        Returns: an empty list once they are known, or if the program is not permitted to read namespaces.
        Controllers wait for an empty list, because otherwise they would write to paused objects after a
        restart.
        """
        informer = self._informer
        if informer is None or informer.has_synced():
            return []
        if any(is_refused(each) for each in informer.informers):
            self._tell()
            return []
        return informer.troubles()

    def _tell(self) -> None:
        with self._lock:
            told, self._told = self._told, True
        if not told:
            log.info(
                "Namespaces cannot be watched, so only objects can be paused by annotation, not namespaces",
                fix="grant list and watch on namespaces, as printed by the command rbac",
            )
