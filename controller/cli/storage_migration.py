"""
Rewrites each object of a kind, so that it is stored in the newest version, and then shortens storedVersions.

An empty patch rewrites an object. It changes nothing: the server writes the object in the current version if
it was stored in an older one, and otherwise does nothing. If a run is killed, the next run therefore repeats
the requests, but not the writes.
Follows: kube-storage-version-migrator, and Kubernetes' page about versions of CustomResourceDefinitions.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from handloop.client.http.response import Response
from handloop.client.transport import Transport
from handloop.controller.cli.definition_source import DEFINITIONS_PATH, SourceError, message_of

Object = dict[str, Any]

_PAGE: Final = 500
_TRIES: Final = 5
_ROUNDS: Final = 10
"""
The maximum number of rounds. Without it, a run could last forever, because new objects may appear all the
time.
"""
_OK, _NOT_FOUND, _CONFLICT, _TOO_MANY, _EXPIRED, _FAILURES = 200, 404, 409, 429, 410, 500
_FAILED_MIGRATION: Final = ("StorageMigrating", "MigrationFailed")
_MERGE: Final = {"Content-Type": "application/merge-patch+json", "Accept": "application/json"}
_METADATA: Final = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}


@dataclass
class Progress:
    """
    The number of a kind's objects that have been written.

    Fields: total is the server's latest count. refused contains, by name, the objects that the server refused
    to write, with the server's reason for each.
    """

    name: str
    total: int = 0
    done: int = 0
    moved: int = 0
    refused: dict[str, str] = field(default_factory=dict)


class StorageMigration:
    """
    The migration of one kind.

    Threads: used by one thread only. Its methods raise SourceError for an answer that ends the migration, and
    TransportError if no answer arrives.
    """

    def __init__(
        self,
        transport: Transport,
        name: str,
        *,
        rate: float,
        tell: Callable[[Progress], None] = lambda _progress: None,
        pause: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        Args: name is the definition's name. rate is the maximum number of writes per second. tell is
        called after each object.
        """
        self._transport = transport
        self._name = name
        self.tell, self._pause, self._clock = tell, pause, clock
        self._seconds = 1 / rate
        self._next = clock()
        self.progress = Progress(name)

    def old_versions(self) -> list[str]:
        """Return the versions in which objects may be stored, except the current storage version."""
        definition = self._definition()
        return [each for each in definition["status"]["storedVersions"] if each != _stored(definition)]

    def is_doubtful(self) -> bool:
        """Return True if the server's migration failed: Kubernetes 1.36 shortens storedVersions even then."""
        conditions = self._definition()["status"].get("conditions") or ()
        return any((each["type"], each.get("reason")) == _FAILED_MIGRATION for each in conditions)

    def put_back(self, versions: Sequence[str]) -> None:
        """Add versions to storedVersions again. They stay there until run has written all objects."""
        for _ in range(_TRIES):
            definition = self._definition()
            stored = definition["status"]["storedVersions"]
            missing = [each for each in versions if each not in stored]
            if not missing:
                return
            answer = self._say_stored(definition, [*missing, *stored])
            if answer.status not in (_OK, _CONFLICT):
                raise SourceError(f"{self._name}: {message_of(answer.body)}")

    def run(self) -> bool:
        """
        Write objects until a new list contains no object that is still unwritten. Then shorten
        storedVersions.

        Returns: whether the migration is complete. It is incomplete if the server refused objects, if new
        objects kept appearing, or if the storage version changed in the meantime.
        Blocks: until the migration has ended. The given rate limits the writes.
        """
        before = self._definition()
        written: set[str] = set()
        for _ in range(_ROUNDS):
            came = self._round(before, written)
            if self.progress.refused:
                return False
            if not came:
                break
        else:
            return False
        after = self._definition()
        if _stored(after) != _stored(before):
            return False
        self._shorten(after)
        return True

    def _round(self, definition: Object, written: set[str]) -> int:
        """List the objects, and write those that are not in written. Returns: how many objects those were."""
        came = 0
        for items, left in self._pages(definition):
            new = [item["metadata"] for item in items if item["metadata"]["uid"] not in written]
            self.progress.total = self.progress.done + len(new) + left
            for metadata in new:
                if self._write(definition, metadata):
                    written.add(metadata["uid"])
                self.progress.done += 1
                self.tell(self.progress)
            came += len(new)
        return came

    def _write(self, definition: Object, metadata: Mapping[str, Any]) -> bool:
        namespace, name = metadata.get("namespace"), metadata["name"]
        where = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
        path = f"{self._root(definition)}{where}/{self._plural(definition)}/{quote(name, safe='')}"
        said = ""
        for _ in range(_TRIES):
            self._wait()
            answer = self._transport.request("PATCH", path, headers=_MERGE, body=b"{}")
            if answer.status == _OK:
                version = json.loads(answer.body)["metadata"]["resourceVersion"]
                self.progress.moved += version != metadata["resourceVersion"]
                return True
            if answer.status == _NOT_FOUND:
                return True
            said = message_of(answer.body)
            if answer.status not in (_CONFLICT, _TOO_MANY) and answer.status < _FAILURES:
                break
        self.progress.refused[f"{namespace}/{name}" if namespace else name] = said
        return False

    def _wait(self) -> None:
        """Keep the rate."""
        now = self._clock()
        if self._next > now:
            self._pause(self._next - now)
        self._next = max(self._next, now) + self._seconds

    def _pages(self, definition: Object) -> Iterator[tuple[list[Object], int]]:
        """Yield pages with the metadata of all objects, each with the number of objects on later pages."""
        path = f"{self._root(definition)}/{self._plural(definition)}"
        query = {"limit": str(_PAGE)}
        while True:
            answer = self._transport.request("GET", path, query=query, headers=_METADATA)
            document = json.loads(answer.body)
            token = document.get("metadata", {}).get("continue")
            if answer.status == _EXPIRED and token:
                # Read the rest of the list in its current state. It contains every object that has existed
                # throughout.
                query = {"limit": str(_PAGE), "continue": token}
                continue
            if answer.status != _OK:
                raise SourceError(f"{self._name}: {message_of(answer.body)}")
            yield document.get("items") or [], document["metadata"].get("remainingItemCount") or 0
            if not token:
                return
            query = {"limit": str(_PAGE), "continue": token}

    def _shorten(self, definition: Object) -> None:
        answer = self._say_stored(definition, [_stored(definition)])
        if answer.status != _OK:
            raise SourceError(f"{self._name}: {message_of(answer.body)}")

    def _say_stored(self, definition: Object, versions: Sequence[str]) -> Response:
        """Write storedVersions. The server refuses this if the definition has changed since it was read."""
        metadata = {"resourceVersion": definition["metadata"]["resourceVersion"]}
        body = json.dumps({"metadata": metadata, "status": {"storedVersions": versions}}).encode()
        path = f"{DEFINITIONS_PATH}/{quote(self._name, safe='')}/status"
        return self._transport.request("PATCH", path, headers=_MERGE, body=body)

    def _definition(self) -> Object:
        answer = self._transport.request("GET", f"{DEFINITIONS_PATH}/{quote(self._name, safe='')}")
        if answer.status != _OK:
            raise SourceError(f"{self._name}: {message_of(answer.body)}")
        document: Object = json.loads(answer.body)
        return document

    def _root(self, definition: Object) -> str:
        return f"/apis/{quote(definition['spec']['group'])}/{quote(_stored(definition))}"

    def _plural(self, definition: Object) -> str:
        return quote(definition["spec"]["names"]["plural"])


def _stored(definition: Object) -> str:
    version: str = next(each["name"] for each in definition["spec"]["versions"] if each["storage"])
    return version
