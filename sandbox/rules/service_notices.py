"""
What a client is told about a Service that is accepted.

Follows: kubernetes pkg/api/service/warnings.go; differs: nothing is said about how addresses are written.
"""

from __future__ import annotations

from collections.abc import Iterator

from handloop.sandbox.wire.field_rules import Object

_HINTS = "service.kubernetes.io/topology-aware-hints"
_MODE = "service.kubernetes.io/topology-mode"


def service_notices(service: Object) -> Iterator[str]:
    """The warnings, in order."""
    spec, kind = service["spec"], service["spec"].get("type")
    if _HINTS in (service["metadata"].get("annotations") or {}):
        yield f"annotation {_HINTS} is deprecated, please use {_MODE} instead"
    headless = kind == "ClusterIP" and spec.get("clusterIP") == "None"
    if headless:
        yield from _of_headless(spec)
    if spec.get("externalIPs") and not headless and kind != "ExternalName":
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    if spec.get("externalIPs") and kind == "ExternalName":
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if spec.get("externalName") and kind != "ExternalName":
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
    if spec.get("trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'


def _of_headless(spec: Object) -> Iterator[str]:
    if spec.get("loadBalancerIP"):
        yield "spec.loadBalancerIP is ignored for headless services"
    if spec.get("externalIPs"):
        yield "spec.externalIPs is ignored for headless services"
    if spec.get("sessionAffinity", "None") != "None":
        yield "spec.SessionAffinity is ignored for headless services"
