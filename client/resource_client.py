"""
Creates, reads, changes, deletes and watches the objects of one kind.

Follows: client-go's typed clients (gentype/type.go), differs: list returns one page; if an object does not
fit its type, the other objects of its page or stream are still delivered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import cache
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar, overload
from urllib.parse import quote

import msgspec

from handloop.apis.decoders import decoder_of
from handloop.apis.meta import Kind, Object, decode_hook, decode_hook_of_views
from handloop.apis.partial_metadata import META_GROUP, META_KIND, META_VERSION, PartialObjectMetadata
from handloop.apis.resource import Resource
from handloop.apis.unstructured import Unstructured, json_of, to_json
from handloop.apis.without import Abridged
from handloop.client.decoding.abridged import AbridgedDecoder
from handloop.client.decoding.json_text import null_as_absent, pruning, read, require_utf8
from handloop.client.decoding.pages import ListPage, Page, PageDecoder
from handloop.client.decoding.sieve import Sieve
from handloop.client.decoding.watch_stream import EventDecoder, WatchStream, WireEvent
from handloop.client.discovery import Discovery, Version
from handloop.client.errors import InvalidName
from handloop.client.options import ListOptions
from handloop.client.rest_client import Call, RESTClient

# JSON allows these characters in strings. In YAML, some of them are errors and others end a line.
_NOT_YAML: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")

T = TypeVar("T", bound=Object)
K = TypeVar("K", bound=Kind)

_OwnKind: TypeAlias = Literal["", "status"]
"""The subresources for which the server returns the object itself."""


class _Type(msgspec.Struct, frozen=True, rename="camel"):
    """The kind and version that a server's response states."""

    api_version: str = ""
    kind: str = ""


_TYPE: Final = decoder_of(_Type)


class PatchType(StrEnum):
    """The kind of a patch. The values are media types. Custom resources do not accept STRATEGIC."""

    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class Client(RESTClient):
    """A client for one API server. It adds kinds to RESTClient. Threads: any thread can use it."""

    def resource(self, kind: type[K]) -> ResourceClient[K]:
        """Return a client for the objects of a typed kind."""
        return ResourceClient(self, codec_of(kind))

    def for_resource(self, resource: Resource) -> ResourceClient[Unstructured]:
        """Return a client for the objects of a kind without a typed view."""
        return self.resource(Unstructured.of_resource(resource))

    def discovery(self) -> Discovery:
        """Questions about the server itself."""
        return Discovery(self)

    def version(self) -> Version:
        """
        Return the server's version.

        Raises: APIError, TransportError, DecodeError.
        """
        return self.discovery().version()

    def get_raw(self, path: str) -> bytes:
        """
        Return the body at a path, such as `/readyz`.

        Raises: APIError, TransportError.
        """
        return self.send(Call("get", "GET", quote(path, safe="/%"))).body


