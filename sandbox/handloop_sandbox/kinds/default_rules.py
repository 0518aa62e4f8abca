"""
The rules for defaults that depend on other members, and for the default image pull policy.

Follows: kubernetes pkg/apis/*/*/defaults.go, apiextensions-apiserver pkg/apis/apiextensions/v1/defaults.go,
github.com/distribution/reference (ParseNormalizedNamed), kubernetes pkg/util/parsers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from handloop_sandbox.kinds.autoscaler_versions import DEFAULT_UTILIZATION, SCALE_DOWN, SCALE_UP, normal_v1

TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
"""The DaemonSet annotation that counts the changes of its template."""

_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST_PART = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_HOST = rf"(?:{_HOST_PART}(?:\.{_HOST_PART})*|\[[a-fA-F0-9:]+\])"
_NAME = re.compile(
    rf"(?:{_HOST}(?::[0-9]+)?/)?{_COMPONENT}(?:/{_COMPONENT})*"
    r"(?P<tag>:[\w][\w.-]{0,127})?"
    r"(?P<digest>@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?",
    re.ASCII,
)


def tag_of(image: str) -> str:
    """Return an image's tag, `latest` without a tag, or "" for a digest alone or an invalid name."""
    found = _NAME.fullmatch(image)
    if found is None or re.fullmatch(r"[a-f0-9]{64}", image):
        return ""
    if found["tag"]:
        return found["tag"][1:]
    return "" if found["digest"] else "latest"


def pull_policy(image: str) -> str:
    """Return the default imagePullPolicy for a container's image."""
    return "Always" if tag_of(image) == "latest" else "IfNotPresent"


Object = dict[str, Any]
Rule = Callable[[Object], Object]

RULES: dict[str, Rule] = {}
"""The rules by type. A rule returns its argument itself if it changes nothing."""

_APPS, _CORE, _BATCH = "api.apps.v1", "api.core.v1", "api.batch.v1"
_NET, _RBAC = "api.networking.v1", "api.rbac.v1"
_CRD = "apiextensions-apiserver.pkg.apis.apiextensions.v1"


def _rule(kind: str) -> Callable[[Rule], Rule]:
    """Register the rule of a type."""

    def register(rule: Rule) -> Rule:
        RULES[kind] = rule
        return rule

    return register


@_rule(f"{_APPS}.DeploymentSpec")
def _deployment_spec(spec: Object) -> Object:
    return _with_rolling_update(spec, "strategy", {"maxUnavailable": "25%", "maxSurge": "25%"})


@_rule(f"{_APPS}.DaemonSet")
def _daemon_set(daemon_set: Object) -> Object:
    metadata = daemon_set.get("metadata") or {}
    notes = metadata.get("annotations") or {}
    if TEMPLATE_GENERATION in notes:
        return daemon_set
    return {**daemon_set, "metadata": {**metadata, "annotations": {**notes, TEMPLATE_GENERATION: "0"}}}


@_rule(f"{_APPS}.DaemonSetSpec")
def _daemon_set_spec(spec: Object) -> Object:
    return _with_rolling_update(spec, "updateStrategy", {"maxUnavailable": 1, "maxSurge": 0})


def _with_rolling_update(spec: Object, name: str, bounds: Object) -> Object:
    strategy = spec.get(name) or {}
    kind = strategy.get("type") or "RollingUpdate"
    wanted = {**strategy, "type": kind}
    if kind == "RollingUpdate":
        wanted["rollingUpdate"] = _filled(strategy.get("rollingUpdate") or {}, bounds)
    return spec if wanted == strategy else {**spec, name: wanted}


def _filled(obj: Object, values: Object) -> Object:
    return {**obj, **{name: value for name, value in values.items() if obj.get(name) is None}}


@_rule(f"{_APPS}.StatefulSetSpec")
def _stateful_set_spec(spec: Object) -> Object:
    strategy = spec.get("updateStrategy") or {}
    wanted = dict(strategy)
    if not strategy.get("type"):
        wanted |= {"type": "RollingUpdate", "rollingUpdate": strategy.get("rollingUpdate") or {}}
    if wanted["type"] == "RollingUpdate" and wanted.get("rollingUpdate") is not None:
        wanted["rollingUpdate"] = _filled(wanted["rollingUpdate"], {"partition": 0})
    done = spec if wanted == strategy else {**spec, "updateStrategy": wanted}
    claims = spec.get("volumeClaimTemplates") or []
    named_claims = [{"kind": "PersistentVolumeClaim", "apiVersion": "v1", **claim} for claim in claims]
    return done if named_claims == claims else {**done, "volumeClaimTemplates": named_claims}


