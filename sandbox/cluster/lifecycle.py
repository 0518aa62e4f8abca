"""
What makes a sandbox live: its controllers, in the order they are stepped.

Time is given to them: at speed 1 a Deployment of three is available 2 to 4 s after it was created.
"""

from __future__ import annotations

from sandbox.cluster.autoscalers import AutoscalerController
from sandbox.cluster.controllers import Controller
from sandbox.cluster.deployments import DeploymentController
from sandbox.cluster.endpoint_slices import EndpointSliceController
from sandbox.cluster.garbage_collector import GarbageCollector
from sandbox.cluster.namespaces import NamespaceController
from sandbox.cluster.nodes import NodeRegistrar
from sandbox.cluster.pace import Pace
from sandbox.cluster.pod_simulation import PodSimulation
from sandbox.cluster.replica_sets import ReplicaSetController
from sandbox.cluster.scheduler import Scheduler


def default_controllers(*, speed: float = 1.0, nodes: int = 2, root_ca: str = "") -> tuple[Controller, ...]:
    """
    A cluster's controllers, scheduler and kubelets.

    Args: speed = how many times faster than nominal; root_ca = PEM published to every namespace.
    Raises: ValueError when speed is not above 0.
    """
    pace = Pace(speed)
    return (
        NamespaceController(pace, root_ca=root_ca),
        NodeRegistrar(nodes),
        GarbageCollector(pace),
        DeploymentController(pace),
        ReplicaSetController(pace),
        AutoscalerController(pace),
        Scheduler(pace),
        PodSimulation(pace),
        EndpointSliceController(pace),
    )
