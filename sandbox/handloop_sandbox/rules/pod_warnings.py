"""
The warnings about valid pods and pod templates.

Follows: kubernetes pkg/api/pod/warnings.go, pkg/api/node/util.go, pkg/api/job/warnings.go, and the strategies
of pkg/registry. Differs: there are no warnings about pod certificates or the spelling of IP addresses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import ceil
from typing import Any, Final

from handloop_sandbox.grammar.quantity import parse_quantity
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.wire.names import dns_1123_label, label_value
from handloop_sandbox.wire.quantity import canonical

_TEMPLATES: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("", "podtemplates"): ("template",),
    ("", "replicationcontrollers"): ("spec", "template"),
    ("apps", "daemonsets"): ("spec", "template"),
    ("apps", "deployments"): ("spec", "template"),
    ("apps", "replicasets"): ("spec", "template"),
    ("apps", "statefulsets"): ("spec", "template"),
    ("batch", "cronjobs"): ("spec", "jobTemplate", "spec", "template"),
    ("batch", "jobs"): ("spec", "template"),
}
_NAMED_FREELY: Final = (("", "podtemplates"), ("apps", "daemonsets"), ("apps", "statefulsets"))
KINDS: Final = (("", "pods"), *_TEMPLATES)
_SURPRISE: Final = "which can result in surprising behavior; a DNS label is recommended"
_OLD_LABELS: Final = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": (
        'deprecated since v1.17; use "topology.kubernetes.io/region" instead'
    ),
    "failure-domain.beta.kubernetes.io/zone": (
        'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    ),
    "beta.kubernetes.io/instance-type": (
        'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'
    ),
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": (
        "deprecated since v1.22; use Taints and Tolerations instead"
    ),
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_SYSCTLS: Final = 'non-functional in v1.11+; use the "sysctls" field instead'
_OLD_ANNOTATIONS: Final = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": _SYSCTLS,
    "security.alpha.kubernetes.io/unsafe-sysctls": _SYSCTLS,
}
_OLD_VOLUMES: Final = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_SHOWN: Final = {"storageos": "storageOS"}
_BYTES: Final = ("memory", "ephemeral-storage")
_SECCOMP: Final = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_OLD_PROFILES: Final = (
    ("seccompProfile", "container.seccomp.security.alpha.kubernetes.io", _SECCOMP),
    (
        "appArmorProfile",
        "container.apparmor.security.beta.kubernetes.io",
        'deprecated since v1.30; use the "appArmorProfile" field instead',
    ),
)
_NO_POD: Final = "a null labelSelector results in matching no pod"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def pod_notices(group_resource: tuple[str, str], obj: Object, old: Object | None) -> Iterator[str]:
    """
    Yield the warnings about a pod or workload.

    An update of a workload omits the warnings about its template if metadata.generation is unchanged.
    """
    if group_resource not in _TEMPLATES:
        if old is None:
            yield from _about_name(obj, "the Pod's hostname")
        yield from _about(obj, "")
        return
    if old is None and group_resource not in _NAMED_FREELY:
        yield from _about_name(obj, "Pod names and hostnames")
    if old is None or _generation(obj) != _generation(old):
        path = _TEMPLATES[group_resource]
        template: Any = obj
        for step in path:
            template = (template or {}).get(step)
        yield from _about(template or {}, ".".join(path) + ".")
    limit = obj.get("spec", {}).get("revisionHistoryLimit")
    if group_resource == ("apps", "statefulsets") and limit is not None and limit < 0:
        yield (
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; "
            "a value >= 0 is recommended"
        )


def _generation(obj: Object) -> Any:
    return obj["metadata"].get("generation")


def _about_name(obj: Object, where: str) -> Iterator[str]:
    if errors := dns_1123_label(obj["metadata"].get("name", "")):
        yield f"metadata.name: this is used in {where}, {_SURPRISE}: [{' '.join(errors)}]"


def _about(template: Object, path: str) -> Iterator[str]:
    spec = template.get("spec") or {}
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    inside = f"{path}spec."
    yield from _about_nodes(spec, inside)
    for key, text in _OLD_ANNOTATIONS.items():
        if key in annotations:
            yield f"{path}metadata.annotations[{key}]: {text}"
    yield from _about_volumes(spec, inside)
    yield from _about_lists(spec, inside)
    yield from _fractions(spec.get("overhead"), f"{inside}overhead", ("memory", "ephemeral-storage"))
    if not _profile(spec) and "seccomp.security.alpha.kubernetes.io/pod" in annotations:
        yield f"{path}metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: {_SECCOMP}"
    for container, where in _containers(spec, inside):
        yield from _about_container(container, where, annotations, path)
    yield from _about_ports(spec, inside)
    grace = spec.get("terminationGracePeriodSeconds")
    if grace is not None and grace < 0:
        yield (
            f"{inside}terminationGracePeriodSeconds: must be >= 0; "
            "negative values are invalid and will be treated as 1"
        )
    yield from _about_affinity(spec.get("affinity") or {}, f"{inside}affinity.")


def _about_nodes(spec: Object, path: str) -> Iterator[str]:
    for key in spec.get("nodeSelector") or {}:
        if key in _OLD_LABELS:
            yield f"{path}nodeSelector[{key}]: {_OLD_LABELS[key]}"
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    where = f"{path}affinity.nodeAffinity."
    terms = (affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()
    for number, term in enumerate(terms):
        yield from _about_term(term, f"{where}{_REQUIRED}.nodeSelectorTerms[{number}]")
    for number, each in enumerate(affinity.get(_PREFERRED) or ()):
        at, preference = f"{where}{_PREFERRED}[{number}].preference", each.get("preference") or {}
        yield from _about_term(preference, at, values=True)
    for number, spread in enumerate(spec.get("topologySpreadConstraints") or ()):
        at, key = f"{path}topologySpreadConstraints[{number}]", spread.get("topologyKey", "")
        if key in _OLD_LABELS:
            yield f"{at}.topologyKey: {key} is {_OLD_LABELS[key]}"
        if spread.get("labelSelector") is None:
            yield f"{at}.labelSelector: {_NO_POD}"


def _about_term(term: Object, path: str, *, values: bool = False) -> Iterator[str]:
    for number, expression in enumerate(term.get("matchExpressions") or ()):
        at, key = f"{path}.matchExpressions[{number}]", expression.get("key", "")
        if key in _OLD_LABELS:
            yield f"{at}.key: {key} is {_OLD_LABELS[key]}"
        for index, value in enumerate(expression.get("values") or () if values else ()):
            for error in label_value(value):
                yield f"{at}.values[{index}]: {value} is invalid, {error}"


def _about_volumes(spec: Object, path: str) -> Iterator[str]:
    volumes = spec.get("volumes") or ()
    for number, volume in enumerate(volumes):
        for name, text in _OLD_VOLUMES.items():
            if volume.get(name) is not None:
                yield f"{path}volumes[{number}].{_SHOWN.get(name, name)}: {text}"
    for volume in volumes:
        yield from _overlaps(volume)


def _overlaps(volume: Object) -> Iterator[str]:
    """Yield the warnings about files in a volume whose paths are equal or nested."""
    for name, what in (("configMap", "ConfigMap"), ("secret", "Secret"), ("downwardAPI", "DownwardAPI")):
        source = volume.get(name) or {}
        of = source.get("secretName" if name == "secret" else "name")
        told = what if name == "downwardAPI" else f'{what} "{of or ""}"'
        for one, other in _colliding((item.get("path", ""), "") for item in source.get("items") or ()):
            yield f'volume "{volume.get("name")}" ({told}): overlapping paths: {one} with {other}'
    projected = volume.get("projected")
    if projected is None:
        return
    files: list[tuple[str, str]] = []
    for source in projected.get("sources") or ():
        if not any(part is not None for part in source.values()):
            yield f'volume "{volume.get("name")}" (Projected) has no sources provided'
        files += _files(source)
    for one, other in _colliding(files):
        yield f'volume "{volume.get("name")}" (Projected): overlapping paths: {one} with {other}'


def _files(source: Object) -> Iterator[tuple[str, str]]:
    """Yield the path of each file in a projected source, together with the source's name."""
    for name, what in (("configMap", "ConfigMap"), ("secret", "Secret"), ("downwardAPI", "DownwardAPI")):
        part = source.get(name) or {}
        told = what if name == "downwardAPI" else f'{what} "{part.get("name", "")}"'
        yield from ((item.get("path", ""), told) for item in part.get("items") or ())
    if (token := source.get("serviceAccountToken")) is not None:
        yield token.get("path", ""), "ServiceAccountToken"
    if (bundle := source.get("clusterTrustBundle")) is not None:
        name = bundle.get("name") or bundle.get("signerName", "")
        yield bundle.get("path", ""), f'ClusterTrustBundle "{name}"'


