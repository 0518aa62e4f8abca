"""
The parts of a cluster besides the API: simulated controllers, scheduler and kubelets.

A controller receives changes and returns writes; see cluster_controller.py. lifecycle.py lists them all.
"""
