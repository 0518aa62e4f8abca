"""
Validates CustomResourceDefinitions and changes to them.

Kubernetes' internal type contains parts that are the same in all versions (such as the schema) only once.
Errors in these parts are reported once, with the paths of the internal type, such as spec.validation.
Follows: apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go.
"""

from __future__ import annotations

from typing import Any, Final

from handloop_sandbox.custom.conversion_rules import conversion_causes
from handloop_sandbox.wire import go_url, names
from handloop_sandbox.wire.causes import duplicate, invalid_value, not_supported, required, too_many
from handloop_sandbox.wire.field_rules import Object, all_invalid, entries, immutable, part
from handloop_sandbox.wire.status import Cause

APPROVAL: Final = "api-approved.kubernetes.io"
_NEEDED: Final = 'protected groups must have approval annotation "api-approved.kubernetes.io"'
_SEE: Final = ", see https://github.com/kubernetes/enhancements/pull/1111"
_EITHER: Final = ' with either a URL or a reason starting with "unapproved"'
_LONGEST_WARNING: Final = 256
_PRESERVING: Final = (
    "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
)
_PRINTABLE: Final = "must only contain printable UTF-8 characters"
_SCOPES: Final = ("Cluster", "Namespaced")
_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")


def definition(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the errors in a CustomResourceDefinition. If old is None, the definition is new."""
    spec = part(new, "spec")
    stored = _stored_versions(new)
    if subresource == "status":
        return stored
    causes = (
        (_name(new) if old is None else []) + _group(spec.get("group", "")) + _scope(spec.get("scope", ""))
    )
    causes += _versions(spec) + _names(part(spec, "names")) + _shared(spec)
    causes += conversion_causes(spec.get("conversion")) + _preserving(spec)
    if old is not None:
        causes += _update(new, old)
    return causes + _approval(new, spec.get("group", "")) + stored


def _name(new: Object) -> list[Cause]:
    spec, name = part(new, "spec"), part(new, "metadata").get("name", "")
    wanted = f"{part(spec, 'names').get('plural', '')}.{spec.get('group', '')}"
    return (
        []
        if name in {"", wanted}
        else [invalid_value("metadata.name", name, 'must be spec.names.plural+"."+spec.group')]
    )


def _group(group: str) -> list[Cause]:
    if not group:
        return [required("spec.group")]
    wrong = names.dns_1123_subdomain(group)
    if wrong:
        return [invalid_value("spec.group", group, ",".join(wrong))]
    if "." not in group:
        return [invalid_value("spec.group", group, "should be a domain with at least one dot")]
    return []


def _scope(scope: str) -> list[Cause]:
    if not scope:
        return [required("spec.scope")]
    return [] if scope in _SCOPES else [not_supported("spec.scope", scope, _SCOPES)]


def _preserving(spec: Object) -> list[Cause]:
    if not spec.get("preserveUnknownFields"):
        return []
    return [invalid_value("spec.preserveUnknownFields", True, _PRESERVING)]


def _deprecation(path: str, version: Object) -> list[Cause]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return []
    at = f"{path}.deprecationWarning"
    causes = []
    if not version.get("deprecated"):
        causes.append(invalid_value(at, warning, "can only be set for deprecated versions"))
    if not warning:
        causes.append(invalid_value(at, warning, "must not be an empty string"))
    if len(warning.encode()) > _LONGEST_WARNING:  # Go counts bytes
        causes.append(invalid_value(at, warning, f"must be <= {_LONGEST_WARNING} characters long"))
    for index, character in enumerate(warning):
        if not character.isprintable():
            told = f"{_PRINTABLE}; non-printable character found at index {index}"
            return [*causes, invalid_value(at, warning, told)]
    return causes


def _versions(spec: Object) -> list[Cause]:
    versions = entries(spec, "versions")
    causes = [
        required(f"spec.versions[{index}].schema.openAPIV3Schema")
        for index, version in enumerate(versions)
        if part(version, "schema").get("openAPIV3Schema") is None
    ]
    for index, version in enumerate(versions):
        name = version.get("name", "")
        wrong = names.dns_1035_label(name)
        if wrong:
            causes.append(invalid_value(f"spec.versions[{index}].name", name, ",".join(wrong)))
        causes += _deprecation(f"spec.versions[{index}]", version)
        causes += _of_version(f"spec.versions[{index}]", spec, version)
    found = [version.get("name") for version in versions]
    internal = [_internal(spec, version) for version in versions] or spec.get("versions")
    if len(set(found)) < len(found):
        causes.append(invalid_value("spec.versions", internal, "must contain unique version names"))
    if sum(bool(version.get("storage")) for version in versions) != 1:
        text = "must have exactly one version marked as storage version"
        causes.append(invalid_value("spec.versions", internal, text))
    first = versions[0].get("name", "") if versions else ""
    return causes + (all_invalid("spec.version", first, names.dns_1035_label(first)) if first else [])


def _internal(spec: Object, version: Object) -> dict[str, Any]:
    """Return a version in the form of Kubernetes' internal type, in which shared parts are None."""
    own = {
        "Schema": None if _is_shared(spec, "schema") else version.get("schema"),
        "Subresources": None if _is_shared(spec, "subresources") else version.get("subresources"),
        "AdditionalPrinterColumns": None
        if _is_shared(spec, "additionalPrinterColumns")
        else version.get("additionalPrinterColumns"),
        "SelectableFields": None if _is_shared(spec, "selectableFields") else version.get("selectableFields"),
    }
    return {
        "Name": version.get("name", ""),
        "Served": bool(version.get("served")),
        "Storage": bool(version.get("storage")),
        "Deprecated": bool(version.get("deprecated")),
        "DeprecationWarning": version.get("deprecationWarning"),
        **own,
    }


def _is_shared(spec: Object, member: str) -> bool:
    versions = entries(spec, "versions")
    return all(version.get(member) == versions[0].get(member) for version in versions)


def _of_version(path: str, spec: Object, version: Object) -> list[Cause]:
    """Return the errors in one version."""
    causes: list[Cause] = []
    if not _is_shared(spec, "schema"):
        causes += _schema(f"{path}.schema.openAPIV3Schema", version)
    if not _is_shared(spec, "subresources"):
        causes += _scale(f"{path}.subresources", part(version, "subresources"))
    if not _is_shared(spec, "additionalPrinterColumns"):
        causes += _columns(f"{path}.additionalPrinterColumns", version)
    if not _is_shared(spec, "selectableFields"):
        causes += selectable_causes(f"{path}.selectableFields", version)
    return causes


def _shared(spec: Object) -> list[Cause]:
    """Return the errors in the parts that all versions share."""
    versions = entries(spec, "versions")
    if not versions:
        return []
    causes: list[Cause] = []
    if _is_shared(spec, "schema"):
        causes += _schema("spec.validation.openAPIV3Schema", versions[0])
    if _is_shared(spec, "subresources"):
        causes += _scale("spec.subresources", part(versions[0], "subresources"))
    if _is_shared(spec, "additionalPrinterColumns"):
        causes += _columns("spec.additionalPrinterColumns", versions[0])
    if _is_shared(spec, "selectableFields"):
        causes += selectable_causes("spec.selectableFields", versions[0])
    return causes


def _schema(path: str, version: Object) -> list[Cause]:
    from handloop_sandbox.custom.schema_rules import schema_causes  # noqa: PLC0415 - not needed at start

    schema = part(version, "schema").get("openAPIV3Schema")
    return [] if schema is None else schema_causes(path, schema)


def _names(found: Object) -> list[Cause]:
    causes = [
        required(f"spec.names.{name}")
        for name in ("plural", "singular", "kind", "listKind")
        if not found.get(name)
    ]
    for name in ("plural", "singular"):
        causes += _label(f"spec.names.{name}", found.get(name, ""))
    for name in ("kind", "listKind"):
        value = found.get(name, "")
        wrong = names.dns_1035_label(value.lower()) if value else []
        if wrong:
            text = f"may have mixed case, but should otherwise match: {','.join(wrong)}"
            causes.append(invalid_value(f"spec.names.{name}", value, text))
    for index, name in enumerate(entries(found, "shortNames")):
        causes += _label(f"spec.names.shortNames[{index}]", name)
    if found.get("kind") and found.get("kind") == found.get("listKind"):
        causes.append(
            invalid_value("spec.names.listKind", found["listKind"], "kind and listKind may not be the same")
        )
    for index, name in enumerate(entries(found, "categories")):
        causes += _label(f"spec.names.categories[{index}]", name)
    return causes


def _label(path: str, value: str) -> list[Cause]:
    wrong = names.dns_1035_label(value) if value else []
    return [invalid_value(path, value, ",".join(wrong))] if wrong else []


def _columns(path: str, version: Object) -> list[Cause]:
    causes: list[Cause] = []
    for index, column in enumerate(entries(version, "additionalPrinterColumns")):
        causes += _column(f"{path}[{index}]", column)
    return causes


def _column(path: str, column: Object) -> list[Cause]:
    causes = [] if column.get("name") else [required(f"{path}.name")]
    kind, form = column.get("type", ""), column.get("format", "")
    text = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not kind:
        causes.append(required(f"{path}.type", text))
    elif kind not in _COLUMN_TYPES:
        causes.append(invalid_value(f"{path}.type", kind, text))
    if form and form not in _COLUMN_FORMATS:
        causes.append(invalid_value(f"{path}.format", form, f"must be one of {','.join(_COLUMN_FORMATS)}"))
    return causes + _json_path(f"{path}.JSONPath", column.get("jsonPath", ""))


def _json_path(path: str, value: str) -> list[Cause]:
    if not value:
        return [required(path)]
    if not value.startswith("."):
        return [invalid_value(path, value, "must be a simple json path starting with .")]
    return []


def _scale(path: str, found: Object) -> list[Cause]:
    scale = found.get("scale")
    if scale is None:
        return []
    causes: list[Cause] = []
    for name, root in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        at, value = f"{path}.scale.{name}", scale.get(name, "")
        wrong = _json_path(at, value)
        if not wrong and not value.startswith(f"{root}."):
            wrong = [invalid_value(at, value, f"should be a json path under {root}")]
        causes += wrong
    selector, at = scale.get("labelSelectorPath", ""), f"{path}.scale.labelSelectorPath"
    wrong = _json_path(at, selector) if selector else []
    if selector and not wrong and not selector.startswith((".spec.", ".status.")):
        wrong = [invalid_value(at, selector, "should be a json path under either .spec or .status")]
    return causes + wrong


def _update(new: Object, old: Object) -> list[Cause]:
    after, before = part(new, "spec"), part(old, "spec")
    causes: list[Cause] = []
    if _established(old):
        causes += immutable("spec.scope", after.get("scope"), before.get("scope"))
        kinds = (part(after, "names").get("kind"), part(before, "names").get("kind"))
        causes += immutable("spec.names.kind", *kinds)
    causes += immutable("spec.group", after.get("group"), before.get("group"))
    plurals = (part(after, "names").get("plural"), part(before, "names").get("plural"))
    return causes + immutable("spec.names.plural", *plurals)


def _established(old: Object) -> bool:
    conditions = entries(part(old, "status"), "conditions")
    return any(entry.get("type") == "Established" and entry.get("status") == "True" for entry in conditions)


def _approval(new: Object, group: str) -> list[Cause]:
    """Return an error if the group is protected and the definition lacks a valid approval annotation."""
    if not is_protected(group):
        return []
    path, given = f"metadata.annotations[{APPROVAL}]", part(new, "metadata", "annotations").get(APPROVAL)
    if not given:
        return [required(path, f"{_NEEDED}{_SEE}")]
    if given.startswith("unapproved") or _is_url(given):
        return []
    return [invalid_value(path, given, f"{_NEEDED}{_EITHER}{_SEE}")]


def is_protected(group: str) -> bool:
    """Return whether an API group is reserved for the Kubernetes community."""
    return group.endswith((".k8s.io", ".kubernetes.io")) or group in {"k8s.io", "kubernetes.io"}


def _is_url(text: str) -> bool:
    try:
        url = go_url.parse_request_url(text.partition("#")[0])
    except ValueError:
        return False
    return bool(url.scheme and url.host)


def _stored_versions(new: Object) -> list[Cause]:
    """Return the errors in status.storedVersions, such as versions that the spec no longer has."""
    path, stored = "status.storedVersions", list(entries(part(new, "status"), "storedVersions"))
    if not stored:
        return [invalid_value(path, None, "must have at least one stored version")]
    versions = entries(part(new, "spec"), "versions")
    causes, missing = [], dict.fromkeys(stored)
    for version in versions:
        name = version.get("name", "")
        if version.get("storage") and name not in missing:
            causes.append(invalid_value(path, stored, f"must have the storage version {name}"))
        missing.pop(name, None)
    return causes + [_missing_version(f"{path}[{stored.index(name)}]", name) for name in missing]


def _missing_version(path: str, name: str) -> Cause:
    text = (
        f"missing from spec.versions; {name} was previously a storage version, "
        f"and must remain in spec.versions until a storage migration ensures "
        f"no data remains persisted in {name} "
        f"and removes {name} from status.storedVersions"
    )
    return invalid_value(path, name, text)


_MOST: Final = 8
_SCALARS: Final = ("boolean", "integer", "string")
_NO_SCALAR: Final = (
    "must point to a field of type string, boolean or integer. "
    "Enum string fields and strings with formats are allowed."
)


def selectable_causes(path: str, version: Object) -> list[Cause]:
    """Return the errors in a version's selectableFields."""
    fields = [entry.get("jsonPath", "") for entry in entries(version, "selectableFields")]
    schema = part(version, "schema").get("openAPIV3Schema")
    causes = [too_many(path, len(fields), _MOST)] if len(fields) > _MOST else []
    for index, text in enumerate(fields):
        causes += _field(f"{path}[{index}].jsonPath", text, schema)
        if text and text in fields[:index]:
            causes.append(duplicate(f"{path}[{index}].jsonPath", text))
    return causes


def _field(path: str, text: str, schema: Any) -> list[Cause]:
    if not text:
        return [required(path)]
    if not text.startswith("."):
        return [invalid_value(path, text, f"is an invalid path: expected [ or . but got: {text}")]
    if "[" in text:
        return [invalid_value(path, text, "is an invalid path: array notation is not allowed")]
    for name in text[1:].split("."):
        schema = part(schema, "properties").get(name) if isinstance(schema, dict) else None
    if schema is None:
        return [invalid_value(path, text, "is an invalid path: does not refer to a valid field")]
    return [] if schema.get("type") in _SCALARS else [invalid_value(path, text, _NO_SCALAR)]