def _colliding(files: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    before: list[tuple[str, str]] = []
    for given, source in files:
        path = given.rstrip("/")
        for other, its_source in before:
            if path and _meet(path, other):
                yield _shown(path, source), _shown(other, its_source)
        before.append((path, source))


def _meet(path: str, other: str) -> bool:
    return path == other or path.startswith(f"{other}/") or other.startswith(f"{path}/")


def _shown(path: str, source: str) -> str:
    return f'"{path}" ({source})' if source else f'"{path}"'


def _about_lists(spec: Object, path: str) -> Iterator[str]:
    for name, field, what in (("hostAliases", "ip", "ip"), ("imagePullSecrets", "name", "name")):
        seen: set[str] = set()
        for number, item in enumerate(spec.get(name) or ()):
            value = item.get(field, "")
            if value in seen:
                yield f'{path}{name}[{number}].{field}: duplicate {what} "{value}"'
            seen.add(value)
    for number, item in enumerate(spec.get("imagePullSecrets") or ()):
        if not item.get("name"):
            yield f'{path}imagePullSecrets[{number}].name: invalid empty name ""'


def _fractions(amounts: Mapping[str, Any] | None, path: str, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        given = (amounts or {}).get(name)
        if given is not None and ceil(parse_quantity(str(given)) * 1000) % 1000:
            text = canonical(str(given))
            yield f'{path}[{name}]: fractional byte value "{text}" is invalid, must be an integer'


def _profile(holder: Object, member: str = "seccompProfile") -> Any:
    return (holder.get("securityContext") or {}).get(member)


def _containers(spec: Object, path: str) -> Iterator[tuple[Object, str]]:
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for number, container in enumerate(spec.get(kind) or ()):
            yield container, f"{path}{kind}[{number}]"


def _about_container(
    container: Object, where: str, annotations: Mapping[str, str], path: str
) -> Iterator[str]:
    for member, prefix, text in _OLD_PROFILES:
        key = f"{prefix}/{container.get('name')}"
        if not _profile(container, member) and key in annotations:
            yield f"{path}metadata.annotations[{key}]: {text}"
    resources = container.get("resources") or {}
    for name in _BYTES:
        for part in ("limits", "requests"):
            yield from _fractions(resources.get(part), f"{where}.resources.{part}", (name,))
    seen: set[str] = set()
    for number, variable in enumerate(container.get("env") or ()):
        name = variable.get("name", "")
        if name in seen and _hides(variable, f"$({name})"):
            yield (
                f'{where}.env[{number}]: hides previous definition of "{name}", '
                "which may be dropped when using apply"
            )
        seen.add(name)


def _hides(variable: Object, reference: str) -> bool:
    value = variable.get("value") or ""
    return variable.get("valueFrom") is not None or value == reference or reference not in value


def _about_ports(spec: Object, path: str) -> Iterator[str]:
    seen: dict[tuple[Any, Any], list[tuple[Object, str]]] = {}
    for container, where in _containers(spec, path):
        for number, port in enumerate(container.get("ports") or ()):
            at = f"{where}.ports[{number}]"
            if port.get("hostIP") and not port.get("hostPort"):
                yield f"{at}: hostIP set without hostPort: {_in_go(port)}"
            others = seen.setdefault((port.get("containerPort"), port.get("protocol")), [])
            for other, there in others:
                if (clash := _clash(port, other)) is not None:
                    yield f"{at}: {clash} port definition with {there}"
            others.append((port, at))
    names: dict[str, str] = {}
    for container, where in _containers(spec, path):
        for number, port in enumerate(container.get("ports") or ()):
            name, at = port.get("name"), f"{where}.ports[{number}]"
            if name and (first := names.setdefault(name, at)) != at:
                yield (
                    f'{at}: duplicate port name "{name}" with {first}, '
                    f"services and probes that select ports by name will use {first}"
                )


def _clash(port: Object, other: Object) -> str | None:
    address, number = port.get("hostIP") or "", port.get("hostPort") or 0
    its_address, its_number = other.get("hostIP") or "", other.get("hostPort") or 0
    if (address, number) == (its_address, its_number):
        return "duplicate"
    if not number or not its_number:
        return "overlapping"
    is_ambiguous = number == its_number and (not address) != (not its_address)
    return "dangerously ambiguous" if is_ambiguous else None


def _in_go(port: Object) -> str:
    """Return a container port as Go prints its struct."""
    fields = ("name", "hostPort", "containerPort", "protocol", "hostIP")
    values = (port.get(name) or (0 if name.endswith("Port") else "") for name in fields)
    return "{" + " ".join(f"{n[0].upper()}{n[1:]}:{v}" for n, v in zip(fields, values, strict=True)) + "}"


def _about_affinity(affinity: Object, path: str) -> Iterator[str]:
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        for number, term in enumerate(terms.get(_REQUIRED) or ()):
            if term.get("labelSelector") is None:
                yield f"{path}{kind}.{_REQUIRED}[{number}].labelSelector: {_NO_POD}"
        for number, weighted in enumerate(terms.get(_PREFERRED) or ()):
            if (weighted.get("podAffinityTerm") or {}).get("labelSelector") is None:
                yield f"{path}{kind}.{_PREFERRED}[{number}].podAffinityTerm.labelSelector: {_NO_POD}"
