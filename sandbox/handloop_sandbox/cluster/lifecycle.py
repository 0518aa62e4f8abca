"""
The controllers of a sandbox, in the order in which they step.

At speed 1, a Deployment with three replicas is available 2 to 4 s after its creation.
"""

from __future__ import annotations

from handloop_sandbox.cluster.account_tokens import AccountTokenController
from handloop_sandbox.cluster.api_services import ApiServiceController
from handloop_sandbox.cluster.autoscalers import AutoscalerController
from handloop_sandbox.cluster.cluster_controller import ClusterController, Pace
from handloop_sandbox.cluster.cron_jobs import CronJobController
from handloop_sandbox.cluster.daemon_sets import DaemonSetController
from handloop_sandbox.cluster.deployments import DeploymentController
from handloop_sandbox.cluster.disruption_budgets import DisruptionController
from handloop_sandbox.cluster.garbage_collector import GarbageCollector
from handloop_sandbox.cluster.jobs import JobController
from handloop_sandbox.cluster.namespaces import NamespaceController
from handloop_sandbox.cluster.nodes import NAME_PREFIX, NodeRegistrar
from handloop_sandbox.cluster.pod_simulation import PodSimulation
from handloop_sandbox.cluster.replica_sets import ReplicaSetController, ReplicationControllerController
from handloop_sandbox.cluster.resource_quotas import ResourceQuotaController
from handloop_sandbox.cluster.role_aggregation import RoleAggregationController
from handloop_sandbox.cluster.scheduler import Scheduler
from handloop_sandbox.cluster.service_endpoints import ServiceEndpointsController
from handloop_sandbox.cluster.stateful_sets import StatefulSetController
from handloop_sandbox.cluster.storage_protection import StorageProtectionController


def default_controllers(
    *,
    speed: float = 1.0,
    nodes: int = 2,
    node_prefix: str = NAME_PREFIX,
    root_ca: str = "",
    hold_jobs: bool = False,
) -> tuple[ClusterController, ...]:
    """
    Return a cluster's controllers, scheduler and kubelets.

    Args: at speed 10, everything happens ten times faster. nodes is the number of nodes, which are named
    node_prefix-0 and so on. root_ca is the PEM certificate to publish in every namespace. With
    hold_jobs, the pods of Jobs run until an annotation ends them.
    Raises: ValueError if speed is not above 0.
    """
    pace = Pace(speed)
    return (
        NamespaceController(pace, root_ca=root_ca),
        NodeRegistrar(nodes, node_prefix),
        GarbageCollector(pace),
        DeploymentController(pace),
        ReplicaSetController(pace),
        ReplicationControllerController(pace),
        StatefulSetController(pace),
        DaemonSetController(pace),
        CronJobController(pace),
        JobController(pace),
        AutoscalerController(pace),
        Scheduler(pace),
        PodSimulation(pace, hold_jobs=hold_jobs),
        ServiceEndpointsController(pace),
        DisruptionController(pace),
        ResourceQuotaController(pace),
        RoleAggregationController(pace),
        AccountTokenController(pace, root_ca=root_ca),
        StorageProtectionController(pace),
        ApiServiceController(pace),
    )
