"""
Decodes request bodies (JSON, YAML or protobuf) into objects of the kind that the path names.

Follows: apimachinery pkg/runtime/serializer, apiserver pkg/endpoints/handlers/create.go
(transformDecodeError), apiextensions schemaCoercingDecoder.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from handloop_sandbox.custom import embedded, structural
from handloop_sandbox.kinds import protobuf, typed
from handloop_sandbox.storage.catalog import Catalog
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.wire import go_json, go_yaml
from handloop_sandbox.wire.negotiate import JSON, OBJECT_TYPES, PROTOBUF, YAML
from handloop_sandbox.wire.resource import ServedResource
from handloop_sandbox.wire.status import StatusError, bad_request, unsupported_media_type

_DELETE_OPTIONS: Final = {"$ref": "apimachinery.pkg.apis.meta.v1.DeleteOptions"}
_META_KINDS: Final = ("CreateOptions", "GetOptions", "ListOptions", "PatchOptions", "Status", "UpdateOptions")
_NO_TEXT: Final = ".apiVersion accessor error: <nil> is of the type <nil>, expected string"
_SHOWN_BYTES: Final = 30
_TYPE_META: Final = (
    r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
)
SCHEME: Final = 'in scheme "pkg/runtime/scheme.go:111"'


class Decoded(NamedTuple):
    """An object in canonical form, and the errors that strict decoding reports."""

    object: Object
    strict: list[str]


class UnrecognizedError(ValueError):
    """A body cannot be parsed or does not name its kind. The message is worded as in Go."""


class MisfitError(ValueError):
    """A body cannot be decoded as the expected kind. The message is worded as in Go."""

    def __init__(self, message: str, *, kind: str, version: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.version = version


def media_type(header: str) -> str:
    """Return the media type in a Content-Type header, or JSON if the header is empty."""
    return header.partition(";")[0].strip().lower() or JSON


def decode(body: bytes, content_type: str, resource: ServedResource, catalog: Catalog) -> Decoded:
    """
    Return the object in a request body.

    Raises: StatusError 400 if the body is invalid, or 415 if its media type is not supported.
    """
    kind = media_type(content_type)
    if kind not in OBJECT_TYPES or (kind == PROTOBUF and resource.custom):
        raise unsupported_media_type(OBJECT_TYPES)
    if kind == PROTOBUF:
        return decode_value(protobuf.decode(body, catalog), [], resource, catalog)
    try:
        value, strict = _parse(body, kind)
        return decode_value(value, strict, resource, catalog, text=body)
    except UnrecognizedError as error:
        summary = _summary(body)
        text = f"the object provided is unrecognized (must be of type {resource.kind}): {error} ({summary})"
        raise bad_request(text) from error
    except MisfitError as error:
        raise bad_request(
            f'{error.kind} in version "{error.version}" cannot be handled as a {resource.kind}: {error}'
        ) from error


def decode_value(
    value: Any, strict: list[str], resource: ServedResource, catalog: Catalog, *, text: bytes = b""
) -> Decoded:
    """
    Decode parsed JSON as an object of the resource's kind.

    Args: strict contains the errors that the parser reported for strict decoding.
    Raises: UnrecognizedError if the value names no kind, or MisfitError if it does not match the resource's
    kind.
    """
    kind, api_version = _type_meta(value)
    value = {} if value is None else value
    if resource.custom:
        if not kind:
            raise UnrecognizedError(f"Object 'Kind' is missing in '{text.decode(errors='replace')}'")
        return _custom(value, strict, resource, text)
    kind = kind or resource.kind
    api_version = api_version or resource.api_version
    _check_registered(kind, api_version, resource, catalog)
    return _built_in({**value, "kind": kind, "apiVersion": api_version}, strict, resource)


def read_options(body: bytes, content_type: str) -> Mapping[str, Any] | None:
    """
    Return the DeleteOptions in a body, or None if the body is empty.

    Raises: StatusError 400 if the body is invalid, or 415 if its media type is not supported.
    """
    if not body:
        return None
    kind = media_type(content_type)
    if kind == PROTOBUF:
        return protobuf.decode_delete_options(body)
    if kind not in OBJECT_TYPES:
        raise unsupported_media_type(OBJECT_TYPES)
    try:
        value, _ = _parse(body, kind)
        given, api_version = _type_meta(value)
    except UnrecognizedError as error:
        raise bad_request(str(error)) from error
    if given not in ("", "DeleteOptions"):
        version = api_version or "v1"
        if version == "v1" and given in _META_KINDS:
            raise bad_request(f"converting (v1.{given}) to (v1.DeleteOptions): unknown conversion")
        raise bad_request(f'no kind "{given}" is registered for version "{version}" {SCHEME}')
    if not isinstance(value, dict):
        return {}
    try:
        options: Object = typed.decode(_DELETE_OPTIONS, value, typed.Report())
    except typed.DecodeError as error:
        raise bad_request(str(error)) from error
    return options


def pseudo_resource(group: str, version: str, kind: str, schema: str) -> ServedResource:
    """
    Return a resource that is used to decode a kind that is sent but not stored, such as Scale or Binding.

    Args: schema is the name of the kind's schema.
    """
    return ServedResource(
        group=group,
        version=version,
        plural=f"{kind.lower()}s",
        kind=kind,
        list_kind=f"{kind}List",
        singular=kind.lower(),
        namespaced=True,
        verbs=("create",),
        storage_version=version,
        schema={"$ref": schema},
    )


def wrong_version(given: str, expected: str) -> StatusError:
    """Return the error (400) for an object whose API version differs from the one in the path."""
    text = f"the API version in the data ({given}) does not match the expected API version ({expected})"
    return bad_request(text)


_UNSERVED: Final = frozenset({("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition")})
"""Kinds that can be decoded but are no longer served. Their error names the version instead of the kind."""


def no_kind(kind: str, api_version: str) -> str:
    """Return Go's message for an unknown kind."""
    return f'no kind "{kind}" is registered for version "{api_version}" {SCHEME}'


