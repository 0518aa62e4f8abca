"""Objects of the kinds that the sandbox stores without an effect, small, with what a server makes of them."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

Object = dict[str, Any]

GROUP: Final = "stored.contract.example.com"
_HOOKS, _STORAGE = "admissionregistration.k8s.io/v1", "storage.k8s.io/v1"
_FLOW, _DEVICES, _NET = "flowcontrol.apiserver.k8s.io/v1", "resource.k8s.io/v1", "networking.k8s.io/v1"
_RULE: Final = {
    "apiGroups": [GROUP],
    "apiVersions": ["v1"],
    "resources": ["things"],
    "operations": ["CREATE"],
}
_SERVICE: Final = {"service": {"name": "s", "namespace": "default"}}
_WEBHOOK: Final = {
    "name": f"a.{GROUP}",
    "clientConfig": _SERVICE,
    "rules": [_RULE],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}
_FULL_RULE: Final = {**_RULE, "scope": "*"}
_ALL: Final = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
_FULL_WEBHOOK: Final = {
    **_WEBHOOK,
    **_ALL,
    "clientConfig": {"service": {**_SERVICE["service"], "port": 443}},
    "rules": [_FULL_RULE],
    "failurePolicy": "Fail",
    "timeoutSeconds": 10,
}
_MATCHED: Final = {"resourceRules": [_RULE]}
_FULL_MATCHED: Final = {**_ALL, "resourceRules": [_FULL_RULE]}
_EXPRESSION: Final = "[JSONPatch{op: 'test', path: '/a', value: 1}]"
_PATCH: Final = {"patchType": "JSONPatch", "jsonPatch": {"expression": _EXPRESSION}}
_MUTATION: Final = {"reinvocationPolicy": "Never", "mutations": [_PATCH]}
_BINDING: Final = {"policyName": "stored", "validationActions": ["Deny"]}
_USER: Final = {
    "subjects": [{"kind": "User", "user": {"name": "x"}}],
    "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}],
}
_EXACT: Final = {"allocationMode": "ExactCount", "count": 1}
_API: Final = {"group": GROUP, "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 10}


class StoredKind(NamedTuple):
    """One kind: path, object without its metadata, defaulted members, and the cells between name and age."""

    plural: str
    api_version: str
    kind: str
    given: Object
    found: Object
    cells: list[Any]
    namespaced: bool = False
    name: str = "stored"

    def path(self, namespace: str) -> str:
        """The collection."""
        inner = f"/namespaces/{namespace}" if self.namespaced else ""
        return f"/apis/{self.api_version}{inner}/{self.plural}"

    def new(self, name: str) -> Object:
        """The object to create."""
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "metadata": {"name": name},
            **self.given,
        }


def _spec(given: Object, **defaults: Any) -> tuple[Object, Object]:
    return {"spec": given}, {"spec": {**given, **defaults}}


STORED_KINDS: Final = (
    StoredKind(
        "validatingwebhookconfigurations",
        _HOOKS,
        "ValidatingWebhookConfiguration",
        {"webhooks": [_WEBHOOK]},
        {"webhooks": [_FULL_WEBHOOK]},
        [1],
    ),
    StoredKind(
        "mutatingwebhookconfigurations",
        _HOOKS,
        "MutatingWebhookConfiguration",
        {"webhooks": [_WEBHOOK]},
        {"webhooks": [{**_FULL_WEBHOOK, "reinvocationPolicy": "Never"}]},
        [1],
    ),
    StoredKind(
        "validatingadmissionpolicies",
        _HOOKS,
        "ValidatingAdmissionPolicy",
        *_spec(
            {"matchConstraints": _MATCHED, "validations": [{"expression": "true"}]},
            matchConstraints=_FULL_MATCHED,
            failurePolicy="Fail",
        ),
        [1, "<unset>"],
    ),
    StoredKind(
        "validatingadmissionpolicybindings",
        _HOOKS,
        "ValidatingAdmissionPolicyBinding",
        *_spec({**_BINDING, "matchResources": _MATCHED}, matchResources=_FULL_MATCHED),
        ["stored", "<unset>"],
    ),
    StoredKind(
        "mutatingadmissionpolicies",
        _HOOKS,
        "MutatingAdmissionPolicy",
        *_spec(
            {**_MUTATION, "matchConstraints": _MATCHED},
            matchConstraints=_FULL_MATCHED,
            failurePolicy="Fail",
        ),
        [1, "<unset>"],
    ),
    StoredKind(
        "mutatingadmissionpolicybindings",
        _HOOKS,
        "MutatingAdmissionPolicyBinding",
        *_spec({"policyName": "stored"}),
        ["stored", "<unset>"],
    ),
    StoredKind(
        "apiservices",
        "apiregistration.k8s.io/v1",
        "APIService",
        *_spec(_API),
        ["Local", "True"],
        name=f"v1.{GROUP}",
    ),
    StoredKind(
        "csidrivers",
        _STORAGE,
        "CSIDriver",
        *_spec(
            {},
            attachRequired=True,
            podInfoOnMount=False,
            storageCapacity=False,
            fsGroupPolicy="ReadWriteOnceWithFSType",
            volumeLifecycleModes=["Persistent"],
            requiresRepublish=False,
            seLinuxMount=False,
        ),
        [True, False, False, "<unset>", False, "Persistent"],
    ),
    StoredKind(
        "csinodes",
        _STORAGE,
        "CSINode",
        *_spec({"drivers": [{"name": "d", "nodeID": "n", "topologyKeys": ["k"]}]}),
        [1],
    ),
    StoredKind(
        "volumeattachments",
        _STORAGE,
        "VolumeAttachment",
        *_spec({"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "pv"}}),
        ["a", "pv", "n", False],
    ),
    StoredKind(
        "volumeattributesclasses",
        _STORAGE,
        "VolumeAttributesClass",
        {"driverName": "d", "parameters": {"a": "b"}},
        {"driverName": "d", "parameters": {"a": "b"}},
        ["d"],
    ),
    StoredKind("runtimeclasses", "node.k8s.io/v1", "RuntimeClass", {"handler": "h"}, {"handler": "h"}, ["h"]),
    StoredKind(
        "flowschemas",
        _FLOW,
        "FlowSchema",
        *_spec({"priorityLevelConfiguration": {"name": "exempt"}, "rules": [_USER]}, matchingPrecedence=1000),
        ["exempt", 1000, "<none>"],
    ),
    StoredKind(
        "prioritylevelconfigurations",
        _FLOW,
        "PriorityLevelConfiguration",
        *_spec(
            {"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {}}}},
            limited={
                "nominalConcurrencyShares": 30,
                "lendablePercent": 0,
                "limitResponse": {
                    "type": "Queue",
                    "queuing": {"queues": 64, "handSize": 8, "queueLengthLimit": 50},
                },
            },
        ),
        ["Limited", 30, 64, 8, 50],
    ),
    StoredKind(
        "ipaddresses",
        _NET,
        "IPAddress",
        *_spec({"parentRef": {"resource": "things", "group": GROUP, "name": "x", "namespace": "default"}}),
        [f"things.{GROUP}/default/x"],
        name="10.0.77.5",
    ),
    StoredKind("servicecidrs", _NET, "ServiceCIDR", *_spec({"cidrs": ["10.0.77.0/24"]}), ["10.0.77.0/24"]),
    StoredKind(
        "deviceclasses",
        _DEVICES,
        "DeviceClass",
        *_spec({"selectors": [{"cel": {"expression": "true"}}]}),
        [],
    ),
    StoredKind(
        "resourceclaims",
        _DEVICES,
        "ResourceClaim",
        *_spec(
            {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}},
            devices={"requests": [{"name": "r", "exactly": {"deviceClassName": "c", **_EXACT}}]},
        ),
        ["pending"],
        namespaced=True,
    ),
    StoredKind(
        "resourceclaimtemplates",
        _DEVICES,
        "ResourceClaimTemplate",
        *_spec(
            {"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}},
            metadata={},
            spec={"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c", **_EXACT}}]}},
        ),
        [],
        namespaced=True,
    ),
    StoredKind(
        "resourceslices",
        _DEVICES,
        "ResourceSlice",
        *_spec(
            {
                "driver": "d.example.com",
                "nodeName": "n",
                "pool": {"name": "p", "resourceSliceCount": 1, "generation": 1},
                "devices": [{"name": "x"}],
            }
        ),
        ["n", "d.example.com", "p"],
    ),
)
