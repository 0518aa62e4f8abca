"""discovery.k8s.io/v1, complete; made by `python -m tools.generate_kinds`."""

from __future__ import annotations

from handloop.apis.meta import EMPTY_MAP, APIStruct, FrozenMap, Kind
from handloop.kinds.core_v1 import ObjectReference


class EndpointConditions(APIStruct):
    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None


class ForNode(APIStruct):
    name: str


class ForZone(APIStruct):
    name: str


class EndpointHints(APIStruct):
    for_nodes: tuple[ForNode, ...] = ()
    for_zones: tuple[ForZone, ...] = ()


class Endpoint(APIStruct):
    addresses: tuple[str, ...]
    conditions: EndpointConditions = EndpointConditions()
    deprecated_topology: FrozenMap = EMPTY_MAP
    hints: EndpointHints | None = None
    hostname: str | None = None
    node_name: str | None = None
    target_ref: ObjectReference | None = None
    zone: str | None = None


class EndpointPort(APIStruct):
    app_protocol: str | None = None
    name: str | None = None
    port: int | None = None
    protocol: str | None = None


class EndpointSlice(Kind, group="discovery.k8s.io", version="v1", partial=False):
    address_type: str
    endpoints: tuple[Endpoint, ...] = ()
    ports: tuple[EndpointPort, ...] = ()
