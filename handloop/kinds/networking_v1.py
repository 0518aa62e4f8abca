"""networking.k8s.io/v1, complete; made by `python -m tools.generate_kinds`."""

from __future__ import annotations

from handloop.apis.meta import APIStruct, Kind
from handloop.kinds.core_v1 import TypedLocalObjectReference
from handloop.kinds.meta_v1 import Condition, LabelSelector


class IngressClassParametersReference(APIStruct):
    api_group: str | None = None
    kind: str
    name: str
    namespace: str | None = None
    scope: str | None = None


class IngressClassSpec(APIStruct):
    controller: str | None = None
    parameters: IngressClassParametersReference | None = None


class IngressClass(Kind, group="networking.k8s.io", version="v1", scope="Cluster", partial=False):
    spec: IngressClassSpec = IngressClassSpec()


class ServiceBackendPort(APIStruct):
    name: str | None = None
    number: int | None = None


class IngressServiceBackend(APIStruct):
    name: str
    port: ServiceBackendPort = ServiceBackendPort()


class IngressBackend(APIStruct):
    resource: TypedLocalObjectReference | None = None
    service: IngressServiceBackend | None = None


class HTTPIngressPath(APIStruct):
    backend: IngressBackend
    path: str | None = None
    path_type: str


class HTTPIngressRuleValue(APIStruct):
    paths: tuple[HTTPIngressPath, ...]


class IngressRule(APIStruct):
    host: str | None = None
    http: HTTPIngressRuleValue | None = None


class IngressTLS(APIStruct):
    hosts: tuple[str, ...] = ()
    secret_name: str | None = None


class IngressSpec(APIStruct):
    default_backend: IngressBackend | None = None
    ingress_class_name: str | None = None
    rules: tuple[IngressRule, ...] = ()
    tls: tuple[IngressTLS, ...] = ()


class IngressPortStatus(APIStruct):
    error: str | None = None
    port: int
    protocol: str


class IngressLoadBalancerIngress(APIStruct):
    hostname: str | None = None
    ip: str | None = None
    ports: tuple[IngressPortStatus, ...] = ()


class IngressLoadBalancerStatus(APIStruct):
    ingress: tuple[IngressLoadBalancerIngress, ...] = ()


class IngressStatus(APIStruct):
    load_balancer: IngressLoadBalancerStatus = IngressLoadBalancerStatus()


class Ingress(Kind, group="networking.k8s.io", version="v1", short_names=("ing",), partial=False):
    spec: IngressSpec = IngressSpec()
    status: IngressStatus = IngressStatus()


class ParentReference(APIStruct):
    group: str | None = None
    name: str
    namespace: str | None = None
    resource: str


class IPAddressSpec(APIStruct):
    parent_ref: ParentReference


class IPAddress(
    Kind, group="networking.k8s.io", version="v1", scope="Cluster", short_names=("ip",), partial=False
):
    spec: IPAddressSpec


class NetworkPolicyPort(APIStruct):
    end_port: int | None = None
    port: int | str | None = None
    protocol: str | None = None


class IPBlock(APIStruct):
    cidr: str
    except_: tuple[str, ...] = ()


class NetworkPolicyPeer(APIStruct):
    ip_block: IPBlock | None = None
    namespace_selector: LabelSelector | None = None
    pod_selector: LabelSelector | None = None


class NetworkPolicyEgressRule(APIStruct):
    ports: tuple[NetworkPolicyPort, ...] = ()
    to: tuple[NetworkPolicyPeer, ...] = ()


class NetworkPolicyIngressRule(APIStruct):
    from_: tuple[NetworkPolicyPeer, ...] = ()
    ports: tuple[NetworkPolicyPort, ...] = ()


class NetworkPolicySpec(APIStruct):
    egress: tuple[NetworkPolicyEgressRule, ...] = ()
    ingress: tuple[NetworkPolicyIngressRule, ...] = ()
    pod_selector: LabelSelector = LabelSelector()
    policy_types: tuple[str, ...] = ()


class NetworkPolicy(Kind, group="networking.k8s.io", version="v1", short_names=("netpol",), partial=False):
    spec: NetworkPolicySpec = NetworkPolicySpec()


class ServiceCIDRSpec(APIStruct):
    cidrs: tuple[str, ...] = ()


class ServiceCIDRStatus(APIStruct):
    conditions: tuple[Condition, ...] = ()


class ServiceCIDR(Kind, group="networking.k8s.io", version="v1", scope="Cluster", partial=False):
    spec: ServiceCIDRSpec = ServiceCIDRSpec()
    status: ServiceCIDRStatus = ServiceCIDRStatus()
