"""Objects that change a server's own ways, and that it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from support.builders.misfits import Misfit, Object

_GROUP: Final = "admissionregistration.k8s.io/v1"
_RULE: Final[Object] = {
    "operations": ["CREATE"],
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["pods"],
}
_HOOK: Final[Object] = {
    "name": "a.b.c",
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
    "clientConfig": {"url": "https://a"},
}
_POLICY: Final[Object] = {
    "matchConstraints": {"resourceRules": [_RULE]},
    "validations": [{"expression": "true"}],
}


def _hooks(complaint: str, **members: Any) -> Misfit:
    content = {"webhooks": [{**_HOOK, **members}]}
    complaints = [f"webhooks[0].{complaint}"]
    kind, plural = "MutatingWebhookConfiguration", "mutatingwebhookconfigurations"
    return Misfit(_GROUP, kind, plural, content, complaints, cluster=True)


def _ruled(complaint: str, **members: Any) -> Misfit:
    return _hooks(f"rules[0].{complaint}", rules=[{**_RULE, **members}])


def _client(complaint: str, **config: Any) -> Misfit:
    return _hooks(f"clientConfig{complaint}", clientConfig=config)


def _policy(*complaints: str, **spec: Any) -> Misfit:
    told = [f"spec.{complaint}" for complaint in complaints]
    kind, plural = "ValidatingAdmissionPolicy", "validatingadmissionpolicies"
    return Misfit(_GROUP, kind, plural, {"spec": {**_POLICY, **spec}}, told, cluster=True)


def _binding(*complaints: str, **spec: Any) -> Misfit:
    told = [f"spec.{complaint}" for complaint in complaints]
    kind, plural = "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"
    content = {"spec": {"policyName": "a", "validationActions": ["Deny"], **spec}}
    return Misfit(_GROUP, kind, plural, content, told, cluster=True)


def _service(*complaints: str, **spec: Any) -> Misfit:
    content = {"spec": {"version": "a", "groupPriorityMinimum": 1, "versionPriority": 1, **spec}}
    told = ["metadata.name: Invalid", *complaints]
    group = "apiregistration.k8s.io/v1"
    return Misfit(group, "APIService", "apiservices", content, told, cluster=True)


def _misfits() -> Iterator[Misfit]:
    yield _hooks('name: Invalid value: "a.b": should be a domain with at least three', name="a.b")
    yield _hooks('sideEffects: Unsupported value: "Some"', sideEffects="Some")
    yield _hooks("failurePolicy: Unsupported", failurePolicy="x")
    yield _hooks("timeoutSeconds: Invalid value: 31", timeoutSeconds=31)
    yield _hooks('admissionReviewVersions: Invalid value: ["v2"]', admissionReviewVersions=["v2"])
    yield _hooks("matchConditions[0].name: Required", matchConditions=[{"name": "", "expression": "true"}])
    service = {"name": "a", "namespace": "b"}
    yield _client(": Required value: exactly one of url or service", url="https://a", service=service)
    yield _client('.url: Invalid value: "http"', url="http://a")
    yield _client(".service.path: Invalid", service={"name": "a", "namespace": "b", "path": "/a//b"})
    yield _client(".service.name: Required", service={"name": "a", "namespace": ""})
    yield _ruled("operations: Required", operations=[])
    yield _ruled("operations[0]: Unsupported", operations=["x"])
    yield _ruled('apiGroups: Invalid value: ["*","a"]', apiGroups=["*", "a"])
    yield _ruled('resources[1]: Invalid value: "pods/log"', resources=["pods/*", "pods/log"])
    yield _ruled("scope: Unsupported", scope="x")
    yield _policy("matchConstraints: Required", matchConstraints=None)
    yield _policy("validations: Required", "auditAnnotations: Required", validations=[])
    yield _policy("validations[0].message: Invalid", validations=[{"expression": "true", "message": "a\nb"}])
    yield _policy("paramKind.kind: Required", paramKind={"apiVersion": "v1", "kind": ""})
    yield _binding("policyName: Required", policyName="")
    yield _binding("validationActions: Invalid", validationActions=["Deny", "Warn"])
    yield _binding("paramRef.parameterNotFoundAction: Required", paramRef={"name": "a"})
    yield _service("spec.group: Required value: only v1 may have an empty group")
    yield _service("spec.versionPriority: Invalid value: 0", group="g", versionPriority=0)
    yield _service("spec.insecureSkipTLSVerify: Invalid", group="g", insecureSkipTLSVerify=True)


ADMISSION_MISFITS: Final = tuple(_misfits())
