"""The cluster that a step of a workload gets."""

from handloop_explore.cluster import VirtualCluster

__all__ = ["VirtualCluster"]
