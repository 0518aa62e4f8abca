"""
PATCH: merge, JSON and strategic patches, and server-side apply.

A real server converts the results of strategic patches and applies with Go's unstructured converter, and
decodes the results of other patches from JSON. `restoring` words errors as the converter does.
Follows: apiserver pkg/endpoints/handlers/patch.go, apimachinery pkg/runtime/converter.go (FromUnstructured).
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from handloop_sandbox.kinds import typed
from handloop_sandbox.patches.json_patch import json_patch
from handloop_sandbox.patches.merge_patches import merge_patch, strategic_merge_patch
from handloop_sandbox.patches.server_side_apply import server_side_apply
from handloop_sandbox.requests import bodies
from handloop_sandbox.requests.bodies import Decoded, MisfitError, UnrecognizedError
from handloop_sandbox.requests.call import Call, shallow_metadata
from handloop_sandbox.requests.presentation import served_object
from handloop_sandbox.requests.request import Response
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.verbs import object_rules
from handloop_sandbox.verbs.create import in_request_namespace, owned_once, store_new
from handloop_sandbox.verbs.update import Replaced, check_name, replace
from handloop_sandbox.wire import go_json, go_yaml
from handloop_sandbox.wire.causes import invalid_value
from handloop_sandbox.wire.go_format import go_value
from handloop_sandbox.wire.options import WriteOptions, unsigned_error, write_options
from handloop_sandbox.wire.patch_types import APPLY, JSON_PATCH, STRATEGIC, patch_types
from handloop_sandbox.wire.status import (
    StatusError,
    bad_request,
    conflict,
    failure,
    internal_error,
    invalid_kind,
    not_found,
    unsupported_media_type,
)

_OPERATION_FIELDS: Final = ("op", "path", "from", "value")
_CONVERTING: Final = "error converting YAML to JSON: "


def patch(call: Call) -> Response:
    """Answer 200 with the object as stored, or 201 if an apply created it."""
    kind = patch_type(call)
    options = write_options(call.request.query, "PatchOptions", apply=kind == APPLY)
    replaced = _apply(call, options) if kind == APPLY else _patch(call, kind, options)
    return call.answer(replaced.stored, 201 if replaced.created else 200)


def patch_type(call: Call) -> str:
    """Return the media type of a patch. Raises: StatusError 415 if it is not supported."""
    given = call.request.headers.get("content-type", "").partition(";")[0].strip().lower()
    types = patch_types(custom=call.resource.custom)
    if given in types:
        return given
    if call.resource.custom:
        raise unsupported_media_type(types)
    raise StatusError(failure(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={}))


def patched(current: Object, body: bytes, kind: str, schema: Any) -> Object:
    """
    Return an object with a patch applied, as plain JSON.

    Raises: StatusError 400, 415, 422 or 500, worded as on a real server, if the patch cannot be applied.
    """
    value = _parsed(body, kind)
    if kind == JSON_PATCH:
        return json_patch(current, [] if value is None else value, body)
    if kind == STRATEGIC:
        return (
            strategic_merge_patch(current, _mapping(value, ""), schema or {})
            if value is not None
            else current
        )
    if value is None:
        raise bad_request("Invalid JSON Patch")
    return merge_patch(current, _mapping(value, "error decoding patch: "))


def _patch(call: Call, kind: str, options: WriteOptions) -> Replaced:
    before = call.stored()
    if before is None:
        raise not_found(call.resource, call.name)
    current = served_object(call.resource, before)
    changed = patched(current, call.request.body, kind, call.resource.schema)
    decoded = _decoded(call, changed, kind)
    decoded = decoded._replace(strict=[*_strict(call.request.body, kind), *decoded.strict])
    _report(call, decoded, changed, kind, options)
    check_name(call, decoded.object)
    obj = owned_once(call, in_request_namespace(call, decoded.object), patched=True)
    obj = object_rules.defaulted(call.resource, obj)
    if call.resource.custom:
        _check_type(call, obj)
    return replace(call, obj, options)


def _apply(call: Call, options: WriteOptions) -> Replaced:
    applied = applied_configuration(call, options)
    before = call.stored()
    if before is None and call.path.subresource:
        raise not_found(call.resource, call.name)
    current = None if before is None else served_object(call.resource, before)
    merged = server_side_apply(
        current,
        applied,
        resource=call.resource,
        manager=options.field_manager,
        force=options.force,
        now=call.context.now,
        subresource=call.path.subresource,
    )
    check_name(call, merged)
    decoded = _decoded(call, merged, APPLY)
    obj = in_request_namespace(call, decoded.object)
    if current is None or _content(merged) != _content(current):
        # An apply that changes nothing adds no defaults.
        obj = object_rules.defaulted(call.resource, obj, keep_nulls=True)
    if before is None:
        if problem := unsigned_error(obj["metadata"].get("resourceVersion") or "0"):
            raise internal_error(problem)
        if given := obj["metadata"].get("uid"):
            text = (
                f"uid mismatch: the provided object specified uid {given}, and no existing object was found"
            )
            raise conflict(call.resource, call.name, text)
        return Replaced(
            store_new(call, shallow_metadata(obj, resourceVersion=None), options, applied=True), created=True
        )
    return replace(call, obj, options, applied=True)


def _content(obj: Object) -> Object:
    return {**obj, "metadata": {**obj["metadata"], "managedFields": None}}


def applied_configuration(call: Call, options: WriteOptions) -> Object:
    """
    Return the object in the body of an apply.

    Raises: StatusError 400 if the YAML is invalid or, with strict validation, contains duplicate keys.
    """
    try:
        parsed = go_yaml.parse(call.request.body.decode(errors="replace"))
    except go_yaml.YAMLError as error:
        raise bad_request(f"error decoding YAML: {_CONVERTING}{error}") from error
    if parsed.problem and options.field_validation == "Strict":
        raise bad_request(f"error strict decoding YAML: {_CONVERTING}{parsed.problem}")
    if options.field_validation != "Ignore":
        for line in parsed.duplicates:
            call.warn(line)
    value = parsed.value
    if call.resource.custom and go_json.has_odd_numbers(call.request.body):
        value = go_json.unstructured(value)
    if value is None:
        return {}
    if not isinstance(value, dict):
        what = typed.json_kind(value)
        text = f"json: cannot unmarshal {what} into Go value of type map[string]interface {{}}"
        raise bad_request(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {text}")
    return value


def _parsed(body: bytes, kind: str) -> Any:
    prefix = "" if kind == STRATEGIC else "error decoding patch: "
    try:
        value = go_json.parse(body.decode(errors="replace"))
        if go_json.has_odd_numbers(body):
            go_json.unstructured(value)  # raises RangeError for numbers that are too large for Go
    except go_json.JSONError as error:
        raise bad_request(f"{prefix}{error}") from error
    except go_json.RangeError as error:
        where = "struct field jsonPatchOp.value" if kind == JSON_PATCH else "value"
        raise bad_request(f"{prefix}{error}".replace("Go value", f"Go {where}")) from error
    return value


def _strict(body: bytes, kind: str) -> list[str]:
    """Return the errors that strict decoding reports about a patch itself."""
    value, duplicates = go_json.parse_noting_duplicates(body.decode(errors="replace"))
    found = [f'duplicate field "{path}"' for path in duplicates]
    if kind != JSON_PATCH:
        return found
    found += [
        f'unknown field "[{index}].{name}"'
        for index, operation in enumerate(value or ())
        for name in operation
        if name not in _OPERATION_FIELDS
    ]
    return [f"json patch {text}" for text in found]


def _mapping(value: Any, prefix: str) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    text = f"json: cannot unmarshal {typed.json_kind(value)} into Go value of type map[string]interface {{}}"
    raise bad_request(f"{prefix}{text}")


def _decoded(call: Call, changed: Object, kind: str) -> Decoded:
    if kind == STRATEGIC:
        # The result of a strategic patch is decoded as the path's kind, even if the patch names another kind.
        changed = {**changed, "kind": call.resource.kind, "apiVersion": call.resource.api_version}
    shown = _shown(changed, custom=call.resource.custom)
    try:
        return bodies.decode_value(changed, [], call.resource, call.catalog, text=shown)
    except (UnrecognizedError, MisfitError) as error:
        if kind == APPLY:
            raise _unconvertible(call, changed, error) from error
        if kind == STRATEGIC:
            raise _invalid_strategic(call, restoring(str(error))) from error
        raise invalid_patch(changed, str(error), custom=call.resource.custom) from error


def _unconvertible(call: Call, merged: Object, error: Exception) -> StatusError:
    """Return the error for an applied configuration that matches its schema but not its Go type."""
    resource, about = call.resource, merged["metadata"]
    kind = f"{resource.api_version if resource.group else '/' + resource.version}, Kind={resource.kind}"
    named = f"/{about.get('name', '')}; {kind}"
    text = (
        f"failed to convert new object ({named}) to proper version: unable to convert unstructured object to"
    )
    return internal_error(f"{text} {kind}: {restoring(str(error))}")


def _invalid_strategic(call: Call, text: str) -> StatusError:
    shown = go_value(go_json.parse(call.request.body.decode(errors="replace")))
    return _invalid_shown(f'"{shown}"', text)


def _report(call: Call, decoded: Decoded, changed: Object, kind: str, options: WriteOptions) -> None:
    if not decoded.strict or options.field_validation == "Ignore":
        return
    if options.field_validation == "Strict":
        text = f"strict decoding error: {', '.join(decoded.strict)}"
        if kind == STRATEGIC:
            raise _invalid_strategic(call, text)
        raise invalid_patch(changed, text, custom=call.resource.custom)
    for problem in decoded.strict:
        call.warn(problem)


def _check_type(call: Call, obj: Object) -> None:
    expected, given = call.resource.api_version, obj.get("apiVersion", "")
    if given != expected:
        cause = invalid_value("apiVersion", given, f"must be {expected}")
        raise invalid_kind(call.resource.group, obj["kind"], call.name, [cause])


def invalid_patch(changed: Object, text: str, *, custom: bool = False) -> StatusError:
    """Return the error for a patch whose result cannot be decoded."""
    return _invalid_shown(json.dumps(_shown(changed, custom=custom).decode(), ensure_ascii=False), text)


def _invalid_shown(shown: str, text: str) -> StatusError:
    cause = invalid_value("patch", "", text)
    return invalid_kind("", "", "", [cause._replace(message=f"Invalid value: {shown}: {text}")])


def _shown(changed: Object, *, custom: bool) -> bytes:
    """Return a patched object's JSON for error messages. Custom resources are sorted at all levels."""
    shown = changed if custom else dict(sorted(changed.items()))
    return json.dumps(shown, separators=(",", ":"), sort_keys=custom, ensure_ascii=False).encode()


