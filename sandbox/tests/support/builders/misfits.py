"""Objects of built-in kinds that a server refuses, each with the fields that it complains of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from handloop_sandbox.kinds.defaults import default_object
from handloop_sandbox.kinds.kinds import builtin_resources
from handloop_sandbox.rules.validation import validate

Object = dict[str, Any]

_RESOURCES: Final = {(found.api_version, found.plural): found for found in builtin_resources()}
_NETWORK: Final = "networking.k8s.io/v1"


class Misfit(NamedTuple):
    """An object's kind and content, and each complaint as `field: beginning of the message`."""

    api_version: str
    kind: str
    plural: str
    content: Object
    complaints: list[str]
    cluster: bool = False

    def path(self, namespace: str) -> str:
        """Where its kind is."""
        root = f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"
        return f"{root}/{self.plural}" if self.cluster else f"{root}/namespaces/{namespace}/{self.plural}"

    def made(self) -> Object:
        """The object."""
        content = dict(self.content)
        metadata = {**content.pop("metadata", {}), "name": "a"}
        return {"apiVersion": self.api_version, "kind": self.kind, "metadata": metadata, **content}

    def check(self, causes: Iterable[tuple[str, str]]) -> None:
        """Assert that these complaints, each a field and a message, are the expected ones."""
        told = sorted(f"{field}: {message}" for field, message in causes)
        assert len(told) == len(self.complaints), told
        assert all(map(str.startswith, told, sorted(self.complaints))), told

    def check_rules(self) -> None:
        """Assert that the rules, without a server, have the expected complaints."""
        resource = _RESOURCES[self.api_version, self.plural]
        found = validate(resource, default_object(resource, self.made()), None)
        self.check((cause.field, cause.message) for cause in found)


_BACKEND: Final[Object] = {"service": {"name": "s", "port": {"number": 80}}}
_PATH: Final = "spec.rules[0].http.paths[0]"


def _ingress(spec: Object, *complaints: str, **metadata: Any) -> Misfit:
    content = {"metadata": metadata, "spec": spec}
    return Misfit(_NETWORK, "Ingress", "ingresses", content, list(complaints))


def _at(complaint: str, **changes: Any) -> Misfit:
    entry = {"path": "/", "pathType": "Prefix", "backend": _BACKEND, **changes}
    return _ingress({"rules": [{"host": "a.b", "http": {"paths": [entry]}}]}, f"{_PATH}{complaint}")


def _serving(complaint: str, **service: Any) -> Misfit:
    return _at(f".backend{complaint}", backend={"service": {**_BACKEND["service"], **service}})


def _class(spec: Object, *complaints: str) -> Misfit:
    return Misfit(_NETWORK, "IngressClass", "ingressclasses", {"spec": spec}, list(complaints), cluster=True)


def _policy(complaint: str, **spec: Any) -> Misfit:
    content = {"spec": {"podSelector": {}, **spec}}
    return Misfit(_NETWORK, "NetworkPolicy", "networkpolicies", content, [complaint])


def _block(complaint: str, **block: Any) -> Misfit:
    return _policy(f"spec.ingress[0].from[0].ipBlock{complaint}", ingress=[{"from": [{"ipBlock": block}]}])


def _port(complaint: str, **port: Any) -> Misfit:
    return _policy(f"spec.ingress[0].ports[0]{complaint}", ingress=[{"ports": [port]}])


