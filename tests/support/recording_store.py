"""What a reflector fills, without an informer behind it."""

from __future__ import annotations

from collections.abc import Callable

from handloop.apis.apps_v1 import Deployment
from handloop.informers.delta_fifo import DeltaType
from handloop.informers.keys import DeletedFinalStateUnknown

Entry = tuple[DeltaType, Deployment | DeletedFinalStateUnknown[Deployment]]


class RecordingStore:
    """
    Implements handloop.informers.event_intake.ReflectorStore as a dict by name.

    `replaces` has the resource version of every list, `refuse` makes entries fail, `fail_replace` makes lists
    fail, `on_change` is called after every change.
    """

    def __init__(self) -> None:
        self.objects: dict[str, Deployment] = {}
        self.replaces: list[str] = []
        self.tombstones: list[str] = []
        self.refuse: Callable[[Entry], bool] = lambda _: False
        self.fail_replace: Exception | None = None
        self.on_change: Callable[[], None] = lambda: None

    def enqueue_batch(self, entries: list[Entry]) -> None:
        errors = []
        for entry in entries:
            if self.refuse(entry):
                errors.append(ValueError(f"refused {entry[0]}"))
            else:
                self._apply(entry)
        self.on_change()
        if errors:
            raise ExceptionGroup("some were refused", errors)

    def replace(self, objects: list[Deployment], resource_version: str) -> None:
        if self.fail_replace is not None:
            raise self.fail_replace
        self.objects = {obj.metadata.name: obj for obj in objects}
        self.replaces.append(resource_version)
        self.on_change()

    def versions(self) -> dict[str, str]:
        """Name -> resource version."""
        return {name: obj.metadata.resource_version for name, obj in sorted(self.objects.items())}

    def _apply(self, entry: Entry) -> None:
        delta_type, obj = entry
        if isinstance(obj, DeletedFinalStateUnknown):
            self.tombstones.append(obj.key)
            self.objects.pop(obj.key.rpartition("/")[2], None)
        elif delta_type is DeltaType.DELETED:
            self.objects.pop(obj.metadata.name, None)
        else:
            self.objects[obj.metadata.name] = obj
