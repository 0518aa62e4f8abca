"""
What the addresses and families of a Service have to be among themselves.

Follows: kubernetes pkg/apis/core/validation/validation.go (ValidateServiceClusterIPsRelatedFields).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Any, Final

from handloop.sandbox.wire.causes import duplicate, invalid_value, not_supported
from handloop.sandbox.wire.field_rules import Object, entries
from handloop.sandbox.wire.status import Cause

_ADDRESS: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_FAMILIES: Final = ("IPv4", "IPv6")
_FAMILY_POLICIES: Final = ("PreferDualStack", "RequireDualStack", "SingleStack")
_FIELD: Final = "spec.clusterIPs"
_MOST: Final = 2
_ONE_EACH: Final = "may specify no more than one IP for each IP family"
_ONLY_NONE: Final = "'None' must be the first and only value"


def address_causes(spec: Object, before: Object | None = None) -> list[Cause]:
    """Everything wrong with addresses, families and their policy; what was there before may stay."""
    addresses = list(entries(spec, "clusterIPs"))
    causes = _first(spec.get("clusterIP", ""), addresses) + _families(spec)
    wrong = _each(addresses, entries(before or {}, "clusterIPs"))
    if len(addresses) > _MOST:
        wrong.append(invalid_value(_FIELD, addresses, "may only hold up to 2 values"))
    return causes + (wrong or _together(addresses, list(entries(spec, "ipFamilies"))))


def ip_address(path: str, address: str, *, text: str = _ADDRESS) -> list[Cause]:
    """An IPv4 or IPv6 address."""
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return [invalid_value(path, address, text)]
    return []


def _first(address: str, addresses: list[str]) -> list[Cause]:
    if not address and addresses:
        return [invalid_value(_FIELD, addresses, "must be empty when `clusterIP` is not specified")]
    if address and addresses and addresses[0] != address:
        return [invalid_value(_FIELD, addresses, "first value must match `clusterIP`")]
    return []


def _families(spec: Object) -> list[Cause]:
    causes: list[Cause] = []
    families, policy = entries(spec, "ipFamilies"), spec.get("ipFamilyPolicy")
    for index, family in enumerate(families):
        path = f"spec.ipFamilies[{index}]"
        causes += [] if family in _FAMILIES else [not_supported(path, family, _FAMILIES)]
        causes += [duplicate(path, family)] if family in families[:index] else []
    if policy is not None and policy not in _FAMILY_POLICIES:
        causes.append(not_supported("spec.ipFamilyPolicy", policy, _FAMILY_POLICIES))
    return causes


def _each(addresses: list[str], known: Sequence[str]) -> list[Cause]:
    causes: list[Cause] = []
    for index, address in enumerate(addresses):
        if index == 0 and address == "None":
            causes += [invalid_value(_FIELD, addresses, _ONLY_NONE)] if len(addresses) > 1 else []
        elif address not in known:
            causes += ip_address(f"{_FIELD}[{index}]", address)
    return causes


def _together(addresses: list[str], families: list[Any]) -> list[Cause]:
    if addresses[:1] == ["None"]:
        return []
    causes = []
    if len(addresses) != len({":" in address for address in addresses}):
        causes.append(invalid_value(_FIELD, addresses, _ONE_EACH))
    for index, (address, family) in enumerate(zip(addresses, families, strict=False)):
        if family in _FAMILIES and (family == "IPv6") != (":" in address):
            text = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            causes.append(invalid_value(f"{_FIELD}[{index}]", address, text))
    return causes
