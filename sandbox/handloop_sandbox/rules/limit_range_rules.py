"""
Validation rules for LimitRanges: their types, resource names, and contradictory amounts.

Follows: kubernetes pkg/apis/core/validation/validation.go (ValidateLimitRange).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from handloop_sandbox.grammar.quantity import parse_quantity
from handloop_sandbox.rules.quota_rules import resource_name
from handloop_sandbox.wire import names
from handloop_sandbox.wire.causes import duplicate, forbidden_field, invalid_value, required
from handloop_sandbox.wire.field_rules import Object, all_invalid, entries, part
from handloop_sandbox.wire.quantity import canonical
from handloop_sandbox.wire.status import Cause

_TYPES: Final = frozenset({"Pod", "Container", "PersistentVolumeClaim"})
_OF_CONTAINERS: Final = ("cpu", "memory", "ephemeral-storage")
_MEMBERS: Final = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
_NOT_OF_PODS: Final = ("default", "defaultRequest")


class _Comparison(NamedTuple):
    """A check that `less` does not exceed `more`, with the field and value that its error reports."""

    less: str
    more: str
    field: str
    shown: str
    text: str


_COMPARISONS: Final = (
    _Comparison("min", "max", "min", "min", "min value {} is greater than max value {}"),
    _Comparison(
        "min",
        "defaultRequest",
        "defaultRequest",
        "defaultRequest",
        "min value {} is greater than default request value {}",
    ),
    _Comparison(
        "defaultRequest",
        "max",
        "defaultRequest",
        "defaultRequest",
        "default request value {} is greater than max value {}",
    ),
    _Comparison(
        "defaultRequest",
        "default",
        "defaultRequest",
        "defaultRequest",
        "default request value {} is greater than default limit value {}",
    ),
    _Comparison("min", "default", "default", "min", "min value {} is greater than default value {}"),
    _Comparison("default", "max", "default", "max", "default value {} is greater than max value {}"),
)


def limit_range(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for a LimitRange."""
    del old, subresource
    causes: list[Cause] = []
    seen: set[str] = set()
    for index, item in enumerate(entries(part(new, "spec"), "limits")):
        path, kind = f"spec.limits[{index}]", item.get("type", "")
        causes += _type(f"{path}.type", kind)
        if kind in seen:
            causes.append(duplicate(f"{path}.type", kind))
        seen.add(kind)
        causes += _item(path, kind, item)
    return causes


def _type(path: str, kind: str) -> list[Cause]:
    causes = all_invalid(path, kind, names.qualified_name(kind))
    if causes or "/" in kind or kind in _TYPES:
        return causes
    return [invalid_value(path, kind, "must be a standard limit type or fully qualified")]


def _item(path: str, kind: str, item: Object) -> Iterator[Cause]:
    for member in _MEMBERS:
        if kind == "Pod" and member in _NOT_OF_PODS:
            if item.get(member):
                yield forbidden_field(f"{path}.{member}", "may not be specified when `type` is 'Pod'")
            continue
        for name in sorted(part(item, member)):
            yield from _name(f"{path}.{member}[{name}]", kind, name)
    if kind == "PersistentVolumeClaim" and not any("storage" in part(item, m) for m in ("min", "max")):
        text = "either minimum or maximum storage value is required, but neither was provided"
        yield required(f"{path}.limits", text)
    for name in dict.fromkeys(name for member in _MEMBERS for name in sorted(part(item, member))):
        amounts = {m: canonical(str(part(item, m)[name])) for m in _MEMBERS if name in part(item, m)}
        yield from _compared(path, name, amounts)


def _name(path: str, kind: str, name: str) -> list[Cause]:
    causes = resource_name(path, name)
    is_known = name in _OF_CONTAINERS or name.startswith("hugepages-") or "/" in name
    if kind in {"Pod", "Container"} and not is_known:
        causes.append(invalid_value(path, name, "must be a standard resource for containers"))
    return causes


def _compared(path: str, name: str, amounts: dict[str, str]) -> Iterator[Cause]:
    for check in _COMPARISONS:
        less, more = amounts.get(check.less), amounts.get(check.more)
        if less is not None and more is not None and parse_quantity(less) > parse_quantity(more):
            at = f"{path}.{check.field}[{name}]"
            yield invalid_value(at, amounts[check.shown], check.text.format(less, more))
    if ratio := amounts.get("maxLimitRequestRatio"):
        yield from _ratio(f"{path}.maxLimitRequestRatio[{name}]", ratio, amounts)
    default, request = amounts.get("default"), amounts.get("defaultRequest")
    is_whole = "/" in name or name.startswith("hugepages-")
    if is_whole and default and request and parse_quantity(default) != parse_quantity(request):
        text = f"default value {default} must equal to defaultRequest value {request} in {name}"
        yield invalid_value(f"{path}.defaultRequest[{name}]", request, text)


def _ratio(at: str, ratio: str, amounts: dict[str, str]) -> Iterator[Cause]:
    if parse_quantity(ratio) < 1:
        yield invalid_value(at, ratio, f"ratio {ratio} is less than 1")
    least, most = (parse_quantity(amounts.get(member, "0")) for member in ("min", "max"))
    if least and most and parse_quantity(ratio) > most / least:
        text = f"ratio {ratio} is greater than max/min = {float(most / least):f}"
        yield invalid_value(at, ratio, text)
