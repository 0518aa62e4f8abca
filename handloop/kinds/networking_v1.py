"""networking.k8s.io/v1, complete; made by `python -m tools.generate_kinds`."""

from __future__ import annotations

from handloop.apis.meta import APIStruct, Kind
from handloop.kinds.core_v1 import TypedLocalObjectReference
from handloop.kinds.meta_v1 import Condition, LabelSelector


class IngressClassParametersReference(APIStruct):
    """networking.k8s.io/v1 IngressClassParametersReference."""

    api_group: str | None = None
    kind: str
    name: str
    namespace: str | None = None
    scope: str | None = None


class IngressClassSpec(APIStruct):
    """networking.k8s.io/v1 IngressClassSpec."""

    controller: str | None = None
    parameters: IngressClassParametersReference | None = None


class IngressClass(Kind, group="networking.k8s.io", version="v1", scope="Cluster", partial=False):
    """`kubectl explain ingressclasses.networking.k8s.io`."""

    spec: IngressClassSpec = IngressClassSpec()


class ServiceBackendPort(APIStruct):
    """networking.k8s.io/v1 ServiceBackendPort."""

    name: str | None = None
    number: int | None = None


class IngressServiceBackend(APIStruct):
    """networking.k8s.io/v1 IngressServiceBackend."""

    name: str
    port: ServiceBackendPort = ServiceBackendPort()


class IngressBackend(APIStruct):
    """networking.k8s.io/v1 IngressBackend."""

    resource: TypedLocalObjectReference | None = None
    service: IngressServiceBackend | None = None


class HTTPIngressPath(APIStruct):
    """networking.k8s.io/v1 HTTPIngressPath."""

    backend: IngressBackend
    path: str | None = None
    path_type: str


class HTTPIngressRuleValue(APIStruct):
    """networking.k8s.io/v1 HTTPIngressRuleValue."""

    paths: tuple[HTTPIngressPath, ...]


class IngressRule(APIStruct):
    """networking.k8s.io/v1 IngressRule."""

    host: str | None = None
    http: HTTPIngressRuleValue | None = None


class IngressTLS(APIStruct):
    """networking.k8s.io/v1 IngressTLS."""

    hosts: tuple[str, ...] = ()
    secret_name: str | None = None


class IngressSpec(APIStruct):
    """networking.k8s.io/v1 IngressSpec."""

    default_backend: IngressBackend | None = None
    ingress_class_name: str | None = None
    rules: tuple[IngressRule, ...] = ()
    tls: tuple[IngressTLS, ...] = ()


class IngressPortStatus(APIStruct):
    """networking.k8s.io/v1 IngressPortStatus."""

    error: str | None = None
    port: int
    protocol: str


class IngressLoadBalancerIngress(APIStruct):
    """networking.k8s.io/v1 IngressLoadBalancerIngress."""

    hostname: str | None = None
    ip: str | None = None
    ports: tuple[IngressPortStatus, ...] = ()


class IngressLoadBalancerStatus(APIStruct):
    """networking.k8s.io/v1 IngressLoadBalancerStatus."""

    ingress: tuple[IngressLoadBalancerIngress, ...] = ()


class IngressStatus(APIStruct):
    """networking.k8s.io/v1 IngressStatus."""

    load_balancer: IngressLoadBalancerStatus = IngressLoadBalancerStatus()


class Ingress(Kind, group="networking.k8s.io", version="v1", short_names=("ing",), partial=False):
    """`kubectl explain ingresses.networking.k8s.io`."""

    spec: IngressSpec = IngressSpec()
    status: IngressStatus = IngressStatus()


class ParentReference(APIStruct):
    """networking.k8s.io/v1 ParentReference."""

    group: str | None = None
    name: str
    namespace: str | None = None
    resource: str


class IPAddressSpec(APIStruct):
    """networking.k8s.io/v1 IPAddressSpec."""

    parent_ref: ParentReference


class IPAddress(
    Kind, group="networking.k8s.io", version="v1", scope="Cluster", short_names=("ip",), partial=False
):
    """`kubectl explain ipaddresses.networking.k8s.io`."""

    spec: IPAddressSpec


class NetworkPolicyPort(APIStruct):
    """networking.k8s.io/v1 NetworkPolicyPort."""

    end_port: int | None = None
    port: int | str | None = None
    protocol: str | None = None


class IPBlock(APIStruct):
    """networking.k8s.io/v1 IPBlock."""

    cidr: str
    except_: tuple[str, ...] = ()


class NetworkPolicyPeer(APIStruct):
    """networking.k8s.io/v1 NetworkPolicyPeer."""

    ip_block: IPBlock | None = None
    namespace_selector: LabelSelector | None = None
    pod_selector: LabelSelector | None = None


class NetworkPolicyEgressRule(APIStruct):
    """networking.k8s.io/v1 NetworkPolicyEgressRule."""

    ports: tuple[NetworkPolicyPort, ...] = ()
    to: tuple[NetworkPolicyPeer, ...] = ()


class NetworkPolicyIngressRule(APIStruct):
    """networking.k8s.io/v1 NetworkPolicyIngressRule."""

    from_: tuple[NetworkPolicyPeer, ...] = ()
    ports: tuple[NetworkPolicyPort, ...] = ()


class NetworkPolicySpec(APIStruct):
    """networking.k8s.io/v1 NetworkPolicySpec."""

    egress: tuple[NetworkPolicyEgressRule, ...] = ()
    ingress: tuple[NetworkPolicyIngressRule, ...] = ()
    pod_selector: LabelSelector = LabelSelector()
    policy_types: tuple[str, ...] = ()


class NetworkPolicy(Kind, group="networking.k8s.io", version="v1", short_names=("netpol",), partial=False):
    """`kubectl explain networkpolicies.networking.k8s.io`."""

    spec: NetworkPolicySpec = NetworkPolicySpec()


class ServiceCIDRSpec(APIStruct):
    """networking.k8s.io/v1 ServiceCIDRSpec."""

    cidrs: tuple[str, ...] = ()


class ServiceCIDRStatus(APIStruct):
    """networking.k8s.io/v1 ServiceCIDRStatus."""

    conditions: tuple[Condition, ...] = ()


class ServiceCIDR(Kind, group="networking.k8s.io", version="v1", scope="Cluster", partial=False):
    """`kubectl explain servicecidrs.networking.k8s.io`."""

    spec: ServiceCIDRSpec = ServiceCIDRSpec()
    status: ServiceCIDRStatus = ServiceCIDRStatus()
