"""
Generates CustomResourceDefinitions from the types.

Bounds, formats, defaults and descriptions are written only once, at the field. crd_schema.py generates the
schema from them. A kind can add these class attributes: `printer_columns`, `scale`, `categories`,
`crd_annotations`, `selectable_fields` (paths that field selectors can use, such as `spec.color`),
`kept_fields` (see kept_fields.py), and `deprecation_warning` (a text that the server sends with each
response). Short names come from the kind's resource. A `status` field creates the status subresource, unless
the kind sets `status_subresource = False`. Any struct can add `crd_rules` and `crd_required`, which holds the
wire names of fields that the server requires although they have a default.
Follows: apiextensions.k8s.io/v1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from handloop.apis.class_attributes import has_status_subresource
from handloop.apis.compatibility.finding import BREAKS
from handloop.apis.compatibility.schema_changes import schema_changes
from handloop.apis.crd_schema import object_schema
from handloop.apis.kept_fields import kept_fields
from handloop.apis.meta import Kind
from handloop.apis.versions import has_functions, is_converted, versions_of

_NOT_DECODED: Final = ("rule", "list-type", "format", "allOf", "anyOf", "oneOf", "not")
"""The rules that only the server checks, in the request's version. Our decoder ignores them."""
CONVERT_PATH: Final = "/convert"
INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PrinterColumn:
    """A column of `kubectl get`."""

    name: str
    """The column's header. Its case does not matter, because kubectl shows it in capitals."""

    type: str
    """integer, number, string, boolean or date. A date is shown as an age."""

    json_path: str
    """Such as `.spec.replicas`, or `.status.conditions[?(@.type=="Ready")].status`."""

    description: str = ""
    """For tools such as `kubectl explain`."""

    priority: int = 0
    """A column with a priority above 0 is shown only with `-o wide`."""

    format: str = ""
    """A hint for showing values: int32, int64, float, double, byte, date, date-time or password."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The fields that `kubectl scale` reads and writes."""

    spec_replicas_path: str
    status_replicas_path: str
    label_selector_path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookService:
    """Where the server finds the program that converts between versions."""

    name: str = "webhook"
    namespace: str = "default"
    url: str = ""
    """The webhook's address if the program is outside the cluster: `https://HOST:PORT`."""

    def client_config(self) -> dict[str, Any]:
        """Return the clientConfig for the webhook of a definition, without a CA bundle."""
        if self.url:
            return {"url": f"{self.url.rstrip('/')}{CONVERT_PATH}"}
        return {
            "service": {"name": self.name, "namespace": self.namespace, "path": CONVERT_PATH, "port": 443}
        }


def custom_resource_definition(kind: type[Kind], webhook: WebhookService | None = None) -> dict[str, Any]:
    """
    Return the CRD of one type, as in apiextensions.k8s.io/v1.

    Args: webhook is the program that converts versions. It is used only if the kind has conversion functions.
    Raises: TypeError if no schema can express a part of the type, or if a class attribute has no effect. The
    message names the part and how to fix it.
    """
    resource = kind.resource
    names: dict[str, Any] = {
        "kind": resource.kind,
        "listKind": f"{resource.kind}List",
        "plural": resource.plural,
        "singular": resource.singular,
    }
    if resource.short_names:
        names["shortNames"] = list(resource.short_names)
    if categories := getattr(kind, "categories", ()):
        names["categories"] = list(categories)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": _metadata(kind),
        "spec": {
            "group": resource.group,
            "names": names,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "versions": _versions(kind),
            **(_conversion(webhook or WebhookService()) if is_converted(kind) else {}),
        },
    }


