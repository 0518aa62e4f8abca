"""
example.com/v1: MyApp, an application of one image: a Deployment, a Service, and optionally an autoscaler.

The program itself checks types, bounds, patterns and rules (`problems`), and sets defaults, because objects
may have been stored under an older schema.
"""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Final, Literal

import msgspec
from msgspec import Meta

from handloop import Amount, APIStruct, Condition, Kind, PrinterColumn, Rule, Scale, list_map

# distribution/reference: [domain[:port]/]path[:tag][@digest]
_PATH_COMPONENT: Final = r"[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*"
_DOMAIN: Final = r"([a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?|\[[0-9a-fA-F:]+\])(:[0-9]+)?"
_TAG: Final = r"[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}"
_DIGEST: Final = r"[a-zA-Z][a-zA-Z0-9]*([+._-][a-zA-Z][a-zA-Z0-9]*)*:[0-9a-fA-F]{32,}"
IMAGE_PATTERN: Final = f"^({_DOMAIN}/)?{_PATH_COMPONENT}(/{_PATH_COMPONENT})*(:{_TAG})?(@{_DIGEST})?\\Z"
NAME_PATTERN: Final = "^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$"  # valid for a Service and a label, too

NAME_RULE: Final = Rule(
    expression=f"self.metadata.name.matches('{NAME_PATTERN}')",
    message="the name must suit a Service: a letter, then at most 62 of a-z, 0-9 and '-', with no '-' last",
)
ONE_VALUE_RULE: Final = Rule(
    expression="!(has(self.value) && has(self.valueFrom))", message="value and valueFrom exclude each other"
)
ONE_SOURCE_RULE: Final = Rule(
    expression="has(self.secretKeyRef) != has(self.configMapKeyRef)",
    message="valueFrom needs exactly one of secretKeyRef and configMapKeyRef",
)
MIN_MAX_RULE: Final = Rule(
    expression="self.minReplicas <= self.maxReplicas", message="minReplicas must not be above maxReplicas"
)

REPLICAS: Final = "The number of replicas. If autoScaling is enabled, only the initial number."
WHEN: Final = "When another field of the status last changed."
Replicas = Annotated[int, Meta(ge=1, le=100)]
Port = Annotated[int, Meta(ge=1, le=65535, description="The port of the replicas and the Service.")]
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]


class AppKeySelector(APIStruct):
    """A key of a Secret or ConfigMap in the MyApp's namespace."""

    name: Annotated[str, Meta(min_length=1, max_length=253)]
    key: Annotated[str, Meta(min_length=1, max_length=253, pattern=r"^[-._a-zA-Z0-9]+\Z")]


class AppEnvVarSource(APIStruct):
    """The source of a value. Exactly one of the two fields must be set."""

    crd_rules: ClassVar[tuple[Rule, ...]] = (ONE_SOURCE_RULE,)

    secret_key_ref: AppKeySelector | None = None
    config_map_key_ref: AppKeySelector | None = None


class AppEnvVar(APIStruct):
    """An environment variable, with a value or a source for it. Without both, it is empty."""

    crd_rules: ClassVar[tuple[Rule, ...]] = (ONE_VALUE_RULE,)

    # any printable ASCII except "=", as in a container
    name: Annotated[str, Meta(min_length=1, pattern=r"^[ -<>-~]+\Z")]
    value: str | None = None
    value_from: AppEnvVarSource | None = None


class AppResourceAmounts(APIStruct):
    """Amounts as Kubernetes quantities."""

    cpu: Amount | None = None
    memory: Amount | None = None


class AppResources(APIStruct):
    """The maximum amounts that each replica can use, and the amounts reserved for it."""

    limits: AppResourceAmounts = AppResourceAmounts()
    requests: AppResourceAmounts = AppResourceAmounts()


