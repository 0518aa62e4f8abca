"""
A transport that sends every write as a dry run, and records what the write would change.

    reconcile --write--> with dryRun=All --> response, GET of the object --> the differences, for the Attempt

The server processes the write completely, including admission, but stores nothing. Only dry runs are sent.
Events are not sent: the transport itself answers them. Writes that the server cannot process as dry runs are
refused. Requests for access reviews and tokens are sent like reads.
Decision: A plan is a run with dry-run writes.
"""

from __future__ import annotations

import re
import threading
from contextlib import nullcontext
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

import msgspec

from handloop.apis.declaration import is_built_in
from handloop.apis.resource import namespace_in
from handloop.client.errors import Cancelled
from handloop.client.http.response import Headers, Response, Stream
from handloop.client.transport import ForwardingTransport, Transport
from handloop.controller.runtime.planning.attempt import (
    ATTEMPT,
    CANNOT_BE_DRY,
    MORE,
    WEBHOOK,
    Attempt,
    PlannedWrite,
)
from handloop.controller.runtime.planning.field_changes import (
    SERVERS,
    FieldChange,
    changed_fields,
    created_fields,
)
from handloop.seams.clock import REAL_CLOCK, Clock

_READS: Final = ("GET", "HEAD")
_ASKS: Final = re.compile(
    r"/apis/(authentication|authorization)\.k8s\.io/.*|/api/v1/namespaces/[^/]+/serviceaccounts/[^/]+/token"
)
_EVENTS: Final = re.compile(r"/(api/v1|apis/events\.k8s\.io/v1)(/namespaces/[^/]+)?/events(/[^/]+)?")
_PLACE: Final = re.compile(
    r"/(?:api|apis/(?P<group>[^/]+))/(?P<version>[^/]+)"
    r"(?:/namespaces/[^/]+(?=/(?!(?:status|finalize)$)))?"
    r"/(?P<plural>[^/]+)(?:/(?P<name>[^/]+)(?:/(?P<subresource>.+))?)?"
)
_ACTING: Final = frozenset({"exec", "attach", "portforward", "proxy"})
"""Subresources that act inside a pod, or on another server."""
_NO_DRY_RUN: Final = re.compile(
    r'admission webhook \\?"([^"\\]+)\\?" (?:does not support dry run|denied the request: [^"]*\bdry[- ]?run)'
)
"""Matches a refusal because a webhook has side effects, or because it wrongly refuses dry runs."""
_MERGE: Final = "application/merge-patch+json"
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_CREATED, _NOT_FOUND, _CONFLICT, _FAILED = 201, 404, 409, 400
_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_TRIES: Final = 5
_PAUSE_SECONDS: Final = 0.5
_OF_DEFINITIONS: Final = b'"Kubernetes CRD Swagger"'
_MANAGED: Final = b'"managedFields"'
_JSON: Final = {"Content-Type": "application/json", "Accept": "application/json"}


class _Place(NamedTuple):
    """The parts of a request's path. The field path omits the subresource."""

    path: str
    api_version: str
    plural: str
    name: str
    subresource: str