def _network() -> Iterator[Misfit]:
    yield _ingress({}, "spec: Invalid value: null: either `defaultBackend` or `rules` must be specified")
    yield _ingress({"defaultBackend": {}}, 'spec.defaultBackend: Invalid value: "": resource or service')
    yield _ingress({"rules": [{"http": {"paths": []}}]}, "spec.rules[0].http.paths: Required value")
    for host, words in (
        ("1.2.3.4", "must be a DNS name, not an IP address"),
        ("A.b", "a lowercase RFC 1123 subdomain"),
        ("*", "a wildcard DNS-1123 subdomain"),
        ("a.*.b", "a wildcard DNS-1123 subdomain"),
    ):
        yield _ingress({"rules": [{"host": host}]}, f'spec.rules[0].host: Invalid value: "{host}": {words}')
    yield _ingress(
        {"tls": [{"hosts": ["A_b"], "secretName": "S_"}], "rules": [{"host": "a.b"}]},
        "spec.tls[0].hosts[0]: Invalid value",
        "spec.tls[0].secretName: Invalid value",
    )
    yield _ingress(
        {"ingressClassName": "a", "rules": [{"host": "a.b"}]},
        'annotations.kubernetes.io/ingress.class: Invalid value: "x": must match `ingressClassName`',
        annotations={"kubernetes.io/ingress.class": "x"},
    )
    yield _at(".pathType: Required value: pathType must be specified", pathType=None)
    yield _at('.pathType: Unsupported value: "x"', pathType="x")
    yield _at('.path: Invalid value: "x": must be an absolute path', path="x")
    yield _at('.path: Invalid value: "": must be an absolute path', path=None, pathType="Exact")
    yield _at(".path: Invalid value: \"/a//b\": must not contain '//'", path="/a//b")
    yield _at(".path: Invalid value: \"/a/..\": cannot end with '/..'", path="/a/..")
    both = {**_BACKEND, "resource": {"kind": "k", "name": "n"}}
    yield _at('.backend: Invalid value: "": cannot set both resource and service', backend=both)
    yield _at(".backend.resource.kind: Required value", backend={"resource": {"name": "n"}})
    yield _serving(".service.name: Required value", name="")
    yield _serving(": Required value: port name or number is required", port={})
    yield _serving(': Invalid value: "": cannot set both port name', port={"number": 80, "name": "x"})
    yield _serving(".service.port.number: Invalid value: 70000", port={"number": 70000})
    yield _serving('.service.port.name: Invalid value: "NOT_ok"', port={"name": "NOT_ok"})
    yield _class({}, "spec.controller: Required value")
    yield _class({"controller": "x"}, 'spec.controller: Invalid value: "x": must be a domain-prefixed path')
    yield _class({"controller": f"a.b/{'x' * 260}"}, "spec.controller: Too long")
    for parameters, complaint in (
        ({"kind": "k", "name": ""}, "name: Required value"),
        ({"kind": "k", "name": "n", "scope": "x"}, 'scope: Unsupported value: "x"'),
        ({"kind": "k", "name": "n", "scope": "Namespace"}, "namespace: Required value"),
        ({"kind": "k", "name": "n", "scope": "Cluster", "namespace": "x"}, "namespace: Forbidden"),
    ):
        yield _class({"controller": "a.b/c", "parameters": parameters}, f"spec.parameters.{complaint}")
    yield _policy('spec.policyTypes[0]: Unsupported value: "x"', policyTypes=["x"])
    yield _policy("spec.policyTypes: Invalid value", policyTypes=["Ingress", "Egress", "Ingress"])
    yield _policy("spec.podSelector.matchLabels: Invalid value", podSelector={"matchLabels": {"a b": "c"}})
    yield _policy("spec.ingress[0].from[0]: Required value: must specify a peer", ingress=[{"from": [{}]}])
    peer = {"ipBlock": {"cidr": "10.0.0.0/8"}, "podSelector": {}}
    yield _policy("spec.egress[0].to[0]: Forbidden: may not specify both", egress=[{"to": [peer]}])
    yield _block(".cidr: Required value")
    yield _block('.cidr: Invalid value: "x": must be a valid CIDR value', cidr="x")
    yield _block('.except[0]: Invalid value: "x"', cidr="10.0.0.0/8", **{"except": ["x"]})
    yield _block('.except[0]: Invalid value: "11.0.0.0/8"', cidr="10.0.0.0/8", **{"except": ["11.0.0.0/8"]})
    yield _port(".port: Invalid value: 70000", port=70000)
    yield _port('.protocol: Unsupported value: "x"', protocol="x")
    yield _port(".endPort: Invalid value: 5: may not be specified when `port` is not specified", endPort=5)
    yield _port(".endPort: Invalid value: 5: may not be specified when `port` is non-n", port="a", endPort=5)
    yield _port(".endPort: Invalid value: 10: must be greater", port=10, endPort=5)


def _claim(complaint: str, **spec: Any) -> Misfit:
    good = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    content = {"spec": {**good, **spec}}
    return Misfit("v1", "PersistentVolumeClaim", "persistentvolumeclaims", content, [complaint])


def _volume(*complaints: str, **spec: Any) -> Misfit:
    good = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
    content = {"spec": {**good, **spec}}
    return Misfit("v1", "PersistentVolume", "persistentvolumes", content, list(complaints), cluster=True)


def _storage_class(complaint: str, **content: Any) -> Misfit:
    made = {"provisioner": "p/q", **content}
    where = "storage.k8s.io/v1"
    return Misfit(where, "StorageClass", "storageclasses", made, [complaint], cluster=True)


def _storage() -> Iterator[Misfit]:
    yield _claim('spec.accessModes: Unsupported value: "x"', accessModes=["x"])
    yield _claim("spec.accessModes: Required value: at least 1 access mode is required", accessModes=[])
    alone = ["ReadWriteOncePod", "ReadWriteOnce"]
    yield _claim("spec.accessModes: Forbidden: may not use ReadWriteOncePod", accessModes=alone)
    yield _claim("spec.resources[storage]: Required value", resources={})
    empty = {"requests": {"storage": "0"}}
    yield _claim('spec.resources[storage]: Invalid value: "0": must be greater than zero', resources=empty)
    yield _claim('spec.storageClassName: Invalid value: "A_"', storageClassName="A_")
    yield _claim('spec.volumeMode: Unsupported value: "x"', volumeMode="x")
    yield _claim("spec.selector.matchLabels: Invalid value", selector={"matchLabels": {"a b": "c"}})
    yield _volume("spec.accessModes: Required value", accessModes=[])
    yield _volume("spec.capacity: Required value", "spec.capacity: Unsupported value: null", capacity=None)
    yield _volume('spec.capacity: Unsupported value: {"cpu":"1"}', capacity={"cpu": "1"})
    yield _volume('spec.capacity[storage]: Invalid value: "0"', capacity={"storage": "0"})
    yield _volume("spec: Required value: must specify a volume type", hostPath=None)
    yield _volume("spec.nfs: Forbidden: may not specify more than 1", nfs={"server": "a", "path": "/"})
    yield _volume("spec.hostPath.path: Required value", hostPath={"path": ""})
    yield _volume('spec.hostPath.path: Invalid value: "/a/.."', hostPath={"path": "/a/.."})
    yield _volume("spec.nodeAffinity: Required value", hostPath=None, local={"path": "/x"})
    yield _volume(
        'spec.persistentVolumeReclaimPolicy: Unsupported value: "x"', persistentVolumeReclaimPolicy="x"
    )
    yield _storage_class("provisioner: Required value", provisioner="")
    yield _storage_class('reclaimPolicy: Unsupported value: "Recycle"', reclaimPolicy="Recycle")
    yield _storage_class('volumeBindingMode: Unsupported value: "x"', volumeBindingMode="x")
    yield _storage_class('parameters: Invalid value: "": field can not be empty.', parameters={"": "x"})


NETWORK_MISFITS: Final = tuple(_network())
STORAGE_MISFITS: Final = tuple(_storage())
