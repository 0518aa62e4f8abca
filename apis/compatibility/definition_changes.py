"""
Compares the old and the new definition of a kind, and reports how clients and stored objects are affected.

Follows: crdify's validators for definitions, single versions and served versions. The rest follows the
server, which decodes an object in the request's version, stores it in the storage version, and copies no
fields between versions if the conversion strategy is None.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Final

from handloop.apis.compatibility.finding import BREAKS, WARNS, Finding, Severity
from handloop.apis.compatibility.schema_changes import lost_paths, schema_changes

Definition = Mapping[str, Any]

_NAMES: Final[Mapping[str, Severity]] = {
    "kind": BREAKS,
    "plural": BREAKS,
    "listKind": BREAKS,
    "singular": WARNS,
}


class NotADefinitionError(ValueError):
    """A document is not a CustomResourceDefinition of apiextensions.k8s.io/v1."""


def definition_changes(old: Definition, new: Definition) -> list[Finding]:
    """
    Return the findings about a changed definition, in which the breaking changes come first.

    Raises: NotADefinitionError if one of the documents is not a CustomResourceDefinition.
    """
    found = [*_findings(old, new)]
    return sorted(found, key=lambda each: (each.severity != BREAKS, each.version, each.path, each.rule))


def _findings(old: Definition, new: Definition) -> Iterator[Finding]:
    before, after = _spec(old), _spec(new)
    yield from _about_names(before, after)
    yield from _about_versions(old, before, after)
    yield from _about_conversion(before, after)
    were, are = _versions(before), _versions(after)
    for name, version in are.items():
        if name in were:
            changes = schema_changes(_schema(were[name]), _schema(version))
            yield from (replace(each, version=name) for each in changes)
            yield from (replace(each, version=name) for each in _about_version(were[name], version))
    known = {(each.rule, each.version, each.path) for each in _between(before)}
    yield from (each for each in _between(after) if (each.rule, each.version, each.path) not in known)


def _spec(definition: Definition) -> Mapping[str, Any]:
    try:
        spec: Mapping[str, Any] = definition["spec"]
        if not (spec["group"] and spec["names"]["kind"] and [each["name"] for each in spec["versions"]]):
            raise NotADefinitionError("it has no versions")
    except (KeyError, TypeError, IndexError) as error:
        raise NotADefinitionError(f"it lacks {error}") from error
    return spec


def _versions(spec: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {each["name"]: each for each in spec["versions"]}


def _schema(version: Mapping[str, Any]) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    return schema


def _about_names(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Finding]:
    if before["group"] != after["group"]:
        text = "another group makes it another kind, and the old kind's objects are not moved"
        yield Finding("group", BREAKS, "", before["group"], after["group"], text)
    for key, severity in _NAMES.items():
        was, is_ = before["names"].get(key), after["names"].get(key)
        if was != is_ and is_ is not None:
            yield Finding("names", severity, "", was, is_, f"{key} changed from {was} to {is_}")
    for key in ("shortNames", "categories"):
        gone = [
            name for name in before["names"].get(key) or () if name not in (after["names"].get(key) or ())
        ]
        if gone:
            yield Finding("names", WARNS, "", gone, None, f"gone from {key}: {', '.join(gone)}")
    if before.get("scope") != after.get("scope"):
        text = "the scope cannot be changed: the server refuses it"
        yield Finding("scope", BREAKS, "", before.get("scope"), after.get("scope"), text)


def _about_versions(
    old: Definition, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[Finding]:
    were, are = _versions(before), _versions(after)
    status = old.get("status") or {}
    stored = status.get("storedVersions") or [name for name, each in were.items() if each.get("storage")]
    for name in stored:
        if name not in are:
            text = f"objects are stored in {name}: the server refuses the definition until they are migrated"
            yield Finding("stored-version", BREAKS, "", name, None, text, version=name)
    unknown = () if status.get("storedVersions") else were.keys() - are.keys() - {*stored}  # as in a file
    for name in unknown:
        text = f"{name} was removed: the server refuses the definition while status.storedVersions lists it"
        yield Finding("stored-version", WARNS, "", name, None, text, version=name)
    for name, version in were.items():
        if version.get("served") and not are.get(name, {}).get("served"):
            text = f"{name} is no longer served: its clients get 404"
            yield Finding("served-version", BREAKS, "", True, False, text, version=name)
    first, second = ([n for n, each in found.items() if each.get("storage")] for found in (were, are))
    if first != second and second:
        text = f"objects are stored as {second[0]} from their next write on, instead of {', '.join(first)}"
        yield Finding("storage-version", WARNS, "", first, second, text)


def _about_conversion(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Finding]:
    was, is_ = _strategy(before), _strategy(after)
    if was != is_ and len(after["versions"]) > 1:
        text = "fields that differ between versions are erased" if is_ == "None" else "a webhook must be up"
        severity: Severity = BREAKS if is_ == "None" else WARNS
        yield Finding("conversion", severity, "", was, is_, f"the strategy is {is_}: {text}")


def _strategy(spec: Mapping[str, Any]) -> str:
    strategy: str = (spec.get("conversion") or {}).get("strategy") or "None"
    return strategy


def _about_version(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Finding]:
    """Return findings about the parts of a version other than its schema."""
    before, after = old.get("subresources") or {}, new.get("subresources") or {}
    if "status" in before and "status" not in after:
        text = "the status subresource was removed: writes to it get 404"
        yield Finding("status", BREAKS, "status", {}, None, text)
    if "status" in after and "status" not in before:
        text = "a status subresource was added: a status in writes to the object itself is silently ignored"
        yield Finding("status", BREAKS, "status", None, {}, text)
    if "scale" in before and not _is_part(before["scale"] or {}, after.get("scale") or {}):
        text = "scale changed: kubectl scale and autoscalers use it"
        yield Finding("scale", BREAKS, "", before["scale"], after.get("scale"), text)
    fields, others = (
        [each.get("jsonPath") for each in version.get("selectableFields") or ()] for version in (old, new)
    )
    if gone := [path for path in fields if path not in others]:
        text = f"field selectors were removed for {', '.join(gone)}: lists that use them get 400"
        yield Finding("selectable-fields", BREAKS, "", fields, others, text)
    columns, others = (
        [each.get("name") for each in version.get("additionalPrinterColumns") or ()] for version in (old, new)
    )
    if gone := [name for name in columns if name not in others]:
        yield Finding("columns", WARNS, "", columns, others, f"gone from kubectl get: {', '.join(gone)}")
    if new.get("deprecated") and not old.get("deprecated"):
        yield Finding("deprecated", WARNS, "", False, True, "each response carries a warning now")


def _is_part(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(other.get(key) == value for key, value in one.items())


def _between(spec: Mapping[str, Any]) -> Iterator[Finding]:
    """Return findings about the served versions of one definition, compared with each other."""
    if _strategy(spec) != "None":
        return
    served: Sequence[Mapping[str, Any]] = [each for each in spec["versions"] if each.get("served")]
    stored = next((each for each in spec["versions"] if each.get("storage")), None)
    if stored is not None:
        for version in served:
            if version is not stored:
                yield from _lost(version, stored)
    for one, other in combinations(served, 2):
        where = f"{one['name']} -> {other['name']}"
        for each in schema_changes(_schema(one), _schema(other)):
            if each.rule not in ("field", "description"):
                yield replace(each, rule=f"versions-{each.rule}", severity=WARNS, version=where)


def _lost(version: Mapping[str, Any], stored: Mapping[str, Any]) -> Iterator[Finding]:
    name, there = version["name"], stored["name"]
    for path in lost_paths(_schema(version), _schema(stored)):
        text = (
            f"a value set through {name} is erased, because objects are stored as {there}, which lacks the "
            "field"
        )
        yield Finding("erased", BREAKS, path, name, None, text, version=name)
    for path in lost_paths(_schema(stored), _schema(version)):
        text = f"a write through {name} erases the value, because that version lacks the field"
        yield Finding("unseen", WARNS, path, there, None, text, version=name)
