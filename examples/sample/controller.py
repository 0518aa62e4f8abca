"""
Print Samples when they change, with an informer and its handlers but without a queue.

    API server --list, then watch--> informer --add, update, delete--> print
"""

from __future__ import annotations

import threading

from handloop import (
    Access,
    DeletedFinalStateUnknown,
    Manager,
    ResourceEventHandlerFuncs,
    meta_namespace_key_func,
)

from .types import Sample


class Printer:
    """Prints a line per change. Threads: run() has its own thread; the handlers run on the informer's."""

    name = "sample"

    def __init__(self, manager: Manager) -> None:
        """Request the informer, which the manager starts and stops."""
        self._samples = manager.informer_for(Sample)

    def run(self, stop: threading.Event) -> None:
        """Print the existing Samples, and then every change until stop is set."""
        handler = ResourceEventHandlerFuncs(
            add_func=self._added, update_func=self._updated, delete_func=self._deleted
        )
        self._samples.add_event_handler(handler)
        stop.wait()

    def _added(self, sample: Sample) -> None:
        print(f"{meta_namespace_key_func(sample)}: {sample.test_string}", flush=True)

    def _updated(self, old: Sample, new: Sample) -> None:
        """Ignore updates that do not change the text, such as resyncs and new labels."""
        if new.test_string != old.test_string:
            print(f"{meta_namespace_key_func(new)}: {old.test_string} -> {new.test_string}", flush=True)

    def _deleted(self, sample: Sample | DeletedFinalStateUnknown[Sample]) -> None:
        """Print the key. It is always known, even if the object was deleted while no watch was open."""
        gone = sample.key if isinstance(sample, DeletedFinalStateUnknown) else meta_namespace_key_func(sample)
        print(f"{gone} is gone", flush=True)


def set_up(manager: Manager) -> None:
    """Add the printer, and declare what it reads so that its CRD and roles can be generated."""
    manager.declare_reconciled(Sample)
    manager.declare(Access(resource=Sample.resource, verbs=("list", "watch")))
    manager.add(Printer(manager))