class AutoScaling(APIStruct):
    """Whether the number of replicas follows the load, and its bounds."""

    crd_required: ClassVar[tuple[str, ...]] = ("enabled",)
    crd_rules: ClassVar[tuple[Rule, ...]] = (MIN_MAX_RULE,)

    enabled: bool = False
    min_replicas: Annotated[int, Meta(ge=1, le=2**31 - 1)] = 1
    max_replicas: Replicas
    target_cpu_utilization_percentage: Annotated[
        int, Meta(ge=1, le=100, description="In percent of the CPU that the replicas request.")
    ] = msgspec.field(default=80, name="targetCPUUtilizationPercentage")


class MyAppSpec(APIStruct):
    """The desired state: replicas of an image, and how to reach them."""

    replicas: Annotated[Replicas, Meta(description=REPLICAS)] = 1
    image: Annotated[str, Meta(min_length=1, max_length=1024, pattern=IMAGE_PATTERN)]
    port: Port = 8080
    resources: AppResources = AppResources()
    env: Annotated[tuple[AppEnvVar, ...], list_map("name")] = ()
    service_type: Literal["ClusterIP", "NodePort", "LoadBalancer"] = "ClusterIP"
    auto_scaling: AutoScaling | None = None

    @property
    def scaling(self) -> AutoScaling | None:
        """The settings for the autoscaler, or None if autoscaling is disabled."""
        return self.auto_scaling if self.auto_scaling and self.auto_scaling.enabled else None


class MyAppStatus(APIStruct, omit_defaults=False):
    """The observed state, and the generation of the spec to which it belongs."""

    conditions: Annotated[tuple[Condition, ...], list_map("type")] = ()
    ready_replicas: Count = 0
    available_replicas: Count = 0
    observed_generation: Annotated[int, Meta(ge=-1)] = 0
    last_update_time: Annotated[str, Meta(description=WHEN, extra_json_schema={"format": "date-time"})] = ""
    selector: Annotated[str, Meta(description="The label selector of the replicas, for autoscalers.")] = ""


class MyApp(Kind, group="example.com", version="v1"):
    """An application: replicas of one image behind a Service, optionally with an autoscaler."""

    printer_columns: ClassVar[tuple[PrinterColumn, ...]] = (
        PrinterColumn(name="Image", type="string", json_path=".spec.image"),
        PrinterColumn(name="Replicas", type="integer", json_path=".spec.replicas"),
        PrinterColumn(name="Ready", type="integer", json_path=".status.readyReplicas"),
        PrinterColumn(name="Age", type="date", json_path=".metadata.creationTimestamp"),
    )
    scale: ClassVar[Scale] = Scale(
        spec_replicas_path=".spec.replicas",
        status_replicas_path=".status.readyReplicas",
        label_selector_path=".status.selector",
    )
    crd_rules: ClassVar[tuple[Rule, ...]] = (NAME_RULE,)

    spec: MyAppSpec
    status: MyAppStatus = MyAppStatus()


def problems(app: MyApp) -> tuple[str, ...]:
    """Return the schema rules that a MyApp violates, as texts, or () if it violates none."""
    found, names = [], [variable.name for variable in app.spec.env]
    if not re.fullmatch(NAME_PATTERN, app.metadata.name):
        found.append(f"metadata.name: {NAME_RULE.message}")
    for number, variable in enumerate(app.spec.env):
        where, source = f"spec.env[{number}]", variable.value_from
        if variable.name in names[:number]:
            found.append(f"{where}: there is another {variable.name}")
        if variable.value is not None and source is not None:
            found.append(f"{where}: {ONE_VALUE_RULE.message}")
        if source and (source.secret_key_ref is None) == (source.config_map_key_ref is None):
            found.append(f"{where}.valueFrom: {ONE_SOURCE_RULE.message}")
    scaling = app.spec.auto_scaling
    if scaling and scaling.min_replicas > scaling.max_replicas:
        found.append(f"spec.autoScaling: {MIN_MAX_RULE.message}")
    return tuple(found)
