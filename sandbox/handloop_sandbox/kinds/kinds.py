"""
The built-in resources: kinds.json, and the parts of each kind's strategy that cannot be generated.

Follows: kubernetes pkg/registry/*/*/strategy.go (generation, unconditional update, create on update) and
pkg/apis/*/v1/conversion.go (selectable fields).
"""

from __future__ import annotations

from functools import cache

from handloop_sandbox.grammar.fields import built_in_fields
from handloop_sandbox.kinds.kind_table import ResourceEntry, SubresourceEntry, resource_entries
from handloop_sandbox.wire.resource import ScalePaths, ServedResource, Subresource

WITH_GENERATION = frozenset(
    {
        ("", "pods"),
        ("", "podtemplates"),
        ("", "replicationcontrollers"),
        ("admissionregistration.k8s.io", "mutatingadmissionpolicies"),
        ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"),
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
        ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
        ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"),
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
        ("apiextensions.k8s.io", "customresourcedefinitions"),
        ("apps", "daemonsets"),
        ("apps", "deployments"),
        ("apps", "replicasets"),
        ("apps", "statefulsets"),
        ("batch", "cronjobs"),
        ("batch", "jobs"),
        ("discovery.k8s.io", "endpointslices"),
        ("flowcontrol.apiserver.k8s.io", "flowschemas"),
        ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"),
        ("networking.k8s.io", "ingressclasses"),
        ("networking.k8s.io", "ingresses"),
        ("networking.k8s.io", "networkpolicies"),
        ("policy", "poddisruptionbudgets"),
        ("resource.k8s.io", "deviceclasses"),
        ("resource.k8s.io", "resourceslices"),
        ("scheduling.k8s.io", "priorityclasses"),
    }
)
CREATED_BY_UPDATE = frozenset(
    {
        ("", "endpoints"),
        ("", "events"),
        ("", "limitranges"),
        ("", "services"),
        ("coordination.k8s.io", "leases"),
        ("events.k8s.io", "events"),
        ("node.k8s.io", "runtimeclasses"),
        ("rbac.authorization.k8s.io", "clusterrolebindings"),
        ("rbac.authorization.k8s.io", "clusterroles"),
        ("rbac.authorization.k8s.io", "rolebindings"),
        ("rbac.authorization.k8s.io", "roles"),
    }
)
UPDATE_NEEDS_RESOURCE_VERSION = frozenset(
    {
        ("admissionregistration.k8s.io", "mutatingadmissionpolicies"),
        ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"),
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
        ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
        ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"),
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
        ("apiextensions.k8s.io", "customresourcedefinitions"),
        ("apiregistration.k8s.io", "apiservices"),
        ("coordination.k8s.io", "leases"),
        ("node.k8s.io", "runtimeclasses"),
        ("policy", "poddisruptionbudgets"),
        ("storage.k8s.io", "csidrivers"),
        ("storage.k8s.io", "csinodes"),
        ("storage.k8s.io", "csistoragecapacities"),
        ("storage.k8s.io", "volumeattachments"),
    }
)
STORAGE_VERSIONS = {("autoscaling", "horizontalpodautoscalers"): "v2"}
DEPRECATIONS = {
    ("", "componentstatuses"): "v1 ComponentStatus is deprecated in v1.19+",
    ("", "endpoints"): "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
}


@cache
def builtin_resources() -> tuple[ServedResource, ...]:
    """Return every built-in resource, in the order of the discovery documents."""
    return tuple(_served(entry) for entry in resource_entries())


def _served(entry: ResourceEntry) -> ServedResource:
    key = (entry.group, entry.plural)
    return ServedResource(
        group=entry.group,
        version=entry.version,
        plural=entry.plural,
        kind=entry.kind,
        list_kind=f"{entry.kind}List",
        singular=entry.singular,
        namespaced=entry.namespaced,
        verbs=entry.verbs,
        storage_version=STORAGE_VERSIONS.get(key, entry.version),
        short_names=entry.short_names,
        categories=entry.categories,
        subresources=tuple(_subresource(sub) for sub in entry.subresources),
        schema={"$ref": entry.schema},
        scale_paths=_scale_paths(entry),
        selectable_fields=built_in_fields(f"{entry.plural}.{entry.group}".rstrip(".")),
        has_generation=key in WITH_GENERATION,
        create_on_update=key in CREATED_BY_UPDATE,
        unconditional_update=key not in UPDATE_NEEDS_RESOURCE_VERSION,
        deprecation_warning=DEPRECATIONS.get(key, ""),
    )


def _subresource(entry: SubresourceEntry) -> Subresource:
    return Subresource(
        name=entry.name, kind=entry.kind, group=entry.group, version=entry.version, verbs=entry.verbs
    )


def _scale_paths(entry: ResourceEntry) -> ScalePaths | None:
    if not any(sub.name == "scale" for sub in entry.subresources):
        return None
    return ScalePaths(".spec.replicas", ".status.replicas", ".spec.selector")