def _versions(kind: type[Kind]) -> list[dict[str, Any]]:
    """
    Return the newest version, which is stored, and the earlier ones, which are served with a warning.

    Raises: TypeError if a version without conversion functions would lose a field of the previous version, or
    might be unable to decode that version's objects; TypeError for kept_fields that are wrong or have no
    effect.
    """
    for version in versions_of(kind):
        if kept_fields(version) and not is_converted(kind):
            raise TypeError(
                f"remove {version.__name__}.kept_fields: it has no effect without conversion functions"
            )
    newest = _version(kind)
    versions, newer, schema = [newest], kind, newest["schema"]["openAPIV3Schema"]
    _check_kept(kind, schema)
    for older in versions_of(kind)[1:]:
        if not has_functions(newer):
            _check_holds(newer, schema, older)
        resource = kind.resource
        told = f"{older.resource.api_version} {resource.kind} is deprecated; use {resource.api_version}"
        deprecated = {"deprecated": True, "deprecationWarning": getattr(older, "deprecation_warning", told)}
        made = _version(older)
        _check_kept(older, made["schema"]["openAPIV3Schema"])
        versions.append({**made, "storage": False, **deprecated})
        newer, schema = older, made["schema"]["openAPIV3Schema"]
    return versions


def _check_kept(kind: type[Kind], schema: dict[str, Any]) -> None:
    """
    Check that every kept path leads to a field of the spec or the status.

    Raises: TypeError for a path that does not lead to a field, or that leads through a list.
    """
    for path in kept_fields(kind):
        inner: Any = schema
        for name in path.split("."):
            inner = (inner.get("properties") or {}).get(name)
            if inner is None or path.partition(".")[0] not in ("spec", "status"):
                raise TypeError(
                    f"{kind.__name__}.kept_fields: {path} is not the path of a field in spec or status, such "
                    "as spec.hosts"
                )


def _conversion(webhook: WebhookService) -> dict[str, Any]:
    client = {"clientConfig": webhook.client_config(), "conversionReviewVersions": ["v1"]}
    return {"conversion": {"strategy": "Webhook", "webhook": client}}


def _check_holds(newer: type[Kind], schema: dict[str, Any], older: type[Kind]) -> None:
    name, version = newer.__name__, older.resource.version
    for change in schema_changes(object_schema(older), schema):
        if change.severity == BREAKS and change.rule not in _NOT_DECODED:
            if change.rule == "field":
                what = f"{name} has no such field, so a value written through {version} is erased"
            else:
                what = f"{name} may be unable to read objects written through {version}: {change.message}"
            way = "keep the old field beside the new one, or write from_previous and to_previous"
            raise TypeError(f"{older.__name__}.{change.path}: {what}; {way}")


def _metadata(kind: type[Kind]) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": kind.resource.group_resource}
    annotations = getattr(kind, "crd_annotations", {})
    if annotations:
        metadata["annotations"] = dict(annotations)
    return metadata


def _version(kind: type[Kind]) -> dict[str, Any]:
    version: dict[str, Any] = {
        "name": kind.resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": object_schema(kind)},
    }
    subresources = _subresources(kind)
    if subresources:
        version["subresources"] = subresources
    columns = [_column(column) for column in getattr(kind, "printer_columns", ())]
    if columns:
        version["additionalPrinterColumns"] = columns
    if fields := getattr(kind, "selectable_fields", ()):
        version["selectableFields"] = [{"jsonPath": f".{field}"} for field in fields]
    if warning := getattr(kind, "deprecation_warning", ""):
        version |= {"deprecated": True, "deprecationWarning": warning}
    return version


def _subresources(kind: type[Kind]) -> dict[str, Any]:
    subresources: dict[str, Any] = {}
    if has_status_subresource(kind):
        subresources["status"] = {}
    scale: Scale | None = getattr(kind, "scale", None)
    if scale is not None:
        subresources["scale"] = {
            "specReplicasPath": scale.spec_replicas_path,
            "statusReplicasPath": scale.status_replicas_path,
        }
        if scale.label_selector_path:
            subresources["scale"]["labelSelectorPath"] = scale.label_selector_path
    return subresources


def _column(column: PrinterColumn) -> dict[str, Any]:
    out: dict[str, Any] = {"name": column.name, "type": column.type, "jsonPath": column.json_path}
    if column.format:
        out["format"] = column.format
    if column.description:
        out["description"] = column.description
    if column.priority:
        out["priority"] = column.priority
    return out
