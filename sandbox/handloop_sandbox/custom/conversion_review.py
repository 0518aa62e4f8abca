"""
Builds the ConversionReview for a conversion webhook, and checks the webhook's answer.

Follows: apiextensions pkg/apiserver/conversion/webhook_converter.go.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from handloop_sandbox.kinds.typed import json_kind
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.wire import go_json, names, webhook_client
from handloop_sandbox.wire.causes import invalid_value
from handloop_sandbox.wire.go_format import go_type

_GROUP: Final = "apiextensions.k8s.io"
_KIND: Final = "ConversionReview"
_HEAD: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)
_SAME: Final = (("name", "name"), ("namespace", "namespace"), ("uid", "UID"))


class ReviewError(Exception):
    """A webhook's answer is invalid as a whole. The message begins with `failed: ` or `returned `."""


def version_of(webhook: Mapping[str, Any]) -> str:
    """Return the first version in a webhook's conversionReviewVersions that the sandbox supports."""
    named: Sequence[str] = webhook["conversionReviewVersions"]
    return next(version for version in named if version in webhook_client.UNDERSTOOD)


def review(version: str, uid: str, objects: Sequence[Object], api_version: str) -> Object:
    """Return the ConversionReview to send to the webhook."""
    request = {"uid": uid, "desiredAPIVersion": api_version, "objects": list(objects)}
    return {"kind": _KIND, "apiVersion": f"{_GROUP}/{version}", "request": request}


def answered(content: bytes, version: str, uid: str) -> list[Any]:
    """
    Return the converted objects in a webhook's answer.

    Raises: ReviewError if the answer is invalid or reports a failure.
    """
    response = _response(_document(content), version)
    if version == "v1" and (given := response.get("uid") or "") != uid:
        raise ReviewError(f'failed: expected response.uid="{uid}", got {json.dumps(given)}')
    result = response.get("result") or {}
    if (status := result.get("status") or "") != "Success":
        told = result.get("message") or f"response.result.status was '{status}', not 'Success'"
        raise ReviewError(f"failed: {told}")
    return response.get("convertedObjects") or []


def _document(content: bytes) -> Object:
    text = content.decode(errors="replace")
    if not content:
        raise ReviewError(
            "failed: 0-length response with status code: 200 and content type: application/json"
        )
    prefix = "failed: couldn't get version/kind; json parse error: "
    try:
        value = go_json.parse(text)
    except go_json.JSONError as error:
        if text.lstrip().startswith("{"):
            raise ReviewError(f"{prefix}{error}") from error
        value = text  # as YAML
    if not isinstance(value, dict | None):
        raise ReviewError(f"{prefix}json: cannot unmarshal {json_kind(value)} into Go value of type {_HEAD}")
    return value or {}


def _response(document: Object, version: str) -> Object:
    given, kind = document.get("apiVersion") or "", document.get("kind") or ""
    group, _, bare = given.rpartition("/")
    known = {(f"{_GROUP}/{each}", _KIND) for each in webhook_client.UNDERSTOOD} | {("v1", "Status")}
    if given and kind and (given, kind) not in known:
        where = 'in scheme "pkg/runtime/scheme.go:111"'
        raise ReviewError(f'failed: no kind "{kind}" is registered for version "{given}" {where}')
    if given and kind and (given, kind) != (f"{_GROUP}/{version}", _KIND):
        raise ReviewError(f"failed: converting ({bare}.{kind}) to ({version}.{_KIND}): unknown conversion")
    _check_type(document, "ConversionReview.response", dict, "v1.ConversionResponse")
    response: Object = document.get("response") or {}
    inside = "ConversionResponse.response."
    _check_type(response, f"{inside}uid", str, "types.UID")
    _check_type(response, f"{inside}convertedObjects", list, "[]runtime.RawExtension")
    _check_type(response, f"{inside}result", dict, "v1.Status")
    if version == "v1" and not (given and kind):
        wanted = f"{_GROUP}/{version}, Kind={_KIND}"
        raise ReviewError(f"failed: expected webhook response of {wanted}, got {group}/{bare}, Kind={kind}")
    if document.get("response") is None:
        raise ReviewError("failed: no response provided")
    return response


def _check_type(parent: Object, field: str, wanted: type, go_name: str) -> None:
    value = parent.get(field.rpartition(".")[2])
    if value is not None and not isinstance(value, wanted):
        told = f"cannot unmarshal {json_kind(value)} into Go struct field {field} of type {go_name}"
        raise ReviewError(f"failed: json: {told}")


def problem_of(original: Object, converted: Any, api_version: str) -> str:
    """Return what is wrong with a converted object, or "" if it is valid."""
    webhook = webhook_of(original)
    if not isinstance(converted, dict):
        into = "Go value of type map[string]interface {}"
        kind = json_kind(converted)
        return f"json: cannot unmarshal {kind} into {into}" if converted is not None else go_json.END
    given, kind = converted.get("apiVersion") or "", converted.get("kind") or ""
    if not kind or given.count("/") > 1:
        return f"Object 'Kind' is missing in '{json.dumps(converted)}'"
    if given != api_version:
        text = f"invalid groupVersion (expected {api_version}, received {given})"
        return f"{webhook} returned invalid object at index 0: {text}"
    if kind != original["kind"]:
        text = f"invalid kind (expected {original['kind']}, received {kind})"
        return f"{webhook} returned invalid object at index 0: {text}"
    before = original.get("metadata")
    after = converted.get("metadata")
    for member, shown in _SAME:
        expected, found = (
            (each.get(member) or "") if isinstance(each, dict) else "" for each in (before, after)
        )
        if expected != found:
            return f"{webhook} returned invalid object: must have the same {shown}: {expected} != {found}"
    wrong = _metadata_problem(before, after)
    return wrong and f"{webhook} returned invalid metadata: {wrong}"


def webhook_of(obj: Object) -> str:
    """Return how error messages describe the webhook that converts an object."""
    return f"conversion webhook for {obj['apiVersion']}, Kind={obj['kind']}"


def _metadata_problem(before: Any, after: Any) -> str:
    if not isinstance(after, dict):
        return "missing metadata in converted object"
    if before is None:
        return "invalid metadata of type <nil> in input object"
    for field in ("labels", "annotations"):
        values = after.get(field)
        if values is None:
            continue
        if not isinstance(values, dict):
            return f"invalid metadata.{field} of type {go_type(values)} in converted object"
        for key, value in values.items():
            if not isinstance(value, str):
                kind = "<nil>" if value is None else go_type(value)
                return f"metadata.{field}[{key}] must be a string, but is {kind} in converted object"
        if values != before.get(field) and (causes := _rules(field, values)):
            return causes[0] if len(causes) == 1 else f"[{', '.join(causes)}]"
    return ""


def _rules(field: str, values: Mapping[str, str]) -> list[str]:
    keys = [key.lower() if field == "annotations" else key for key in values]
    wrong = [(key, text) for key in keys for text in names.qualified_name(key)]
    if field == "labels":
        wrong += [(value, text) for value in values.values() for text in names.label_value(value)]
    shown = "metadata.annotation" if field == "annotations" else "metadata.labels"
    return [f"{shown}: {invalid_value(shown, value, text).message}" for value, text in wrong]
