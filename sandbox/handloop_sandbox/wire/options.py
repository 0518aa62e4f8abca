"""
The options of a request, from the query or from a DELETE's body, with a real server's error messages.

Follows: apimachinery pkg/apis/meta/v1 (conversion of query parameters) and internalversion/validation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from handloop_sandbox.grammar.fields import FieldTerm
from handloop_sandbox.grammar.labels import Requirement
from handloop_sandbox.wire import field_selector, label_selector
from handloop_sandbox.wire.causes import (
    forbidden_field,
    invalid_value,
    not_supported,
    quoted,
    required,
    too_long,
)
from handloop_sandbox.wire.query import Query
from handloop_sandbox.wire.status import Cause, StatusError, bad_request, internal_error, invalid_kind

_INTEGER: Final = re.compile(r"[+-]?\d+")
_UNSIGNED: Final = re.compile(r"[0-9]{1,4000}")
_BEYOND: Final = 2**64
_MAX_MANAGER: Final = 128
_PROPAGATIONS: Final = ("Foreground", "Background", "Orphan")


@dataclass(frozen=True, slots=True)
class ListOptions:
    """The options of a list or watch request."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[FieldTerm, ...] = ()
    watch: bool = False
    resource_version: str = ""
    match: str = ""
    limit: int = 0
    continue_token: str = ""
    bookmarks: bool = False
    timeout_seconds: int | None = None
    send_initial_events: bool | None = None

    @property
    def selective(self) -> bool:
        """Whether any selector is set."""
        return bool(self.labels or self.fields)


class WriteOptions(NamedTuple):
    """The options of a create, update or patch request."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = "Warn"
    force: bool = False


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """The options of a delete request. orphan is the deprecated orphanDependents."""

    dry_run: bool = False
    grace_seconds: int | None = None
    propagation: str | None = None
    orphan: bool | None = None
    uid: str | None = None
    resource_version: str | None = None


def list_options(query: Query, *, watch: bool | None = None) -> ListOptions:
    """
    Return the options of a list or watch. If watch is given, it overrides the parameter (for /watch/ paths).

    Raises: StatusError 400 for a value that cannot be parsed, 422 for contradictory options.
    """
    send_initial = query.get("sendInitialEvents")
    numbers = integer(query.get("limit")), integer(query.get("timeoutSeconds"))
    options = ListOptions(
        labels=label_selector.parse(query.get("labelSelector") or ""),
        fields=field_selector.parse(query.get("fieldSelector") or ""),
        watch=boolean(query.get("watch")) if watch is None else watch,
        resource_version=query.get("resourceVersion") or "",
        match=query.get("resourceVersionMatch") or "",
        limit=numbers[0] or 0,
        continue_token=query.get("continue") or "",
        bookmarks=boolean(query.get("allowWatchBookmarks")),
        timeout_seconds=numbers[1],
        send_initial_events=None if send_initial is None else boolean(send_initial),
    )
    if causes := _list_causes(options):
        raise _invalid_options("ListOptions", causes)
    return options


def write_options(query: Query, kind: str, *, apply: bool = False) -> WriteOptions:
    """Return the options of a write request. kind is "CreateOptions", "UpdateOptions" or "PatchOptions"."""
    dry_run = query.all("dryRun")
    manager = query.get("fieldManager") or ""
    validation = query.get("fieldValidation") or ""
    force = query.get("force")
    causes = _patch_causes(force, manager, apply=apply) if kind == "PatchOptions" else []
    causes += [*manager_causes(manager), *_dry_run_causes(dry_run)]
    if validation not in ("", "Ignore", "Warn", "Strict"):
        causes.append(not_supported("fieldValidation", validation, ("", "Ignore", "Strict", "Warn")))
    if causes:
        raise _invalid_options(kind, causes)
    return WriteOptions(bool(dry_run), manager, validation or "Warn", force is not None and boolean(force))


def delete_options(query: Query, body: Mapping[str, Any] | None) -> DeleteOptions:
    """Return the options of a DELETE: from its body or, without a body, from the query."""
    if body is not None:
        return _checked_delete(_delete_from_body(body), body.get("dryRun") or [])
    orphan = query.get("orphanDependents")
    options = DeleteOptions(
        dry_run=bool(query.all("dryRun")),
        grace_seconds=integer(query.get("gracePeriodSeconds")),
        propagation=query.get("propagationPolicy"),
        orphan=None if orphan is None else boolean(orphan),
        uid=query.get("uid"),
        resource_version=query.get("resourceVersion"),
    )
    return _checked_delete(options, query.all("dryRun"))


def _delete_from_body(body: Mapping[str, Any]) -> DeleteOptions:
    preconditions = body.get("preconditions") or {}
    return DeleteOptions(
        dry_run=bool(body.get("dryRun")),
        grace_seconds=body.get("gracePeriodSeconds"),
        propagation=body.get("propagationPolicy"),
        orphan=body.get("orphanDependents"),
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
    )


def _checked_delete(options: DeleteOptions, dry_run: Sequence[str]) -> DeleteOptions:
    causes = [*_dry_run_causes(dry_run), *_propagation_causes(options)]
    if causes:
        raise _invalid_options("DeleteOptions", causes)
    return options


def boolean(value: str | None) -> bool:
    """Return a query parameter as a bool: True unless it is absent, `false` or `0`."""
    return value is not None and value.lower() not in ("false", "0")


def integer(value: str | None) -> int | None:
    """Return a query parameter as an int, or None if it is absent."""
    if value is None:
        return None
    if not _INTEGER.fullmatch(value):
        raise bad_request(f"strconv.ParseInt: parsing {quoted(value)}: invalid syntax")
    number = int(value)
    if not -(2**63) <= number < 2**63:
        raise bad_request(f"strconv.ParseInt: parsing {quoted(value)}: value out of range")
    return number


def unsigned_error(value: str) -> str | None:
    """Return Go's error message for an invalid resource version, or None for a valid one."""
    if _UNSIGNED.fullmatch(value):
        is_large = int(value) >= _BEYOND
        return f"strconv.ParseUint: parsing {quoted(value)}: value out of range" if is_large else None
    return f"strconv.ParseUint: parsing {quoted(value)}: invalid syntax"