@_rule(f"{_CORE}.ReplicationController")
def _replication_controller(controller: Object) -> Object:
    spec = controller.get("spec") or {}
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if not labels:
        return controller
    done = controller if spec.get("selector") else {**controller, "spec": {**spec, "selector": dict(labels)}}
    return _with_labels(done, labels)


def _with_labels(obj: Object, labels: Object) -> Object:
    """
    Return the object with these labels if it has none of its own.

    The dict of labels is not copied (for the effect on Jobs, see strategy.py).
    """
    metadata = obj.get("metadata") or {}
    return obj if metadata.get("labels") else {**obj, "metadata": {**metadata, "labels": labels}}


@_rule(f"{_CORE}.Container")
def _container(container: Object) -> Object:
    if container.get("imagePullPolicy"):
        return container
    return {**container, "imagePullPolicy": pull_policy(container.get("image", ""))}


_rule(f"{_CORE}.EphemeralContainer")(_container)


@_rule(f"{_CORE}.Volume")
def _volume(volume: Object) -> Object:
    if all(value is None for name, value in volume.items() if name != "name"):
        return {**volume, "emptyDir": {}}
    image = volume.get("image")
    if image and not image.get("pullPolicy"):
        return {**volume, "image": {**image, "pullPolicy": pull_policy(image.get("reference", ""))}}
    return volume


@_rule(f"{_CORE}.Pod")
def _pod(pod: Object) -> Object:
    spec = pod.get("spec") or {}
    wanted = {**_filled(spec, {"enableServiceLinks": True}), **_containers(spec)}
    return pod if wanted == spec else {**pod, "spec": wanted}


@_rule(f"{_CORE}.PodSpec")
def _pod_spec(spec: Object) -> Object:
    """Return a pod spec in which serviceAccount, the deprecated field, equals serviceAccountName."""
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    done = {**spec, "serviceAccountName": account, "serviceAccount": account} if account else spec
    return spec if done == spec else done


def _containers(spec: Object) -> Object:
    lists = {name: spec[name] for name in ("containers", "initContainers") if spec.get(name)}
    host = bool(spec.get("hostNetwork"))
    return {name: [_pod_container(entry, host=host) for entry in entries] for name, entries in lists.items()}


def _pod_container(container: Object, *, host: bool) -> Object:
    """
    Return a container with the defaults for pods, which pod templates do not have.

    The requests default to the limits. With host networking, hostPort defaults to containerPort.
    """
    done = container
    resources = container.get("resources") or {}
    if limits := resources.get("limits"):
        requests = {**limits, **(resources.get("requests") or {})}
        done = {**done, "resources": {**resources, "requests": requests}}
    if host and container.get("ports"):
        ports = [
            port if port.get("hostPort") else {**port, "hostPort": port["containerPort"]}
            for port in container["ports"]
        ]
        done = {**done, "ports": ports}
    return done


@_rule(f"{_CORE}.ServiceSpec")
def _service_spec(spec: Object) -> Object:
    done = dict(spec)
    kind = done["type"] = spec.get("type") or "ClusterIP"
    affinity = done["sessionAffinity"] = spec.get("sessionAffinity") or "None"
    if affinity == "None":
        done.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP":
        client = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        if client.get("timeoutSeconds") is None:
            done["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": 10800}}
    if spec.get("ports"):
        done["ports"] = [_service_port(port) for port in spec["ports"]]
    external = kind in {"NodePort", "LoadBalancer"} or (kind == "ClusterIP" and spec.get("externalIPs"))
    if external and not spec.get("externalTrafficPolicy"):
        done["externalTrafficPolicy"] = "Cluster"
    if kind != "ExternalName":
        done = _filled(done, {"internalTrafficPolicy": "Cluster"})
    if kind == "LoadBalancer":
        done = _filled(done, {"allocateLoadBalancerNodePorts": True})
    return spec if done == spec else done


def _service_port(port: Object) -> Object:
    done = {**port, "protocol": port.get("protocol") or "TCP"}
    if not done.get("targetPort"):
        done["targetPort"] = port.get("port", 0)
    return done


@_rule(f"{_CORE}.Namespace")
def _namespace(namespace: Object) -> Object:
    metadata = namespace.get("metadata") or {}
    name, labels = metadata.get("name"), metadata.get("labels") or {}
    if not name or labels.get("kubernetes.io/metadata.name") == name:
        return namespace
    return {**namespace, "metadata": {**metadata, "labels": {**labels, "kubernetes.io/metadata.name": name}}}


@_rule(f"{_CORE}.PersistentVolumeClaim")
def _claim(claim: Object) -> Object:
    status = claim.get("status") or {}
    return claim if status.get("phase") else {**claim, "status": {**status, "phase": "Pending"}}