class DryTransport(ForwardingTransport):
    """
    Sends writes as dry runs; see the module's docstring. Writes outside reconciles are dry runs, too.

    State: beside, a list of the writes outside reconciles, which only grows; _dry, group and version ->
    whether its server supports dry runs. Two threads may check the same group and version.
    """

    def __init__(self, transport: Transport, clock: Clock = REAL_CLOCK) -> None:
        super().__init__(transport)
        self._clock = clock
        self.beside: list[PlannedWrite] = []
        self._dry: dict[tuple[str, str], bool] = {}

    def stream(self, method: str, path: str, **options: Any) -> Stream:
        """See Transport."""
        attempt = ATTEMPT.get()
        with attempt.asking() if attempt else nullcontext():
            return super().stream(method, path, **options)

    def request(self, method: str, path: str, **options: Any) -> Response:
        """
        Send a request like Transport.request, but send a write as a dry run.

        A reconcile that reads an object that it would have created receives that object.
        Raises: Cancelled for a write that cannot be a dry run; PlanEnds.
        """
        attempt = ATTEMPT.get()
        if attempt is not None:
            with attempt.asking():
                return self._request(attempt, method, path, options)
        alone = Attempt("")
        answer = self._request(alone, method, path, options)
        self.beside += alone.writes
        return answer

    def _request(self, attempt: Attempt, method: str, path: str, options: dict[str, Any]) -> Response:
        if method in _READS or _ASKS.fullmatch(path):
            if method == "GET" and path in attempt.made:
                return _answer(attempt.made[path])
            answer = super().request(method, path, **options)
            if _MANAGED in answer.body:
                attempt.seen = path, answer.body
            return self._unless_made(attempt, path, answer)
        if _EVENTS.fullmatch(path):
            return Response(_CREATED, Headers(_JSON), options.get("body") or b"{}")
        if attempt.ended[0]:
            raise attempt.end(*attempt.ended)
        return self._write(attempt, method, path, options)

    def _write(self, attempt: Attempt, method: str, path: str, options: dict[str, Any]) -> Response:
        place = self._place(attempt, method, path)
        if place.path in attempt.made:
            return self._change_of_made(attempt, method, place, options)
        if place.path in attempt.deleted and method != "DELETE":
            raise attempt.end(MORE, f"{place.plural} {place.name} has to be deleted first")
        answer = self._send(method, path, options)
        if answer.status >= _FAILED:
            self._look_at_refusal(attempt, method, place, answer, options)
            return answer
        made = _decoded(answer.body)
        is_new = answer.status == _CREATED and not place.subresource
        before = self._before(attempt, place, made) if place.name and not is_new else {}
        self._note(attempt, method, place, options, before=before, made=made, is_new=is_new)
        return answer

    def _before(self, attempt: Attempt, place: _Place, made: dict[str, Any]) -> dict[str, Any]:
        """
        Return the object on the server, with managedFields; {} if reading it is not permitted.

        Args: made is the object in the response to the dry run. It still has the version from before the
        write. If the last object that the reconcile read is this object in that version, no request is sent.
        """
        path, body = attempt.seen
        if path == place.path and _version(found := _decoded(body)) == _version(made):
            return found
        scale = "/scale" if place.subresource == "scale" else ""
        answer = super().request("GET", f"{place.path}{scale}", headers=_JSON)
        return _decoded(answer.body) if answer.status < _FAILED else {}

    def _place(self, attempt: Attempt, method: str, path: str) -> _Place:
        """Return the path's parts. Raises: Cancelled for a write that cannot be a dry run."""
        found = _PLACE.fullmatch(path)
        subresource = unquote((found and found["subresource"]) or "")
        if not found or subresource.partition("/")[0] in _ACTING:
            why = "it does not write an object"
        elif not self._can_be_dry(found["group"] or "", found["version"]):
            why = f"{found['group']}/{found['version']} is served by a server that may write despite dryRun"
        else:
            whole = path[: -len(found["subresource"]) - 1] if subresource else path
            api_version = f"{found['group'] or ''}/{found['version']}".lstrip("/")
            return _Place(whole, api_version, found["plural"], unquote(found["name"] or ""), subresource)
        attempt.end(CANNOT_BE_DRY, f"{method} {path}: {why}")
        raise Cancelled(f"not sent in a plan: {why}", host=self.host, request=f"{method} {path}")

    def _can_be_dry(self, group: str, version: str) -> bool:
        """
        Return whether a dry run is safe. An aggregated server may advertise dryRun, but write nevertheless.

        The API server is recognized by its name in the OpenAPI definitions that it publishes.
        """
        if is_built_in(group):
            return True
        if (group, version) not in self._dry:
            for _ in range(_TRIES):
                answer = super().request("GET", f"/openapi/v3/apis/{group}/{version}", headers=_JSON)
                self._dry[group, version] = answer.status < _FAILED and _OF_DEFINITIONS in answer.body
                if answer.status != _NOT_FOUND:
                    break
                # A new definition's schema is published a moment after its kind is served.
                self._clock.sleep(_PAUSE_SECONDS, threading.Event())
        return self._dry[group, version]

    def _send(self, method: str, path: str, options: dict[str, Any]) -> Response:
        body = options.get("body")
        if method == "DELETE" and body:
            # If a deletion has a body, the server reads the options only from the body.
            body = msgspec.json.encode({**msgspec.json.decode(body), "dryRun": ["All"]})
        query = {**(options.get("query") or {}), "dryRun": "All"}
        return super().request(method, path, **{**options, "query": query, "body": body})

    def _unless_made(self, attempt: Attempt, path: str, answer: Response) -> Response:
        """Return the answer. Raises: PlanEnds if an object is missing because its create was a dry run."""
        if answer.status == _NOT_FOUND:
            for made, obj in attempt.made.items():
                if f"{path}/".startswith(f"{made}/"):
                    raise attempt.end(MORE, f"{_words(obj)} has to exist first")
        return answer

    def _look_at_refusal(
        self, attempt: Attempt, method: str, place: _Place, answer: Response, options: dict[str, Any]
    ) -> None:
        """Check a refusal. Raises: PlanEnds if a real run would have received another response."""
        if webhook := _NO_DRY_RUN.search(answer.body.decode(errors="replace")):
            raise attempt.end(WEBHOOK, webhook[1])
        self._unless_made(attempt, place.path, answer)
        if answer.status == _CONFLICT and method == "POST":
            name = _named(_decoded(options.get("body")))
            if f"{place.path}/{name}" in attempt.deleted:
                raise attempt.end(MORE, f"{place.plural} {name} has to be deleted first")

    def _change_of_made(
        self, attempt: Attempt, method: str, place: _Place, options: dict[str, Any]
    ) -> Response:
        """
        Merge a change into an object created earlier in the plan, so that the plan shows a single creation.

        Raises: PlanEnds for a change that only a server can make.
        """
        made, sent = attempt.made[place.path], _decoded(options.get("body"))
        kind = (options.get("headers") or {}).get("Content-Type", "")
        merges = kind == _MERGE or (kind == _STRATEGIC and _merges_maps_alone(sent))
        if place.subresource or method == "DELETE" or (method == "PATCH" and not merges):
            raise attempt.end(MORE, f"{_words(made)} is changed once it exists")
        whole = merged(made, sent) if method == "PATCH" else sent
        metadata = {key: value for key, value in whole["metadata"].items() if key not in SERVERS}
        query = {key: value for key, value in (options.get("query") or {}).items() if key != "force"}
        again = {
            "query": query,
            "headers": _JSON,
            "body": msgspec.json.encode({**whole, "metadata": metadata}),
        }
        answer = self._send("POST", place.path.rpartition("/")[0], again)
        now = _decoded(answer.body)
        if answer.status >= _FAILED:
            return answer
        now["metadata"]["uid"] = made["metadata"].get("uid", "")
        self._note(attempt, method, place, options, before=made, made=now, is_new=False)
        attempt.made[place.path] = now
        return _answer(now)

    def _note(
        self,
        attempt: Attempt,
        method: str,
        place: _Place,
        options: dict[str, Any],
        *,
        before: dict[str, Any],
        made: dict[str, Any],
        is_new: bool,
    ) -> None:
        """Record an accepted write, unless it changes no field."""
        verb = "create" if is_new else _VERBS[method]
        sent = _decoded(options.get("body"))
        name = place.name or _named(made) or "*"
        fields: tuple[FieldChange, ...] = ()
        if verb == "create" and place.subresource:
            pass  # such as an eviction: what was sent is not stored, and the response is another object
        elif verb == "create":
            attempt.made[place.path if place.name else f"{place.path}/{name}"] = made
            fields = tuple(created_fields(sent, made))
            if generate := sent.get("metadata", {}).get("generateName"):
                name = f"{generate}*"  # the server generates a new suffix each time
        elif verb == "delete":
            attempt.deleted.add(place.path)
        elif before.get("kind") == made.get("kind"):
            # Omit changes that were recorded before: a dry run does not change the server's object.
            told = [each[:3] for write in attempt.of(place.path) for each in write.fields]
            ours = (options.get("query") or {}).get("fieldManager", "")
            # If another client wrote between the two requests, compare only the fields that were sent.
            only = {} if _version(made) in ("", _version(before)) else sent
            changed = changed_fields(before, made, ours=ours, only=only)
            fields = tuple(each for each in changed if each[:3] not in told)
            if not fields:
                return
        whole = before or ({} if verb == "delete" else made)
        attempt.note(
            place.path,
            PlannedWrite(
                verb,
                whole.get("apiVersion", place.api_version),
                whole.get("kind", place.plural),
                unquote(namespace_in(place.path)),
                name,
                place.subresource,
                attempt.owner,
                tuple(sorted({each.restarts for each in fields} - {""})),
                fields,
            ),
        )


