"""
PodSecurity admission: a namespace's labels set the security level that its pods must meet.

Pods that violate the `enforce` level are refused. Pods and workload templates that violate the `warn` level
(by default, the `enforce` level) cause warnings. The `audit` level has no effect.
Follows: kubernetes k8s.io/pod-security-admission admission/admission.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from handloop_sandbox.requests.call import Call
from handloop_sandbox.rules.pod_security import LEVELS, violations
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.wire.causes import invalid_value
from handloop_sandbox.wire.resource import GroupResource
from handloop_sandbox.wire.status import Cause, invalid

_LABEL: Final = "pod-security.kubernetes.io/"
_MODES: Final = ("enforce", "audit", "warn")
_VERSION: Final = re.compile(r"latest|v1\.(0|[1-9][0-9]*)")
_NAMESPACES: Final = GroupResource("", "namespaces")
_PODS: Final = GroupResource("", "pods")
_TEMPLATES: Final[dict[GroupResource, tuple[str, ...]]] = {
    GroupResource("", "podtemplates"): ("template",),
    GroupResource("batch", "cronjobs"): ("spec", "jobTemplate", "spec", "template"),
    **{
        GroupResource(group, plural): ("spec", "template")
        for group, plural in (
            ("", "replicationcontrollers"),
            ("apps", "daemonsets"),
            ("apps", "deployments"),
            ("apps", "replicasets"),
            ("apps", "statefulsets"),
            ("batch", "jobs"),
        )
    },
}
"""The workloads, each with the path to its pod template."""
_FREE: Final = ("activeDeadlineSeconds", "tolerations")
"""The fields in a pod's spec that can change without another check of the pod."""
_SUBRESOURCES: Final = ("", "ephemeralcontainers", "resize")


class _Level(NamedTuple):
    """A level and its version. str() returns a text such as `restricted:latest`."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name}:{self.version}"


def check(call: Call, obj: Object, old: Object | None = None) -> None:
    """Refuse pods (403) and invalid labels of namespaces (422), or warn about pods and workloads."""
    if call.collection == _PODS and call.path.subresource in _SUBRESOURCES:
        if old is None or _essence(obj) != _essence(old):
            _check_pod(call, obj)
    elif call.path.subresource:
        return
    elif call.collection == _NAMESPACES:
        _check_namespace(call, obj, old)
    elif path := _TEMPLATES.get(call.collection):
        template: Any = obj
        for name in path:
            template = (template or {}).get(name)
        _warn(call, _labels(call), (template or {}).get("spec") or {})


def _essence(pod: Object) -> Object:
    return {name: value for name, value in pod["spec"].items() if name not in _FREE}


def _labels(call: Call) -> dict[str, str]:
    namespace = call.state.get(_NAMESPACES, "", call.namespace) or {"metadata": {}}
    return namespace["metadata"].get("labels") or {}


def _level(labels: dict[str, str], mode: str) -> _Level:
    version = labels.get(f"{_LABEL}{mode}-version", "latest")
    return _Level(labels.get(f"{_LABEL}{mode}", LEVELS[0]), version)


def _check_pod(call: Call, pod: Object) -> None:
    labels = _labels(call)
    enforced = _level(labels, "enforce")
    if found := violations(pod["spec"], enforced.name):
        raise call.refused(pod, f'violates PodSecurity "{enforced}": {_in_full(found)}')
    _warn(call, labels, pod["spec"])


def _warn(call: Call, labels: dict[str, str], spec: Object) -> None:
    level = _level(labels, "warn" if f"{_LABEL}warn" in labels else "enforce")
    if found := violations(spec, level.name):
        call.warn(f'would violate PodSecurity "{level}": {_in_full(found)}')


def _in_full(found: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{title} ({detail})" for title, detail in found)


def _check_namespace(call: Call, namespace: Object, old: Object | None) -> None:
    labels = namespace["metadata"].get("labels") or {}
    if causes := _label_causes(labels):
        raise invalid(call.resource, namespace["metadata"]["name"], causes)
    if old is None:
        return
    new, before = _level(labels, "enforce"), _level(old["metadata"].get("labels") or {}, "enforce")
    ranks = [LEVELS.index(level.name) if level.name in LEVELS else -1 for level in (new, before)]
    if ranks[0] > ranks[1] or new.version != before.version:
        _warn_of_pods(call, new)


def _label_causes(labels: dict[str, str]) -> list[Cause]:
    causes = []
    for mode in _MODES:
        level, version = f"{_LABEL}{mode}", f"{_LABEL}{mode}-version"
        if labels.get(level, LEVELS[0]) not in LEVELS:
            text = f"must be one of {', '.join(LEVELS)}"
            causes.append(invalid_value(f"metadata.labels[{level}]", labels[level], text))
        if not _VERSION.fullmatch(labels.get(version, "latest")):
            text = 'must be "latest" or "v1.x"'
            causes.append(invalid_value(f"metadata.labels[{version}]", labels[version], text))
    return causes


def _warn_of_pods(call: Call, level: _Level) -> None:
    """Warn about pods that violate a new level. Pods with the same violations share one warning."""
    alike: dict[str, list[str]] = {}
    for pod in call.state.list(_PODS, call.name):
        if found := violations(pod["spec"], level.name):
            titles = ", ".join(title for title, _ in found)
            alike.setdefault(titles, []).append(pod["metadata"]["name"])
    if alike:
        call.warn(
            f'existing pods in namespace "{call.name}" violate the new PodSecurity enforce level "{level}"'
        )
    for titles, names in alike.items():
        others = len(names) - 1
        rest = f" (and {others} other pod{'s' if others > 1 else ''})" if others else ""
        call.warn(f"{names[0]}{rest}: {titles}")