def _parse(body: bytes, kind: str) -> tuple[Any, list[str]]:
    """Return the value in a body, and the errors about duplicate members for strict decoding."""
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise UnrecognizedError("couldn't get version/kind; json parse error: invalid UTF-8") from error
    if kind == YAML:
        return _parse_yaml(text)
    try:
        value, duplicates = go_json.parse_noting_duplicates(text)
        return value, [f'duplicate field "{path}"' for path in duplicates]
    except (go_json.JSONError, RecursionError) as error:
        told = "exceeded max depth" if isinstance(error, RecursionError) else str(error)
        raise UnrecognizedError(f"couldn't get version/kind; json parse error: {told}") from error


def _parse_yaml(text: str) -> tuple[Any, list[str]]:
    try:
        parsed = go_yaml.parse(text)
    except go_yaml.YAMLError as error:
        raise UnrecognizedError(str(error)) from error
    return parsed.value, [parsed.problem] if parsed.problem else []


def _type_meta(value: Any) -> tuple[str, str]:
    if value is None:
        return "", ""
    if not isinstance(value, dict):
        text = f"json: cannot unmarshal {typed.json_kind(value)} into Go value of type {_TYPE_META}"
        raise UnrecognizedError(f"couldn't get version/kind; json parse error: {text}")
    for name in ("kind", "apiVersion"):
        if not isinstance(value.get(name), str | None):
            what = typed.json_kind(value[name]).partition(" ")[0]
            text = f"json: cannot unmarshal {what} into Go struct field .{name} of type string"
            raise UnrecognizedError(f"couldn't get version/kind; json parse error: {text}")
    api_version = value.get("apiVersion") or ""
    if api_version.count("/") > 1:
        raise UnrecognizedError(f"unexpected GroupVersion string: {api_version}")
    return value.get("kind") or "", api_version


def _custom(value: Object, strict: list[str], resource: ServedResource, text: bytes) -> Decoded:
    api_version = value.get("apiVersion") or ""
    schema = resource.schema if api_version == resource.api_version else None
    version = api_version.rpartition("/")[2]
    if value.get("apiVersion", "") is None:
        raise MisfitError(_NO_TEXT, kind=value["kind"], version="")
    try:
        if go_json.has_odd_numbers(text):
            value = go_json.unstructured(value)
        obj, unknown = structural.decode_metadata(value)
        in_group = (api_version.rpartition("/")[0], value["kind"]) == (resource.group, resource.kind)
        if in_group:
            obj, pruned = structural.prune(schema, obj)
            unknown += pruned
            if embedded.is_in(resource):
                obj = embedded.decode(schema, obj, unknown)
    except (typed.DecodeError, go_json.RangeError) as error:
        raise MisfitError(str(error), kind=value["kind"], version=version) from error
    return Decoded(obj, strict + [f'unknown field "{path}"' for path in sorted(unknown)])


def _check_registered(kind: str, api_version: str, resource: ServedResource, catalog: Catalog) -> None:
    group, _, version = api_version.rpartition("/")
    if kind == resource.kind and api_version == resource.api_version:
        return
    if (api_version, kind) in _UNSERVED:
        raise wrong_version(api_version, resource.api_version)
    if catalog.by_kind(group, version, kind) is None:
        raise MisfitError(no_kind(kind, api_version), kind=kind, version=version)
    source = f"{version}.{kind}"
    text = f"converting ({source}) to ({resource.group.partition('.')[0] or 'core'}.{resource.kind}): "
    raise MisfitError(f"{text}unknown conversion", kind=kind, version=version)


def _built_in(value: Object, strict: list[str], resource: ServedResource) -> Decoded:
    report = typed.Report()
    try:
        obj = typed.decode(resource.schema or {}, value, report)
    except typed.DecodeError as error:
        raise MisfitError(str(error), kind=value["kind"], version=resource.version) from error
    return Decoded(obj, strict + [f'unknown field "{path}"' for path in report.unknown])


def _summary(body: bytes) -> str:
    if not body:
        return "<empty>"
    cut = body[:_SHOWN_BYTES]
    more = " ..." if len(body) > _SHOWN_BYTES else ""
    return (cut.decode(errors="replace") if body.startswith(b"{") else cut.hex()) + more