def merged(before: Any, patch: Any) -> Any:
    """Return the result of a merge patch on a value. Follows: RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    there = before if isinstance(before, dict) else {}
    both = {**there, **{key: merged(there.get(key), value) for key, value in patch.items()}}
    return {key: value for key, value in both.items() if key not in patch or patch[key] is not None}


def _merges_maps_alone(patch: Any) -> bool:
    """Return whether a strategic merge patch acts like a merge patch: it has no lists or directives."""
    if isinstance(patch, dict):
        return all(not key.startswith("$") and _merges_maps_alone(value) for key, value in patch.items())
    return not isinstance(patch, list)


def _words(obj: dict[str, Any]) -> str:
    metadata = obj.get("metadata") or {}
    return f"{obj.get('kind')} {metadata.get('namespace', '')}/{_named(obj)}".replace(" /", " ")


def _decoded(body: bytes | None) -> dict[str, Any]:
    """Return a JSON object, or {} for anything else."""
    try:
        found = msgspec.json.decode(body or b"{}")
    except ValueError:  # msgspec's errors and UnicodeDecodeError
        return {}
    return found if isinstance(found, dict) else {}


def _answer(obj: dict[str, Any]) -> Response:
    return Response(200, Headers(_JSON), msgspec.json.encode(obj))


def _named(obj: dict[str, Any]) -> str:
    return str((obj.get("metadata") or {}).get("name", ""))


def _version(obj: dict[str, Any]) -> str:
    return str((obj.get("metadata") or {}).get("resourceVersion", ""))
