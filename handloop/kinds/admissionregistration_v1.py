"""admissionregistration.k8s.io/v1, complete; made by `python -m tools.generate_kinds`."""

from __future__ import annotations

from handloop.apis.meta import APIStruct, Kind
from handloop.kinds.meta_v1 import Condition, LabelSelector


class MatchCondition(APIStruct):
    expression: str
    name: str


class NamedRuleWithOperations(APIStruct):
    api_groups: tuple[str, ...] = ()
    api_versions: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    scope: str | None = None


class MatchResources(APIStruct):
    exclude_resource_rules: tuple[NamedRuleWithOperations, ...] = ()
    match_policy: str | None = None
    namespace_selector: LabelSelector | None = None
    object_selector: LabelSelector | None = None
    resource_rules: tuple[NamedRuleWithOperations, ...] = ()


class ApplyConfiguration(APIStruct):
    expression: str | None = None


class JSONPatch(APIStruct):
    expression: str | None = None


class Mutation(APIStruct):
    apply_configuration: ApplyConfiguration | None = None
    json_patch: JSONPatch | None = None
    patch_type: str


class ParamKind(APIStruct):
    api_version: str | None = None
    kind: str | None = None


class Variable(APIStruct):
    expression: str
    name: str


class MutatingAdmissionPolicySpec(APIStruct):
    failure_policy: str | None = None
    match_conditions: tuple[MatchCondition, ...] = ()
    match_constraints: MatchResources | None = None
    mutations: tuple[Mutation, ...] = ()
    param_kind: ParamKind | None = None
    reinvocation_policy: str | None = None
    variables: tuple[Variable, ...] = ()


class MutatingAdmissionPolicy(
    Kind, group="admissionregistration.k8s.io", version="v1", scope="Cluster", partial=False
):
    spec: MutatingAdmissionPolicySpec = MutatingAdmissionPolicySpec()


class ParamRef(APIStruct):
    name: str | None = None
    namespace: str | None = None
    parameter_not_found_action: str | None = None
    selector: LabelSelector | None = None


class MutatingAdmissionPolicyBindingSpec(APIStruct):
    match_resources: MatchResources | None = None
    param_ref: ParamRef | None = None
    policy_name: str | None = None


class MutatingAdmissionPolicyBinding(
    Kind, group="admissionregistration.k8s.io", version="v1", scope="Cluster", partial=False
):
    spec: MutatingAdmissionPolicyBindingSpec = MutatingAdmissionPolicyBindingSpec()


class ServiceReference(APIStruct):
    name: str
    namespace: str
    path: str | None = None
    port: int | None = None


class WebhookClientConfig(APIStruct):
    ca_bundle: str | None = None
    service: ServiceReference | None = None
    url: str | None = None


class RuleWithOperations(APIStruct):
    api_groups: tuple[str, ...] = ()
    api_versions: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    scope: str | None = None


class MutatingWebhook(APIStruct):
    admission_review_versions: tuple[str, ...]
    client_config: WebhookClientConfig
    failure_policy: str | None = None
    match_conditions: tuple[MatchCondition, ...] = ()
    match_policy: str | None = None
    name: str
    namespace_selector: LabelSelector | None = None
    object_selector: LabelSelector | None = None
    reinvocation_policy: str | None = None
    rules: tuple[RuleWithOperations, ...] = ()
    side_effects: str
    timeout_seconds: int | None = None


class MutatingWebhookConfiguration(
    Kind, group="admissionregistration.k8s.io", version="v1", scope="Cluster", partial=False
):
    webhooks: tuple[MutatingWebhook, ...] = ()


class AuditAnnotation(APIStruct):
    key: str
    value_expression: str


class Validation(APIStruct):
    expression: str
    message: str | None = None
    message_expression: str | None = None
    reason: str | None = None


class ValidatingAdmissionPolicySpec(APIStruct):
    audit_annotations: tuple[AuditAnnotation, ...] = ()
    failure_policy: str | None = None
    match_conditions: tuple[MatchCondition, ...] = ()
    match_constraints: MatchResources | None = None
    param_kind: ParamKind | None = None
    validations: tuple[Validation, ...] = ()
    variables: tuple[Variable, ...] = ()


class ExpressionWarning(APIStruct):
    field_ref: str
    warning: str


class TypeChecking(APIStruct):
    expression_warnings: tuple[ExpressionWarning, ...] = ()


class ValidatingAdmissionPolicyStatus(APIStruct):
    conditions: tuple[Condition, ...] = ()
    observed_generation: int | None = None
    type_checking: TypeChecking | None = None


class ValidatingAdmissionPolicy(
    Kind, group="admissionregistration.k8s.io", version="v1", scope="Cluster", partial=False
):
    spec: ValidatingAdmissionPolicySpec = ValidatingAdmissionPolicySpec()
    status: ValidatingAdmissionPolicyStatus = ValidatingAdmissionPolicyStatus()


class ValidatingAdmissionPolicyBindingSpec(APIStruct):
    match_resources: MatchResources | None = None
    param_ref: ParamRef | None = None
    policy_name: str
    validation_actions: tuple[str, ...]


class ValidatingAdmissionPolicyBinding(
    Kind, group="admissionregistration.k8s.io", version="v1", scope="Cluster", partial=False
):
    spec: ValidatingAdmissionPolicyBindingSpec


class ValidatingWebhook(APIStruct):
    admission_review_versions: tuple[str, ...]
    client_config: WebhookClientConfig
    failure_policy: str | None = None
    match_conditions: tuple[MatchCondition, ...] = ()
    match_policy: str | None = None
    name: str
    namespace_selector: LabelSelector | None = None
    object_selector: LabelSelector | None = None
    rules: tuple[RuleWithOperations, ...] = ()
    side_effects: str
    timeout_seconds: int | None = None


class ValidatingWebhookConfiguration(
    Kind, group="admissionregistration.k8s.io", version="v1", scope="Cluster", partial=False
):
    webhooks: tuple[ValidatingWebhook, ...] = ()
