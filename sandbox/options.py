"""
The parameters of a request: parsed from the query (or a DELETE's body) and checked with the server's words.

Follows: apimachinery pkg/apis/meta/v1 (conversion of query parameters) and internalversion/validation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sandbox import field_selector, label_selector
from sandbox.causes import forbidden_field, invalid_value, not_supported, quoted, shown, too_long
from sandbox.query import Query
from sandbox.status import Cause, StatusError, bad_request, internal_error, invalid_kind

_INTEGER: Final = re.compile(r"[+-]?\d+")
_UNSIGNED: Final = re.compile(r"\d+")
_MAX_MANAGER: Final = 128
_PROPAGATIONS: Final = ("Foreground", "Background", "Orphan")


@dataclass(frozen=True, slots=True)
class ListOptions:
    """Which objects, as of when, how many, and whether to go on watching."""

    labels: tuple[label_selector.Requirement, ...] = ()
    fields: tuple[field_selector.FieldTerm, ...] = ()
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
        """Whether a selector leaves something out."""
        return bool(self.labels or self.fields)


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How to carry out a create, update or patch."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = "Warn"
    force: bool | None = None


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """How to delete; orphan is the deprecated orphanDependents."""

    dry_run: bool = False
    grace_seconds: int | None = None
    propagation: str = ""
    orphan: bool | None = None
    uid: str | None = None
    resource_version: str | None = None
    ignored: tuple[str, ...] = field(default=())


def list_options(query: Query, *, watch: bool | None = None) -> ListOptions:
    """
    The options of a list or watch; watch overrides the parameter (for the /watch/ paths).

    Raises: StatusError 400 for what does not parse, 422 for what contradicts itself.
    """
    send_initial = query.get("sendInitialEvents")
    options = ListOptions(
        labels=label_selector.parse(query.get("labelSelector") or ""),
        fields=field_selector.parse(query.get("fieldSelector") or ""),
        watch=boolean(query.get("watch")) if watch is None else watch,
        resource_version=query.get("resourceVersion") or "",
        match=query.get("resourceVersionMatch") or "",
        limit=integer(query.get("limit")) or 0,
        continue_token=query.get("continue") or "",
        bookmarks=boolean(query.get("allowWatchBookmarks")),
        timeout_seconds=integer(query.get("timeoutSeconds")),
        send_initial_events=None if send_initial is None else boolean(send_initial),
    )
    if causes := _list_causes(options):
        raise _invalid_options("ListOptions", causes)
    return options


def write_options(query: Query, kind: str) -> WriteOptions:
    """The options of a create ("CreateOptions"), update or patch."""
    dry_run = query.all("dryRun")
    manager = query.get("fieldManager") or ""
    validation = query.get("fieldValidation") or ""
    force = query.get("force")
    causes = [*_dry_run_causes(dry_run), *_manager_causes(manager)]
    if kind == "PatchOptions" and force is not None:
        causes += _force_causes(query, manager)
    if validation not in ("", "Ignore", "Warn", "Strict"):
        causes.append(not_supported("fieldValidation", validation, ("", "Ignore", "Strict", "Warn")))
    if causes:
        raise _invalid_options(kind, causes)
    return WriteOptions(bool(dry_run), manager, validation or "Warn", None if force is None else boolean(force))


def delete_options(query: Query, body: Mapping[str, Any]) -> DeleteOptions:
    """The options of a DELETE: those of the body, else those of the query."""
    grace = body.get("gracePeriodSeconds", integer(query.get("gracePeriodSeconds")))
    preconditions = body.get("preconditions") or {}
    orphan = body.get("orphanDependents")
    if orphan is None and query.get("orphanDependents") is not None:
        orphan = boolean(query.get("orphanDependents"))
    options = DeleteOptions(
        dry_run=bool(body.get("dryRun") or query.all("dryRun")),
        grace_seconds=grace,
        propagation=body.get("propagationPolicy") or query.get("propagationPolicy") or "",
        orphan=orphan,
        uid=preconditions.get("uid", query.get("uid")),
        resource_version=preconditions.get("resourceVersion", query.get("resourceVersion")),
    )
    causes = [*_dry_run_causes(body.get("dryRun") or query.all("dryRun")), *_propagation_causes(options)]
    if causes:
        raise _invalid_options("DeleteOptions", causes)
    return options


def boolean(value: str | None) -> bool:
    """A query parameter as a boolean: everything but absence, `false` and `0` is true."""
    return value is not None and value.lower() not in ("false", "0")


def integer(value: str | None) -> int | None:
    """A query parameter as a number, None when absent or empty."""
    if not value:
        return None
    if not _INTEGER.fullmatch(value):
        raise bad_request(f"strconv.ParseInt: parsing {quoted(value)}: invalid syntax")
    return int(value)


def unsigned_error(value: str) -> str | None:
    """Go's complaint about a text that is no resource version; None when it is one."""
    if _UNSIGNED.fullmatch(value):
        return None
    return f"strconv.ParseUint: parsing {quoted(value)}: invalid syntax"


def list_resource_version(value: str) -> int | None:
    """The resource version of a list; None when it is not given. Raises: StatusError 400."""
    if not value:
        return None
    if problem := unsigned_error(value):
        cause = invalid_value("resourceVersion", value, problem)
        raise bad_request(f"invalid resource version: {cause.field}: {cause.message}")
    return int(value)


def watch_resource_version(value: str) -> int | None:
    """The resource version of a get or watch; None when it is not given. Raises: StatusError 500."""
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
        if match:
            causes.append(not_supported(name, match, ("NotOlderThan",)))
    if options.continue_token:
        causes.append(forbidden_field(name, f"{name} is forbidden when continue is provided"))
    return causes


def _dry_run_causes(values: Sequence[str]) -> list[Cause]:
    if not values or list(values) == ["All"]:
        return []
    return [not_supported("dryRun", list(values), ("All",))]


def _manager_causes(manager: str) -> list[Cause]:
    causes = [too_long("fieldManager", _MAX_MANAGER)] if len(manager) > _MAX_MANAGER else []
    for index, char in enumerate(manager):
        if not char.isprintable():
            text = f"should only contain printable characters (position {index})"
            causes.append(invalid_value("fieldManager", manager, text))
    return causes


def _force_causes(query: Query, manager: str) -> list[Cause]:
    del query, manager
    return []


def _propagation_causes(options: DeleteOptions) -> list[Cause]:
    policy = options.propagation
    if not policy:
        return []
    if options.orphan is not None:
        text = "orphanDependents and deletionPropagation cannot be both set"
        return [invalid_value("propagationPolicy", policy, text)]
    if policy not in _PROPAGATIONS:
        return [not_supported("propagationPolicy", policy, ("Foreground", "Background", "Orphan", "nil"))]
    return []


def shown_list(values: Sequence[str]) -> str:
    """A list as messages show it."""
    return shown(list(values))