def list_resource_version(value: str) -> int | None:
    """Return a list's resource version, or None if it is empty. Raises: StatusError 400 if it is invalid."""
    if not value:
        return None
    if problem := unsigned_error(value):
        cause = invalid_value("resourceVersion", value, problem)
        raise bad_request(f"invalid resource version: {cause.field}: {cause.message}")
    return int(value)


def watch_resource_version(value: str) -> int | None:
    """
    Return the resource version of a get or watch, or None if it is empty.

    Raises: StatusError 500 if it is invalid.
    """
    if not value:
        return None
    if problem := unsigned_error(value):
        cause = invalid_value("resourceVersion", value, problem)
        raise internal_error(f"{cause.field}: {cause.message}")
    return int(value)


def _invalid_options(kind: str, causes: Sequence[Cause]) -> StatusError:
    return invalid_kind("meta.k8s.io", kind, "", causes)


def _list_causes(options: ListOptions) -> list[Cause]:
    if options.watch:
        return _watch_causes(options)
    causes = _match_causes(options)
    if options.send_initial_events is not None:
        causes.append(forbidden_field("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return causes


def _match_causes(options: ListOptions) -> list[Cause]:
    if not options.match:
        return []
    name, causes = "resourceVersionMatch", []
    if not options.resource_version:
        causes.append(forbidden_field(name, f"{name} is forbidden unless resourceVersion is provided"))
    if options.continue_token:
        causes.append(forbidden_field(name, f"{name} is forbidden when continue is provided"))
    if options.match not in ("Exact", "NotOlderThan"):
        causes.append(not_supported(name, options.match, ("Exact", "NotOlderThan", "")))
    if options.match == "Exact" and options.resource_version == "0":
        causes.append(forbidden_field(name, f'{name} "exact" is forbidden for resourceVersion "0"'))
    return causes


def _watch_causes(options: ListOptions) -> list[Cause]:
    name, match = "resourceVersionMatch", options.match
    causes = []
    if options.send_initial_events is None:
        if match:
            text = f"{name} is forbidden for watch unless sendInitialEvents is provided"
            causes.append(forbidden_field(name, text))
    elif match != "NotOlderThan":
        causes.append(forbidden_field(name, f"sendInitialEvents requires setting {name} to NotOlderThan"))
    if match not in ("", "NotOlderThan"):
        causes.append(not_supported(name, match, ("NotOlderThan",)))
    if options.continue_token:
        causes.append(forbidden_field(name, f"{name} is forbidden when continue is provided"))
    return causes


def _dry_run_causes(values: Sequence[str]) -> list[Cause]:
    if set(values) <= {"All"}:
        return []
    return [not_supported("dryRun", list(values), ("All",))]


def manager_causes(manager: str, field: str = "fieldManager") -> list[Cause]:
    """Return the errors in the name of a field manager. Its length and positions are counted in bytes."""
    causes = [too_long(field, _MAX_MANAGER)] if len(manager.encode()) > _MAX_MANAGER else []
    for index, char in enumerate(manager):
        if not char.isprintable():
            place = len(manager[:index].encode())
            text = f"invalid character U+{ord(char):04X} (at position {place})"
            causes.append(invalid_value(field, manager, text))
    return causes


def _patch_causes(force: str | None, manager: str, *, apply: bool) -> list[Cause]:
    if apply and not manager:
        return [required("fieldManager", "is required for apply patch")]
    if not apply and force is not None:
        return [forbidden_field("force", "may not be specified for non-apply patch")]
    return []


def _propagation_causes(options: DeleteOptions) -> list[Cause]:
    field, policy = "propagationPolicy", options.propagation
    if policy is None:
        return []
    causes = []
    if options.orphan is not None:
        text = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(invalid_value(field, policy, text))
    if policy not in _PROPAGATIONS:
        causes.append(not_supported(field, policy, ("Foreground", "Background", "Orphan", "nil")))
    return causes
