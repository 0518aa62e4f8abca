"""The children that a MyApp wants: pure functions of its spec. All have the name of the MyApp."""

from __future__ import annotations

from typing import Final

from handloop.apis.apps_v1 import Deployment, DeploymentSpec, LabelSelector
from handloop.apis.autoscaling_v2 import (
    CrossVersionObjectReference,
    HorizontalPodAutoscaler,
    HorizontalPodAutoscalerSpec,
    MetricSpec,
    MetricTarget,
    ResourceMetricSource,
)
from handloop.apis.core_v1 import (
    Container,
    ContainerPort,
    EnvVar,
    EnvVarSource,
    KeySelector,
    PodSpec,
    PodTemplateSpec,
    ResourceAmounts,
    ResourceRequirements,
    Service,
    ServicePort,
    ServiceSpec,
)
from handloop.apis.meta import FrozenMap, ObjectMeta, new_controller_ref
from handloop.controller.myapp.types import (
    AppEnvVar,
    AppKeySelector,
    AppResourceAmounts,
    AppResources,
    AutoScaling,
    MyApp,
    MyAppSpec,
)

CONTAINER: Final = "app"
PORT: Final = "http"


def labels(app: MyApp) -> FrozenMap:
    """The labels of children, and the selector of pods: the same for a name, whatever the spec."""
    return FrozenMap(
        {
            "app.kubernetes.io/name": "myapp",
            "app.kubernetes.io/instance": app.metadata.name,
            "app.kubernetes.io/managed-by": "myapp-operator",
        }
    )


def new_deployment(app: MyApp) -> Deployment:
    """The Deployment; with an autoscaler it begins within the autoscaler's bounds."""
    return Deployment(
        metadata=_metadata(app),
        spec=DeploymentSpec(
            replicas=_first_replicas(app.spec),
            selector=LabelSelector(match_labels=labels(app)),
            template=PodTemplateSpec(
                metadata=ObjectMeta(labels=labels(app)),
                spec=PodSpec(containers=(_container(app.spec),)),
            ),
        ),
    )


def new_service(app: MyApp) -> Service:
    """The Service; the server allocates cluster IP and node port."""
    port = ServicePort(name=PORT, port=app.spec.port, target_port=PORT)
    return Service(
        metadata=_metadata(app),
        spec=ServiceSpec(type=app.spec.service_type, selector=labels(app), ports=(port,)),
    )


def new_autoscaler(app: MyApp, scaling: AutoScaling) -> HorizontalPodAutoscaler:
    """The autoscaler of the Deployment, by CPU utilization."""
    target = MetricTarget(type="Utilization", average_utilization=scaling.target_cpu_utilization_percentage)
    return HorizontalPodAutoscaler(
        metadata=_metadata(app),
        spec=HorizontalPodAutoscalerSpec(
            scale_target_ref=CrossVersionObjectReference(
                api_version=Deployment.resource.api_version,
                kind=Deployment.resource.kind,
                name=app.metadata.name,
            ),
            min_replicas=scaling.min_replicas,
            max_replicas=scaling.max_replicas,
            metrics=(MetricSpec(type="Resource", resource=ResourceMetricSource(name="cpu", target=target)),),
        ),
    )


def _metadata(app: MyApp) -> ObjectMeta:
    return ObjectMeta(
        name=app.metadata.name,
        namespace=app.metadata.namespace,
        labels=labels(app),
        owner_references=(new_controller_ref(app),),
    )


def _first_replicas(spec: MyAppSpec) -> int:
    scaling = spec.auto_scaling
    if scaling is None or not scaling.enabled:
        return spec.replicas
    return min(max(spec.replicas, scaling.min_replicas), scaling.max_replicas)


def _container(spec: MyAppSpec) -> Container:
    return Container(
        name=CONTAINER,
        image=spec.image,
        ports=(ContainerPort(name=PORT, container_port=spec.port),),
        env=tuple(_variable(variable) for variable in spec.env),
        resources=_resources(spec.resources),
    )


def _variable(variable: AppEnvVar) -> EnvVar:
    source = variable.value_from
    if source is None:
        return EnvVar(name=variable.name, value=variable.value or "")
    return EnvVar(
        name=variable.name,
        value_from=EnvVarSource(
            secret_key_ref=_key(source.secret_key_ref), config_map_key_ref=_key(source.config_map_key_ref)
        ),
    )


def _key(selector: AppKeySelector | None) -> KeySelector | None:
    return None if selector is None else KeySelector(name=selector.name, key=selector.key)


def _resources(resources: AppResources) -> ResourceRequirements:
    return ResourceRequirements(limits=_amounts(resources.limits), requests=_amounts(resources.requests))


def _amounts(amounts: AppResourceAmounts) -> ResourceAmounts:
    return ResourceAmounts(cpu=amounts.cpu or "", memory=amounts.memory or "")