@_rule(f"{_CORE}.TypedLocalObjectReference")
@_rule(f"{_CORE}.TypedObjectReference")
def _typed_reference(reference: Object) -> Object:
    return {**reference, "apiGroup": reference.get("apiGroup")}  # Go encodes this member even if it is nil


@_rule(f"{_CORE}.NodeStatus")
def _node_status(status: Object) -> Object:
    if status.get("allocatable") is None and status.get("capacity"):
        return {**status, "allocatable": status["capacity"]}
    return status


@_rule(f"{_CORE}.LimitRangeItem")
def _limit_range_item(item: Object) -> Object:
    if item.get("type") != "Container":
        return item
    default = {**(item.get("max") or {}), **(item.get("default") or {})}
    request = {**(item.get("min") or {}), **default, **(item.get("defaultRequest") or {})}
    found = {"default": default, "defaultRequest": request}
    return {**item, **{name: value for name, value in found.items() if value}}


@_rule(f"{_CORE}.EndpointPort")
def _endpoint_port(port: Object) -> Object:
    return port if port.get("protocol") else {**port, "protocol": "TCP"}


@_rule(f"{_BATCH}.Job")
def _job(job: Object) -> Object:
    spec = job.get("spec") or {}
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    done = _with_labels(job, labels) if labels else job
    wanted = _job_spec(spec)
    return done if wanted == spec else {**done, "spec": wanted}


def _job_spec(spec: Object) -> Object:
    single = spec.get("completions") is None and spec.get("parallelism") is None
    replacement = "Failed" if spec.get("podFailurePolicy") is not None else "TerminatingOrFailed"
    return _filled(
        spec,
        {
            **({"completions": 1} if single else {}),
            "parallelism": 1,
            "backoffLimit": 6 if spec.get("backoffLimitPerIndex") is None else 2**31 - 1,
            "completionMode": "NonIndexed",
            "suspend": False,
            "podReplacementPolicy": replacement,
            "manualSelector": False,
        },
    )


@_rule("api.autoscaling.v2.HorizontalPodAutoscalerSpec")
def _autoscaler_spec(spec: Object) -> Object:
    done = _filled(spec, {"minReplicas": 1})
    if not spec.get("metrics"):
        utilization = {"type": "Utilization", "averageUtilization": DEFAULT_UTILIZATION}
        done["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": utilization}}]
    behavior = spec.get("behavior")
    if behavior is not None:
        up = _filled(behavior.get("scaleUp") or {}, SCALE_UP)
        down = _filled(behavior.get("scaleDown") or {}, SCALE_DOWN)
        done["behavior"] = {**behavior, "scaleUp": up, "scaleDown": down}
    return spec if done == spec else done


@_rule("api.autoscaling.v1.HorizontalPodAutoscaler")
def _v1_autoscaler(autoscaler: Object) -> Object:
    done = normal_v1(autoscaler)
    return autoscaler if done == autoscaler else done


@_rule("api.resource.v1.ExactDeviceRequest")
def _device_request(request: Object) -> Object:
    mode = request.get("allocationMode") or "ExactCount"
    counted = {"count": request.get("count") or 1} if mode == "ExactCount" else {}
    done = {**request, "allocationMode": mode, **counted}
    return request if done == request else done


_rule("api.resource.v1.DeviceSubRequest")(_device_request)


@_rule(f"{_NET}.NetworkPolicySpec")
def _network_policy_spec(spec: Object) -> Object:
    if spec.get("policyTypes"):
        return spec
    return {**spec, "policyTypes": ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]}


@_rule(f"{_RBAC}.Subject")
def _subject(subject: Object) -> Object:
    if subject.get("apiGroup") or subject.get("kind") not in {"User", "Group"}:
        return subject
    return {**subject, "apiGroup": "rbac.authorization.k8s.io"}


@_rule(f"{_CRD}.CustomResourceDefinition")
def _custom_resource_definition(definition: Object) -> Object:
    spec, status = definition.get("spec") or {}, definition.get("status") or {}
    names = spec.get("names") or {}
    kind = names.get("kind", "")
    wanted = {**names, "singular": names.get("singular") or kind.lower()}
    if kind:
        wanted["listKind"] = names.get("listKind") or f"{kind}List"
    done = definition if wanted == names else {**definition, "spec": {**spec, "names": wanted}}
    stored = [version["name"] for version in spec.get("versions") or () if version.get("storage")][:1]
    if stored and not status.get("storedVersions"):
        done = {**done, "status": {**status, "storedVersions": stored}}
    return done