class ResourceClient(Generic[T]):
    """
    A client for the objects of one kind, in all namespaces.

    Every method raises APIError if the server refuses the request, TransportError if there is no response,
    and DecodeError if the response is not an object of the kind. If a TransportError's outcome_unknown is
    true, a write may have happened: read the object before you repeat the write. If the kind is namespaced, a
    request for a single object without a namespace raises ValueError, and is not sent. Methods block until
    the response arrives, for at most 30 s per attempt. Threads: any thread can call them.
    """

    def __init__(self, rest: RESTClient, codec: Codec[T], *, timeout_seconds: float | None = None) -> None:
        """Args: timeout_seconds limits each attempt of a request; None means the transport's 30 s."""
        self._rest = rest
        self._codec = codec
        self._timeout_seconds = timeout_seconds

    def __repr__(self) -> str:
        return f"<ResourceClient of {self.kind}>"

    def within(self, timeout_seconds: float) -> ResourceClient[T]:
        """Return a client that limits each attempt to timeout_seconds. Watches are not affected."""
        return ResourceClient(self._rest, self._codec, timeout_seconds=timeout_seconds)

    @property
    def kind(self) -> Resource:
        """The kind of these objects."""
        return self._codec.resource

    def create(
        self, obj: T, *, namespace: str = "", field_manager: str | None = None, dry_run: bool = False
    ) -> T:
        """Create an object, and return it as stored. A namespace of "" means the object's own."""
        namespace = namespace or obj.metadata.namespace
        query = _write_query(field_manager, dry_run=dry_run)
        body = self._codec.encode(obj)
        return self._object(self._call("create", "POST", namespace, query=query, body=body))

    @overload
    def get(self, name: str, *, namespace: str = "", subresource: _OwnKind = "") -> T: ...

    @overload
    def get(self, name: str, *, namespace: str = "", subresource: str) -> T | Unstructured: ...

    def get(self, name: str, *, namespace: str = "", subresource: str = "") -> T | Unstructured:
        """
        Return the object from the server. Raises NotFound if it does not exist.

        If the subresource is of another kind, such as the Scale for `scale`, the result is an Unstructured.
        """
        return self._answer(self._call("get", "GET", namespace, _named(name), subresource))

    def list(self, namespace: str = "", *, options: ListOptions = ListOptions()) -> ListPage[T]:  # noqa: B008 - frozen
        """Return one page; namespace "" means all namespaces."""
        response = self._rest.send(self._call("list", "GET", namespace, query=options.query()))
        return self._codec_for(options).pages.decode(response.body, options.sieve)

    def watch(self, namespace: str = "", *, options: ListOptions = ListOptions()) -> WatchStream[T]:  # noqa: B008 - frozen
        """Open a watch. Close it when done. A refused watch is not retried, even after a Retry-After."""
        stream = self._rest.open(self._call("watch", "GET", namespace, query=options.query(watch=True)))
        return WatchStream(stream, self._codec_for(options).events(options.sieve), clock=self._rest.clock)

    def update(self, obj: T, *, field_manager: str | None = None, dry_run: bool = False) -> T:
        """
        Replace an object.

        If obj has a resource version, the update is conditional.
        Raises: Conflict if the object has changed since that resource version; TypeError for a partial view,
        because the server would erase all fields that the view lacks.
        """
        _refuse_partial(obj, "update")
        return self._put(obj, "", field_manager, dry_run=dry_run)

    def update_status(self, obj: T, *, field_manager: str | None = None, dry_run: bool = False) -> T:
        """
        Replace an object's status. All other fields of obj are ignored, except its name and resource version.

        Raises: the same errors as update.
        """
        _refuse_partial(obj, "update_status")
        return self._put(obj, "status", field_manager, dry_run=dry_run)

    @overload
    def patch(
        self,
        name: str,
        patch: Any,
        *,
        namespace: str = "",
        patch_type: PatchType = PatchType.MERGE,
        subresource: _OwnKind = "",
        field_manager: str | None = None,
        force: bool | None = None,
        dry_run: bool = False,
    ) -> T: ...

    @overload
    def patch(
        self,
        name: str,
        patch: Any,
        *,
        namespace: str = "",
        patch_type: PatchType = PatchType.MERGE,
        subresource: str,
        field_manager: str | None = None,
        force: bool | None = None,
        dry_run: bool = False,
    ) -> T | Unstructured: ...

    def patch(
        self,
        name: str,
        patch: Any,
        *,
        namespace: str = "",
        patch_type: PatchType = PatchType.MERGE,
        subresource: str = "",
        field_manager: str | None = None,
        force: bool | None = None,
        dry_run: bool = False,
    ) -> T | Unstructured:
        """
        Change parts of an object.

        If the subresource is of another kind, such as the Scale for `scale`, the result is an Unstructured.

        Args: patch is a JSON value (a list for PatchType.JSON, otherwise a dict), or bytes that are sent
        unchanged. force takes over fields from other managers; it is only for APPLY, which also needs a
        field_manager.
        """
        query = _write_query(field_manager, dry_run=dry_run)
        if force is not None:
            query["force"] = "true" if force else "false"
        body = patch if isinstance(patch, bytes) else to_json(f"{self.kind.kind} {namespace}/{name}", patch)
        if patch_type is PatchType.APPLY and not isinstance(patch, bytes):
            body = _readable_as_yaml(body)
        call = self._call("patch", "PATCH", namespace, _named(name), subresource, query=query, body=body)
        return self._answer(call._replace(headers={**call.headers, "Content-Type": str(patch_type)}))

    def delete(
        self,
        name: str,
        *,
        namespace: str = "",
        uid: str | None = None,
        resource_version: str | None = None,
        propagation_policy: str | None = None,
        grace_period_seconds: int | None = None,
        dry_run: bool = False,
    ) -> None:
        """
        Delete an object. If the object has finalizers, the server only marks it as being deleted.

        Args: uid and resource_version are preconditions. propagation_policy is Background, Foreground or
        Orphan.
        Raises: Conflict if a precondition does not match.
        """
        preconditions = {"uid": uid, "resourceVersion": resource_version}
        options = {
            "preconditions": {key: value for key, value in preconditions.items() if value is not None}
            or None,
            "propagationPolicy": propagation_policy,
            "gracePeriodSeconds": grace_period_seconds,
            "dryRun": ["All"] if dry_run else None,
        }
        given = {key: value for key, value in options.items() if value is not None}
        body = msgspec.json.encode({"kind": "DeleteOptions", "apiVersion": "v1", **given}) if given else None
        # A server reads dryRun only from the body. Add it to the query too, because Call.writes reads it
        # there.
        query = _write_query(None, dry_run=dry_run)
        self._rest.send(self._call("delete", "DELETE", namespace, _named(name), query=query, body=body))

    def _codec_for(self, options: ListOptions) -> Codec[T]:
        abridged = options.abridged
        return self._codec if abridged is None else _abridged_codec(abridged)

    def _put(self, obj: T, subresource: str, field_manager: str | None, *, dry_run: bool) -> T:
        verb = f"update {subresource}".strip()
        metadata = obj.metadata
        query = _write_query(field_manager, dry_run=dry_run)
        body = self._codec.encode(obj)
        name = _named(metadata.name)
        return self._object(
            self._call(verb, "PUT", metadata.namespace, name, subresource, query=query, body=body)
        )

    def _object(self, call: Call) -> T:
        return self._codec.decode(self._rest.send(call).body)

    def _answer(self, call: Call) -> T | Unstructured:
        """
        Send a call. Return the object, or the object that the server returns for a subresource.

        A DecodeError does not mean that a write failed, because the server has already accepted it.
        """
        body = self._rest.send(call).body
        if call.subresource in ("", "status"):
            return self._codec.decode(body)
        require_utf8(body)
        named = read(_TYPE.decode, body, f"no object of {call.subresource}")
        if (named.api_version, named.kind) == (self.kind.api_version, self.kind.kind):
            return self._codec.decode(body)
        return read(Unstructured.of(named.api_version, named.kind).from_json, body, f"not a {named.kind}")

    def _call(
        self,
        verb: str,
        method: str,
        namespace: str,
        name: str = "",
        subresource: str = "",
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> Call:
        resource = self._codec.resource
        if resource.namespaced and not namespace and verb not in ("list", "watch"):
            what = f'{resource.kind} "{name}"' if name else f"a new {resource.kind}"
            raise ValueError(f"{verb} {what}: a {resource.kind} needs a namespace")
        try:
            path = resource.path(namespace=namespace, name=name, subresource=subresource)
        except ValueError as error:
            raise InvalidName(f"{verb} {resource.kind}: {error}") from None
        return Call(
            verb=verb,
            method=method,
            path=path,
            query=query or {},
            headers=self._codec.accept(verb)
            | ({"Content-Type": "application/json"} if body is not None else {}),
            body=body,
            resource=resource.group_resource,
            kind=resource.kind,
            namespace=namespace if resource.namespaced else "",
            name=name,
            timeout_seconds=self._timeout_seconds,
            # The response to a write also shows which other clients write (HotLoops).
            drop_managed_fields=method == "GET" and not self._codec.keeps_managed_fields,
        )


def _write_query(field_manager: str | None, *, dry_run: bool) -> dict[str, str]:
    query = {"fieldManager": field_manager} if field_manager else {}
    return query | {"dryRun": "All"} if dry_run else query


def _readable_as_yaml(body: bytes) -> bytes:
    """Return the JSON in a form that is also valid YAML, because servers read an apply as YAML."""
    if body.isascii() and b"\x7f" not in body:
        return body
    return _NOT_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", body.decode()).encode()


def _refuse_partial(obj: Object, verb: str) -> None:
    if getattr(obj, "partial", False):
        raise TypeError(
            f"{verb} of a partial view, {type(obj).__name__}, would erase the fields that the view lacks: "
            "patch or apply the fields to change, or declare the kind with all its fields and partial=False"
        )


def _named(name: str) -> str:
    """Check a name that addresses one object, because an empty name would address the whole collection."""
    if not name:
        raise ValueError("an object's name must not be empty")
    return name


class Codec(Generic[T]):
    """
    How a resource client encodes and decodes the objects of a kind.

    Args: encode returns an object's JSON, and item decodes it. page decodes a whole list page at once, and
    block decodes whole lines of a watch; without them, each object is decoded separately.
    keeps_managed_fields is true if the objects contain managedFields. wire is the kind as which the server
    sends the objects, such as PartialObjectMetadata; None means resource itself.
    Threads: any thread can use a codec, because msgspec's decoders have no state. An event decoder serves
    only one watch.
    """

    def __init__(
        self,
        resource: Resource,
        encode: Callable[[T], bytes],
        item: Callable[[bytes], T],
        page: Callable[[bytes], Page[T]] | None = None,
        block: Callable[[bytes], Sequence[WireEvent[T]]] | None = None,
        *,
        keeps_managed_fields: bool = False,
        wire: Resource | None = None,
    ) -> None:
        self.resource = resource
        self._wire = resource if wire is None else wire
        self.keeps_managed_fields = keeps_managed_fields
        self.encode = encode
        self.pages: PageDecoder[T] = PageDecoder(self._wire, item, page)
        self._item = item
        self._block = block

    def accept(self, verb: str) -> dict[str, str]:
        """Return the Accept header that requests objects as wire, or {} if wire is the resource itself."""
        if self._wire is self.resource:
            return {}
        kind = f"{self._wire.kind}List" if verb == "list" else self._wire.kind
        return {"Accept": f"application/json;as={kind};g={self._wire.group};v={self._wire.version}"}

    def decode(self, body: bytes) -> T:
        """
        One object.

        Raises: DecodeError.
        """
        require_utf8(body)
        return read(self._item, body, f"not a {self.resource.kind}")

    def events(self, sieve: Sieve | None = None) -> EventDecoder[T]:
        """Return an event decoder for one watch."""
        return EventDecoder(self._wire, self._item, self._block, sieve=sieve)


def codec_of(kind: type[K]) -> Codec[K]:
    """Return the codec of a typed view or of an Unstructured kind, whose objects keep their own JSON."""
    if issubclass(kind, Unstructured):
        untyped: Codec[Any] = Codec(kind.resource, json_of, kind.from_json, keeps_managed_fields=True)
        return untyped
    hook = _hook_of(kind)
    item = decoder_of(kind, hook)
    page = decoder_of(Page[kind], hook)  # type: ignore[valid-type]
    block = decoder_of(WireEvent[kind], hook)  # type: ignore[valid-type]
    wire = None
    if issubclass(kind, PartialObjectMetadata):
        wire = kind.resource._replace(group=META_GROUP, version=META_VERSION, kind=META_KIND)
    read_item = pruning(null_as_absent(item.decode))
    return Codec(kind.resource, json_of, read_item, page.decode, block.decode_lines, wire=wire)


@cache
def _abridged_codec(abridged: Abridged[Any]) -> Codec[Any]:
    decoder = AbridgedDecoder(abridged, _hook_of(abridged.kind))
    read_item = pruning(null_as_absent(decoder.item))
    return Codec(abridged.kind.resource, json_of, read_item, decoder.page, decoder.block)


def _hook_of(kind: type[Kind]) -> Callable[[type, Any], Any]:
    return decode_hook_of_views if kind.partial and not kind.keeps_last_applied else decode_hook
