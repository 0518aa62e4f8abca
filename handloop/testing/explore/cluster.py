"""The cluster that is passed to a workload's step."""

from handloop_explore.cluster import VirtualCluster

__all__ = ["VirtualCluster"]
