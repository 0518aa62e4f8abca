"""
Validation rules by kind, for built-in objects and their names. Other metadata is validated elsewhere.

Rules exist for the kinds that the sandbox simulates and for those that operators create most often. Other
kinds are not checked.
Follows: kubernetes pkg/registry strategies (they choose the validation for create, update and status).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from handloop_sandbox.custom import definition_rules
from handloop_sandbox.rules import (
    admission_policy_rules,
    endpoint_rules,
    event_rules,
    job_rules,
    limit_range_rules,
    network_rules,
    pod_rules,
    quota_rules,
    role_rules,
    scaling_rules,
    service_rules,
    storage_rules,
    webhook_rules,
)
from handloop_sandbox.rules import cluster_rules as cluster
from handloop_sandbox.rules import workload_rules as workload
from handloop_sandbox.wire import names
from handloop_sandbox.wire.field_rules import Object
from handloop_sandbox.wire.resource import ServedResource
from handloop_sandbox.wire.status import Cause

Rules = Callable[[Object, Object | None, str], list[Cause]]
NameRule = Callable[[str, bool], list[str]]

_ADMISSION: Final = "admissionregistration.k8s.io"
RULES: Final[Mapping[tuple[str, str], Rules]] = {
    ("", "configmaps"): cluster.config_map,
    ("", "endpoints"): endpoint_rules.endpoints,
    ("", "events"): event_rules.event,
    ("", "persistentvolumeclaims"): storage_rules.claim,
    ("", "persistentvolumes"): storage_rules.volume,
    ("", "pods"): pod_rules.pod,
    ("", "podtemplates"): workload.pod_template,
    ("", "replicationcontrollers"): workload.replication_controller,
    ("", "limitranges"): limit_range_rules.limit_range,
    ("", "resourcequotas"): quota_rules.quota,
    ("", "secrets"): cluster.secret,
    ("", "services"): service_rules.service,
    (_ADMISSION, "mutatingadmissionpolicies"): admission_policy_rules.mutating_policy,
    (_ADMISSION, "mutatingadmissionpolicybindings"): admission_policy_rules.mutating_binding,
    (_ADMISSION, "mutatingwebhookconfigurations"): webhook_rules.configuration,
    (_ADMISSION, "validatingadmissionpolicies"): admission_policy_rules.validating_policy,
    (_ADMISSION, "validatingadmissionpolicybindings"): admission_policy_rules.validating_binding,
    (_ADMISSION, "validatingwebhookconfigurations"): webhook_rules.configuration,
    ("apiextensions.k8s.io", "customresourcedefinitions"): definition_rules.definition,
    ("apiregistration.k8s.io", "apiservices"): cluster.api_service,
    ("apps", "daemonsets"): workload.daemon_set,
    ("apps", "deployments"): workload.deployment,
    ("apps", "replicasets"): workload.replica_set,
    ("apps", "statefulsets"): workload.stateful_set,
    ("autoscaling", "horizontalpodautoscalers"): scaling_rules.autoscaler,
    ("batch", "cronjobs"): job_rules.cron_job,
    ("batch", "jobs"): job_rules.job,
    ("coordination.k8s.io", "leases"): cluster.lease,
    ("discovery.k8s.io", "endpointslices"): endpoint_rules.endpoint_slice,
    ("events.k8s.io", "events"): event_rules.new_event,
    ("networking.k8s.io", "ingressclasses"): network_rules.ingress_class,
    ("networking.k8s.io", "ingresses"): network_rules.ingress,
    ("networking.k8s.io", "networkpolicies"): network_rules.network_policy,
    ("policy", "poddisruptionbudgets"): scaling_rules.disruption_budget,
    ("rbac.authorization.k8s.io", "clusterrolebindings"): role_rules.cluster_role_binding,
    ("rbac.authorization.k8s.io", "clusterroles"): role_rules.cluster_role,
    ("rbac.authorization.k8s.io", "rolebindings"): role_rules.role_binding,
    ("rbac.authorization.k8s.io", "roles"): role_rules.role,
    ("scheduling.k8s.io", "priorityclasses"): cluster.priority_class,
    ("storage.k8s.io", "storageclasses"): storage_rules.storage_class,
    ("storage.k8s.io", "volumeattributesclasses"): storage_rules.attributes_class,
}


def validate(resource: ServedResource, new: Object, old: Object | None, subresource: str = "") -> list[Cause]:
    """Return the validation errors for a built-in object. If old is None, the object is new."""
    rules = RULES.get((resource.group, resource.plural))
    return [] if rules is None else rules(new, old, subresource)


def _rule(check: Callable[[str], list[str]]) -> NameRule:
    def rule(name: str, prefix: bool) -> list[str]:  # noqa: FBT001 - the shape of NameRule
        return check(f"{name[:-1]}a" if prefix and name.endswith("-") else name)

    return rule


def _cron_job_name(name: str) -> list[str]:
    if len(name) > job_rules.MAX_CRON_JOB_NAME:
        return [f"must be no more than {job_rules.MAX_CRON_JOB_NAME} characters"]
    return names.dns_1123_subdomain(name)


_NAME_RULES: Final[Mapping[tuple[str, str], NameRule]] = {
    ("", "namespaces"): _rule(names.dns_1123_label),
    ("", "replicationcontrollers"): lambda name, prefix: [] if prefix else names.dns_1123_subdomain(name),
    ("", "services"): _rule(names.dns_1123_label),
    ("", "events"): lambda _name, _prefix: [],
    ("apiregistration.k8s.io", "apiservices"): lambda name, _prefix: names.path_segment(name),
    ("certificates.k8s.io", "certificatesigningrequests"): lambda name, _prefix: names.path_segment(name),
    ("policy", "poddisruptionbudgets"): lambda _name, _prefix: [],
    ("apps", "statefulsets"): _rule(names.dns_1123_label),
    ("batch", "cronjobs"): _rule(_cron_job_name),
    ("rbac.authorization.k8s.io", "clusterrolebindings"): lambda name, _prefix: names.path_segment(name),
    ("rbac.authorization.k8s.io", "clusterroles"): lambda name, _prefix: names.path_segment(name),
    ("rbac.authorization.k8s.io", "rolebindings"): lambda name, _prefix: names.path_segment(name),
    ("rbac.authorization.k8s.io", "roles"): lambda name, _prefix: names.path_segment(name),
}
_SUBDOMAIN: Final = _rule(names.dns_1123_subdomain)


def name_rule(resource: ServedResource) -> NameRule:
    """Return the naming rule of a kind. The second argument of the rule is true for a generateName prefix."""
    return _NAME_RULES.get((resource.group, resource.plural), _SUBDOMAIN)
