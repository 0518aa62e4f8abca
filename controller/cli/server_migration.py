"""
Makes the server store a kind's objects again, by means of a StorageVersionMigration.

The server's controller rewrites the objects that existed when the migration started. It then removes the
older versions from storedVersions, unless the definition has changed in the meantime. In Kubernetes 1.36, it
does so even after a failed migration, although old objects remain. It works on one migration per kind at a
time, and continues even if the client that requested the migration has stopped.
Follows: kubernetes pkg/controller/storageversionmigrator.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import quote

from handloop.client.transport import Transport
from handloop.controller.cli.definition_source import message_of

Object = dict[str, Any]

_GROUP: Final = "storagemigration.k8s.io"
_VERSIONS: Final = ("v1", "v1beta1")
"""The alpha version's resource has another name, and its controller does not change storedVersions."""
_OK, _CREATED, _NOT_FOUND = 200, 201, 404
_TURN_SECONDS: Final = 1.0
_BEGIN_SECONDS: Final = 30.0
"""If the status has no condition after this time, the controller is not running."""
_TIDY_SECONDS: Final = 30.0
"""How long to wait, after the migration's end is reported, until the controller shortens storedVersions."""
_HEADERS: Final = {"Content-Type": "application/json"}


class NotByServerError(Exception):
    """
    The server does not migrate the kind.

    The message is the reason, or "" if the server does not offer migrations.
    """


class ServerMigration:
    """The migration of one definition. Threads: used by one thread only. Its methods raise TransportError."""

    def __init__(
        self,
        transport: Transport,
        name: str,
        *,
        tell: Callable[[str], None] = lambda _text: None,
        pause: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Args: name is the definition's name. tell is called with each new state."""
        self._transport = transport
        plural, _, group = name.partition(".")
        self._resource = {"group": group, "resource": plural}
        self._name = name
        self._tell, self._pause, self._clock = tell, pause, clock
        self._told = ""

    def run(self) -> None:
        """
        Join the migration that is already running, or start a new one, and wait for its end.

        Afterwards, the caller checks which versions remain in storedVersions.
        Raises: NotByServerError if the server does not migrate the kind.
        Blocks: until the server has finished. The server never stops retrying objects that cannot be
        converted.
        """
        path = self._path()
        found = self._under_way(path) or self._made(path)
        self._follow(f"{path}/{quote(found['metadata']['name'], safe='')}", found)

    def _path(self) -> str:
        answer = self._transport.request("GET", f"/apis/{_GROUP}")
        if answer.status != _OK:
            raise NotByServerError("")
        served = {each["version"] for each in json.loads(answer.body)["versions"]}
        version = next((each for each in _VERSIONS if each in served), "")
        if not version:
            raise NotByServerError("")
        return f"/apis/{_GROUP}/{version}/storageversionmigrations"

    def _under_way(self, path: str) -> Object | None:
        """Return a running migration of this kind, which an earlier run or another client started."""
        answer = self._transport.request("GET", path)
        if answer.status != _OK:
            raise NotByServerError(message_of(answer.body))
        for item in json.loads(answer.body)["items"]:
            if item["spec"]["resource"] == self._resource and not _is_over(item):
                return dict(item)
        return None

    def _made(self, path: str) -> Object:
        version = path.split("/")[3]
        document = {
            "apiVersion": f"{_GROUP}/{version}",
            "kind": "StorageVersionMigration",
            "metadata": {"generateName": f"{self._name}-"},
            "spec": {"resource": self._resource},
        }
        body = json.dumps(document).encode()
        answer = self._transport.request("POST", path, headers=_HEADERS, body=body)
        if answer.status != _CREATED:
            raise NotByServerError(message_of(answer.body))
        made: Object = json.loads(answer.body)
        return made

    def _follow(self, place: str, migration: Object) -> None:
        began, name = self._clock(), migration["metadata"]["name"]
        over_at: float | None = None
        while True:
            now = self._clock()
            if _is_over(migration):
                over_at = now if over_at is None else over_at
                if _condition(migration, "Running") is None or now - over_at > _TIDY_SECONDS:
                    break
            elif not migration.get("status", {}).get("conditions") and now - began > _BEGIN_SECONDS:
                self._transport.request("DELETE", place)
                raise NotByServerError(f"no controller has started {name} within {_BEGIN_SECONDS:.0f} s")
            self._say(f"StorageVersionMigration {name} {_state(migration)}")
            self._pause(_TURN_SECONDS)
            answer = self._transport.request("GET", place)
            if answer.status == _NOT_FOUND:
                raise NotByServerError(f"somebody has deleted {name}")
            if answer.status == _OK:
                migration = json.loads(answer.body)
        if failure := _condition(migration, "Failed"):
            raise NotByServerError(f"{name}: {failure.get('message', '')}")

    def _say(self, text: str) -> None:
        if text != self._told:
            self._told = text
            self._tell(text)


def _condition(migration: Object, kind: str) -> Object | None:
    """Return the condition of the given type if its status is True; otherwise None."""
    conditions = migration.get("status", {}).get("conditions") or ()
    return next((each for each in conditions if (each["type"], each["status"]) == (kind, "True")), None)


def _is_over(migration: Object) -> bool:
    return any(_condition(migration, kind) for kind in ("Succeeded", "Failed"))


def _state(migration: Object) -> str:
    if _is_over(migration):
        return "has succeeded" if _condition(migration, "Succeeded") else "has failed"
    return "is running" if _condition(migration, "Running") else "waits"
