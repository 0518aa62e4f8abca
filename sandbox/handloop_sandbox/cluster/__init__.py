"""
The parts of a cluster besides the API server: simulated controllers, scheduler and kubelets.

A controller receives changes and returns writes (see cluster_controller.py). lifecycle.py creates all the
controllers of a cluster.
"""