_JSON: Final = re.compile(
    r"json: cannot unmarshal (\w+)(?: (\S+))? into Go (?:struct field \S+|value) of type (\S+)"
)
_KINDS: Final = {"array": "slice", "object": "map", "bool": "bool", "string": "string"}
_SCALARS: Final = re.compile(r"string|bool|u?int\d*|float\d+")
_NUMBERS: Final = ("int", "uint", "float")


def restoring(complaint: str) -> str:
    """Rephrase a JSON error as Go's unstructured converter does. Other errors are not changed."""
    found = _JSON.fullmatch(complaint)
    if found is None:
        return f"error decoding from json: {complaint}" if "base64" in complaint else complaint
    kind = _KINDS.get(found[1]) or ("float64" if "." in (found[2] or "") else "int64")
    return _unfit(kind, found[3])


def _unfit(kind: str, go_type: str) -> str:
    """Return the converter's error for a Go value that cannot be converted to a type."""
    if go_type.startswith("map["):
        return f"cannot restore map from {kind}"
    if go_type.startswith("[]"):
        return f"cannot restore slice from {kind}"
    if not _SCALARS.fullmatch(go_type):
        return f"cannot restore struct from: {kind}"
    # Go itself could convert integers to strings and to other integer types, but the converter refuses to.
    if kind.startswith(_NUMBERS) and (go_type == "string" or go_type.startswith(_NUMBERS)):
        return f"cannot convert {kind} to {go_type}"
    return f"unrecognized type: {go_type}"
